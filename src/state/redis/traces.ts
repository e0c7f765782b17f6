import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../errors.ts';
import { isTraceId, timeOfTraceId, traceIdsFrom } from '../../ids.ts';
import { givenBack } from '../budgets.ts';
import { createCache } from '../cache.ts';
import { destinationsMax, touchedBy } from '../destinations.ts';
import { historyKeptMs } from '../habits.ts';
import { parseLine } from '../journal/line.ts';
import { matchesTrace } from '../journal/trace-filter.ts';
import type { RecordedCall, Store, TrustTerms } from '../store.ts';
import { marksText } from '../trust.ts';
import { toGivenBackArgs } from './budgets.ts';
import type { Connection } from './connection.ts';
import type { Names } from './names.ts';
import { beginning, parseCursor, readPage } from './pages.ts';
import { scripts } from './scripts.ts';

/*
 * Traces: one key each, which Redis forgets when its time has come, and an index of their ids, which sort by time as text.
 */

type Traces = Pick<
  Store,
  | 'noteCall'
  | 'recordCalls'
  | 'traceById'
  | 'listTraces'
  | 'addResponseScan'
  | 'responseScansOf'
  | 'keepTraces'
>;

/** One script takes so many, or so much text; Redis does nothing else meanwhile. */
const scriptCallsMax = 128;
const scriptCharsMax = 256 * 1024;
const scansMax = 16;
const notedMax = 131_072;
/** Another node ships what it has within a quarter of a second. */
const youngMs = 2_000;
const retries = 10;
const retryMs = 100;

/** Where nobody has said how long: Redis wants a number. */
const keptMsMax = 100 * 365 * 86_400_000;

