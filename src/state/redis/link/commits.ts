import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../../core/errors.ts';
import { newId } from '../../../core/ids.ts';
import { beforeFirst, toStoredEntry } from '../../rules/audit-entry.ts';
import type { AuditEvent } from '../../store.ts';
import { toRecord } from '../records.ts';
import { scripts } from '../scripts/scripts.ts';
import type { RedisConnection } from './connection.ts';
import type { Names, TenantNames } from './names.ts';
import type { RevisedKind, Revisions } from './revisions.ts';

/*
 * Makes changes to records, with their audit entries. A change reads what it needs and decides. One script
 * writes it if all that it has read still stands; else it is tried again. Changes of one tenant wait for each
 * other on a node, so that only other nodes come between. When an answer is lost, nobody knows whether the
 * change was made; it is reported as failed.
 */

/** A change under way: reads come first, writes are made together at the end. */
export interface Change {
  readonly names: TenantNames;
  /** Reads a field; undefined where there is none. This must still be so when the change is made. */
  read(key: string, field: string): Promise<string | undefined>;
  readRecord<T>(key: string, id: string): Promise<T | undefined>;
  put(key: string, field: string, text: string): void;
  putRecord(key: string, id: string, record: object): void;
  drop(key: string, field: string): void;
  /** Removes the whole key. */
  remove(key: string): void;
  /** Puts a place into an index by time; beyond `most` the oldest go, with their records. */
  index(key: string, place: string, bound?: { readonly most: number; readonly records: string }): void;
  /**
   * Tells whether fewer than `most` members end after `fromMs`. This must still be so when the change is
   * made.
   */
  hasRoom(key: string, fromMs: number, most: number): Promise<boolean>;
  /** Adds a member that counts until `untilMs`, and removes those that ended before `fromMs`. */
  enter(key: string, id: string, time: { readonly fromMs: number; readonly untilMs: number }): void;
  leave(key: string, id: string): void;
  /** Notes the size of a record. Records go that `bytesMax` have been noted after. */
  amass(key: string, field: string, size: Size): void;
  /**
   * Notes the end of a record, and removes some that have ended long ago. So the record goes when later ones
   * are written.
   */
  endRecord(ending: Ending): void;
  /** Makes all nodes that remember records of this kind read them anew. */
  revise(kind: RevisedKind): void;
  /**
   * Makes a first revision where there is none. Without one, a Redis that has lost everything would look as
   * it did before.
   */
  seedRevision(): void;
  audit(event: AuditEvent): void;
}

interface Size {
  readonly bytes: number;
  readonly bytesMax: number;
  readonly records: string;
}

interface Ending {
  /** The key of the places by their ends. */
  readonly key: string;
  readonly index: string;
  readonly records: string;
  readonly place: string;
  readonly endsAtMs: number;
  /**
   * The time before which records must have ended to be removed. Some are, while there are more than `most`.
   */
  readonly beforeMs: number;
  readonly most: number;
}

const attemptsMax = 40;
const waitingMax = 4_000;

/**
 * An operation of `commit.lua`. Keys beside the first one stand in `others`, by name; their numbers become
 * the second argument.
 */
type Operation = readonly [
  name: string,
  key: string,
  first: string,
  second: string,
  others?: readonly string[],
];

export class Commits {
  readonly #connection: RedisConnection;
  readonly #names: Names;
  readonly #revisions: Revisions;
  readonly #lines = new Map<string, { last: Promise<unknown>; waiting: number }>();

  constructor(connection: RedisConnection, names: Names, revisions: Revisions) {
    this.#connection = connection;
    this.#names = names;
    this.#revisions = revisions;
  }

