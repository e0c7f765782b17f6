import { type Habits, noSightings, type Sighting, type Sightings } from '../../history.ts';
import { createCache } from '../cache.ts';
import {
  createSightingLog,
  type SightingLog,
  shinglesMax,
  sightingsKeptMs,
  sightingsMax,
} from '../sightings.ts';
import type { MaybePromise, Store, TrustRecord, TrustTerms } from '../store.ts';
import { marksText, parseMarks, trustPartsMax, wholeTrust } from '../trust.ts';
import type { Commits } from './commits.ts';
import type { Connection } from './connection.ts';
import type { Names } from './names.ts';
import { scripts } from './scripts.ts';

/*
 * What is usual for agents, what their trust has come to, and what was seen lately: hashes that `record.lua` adds to and `admit.lua` answers, and
 * for each tenant a stream of sightings, of which each node is handed what it does not know yet with its next call.
 */

/** What a node knows of the sightings of a tenant. */
export interface SightingsSeen {
  /** Id of the last entry; '-' where there was none. */
  lastId(tenantId: string): string;
  /** Takes in what `admit.lua` answers, and asks for more where that was not all. */
  learn(tenantId: string, entries: string, nowMs: number): MaybePromise<Sightings>;
}

type HistoryOf = Pick<Store, 'noteSighting' | 'trustOf' | 'markTrust' | 'resetTrust'> & SightingsSeen;

/** Of tenants whose agents have been answered something sensitive lately. */
const logsMax = 512;
/** In base64, and with what else stands in them; shorter texts are few shingles or none. */
const longText = 4_096;
const longTextsMax = 12 * shinglesMax;
/** That `admit.lua` answers at once. */
const answeredMax = 16;

/** `onError` is told of what could not be noted. */
export function createHistory(
  connection: Connection,
  names: Names,
  commits: Commits,
  onError: (error: unknown) => void,
  termsOf: () => TrustTerms,
): HistoryOf {
  const logs = createCache<{ log: SightingLog; lastId: string }>(logsMax);

  function add(
    tenantId: string,
    entries: readonly (readonly [id: string, text: string])[],
    nowMs: number,
  ): Sightings {
    const known = logs.get(tenantId) ?? { log: createSightingLog(), lastId: '-' };
    for (const [id, text] of entries) {
      // Two calls may have asked at once.
      if (!isAfter(id, known.lastId)) continue;
      known.lastId = id;
      known.log.add(fromStored(text));
    }
    logs.set(tenantId, known);
    // Redis keeps the old ones as long as new ones come.
    known.log.expire(nowMs);
    return known.log;
  }

  /** A node that was idle, or is new, has missed more than one answer holds. */
  async function addMissed(tenantId: string, nowMs: number): Promise<Sightings> {
    const { log, lastId } = logs.get(tenantId) ?? { log: noSightings, lastId: '-' };
    const since = lastId === '-' ? '-' : `(${lastId}`;
    const key = names.of(tenantId).sightings;
    const missed = await connection.call('XRANGE', key, since, '+', 'COUNT', sightingsMax);
    if ((missed as unknown[]).length === 0) return log;
    const entries = (missed as [string, [string, string]][]).map(([id, [, text]]) => [id, text] as const);
    return add(tenantId, withoutPushedOut(entries), nowMs);
  }

  return {
    noteSighting(tenantId, sighting) {
      const key = names.of(tenantId).sightings;
      const text = JSON.stringify(toStored(sighting));
      // Plain commands, in this order on one connection: one that Redis may not know yet would come to it behind the next call.
      connection.call('XADD', key, 'MAXLEN', sightingsMax, '*', 's', text).catch(onError);
      connection.call('PEXPIRE', key, sightingsKeptMs).catch(onError);
    },

    lastId: (tenantId) => logs.get(tenantId)?.lastId ?? '-',

    learn(tenantId, entries, nowMs) {
      const known = logs.get(tenantId)?.log;
      known?.expire(nowMs);
      if (entries === '') return known ?? noSightings;
      const lines = entries.split('\n');
      const log = add(tenantId, lines.map(toEntry), nowMs);
      return lines.length < answeredMax ? log : addMissed(tenantId, nowMs);
    },

    trustOf(tenantId, agentIds) {
      const own = names.of(tenantId);
      return Promise.all(
        agentIds.map(async (agentId) => {
          const [numbers, marks] = await Promise.all([
            connection.call('HMGET', own.history(agentId), 'trust', 'clean', 'at'),
            connection.call('LRANGE', own.marks(agentId), 0, -1),
          ]);
          const [parts, clean, atMs] = numbers as (string | null)[];
          return {
            parts: Number(parts ?? trustPartsMax),
            clean: Number(clean ?? 0),
            atMs: Number(atMs ?? 0),
            marks: parseMarks(JSON.parse(`[${(marks as string[]).join()}]`)),
          };
        }),
      );
    },

    async markTrust(tenantId, agentId, mark) {
      const own = names.of(tenantId);
      const [text] = marksText([mark]);
      const keys = [own.history(agentId), own.marks(agentId), own.agents];
      const args = [agentId, mark.atMs, termsOf().parts, mark.parts, JSON.stringify(text)];
      await connection.run(scripts.mark, keys, args);
    },

    resetTrust: (tenantId, agentId, event) =>
      commits.write(tenantId, async (change) => {
        for (const field of ['trust', 'clean']) change.drop(change.names.history(agentId), field);
        change.remove(change.names.marks(agentId));
        change.audit(event);
      }),
  };
}

