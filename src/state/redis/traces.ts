import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../core/errors.ts';
import { timeOfTraceId } from '../../core/ids.ts';
import { createCache } from '../cache.ts';
import { parseLine, toLine as toJournalLine } from '../journal/line.ts';
import { givenBack } from '../rules/budgets.ts';
import { destinationsMax, touchedBy } from '../rules/destinations.ts';
import { historyKeptMs } from '../rules/habits.ts';
import { marksText } from '../rules/trust.ts';
import type { Arrivals, CallBatch, Page, Paged, RecordedCall, TraceFilter, TrustTerms } from '../store.ts';
import { answerFactsOf } from '../traces/answer-facts.ts';
import { findTrace } from '../traces/lines.ts';
import { exportTraces, listTraces, type TraceSource } from '../traces/list.ts';
import { FactReader, statNamesMax, statStart, type TraceFacts } from '../traces/stats.ts';
import { answeredOf } from './answered.ts';
import { arrivalsSince } from './arrivals.ts';
import { toGivenBackArgs } from './budgets.ts';
import { fromChunk, idBytes, secondOf, startsOf, toChunk, windowsOf } from './link/chunks.ts';
import type { Link } from './link/link.ts';
import { scripts } from './scripts/scripts.ts';
import { redisMayHave, statKeys, statLives } from './stats.ts';

/**
 * The limits of calls, and of characters of their lines, in one script. Redis does nothing else meanwhile.
 */
const scriptCallsMax = 128;
const scriptCharsMax = 256 * 1024;
const scansMax = 16;
const notedMax = 131_072;
/**
 * The age up to which a missing trace is looked for again, in milliseconds. Another node ships it within a
 * quarter of a second.
 */
const youngMs = 2_000;
const retries = 10;
const retryMs = 100;

/** How long traces are kept where nobody has set a time, in milliseconds. Redis needs a number. */
const keptMsMax = 100 * 365 * 86_400_000;

/**
 * Stores and finds traces. `onError` receives the error where a destination could not be noted; the batch
 * brings it again.
 */
export class RedisTraces {
  readonly #link: Link;
  readonly #onError: (error: unknown) => void;
  readonly #termsOf: () => TrustTerms;
  #keptMsOf: (tenantId: string) => number = () => keptMsMax;
  readonly #noted = createCache<true>(notedMax);
  readonly #facts = new FactReader('text');

  constructor(link: Link, onError: (error: unknown) => void, termsOf: () => TrustTerms) {
    this.#link = link;
    this.#onError = onError;
    this.#termsOf = termsOf;
  }

