import { setImmediate as turn } from 'node:timers/promises';
import {
  type Habits,
  noSightings,
  type Sighting,
  type Sightings,
  shinglesFromText,
  shinglesToText,
  type TrustMark,
} from '../../core/history.ts';
import {
  createSightingLog,
  createSightingLogs,
  type SightingLog,
  sightingsKeptMs,
} from '../rules/sightings.ts';
import { marksText, parseMarks, trustPartsMax } from '../rules/trust.ts';
import type { AuditEvent, MaybePromise, TrustRecord, TrustTerms } from '../store.ts';
import type { Link } from './link/link.ts';
import { scripts } from './scripts/scripts.ts';

/*
 * Keeps the usual behaviour of agents, their trust, and recent events. `record.lua` adds to the hashes and
 * `admit.lua` answers them. Each tenant has a stream of events. A node gets the events that it does not know
 * yet with its next call.
 */

/** The events of a tenant that a node knows. */
export type SightingsSeen = Pick<RedisHistory, 'lastId' | 'learn'>;

/** The number of events that `admit.lua` answers at once. */
const answeredMax = 16;
/** The number of events that a node asks for at once when it has missed more. */
const pageMax = 64;
/**
 * The limit of a stream's entries. Nodes delete the events that they push out; this limit holds where none
 * does.
 */
const streamMax = 4_096;
const pagesMax = 2 * (streamMax / pageMax);
/**
 * After so many entries the stream is cut by length instead of time. Redis does only one of both with an
 * entry.
 */
const cutEvery = 64;
/**
 * The text of events that is read in one turn, in characters: base64 of some 16,000 shingles, which takes 2
 * to 3 ms.
 */
const charsInTurn = 128 * 1024;

type Entry = readonly [id: string, text: string];

/**
 * Reads and writes what is remembered of agents. `onError` receives the error where an event could not be
 * noted.
 */
export class RedisHistory {
  readonly #link: Link;
  readonly #onError: (error: unknown) => void;
  readonly #termsOf: () => TrustTerms;
  readonly #logs = createSightingLogs(() => createSightingLog((it) => this.#pushedOut.push(it)));
  readonly #lastIds = new WeakMap<SightingLog, string>();
  readonly #ids = new WeakMap<Sighting, string>();
  readonly #catchingUp = new Map<string, Promise<Sightings>>();
  #pushedOut: Sighting[] = [];
  #noted = 0;

  constructor(link: Link, onError: (error: unknown) => void, termsOf: () => TrustTerms) {
    this.#link = link;
    this.#onError = onError;
    this.#termsOf = termsOf;
  }

  noteSighting(tenantId: string, sighting: Sighting): void {
    const key = this.#link.names.of(tenantId).sightings;
    const text = JSON.stringify(toStored(sighting));
    this.#noted += 1;
    const bound =
      this.#noted % cutEvery === 0 ? ['MAXLEN', streamMax] : ['MINID', oldestId(this.lastId(tenantId))];
    // These plain commands reach Redis before the next call. A script that Redis does not know yet would be
    // sent a second time, behind that call.
    this.#link.connection.call('XADD', key, ...bound, '*', 's', text).catch(this.#onError);
    this.#link.connection.call('PEXPIRE', key, sightingsKeptMs).catch(this.#onError);
  }