/** Of the reads those that the others push out again: to take in 512 long ones takes seconds. The last one always stays. */
function withoutPushedOut(
  entries: readonly (readonly [id: string, text: string])[],
): readonly (readonly [id: string, text: string])[] {
  let room = longTextsMax;
  const isKept = ([, text]: readonly [id: string, text: string]): boolean => {
    if (text.length >= longText) room -= text.length;
    return text.length < longText || room >= 0;
  };
  return entries.toReversed().filter(isKept).toReversed();
}

function toEntry(line: string): readonly [id: string, text: string] {
  const space = line.indexOf(' ');
  return [line.slice(0, space), line.slice(space + 1)];
}

/** Ids of a stream are a time and a number. */
function isAfter(id: string, last: string): boolean {
  if (last === '-') return true;
  const [ms = 0, seq = 0] = id.split('-').map(Number);
  const [lastMs = 0, lastSeq = 0] = last.split('-').map(Number);
  return ms > lastMs || (ms === lastMs && seq > lastSeq);
}

const toStored = (sighting: Sighting): object =>
  sighting.kind === 'read' ? { ...sighting, shingles: toBase64(sighting.shingles) } : sighting;

function fromStored(text: string): Sighting {
  const stored = JSON.parse(text) as Sighting & { readonly shingles?: string };
  return stored.kind === 'read' ? { ...stored, shingles: fromBase64(String(stored.shingles)) } : stored;
}

const toBase64 = ({ buffer, byteOffset, byteLength }: Float64Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

const numberBytes = 8;

function fromBase64(text: string): Float64Array {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  return new Float64Array(bytes.buffer, 0, Math.floor(bytes.length / numberBytes));
}

/** What `admit.lua` answers of them. */
export function parseHabits(text: string | undefined): Habits {
  const [calls = 0, firstMs = 0, callsAroundHour = 0, sized = 0, sizeSum = 0, sizeSquares = 0, ...rest] = (
    text ?? ''
  )
    .split(',')
    .map(Number);
  const [windows = 0, windowCalls = 0, lately = 0, mutations = 0] = rest;
  return {
    ...{ calls, firstMs, callsAroundHour, sized, sizeSum, sizeSquares },
    ...{ windows, windowCalls, lately, mutations },
  };
}

export function parseTrust(text: string | undefined, marks: string | undefined): TrustRecord {
  const [parts = trustPartsMax, clean = 0, atMs = 0] = (text ?? '').split(',').map(Number);
  return { parts, clean, atMs, marks: marks ? parseMarks(JSON.parse(`[${marks}]`)) : wholeTrust.marks };
}