  noteCall(call: RecordedCall): void {
    const { tenantId, agentId, atMs } = call;
    for (const name of touchedBy(call)) {
      const pair = hash('sha256', JSON.stringify([tenantId, agentId, name]));
      if (this.#noted.get(pair)) continue;
      this.#noted.set(pair, true);
      const key = this.#link.names.of(tenantId).destinations(agentId);
      // This plain command reaches Redis before the next call. A script that Redis does not know yet would be
      // sent a second time, behind that call. The batch keeps the bound.
      this.#link.connection.call('ZADD', key, 'NX', atMs, name).catch((error) => {
        this.#noted.delete(pair);
        this.#onError(error);
      });
    }
  }

  async recordCalls({ lines, putOff }: CallBatch): Promise<number> {
    const { byTenant, unreadable } = sort(lines);
    for (const [tenantId, calls] of byTenant) {
      try {
        for (const part of partsOf(calls)) await this.#store(tenantId, part);
      } catch (error) {
        // Calls of tenants on other nodes of a Cluster need not wait.
        if (!putOff || !(await this.#link.connection.isPartThere())) throw error;
        this.#onError(error);
        putOff(Buffer.from(calls.map(toJournalLine).join('')));
      }
    }
    return unreadable;
  }

  async traceById(tenantId: string, traceId: string): Promise<string | undefined> {
    const ms = timeOfTraceId(traceId);
    if (ms === undefined || this.#isOld(tenantId, traceId)) return undefined;
    for (let retry = 0; ; retry += 1) {
      const found = await this.#readTrace(tenantId, traceId, ms);
      if (found !== undefined || retry >= retries || Math.abs(Date.now() - ms) > youngMs) return found;
      await sleep(retryMs);
    }
  }

  listTraces(tenantId: string, filter: TraceFilter, page: Page): Promise<Paged<string>> {
    return listTraces(this.#sourceOf(tenantId), this.#keptOf(tenantId, filter), page);
  }

  exportTraces(tenantId: string, filter: TraceFilter): AsyncIterable<readonly string[]> {
    return exportTraces(this.#sourceOf(tenantId), this.#keptOf(tenantId, filter));
  }

  tracesSince(tenantId: string, position: string | undefined): Promise<Arrivals> {
    return arrivalsSince(this.#link.connection, this.#link.names.of(tenantId), position);
  }

  async addResponseScan(tenantId: string, traceId: string, scan: string): Promise<boolean> {
    if (this.#isOld(tenantId, traceId)) return false;
    const ms = timeOfTraceId(traceId);
    if (ms === undefined) return false;
    const own = this.#link.names.of(tenantId);
    const answered = answerFactsOf(scan).map(own.answered);
    const keys = [own.traceIds(secondOf(ms)), own.scans(traceId), ...answered];
    const answer = await this.#link.connection.run(scripts.scan, keys, [
      scan,
      scansMax,
      idBytes(traceId),
      secondOf(ms),
      secondOf(this.#startMs(tenantId)),
      this.#keptMsOf(tenantId),
    ]);
    if (answer === 'full')
      throw new GatewayError('CONFLICT', `A trace takes ${scansMax} scans of its answer.`);
    return answer === 'ok';
  }

  async responseScansOf(tenantId: string, traceId: string): Promise<readonly string[]> {
    if (this.#isOld(tenantId, traceId)) return [];
    return (await this.#link.connection.call(
      'LRANGE',
      this.#link.names.of(tenantId).scans(traceId),
      0,
      -1,
    )) as string[];
  }

  /**
   * Sets how long traces are kept. Stored traces go at the time that was set when they came; a shorter time
   * hides them.
   */
  async keepTraces(next: (tenantId: string) => number): Promise<void> {
    this.#keptMsOf = (tenantId) => Math.min(Math.max(1, next(tenantId)), keptMsMax);
  }

  /** Returns the start of the kept time. Earlier traces are not returned, even while Redis still has them. */
  #startMs(tenantId: string): number {
    return Date.now() - this.#keptMsOf(tenantId);
  }

  #isOld(tenantId: string, traceId: string): boolean {
    return (timeOfTraceId(traceId) ?? 0) < this.#startMs(tenantId);
  }

  #keptOf(tenantId: string, filter: TraceFilter): TraceFilter {
    return {
      ...filter,
      fromMs: Math.max(filter.fromMs ?? 0, this.#startMs(tenantId)),
    };
  }

  #sourceOf(tenantId: string): TraceSource {
    const own = this.#link.names.of(tenantId);
    return {
      starts: (newestMs, oldestMs) => startsOf(this.#link.connection, own, newestMs, oldestMs),
      windows: (starts) => windowsOf(this.#link.connection, own, starts),
      mayHave: redisMayHave(this.#link.connection, own),
      answered: (fact, newestMs, oldestMs) =>
        answeredOf(this.#link.connection, own.answered(fact), newestMs, oldestMs),
    };
  }

  async #store(tenantId: string, calls: readonly RecordedCall[]): Promise<void> {
    const own = this.#link.names.of(tenantId);
    const back = toGivenBackArgs(own, calls.map(givenBack), 3);
    const keptMs = this.#keptMsOf(tenantId);
    const trust = this.#termsOf();
    const minutes = placesOf(calls, ({ atMs }) => statStart(atMs, 'minute'));
    const windows = placesOf(calls, ({ traceId }) => secondOf(timeOfTraceId(traceId) ?? 0));
    const agents = placesOf(calls, ({ agentId }) => agentId);
    const keys = [
      own.windows,
      own.credentialUses,
      own.arrivals,
      ...back.keys,
      ...[...minutes.keys()].flatMap((it) => statKeys(own, it)),
      ...[...windows.keys()].flatMap((it) => [own.traceIds(it), own.chunks(it)]),
      ...[...agents.keys()].flatMap((it) => [
        own.agentNumbers(it),
        own.destinations(it),
        own.history(it),
        own.marks(it),
      ]),
    ];
    const args: (string | number | Buffer)[] = [
      keptMs,
      secondOf(this.#startMs(tenantId)),
      destinationsMax,
      back.keys.length,
      trust.parts,
      trust.calls,
      historyKeptMs,
      minutes.size,
      windows.size,
      statNamesMax,
      ...statLives(keptMs),
      Buffer.concat(calls.map((it) => idBytes(it.traceId))),
      agents.size,
      ...agents.keys(),
    ];
    for (const [second, { items }] of windows) args.push(second, toChunk(items.map(toLine).join('')));
    for (const call of calls) {
      const { traceId, agentId, sizeClass = 0, marks = [] } = call;
      const touched = touchedBy(call);
      const read = this.#facts.read(call.line, 0, call.line.length);
      const { tool = '', band = '' } = read;
      const reasons = listedNames(read);
      const charges = givenBack(call);
      const places = [agents.get(agentId), windows.get(secondOf(timeOfTraceId(traceId) ?? 0))];
      places.push(minutes.get(statStart(call.atMs, 'minute')));
      const lengths = [touched.length, reasons.length, marks.length, charges.length];
      args.push([...places.map((it) => it?.place ?? 0), call.atMs, sizeClass, ...lengths].join(' '));
      args.push(call.decision, call.credential ?? '', tool, band, ...touched, ...reasons);
      for (const mark of marks) args.push(mark.parts, JSON.stringify(marksText([mark])[0]));
      args.push(...back.argsOf(charges));
    }
    await this.#link.connection.run(scripts.record, keys, args);
  }

  async #readTrace(tenantId: string, traceId: string, ms: number): Promise<string | undefined> {
    const own = this.#link.names.of(tenantId);
    const number = await this.#link.connection.call('HGET', own.traceIds(secondOf(ms)), idBytes(traceId));
    if (number === null) return undefined;
    const chunk = await this.#link.connection.callBuffers('LINDEX', own.chunks(secondOf(ms)), String(number));
    return chunk === null ? undefined : findTrace(fromChunk(chunk as Buffer), traceId);
  }
}

/**
 * Returns names of a call, each with its dimension: those of which a call may have several, and those that
 * only searches go by.
 */
const listedNames = ({ operation, reasons, classes, tags }: TraceFacts): readonly string[] => [
  ...reasons.map((it) => `reason:${it}`),
  ...classes.map((it) => `class:${it}`),
  ...tags.map((it) => `tag:${it}`),
  ...(operation === undefined ? [] : [`operation:${operation}`]),
];

const toLine = ({ traceId, line }: RecordedCall): string => `${traceId}\t${line}\n`;

/** Groups calls by what they have in common. Each group has a number, from 1. */
function placesOf<T>(calls: readonly RecordedCall[], of: (call: RecordedCall) => T) {
  const places = new Map<T, { readonly place: number; readonly items: RecordedCall[] }>();
  for (const call of calls) {
    const standing = places.get(of(call));
    if (standing) standing.items.push(call);
    else places.set(of(call), { place: places.size + 1, items: [call] });
  }
  return places;
}

function sort(lines: Uint8Array<ArrayBuffer>) {
  const text = new TextDecoder().decode(lines);
  const pieces = text.split('\n');
  // The text behind the last newline is an unfinished line.
  const rest = pieces.pop();
  const calls = pieces.map(parseLine).filter((it) => it !== undefined);
  return {
    byTenant: Map.groupBy(calls, ({ tenantId }) => tenantId),
    unreadable: pieces.length - calls.length + (rest ? 1 : 0),
  };
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