  /** Makes the change of `work`, or none if it throws or writes nothing. `work` may be called again. */
  write<T>(tenantId: string, work: (change: Change) => Promise<T>): Promise<T> {
    const line = this.#lines.get(tenantId) ?? { last: Promise.resolve(), waiting: 0 };
    if (line.waiting >= waitingMax)
      return Promise.reject(new GatewayError('GATEWAY_BUSY', 'Too many changes wait for the state.'));
    line.waiting += 1;
    const made = line.last
      .then(() => this.#untilMade(tenantId, work))
      .finally(() => {
        line.waiting -= 1;
        if (line.waiting === 0) this.#lines.delete(tenantId);
      });
    // The next change goes on whether or not this one was made.
    line.last = made.catch(() => undefined);
    this.#lines.set(tenantId, line);
    return made;
  }

  async #attempt<T>(tenantId: string, work: (change: Change) => Promise<T>) {
    const own = this.#names.of(tenantId);
    const connection = this.#connection;
    const checks: Operation[] = [];
    const writes: Operation[] = [];
    const events: AuditEvent[] = [];
    const revised = new Set<RevisedKind>();
    const read = async (key: string, field: string): Promise<string | undefined> => {
      const text = (await connection.call('HGET', key, field)) as string | null;
      checks.push(['has', key, field, text ?? '']);
      return text ?? undefined;
    };
    const put = (key: string, field: string, text: string) => writes.push(['put', key, field, text]);
    const result = await work({
      names: own,
      read,
      readRecord: async (key, id) => toRecord(await read(key, id)),
      put,
      putRecord: (key, id, record) => put(key, id, JSON.stringify(record)),
      drop: (key, field) => writes.push(['drop', key, field, '']),
      remove: (key) => writes.push(['remove', key, '', '']),
      index(key, place, bound) {
        writes.push(['index', key, place, '']);
        if (bound) writes.push(['trim', key, String(bound.most), '', [bound.records]]);
      },
      async hasRoom(key, fromMs, most) {
        checks.push(['room', key, String(fromMs), String(most)]);
        return Number(await connection.call('ZCOUNT', key, `(${fromMs}`, '+inf')) < most;
      },
      enter(key, id, { fromMs, untilMs }) {
        writes.push(['ended', key, String(fromMs), ''], ['ending', key, String(untilMs), id]);
      },
      leave: (key, id) => writes.push(['leave', key, id, '']),
      amass(key, field, { bytes, bytesMax, records }) {
        writes.push(['grow', key, String(bytes), field], ['shed', key, String(bytesMax), '', [records]]);
      },
      endRecord({ key, index, records, place, endsAtMs, beforeMs, most }) {
        writes.push(['ending', key, String(endsAtMs), place]);
        writes.push(['prune', key, `${beforeMs} ${most}`, '', [index, records]]);
      },
      seedRevision: () => writes.push(['seed', own.revisions, 'keys', newId()]),
      revise(kind) {
        put(own.revisions, kind, newId());
        revised.add(kind);
      },
      audit: (event) => events.push(event),
    });
    if (writes.length + events.length === 0) return { isMade: true, result };
    if (events.length > 0) await this.#addEntries(own, events, checks, writes);
    try {
      return { isMade: await this.#commit([...checks, ...writes]), result };
    } finally {
      // This holds even where nobody hears whether the change was made.
      for (const kind of revised) this.#revisions.changed(tenantId, kind);
    }
  }

  async #addEntries(
    own: TenantNames,
    events: readonly AuditEvent[],
    checks: Operation[],
    writes: Operation[],
  ) {
    const [entries, last] = await Promise.all([
      this.#connection.call('LLEN', own.audit),
      this.#connection.call('LINDEX', own.audit, -1),
    ]);
    let seq = Number(entries);
    let head = typeof last === 'string' ? last.slice(0, 64) : beforeFirst;
    checks.push(['audit', own.audit, String(seq), head]);
    for (const event of events) {
      seq += 1;
      const { entry, hash } = toStoredEntry(event, seq, head);
      head = hash;
      writes.push(['log', own.audit, hash + entry, '']);
    }
  }

  async #commit(operations: readonly Operation[]): Promise<boolean> {
    const keys = [...new Set(operations.flatMap(([, key, , , others = []]) => [key, ...others]))];
    const numberOf = (key: string) => keys.indexOf(key) + 1;
    const args = operations.flatMap(([name, key, first, second, others]) => [
      name,
      numberOf(key),
      first,
      others ? others.map(numberOf).join(' ') : second,
    ]);
    return (await this.#connection.run(scripts.commit, keys, args)) === 1;
  }

  async #untilMade<T>(tenantId: string, work: (change: Change) => Promise<T>): Promise<T> {
    for (let at = 0; at < attemptsMax; at += 1) {
      const { isMade, result } = await this.#attempt(tenantId, work);
      if (isMade) return result;
      await sleep(Math.random() * Math.min(5 * 2 ** at, 100));
    }
    throw new GatewayError('STATE_UNAVAILABLE', 'Too many others change the same records.', {
      retryAfterSeconds: 1,
    });
  }
}