  /** Returns the id of the last event that this node knows; '-' where it knows none. */
  lastId(tenantId: string): string {
    const log = this.#logs.find(tenantId);
    return (log && this.#lastIds.get(log)) ?? '-';
  }

  /** Adds the events that `admit.lua` answered, and asks for more where those were not all. */
  learn(tenantId: string, entries: string, nowMs: number): MaybePromise<Sightings> {
    if (entries === '') {
      this.#logs.expire(tenantId, nowMs);
      return this.#logs.find(tenantId) ?? noSightings;
    }
    const lines = entries.split('\n');
    const log = this.#add(tenantId, lines.map(toEntry), nowMs);
    return lines.length < answeredMax ? log : this.#catchUp(tenantId, nowMs);
  }

  trustOf(tenantId: string, agentIds: readonly string[]): Promise<readonly TrustRecord[]> {
    const own = this.#link.names.of(tenantId);
    return Promise.all(
      agentIds.map(async (agentId) => {
        const [numbers, marks] = await Promise.all([
          this.#link.connection.call('HMGET', own.history(agentId), 'trust', 'clean', 'at'),
          this.#link.connection.call('LRANGE', own.marks(agentId), 0, -1),
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
  }

  async markTrust(tenantId: string, agentId: string, mark: TrustMark): Promise<void> {
    const own = this.#link.names.of(tenantId);
    const [text] = marksText([mark]);
    const keys = [own.history(agentId), own.marks(agentId), own.agents];
    const args = [agentId, mark.atMs, this.#termsOf().parts, mark.parts, JSON.stringify(text)];
    await this.#link.connection.run(scripts.mark, keys, args);
  }

  resetTrust(tenantId: string, agentId: string, event: AuditEvent): Promise<void> {
    return this.#link.commits.write(tenantId, async (change) => {
      for (const field of ['trust', 'clean']) change.drop(change.names.history(agentId), field);
      change.remove(change.names.marks(agentId));
      change.audit(event);
    });
  }

  #add(tenantId: string, entries: readonly Entry[], nowMs: number): Sightings {
    const log = this.#logs.open(tenantId);
    for (const [id, text] of entries) {
      // Two calls may have asked at once, and got the same events.
      if (!isAfter(id, this.#lastIds.get(log) ?? '-')) continue;
      this.#lastIds.set(log, id);
      const sighting = fromStored(text);
      this.#ids.set(sighting, id);
      log.add(sighting);
    }
    this.#logs.expire(tenantId, nowMs);
    this.#dropPushedOut(tenantId);
    return log;
  }

  /**
   * Deletes the events that this node has dropped for lack of room from the stream. Other nodes would drop
   * them as well.
   */
  #dropPushedOut(tenantId: string): void {
    const gone = this.#pushedOut.flatMap((it) => this.#ids.get(it) ?? []);
    this.#pushedOut = [];
    if (gone.length > 0)
      this.#link.connection
        .call('XDEL', this.#link.names.of(tenantId).sightings, ...gone)
        .catch(this.#onError);
  }

  /**
   * Reads what an idle or new node has missed, which is more than an answer holds. All calls that come
   * meanwhile share the promise.
   */
  #catchUp(tenantId: string, nowMs: number): Promise<Sightings> {
    const running =
      this.#catchingUp.get(tenantId) ??
      this.#addMissed(tenantId, nowMs).finally(() => this.#catchingUp.delete(tenantId));
    this.#catchingUp.set(tenantId, running);
    return running;
  }

  async #addMissed(tenantId: string, nowMs: number): Promise<Sightings> {
    const key = this.#link.names.of(tenantId).sightings;
    for (let page = 0; page < pagesMax; page += 1) {
      const last = this.lastId(tenantId);
      const since = last === '-' ? '-' : `(${last}`;
      const missed = await this.#link.connection.call('XRANGE', key, since, '+', 'COUNT', pageMax);
      const entries = (missed as [string, [string, string]][]).map(([id, [, text]]): Entry => [id, text]);
      await this.#addInTurns(tenantId, entries, nowMs);
      if (entries.length < pageMax) break;
    }
    return this.#logs.find(tenantId) ?? noSightings;
  }

  /** Adds events in turns, between which other calls are handled. */
  async #addInTurns(tenantId: string, entries: readonly Entry[], nowMs: number): Promise<void> {
    let chars = 0;
    for (const entry of entries) {
      this.#add(tenantId, [entry], nowMs);
      chars += entry[1].length;
      if (chars < charsInTurn) continue;
      chars = 0;
      await turn();
    }
  }
}

function toEntry(line: string): Entry {
  const space = line.indexOf(' ');
  return [line.slice(0, space), line.slice(space + 1)];
}

/** Tells whether an id of a stream comes after another. Such ids are a time and a number. */
function isAfter(id: string, last: string): boolean {
  if (last === '-') return true;
  const [ms = 0, seq = 0] = id.split('-').map(Number);
  const [lastMs = 0, lastSeq = 0] = last.split('-').map(Number);
  return ms > lastMs || (ms === lastMs && seq > lastSeq);
}

/**
 * Returns the time of the oldest events to keep. Ids have the time of Redis, so no node's clock can be wrong.
 */
const oldestId = (lastId: string): number =>
  lastId === '-' ? 0 : Math.max(0, Number(lastId.split('-')[0]) - sightingsKeptMs);

const toStored = (sighting: Sighting): object =>
  sighting.kind === 'read' ? { ...sighting, shingles: shinglesToText(sighting.shingles) } : sighting;

function fromStored(text: string): Sighting {
  const stored = JSON.parse(text) as Sighting & { readonly shingles?: string };
  return stored.kind === 'read' ? { ...stored, shingles: shinglesFromText(String(stored.shingles)) } : stored;
}

/** The usual behaviour of an agent, without what the present call adds. */
export type UsualOf = Omit<Habits, 'lately' | 'mutations'>;

/** Parses the usual behaviour of an agent as `admit.lua` answers it. */
export function parseUsual(text: string | undefined): UsualOf {
  const numbers = (text ?? '').split(',').map(Number);
  const [calls = 0, firstMs = 0, callsAroundHour = 0, sized = 0, sizeSum = 0, sizeSquares = 0, ...rest] =
    numbers;
  const [windows = 0, windowCalls = 0] = rest;
  return { calls, firstMs, callsAroundHour, sized, sizeSum, sizeSquares, windows, windowCalls };
}

/** Parses the trust of an agent as `admit.lua` answers it, without the marks. */
export function parseTrust(text: string | undefined): Omit<TrustRecord, 'marks'> {
  const [parts = trustPartsMax, clean = 0, atMs = 0] = (text ?? '').split(',').map(Number);
  return { parts, clean, atMs };
}