/** `onError` is told of a destination that could not be noted; the batch brings it again. */
export function createTraces(
  connection: Connection,
  names: Names,
  onError: (error: unknown) => void,
  termsOf: () => TrustTerms,
): Traces {
  let keptMsOf: (tenantId: string) => number = () => keptMsMax;
  /** What happened before then is not there, whether or not Redis has forgotten it. */
  const startMs = (tenantId: string): number => Date.now() - keptMsOf(tenantId);
  const isOld = (tenantId: string, traceId: string): boolean =>
    (timeOfTraceId(traceId) ?? 0) < startMs(tenantId);
  const noted = createCache<true>(notedMax);

  async function store(tenantId: string, calls: readonly RecordedCall[]): Promise<void> {
    const own = names.of(tenantId);
    const back = toGivenBackArgs(own, calls.map(givenBack), 2);
    const keys = [own.traces, own.credentialUses, ...back.keys];
    const keptMs = keptMsOf(tenantId);
    const trust = termsOf();
    const args: (string | number)[] = [
      keptMs,
      traceIdsFrom(startMs(tenantId)),
      destinationsMax,
      back.keys.length,
      trust.parts,
      trust.calls,
      historyKeptMs,
    ];
    for (const call of calls) {
      const { traceId, agentId, sizeClass = 0, marks = [] } = call;
      keys.push(own.trace(traceId), own.agentNumbers(agentId), own.destinations(agentId));
      keys.push(own.history(agentId), own.marks(agentId));
      const touched = touchedBy(call);
      args.push(traceId, call.atMs, call.decision, sizeClass, touched.length, ...touched, call.line);
      args.push(call.credential ?? '');
      args.push(marks.length);
      for (const mark of marks) args.push(mark.parts, JSON.stringify(marksText([mark])[0]));
      args.push(...back.argsOf(givenBack(call)));
    }
    await connection.run(scripts.record, keys, args);
  }

  async function readTrace(tenantId: string, traceId: string): Promise<string | undefined> {
    return ((await connection.call('GET', names.of(tenantId).trace(traceId))) as string | null) ?? undefined;
  }

  async function readTexts(tenantId: string, ids: readonly string[]) {
    const own = names.of(tenantId);
    return (await connection.call('MGET', ...ids.map(own.trace))) as (string | null)[];
  }

  return {
    noteCall(call) {
      const { tenantId, agentId, atMs } = call;
      for (const name of touchedBy(call)) {
        const pair = hash('sha256', JSON.stringify([tenantId, agentId, name]));
        if (noted.get(pair)) continue;
        noted.set(pair, true);
        const key = names.of(tenantId).destinations(agentId);
        // A plain command: one that Redis may not know yet would come to it behind the next call. The batch keeps the bound.
        connection.call('ZADD', key, 'NX', atMs, name).catch((error) => {
          noted.delete(pair);
          onError(error);
        });
      }
    },

    async recordCalls({ lines }) {
      const { byTenant, unreadable } = sort(lines);
      for (const [tenantId, calls] of byTenant) {
        for (const part of partsOf(calls)) await store(tenantId, part);
      }
      return unreadable;
    },

    async traceById(tenantId, traceId) {
      const ms = timeOfTraceId(traceId);
      if (ms === undefined || isOld(tenantId, traceId)) return undefined;
      for (let retry = 0; ; retry += 1) {
        const found = await readTrace(tenantId, traceId);
        if (found !== undefined || retry >= retries || Math.abs(Date.now() - ms) > youngMs) return found;
        await sleep(retryMs);
      }
    },

    async listTraces(tenantId, filter, page) {
      const cursor = parseCursor(page.cursor, isTraceId);
      const before = filter.beforeMs === undefined ? '+' : `(${traceIdsFrom(filter.beforeMs)}`;
      const from = cursor === undefined ? before : lesser(beginning(cursor), before);
      const to = `[${traceIdsFrom(Math.max(filter.fromMs ?? 0, startMs(tenantId)))}`;
      const read = (ids: readonly string[]) => readTexts(tenantId, ids);
      const index = { key: names.of(tenantId).traces, read, from, to };
      return readPage(connection, index, page, (text) => (matchesTrace(filter, text) ? text : undefined));
    },

    async addResponseScan(tenantId, traceId, scan) {
      if (isOld(tenantId, traceId)) return false;
      const own = names.of(tenantId);
      const keys = [own.trace(traceId), own.scans(traceId)];
      const answer = await connection.run(scripts.scan, keys, [scan, scansMax]);
      if (answer === 'full')
        throw new GatewayError('CONFLICT', `A trace takes ${scansMax} scans of its answer.`);
      return answer === 'ok';
    },

    async responseScansOf(tenantId, traceId) {
      if (isOld(tenantId, traceId)) return [];
      return (await connection.call('LRANGE', names.of(tenantId).scans(traceId), 0, -1)) as string[];
    },

    /** Those that are there already go when it was said that they would; a shorter time hides them. */
    async keepTraces(next) {
      keptMsOf = (tenantId) => Math.min(Math.max(1, next(tenantId)), keptMsMax);
    },
  };
}

/** Both begin with a bracket, or stand for the end of all. */
const lesser = (a: string, b: string): string => (b === '+' || a < b ? a : b);

function sort(lines: Uint8Array<ArrayBuffer>) {
  const byTenant = new Map<string, RecordedCall[]>();
  let unreadable = 0;
  const text = new TextDecoder().decode(lines);
  const pieces = text.split('\n');
  // What stands behind the last newline is a line that has no end.
  const rest = pieces.pop();
  if (rest) unreadable += 1;
  for (const piece of pieces) {
    const call = parseLine(piece);
    if (!call) unreadable += 1;
    else {
      const calls = byTenant.get(call.tenantId);
      if (calls) calls.push(call);
      else byTenant.set(call.tenantId, [call]);
    }
  }
  return { byTenant, unreadable };
}

function* partsOf(calls: readonly RecordedCall[]): Generator<readonly RecordedCall[]> {
  let part: RecordedCall[] = [];
  let chars = 0;
  for (const call of calls) {
    if (part.length === scriptCallsMax || (part.length > 0 && chars + call.line.length > scriptCharsMax)) {
      yield part;
      part = [];
      chars = 0;
    }
    part.push(call);
    chars += call.line.length;
  }
  if (part.length > 0) yield part;
}
