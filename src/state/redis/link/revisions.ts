import { createCache } from '../../cache.ts';
import type { MaybePromise } from '../../store.ts';
import type { RedisConnection } from './connection.ts';
import type { Names } from './names.ts';

/** The kinds of a tenant's records that nodes remember, in the order of their revisions from `admit.lua`. */
const kinds = ['keys', 'policies', 'credentials', 'routes'] as const;
export type RevisedKind = (typeof kinds)[number];

const tenantsMax = 2_048;
const tenantsHeardMax = 4_096;

/** Keeps the revisions of records that this node has heard of, and what it remembers of these records. */
export class Revisions {
  readonly #connection: RedisConnection;
  readonly #names: Names;
  /** The last heard revision of each tenant's keys; undefined since this node changed them itself. */
  readonly #keys = createCache<string>(tenantsHeardMax);
  readonly #followers = new Map<RevisedKind, ReturnType<typeof createFollower>>();

  constructor(connection: RedisConnection, names: Names) {
    this.#connection = connection;
    this.#names = names;
  }

  /** Takes the revisions that `admit` has found, in the order of `kinds`. */
  saw(tenantId: string, revisions: readonly string[]): void {
    for (const [at, kind] of kinds.entries()) {
      const revision = revisions[at] ?? '';
      if (kind === 'keys') this.#keys.set(tenantId, revision);
      else this.#followers.get(kind)?.saw(tenantId, revision);
    }
  }

  /**
   * Notes that this node may have changed such records. What is remembered of them, or being read, counts no
   * longer.
   */
  changed(tenantId: string, kind: RevisedKind): void {
    if (kind === 'keys') this.#keys.delete(tenantId);
    else this.#followers.get(kind)?.forget(tenantId);
  }

  /** Asks for the revision of such records, for callers that no `admit` comes before. */
  async ask(tenantId: string, kind: Exclude<RevisedKind, 'keys'>): Promise<void> {
    const { revisions } = this.#names.of(tenantId);
    this.#followers.get(kind)?.saw(tenantId, await revisionOf(this.#connection, revisions, kind));
  }

  /** Tells whether no later revision of the tenant's keys was heard of. */
  isLastOfKeys(tenantId: string, revision: string): boolean {
    return this.#keys.get(tenantId) === revision;
  }

  /**
   * Returns a function that returns what `read` makes of all records of a kind. It remembers the result, and
   * reads anew when `admit` has found another revision. Calls that want the same revision share one read.
   */
  follow<T>(
    kind: Exclude<RevisedKind, 'keys'>,
    read: (tenantId: string) => Promise<T>,
  ): (tenantId: string) => MaybePromise<T> {
    const follower = createFollower(kind, read, this.#names, this.#connection);
    this.#followers.set(kind, follower);
    return follower.of;
  }
}

const revisionOf = async (connection: RedisConnection, revisions: string, kind: RevisedKind) =>
  String((await connection.call('HGET', revisions, kind)) ?? '-');

function createFollower<T>(
  kind: RevisedKind,
  read: (tenantId: string) => Promise<T>,
  names: Names,
  connection: RedisConnection,
) {
  const held = createCache<{ readonly revision: string; readonly value: T }>(tenantsMax);
  const wanted = createCache<string>(tenantsMax);
  const reading = new Map<string, { readonly wanted: string | undefined; readonly value: Promise<T> }>();
  let changes = 0;

  async function load(tenantId: string, wantedBefore: string | undefined): Promise<T> {
    // The revision is read first, so the records are at least as new. The next call notices a newer revision.
    const { revisions } = names.of(tenantId);
    const revision = await revisionOf(connection, revisions, kind);
    const value = await read(tenantId);
    held.set(tenantId, { revision, value });
    // Where a newer revision is wanted meanwhile, this one was read too early.
    if (wanted.get(tenantId) === wantedBefore) wanted.set(tenantId, revision);
    return value;
  }

  function loadShared(tenantId: string, revision: string | undefined): Promise<T> {
    const shared = reading.get(tenantId);
    if (shared && shared.wanted === revision) return shared.value;
    const value = load(tenantId, revision).finally(() => {
      if (reading.get(tenantId)?.value === value) reading.delete(tenantId);
    });
    reading.set(tenantId, { wanted: revision, value });
    return value;
  }

  return {
    /**
     * Notes the wanted revision, and reads it where it is not held yet. Should the state go away, a later
     * call finds it here.
     */
    saw(tenantId: string, revision: string) {
      wanted.set(tenantId, revision);
      // A call that needs it after this has failed reads it again, and gets the error.
      if (held.get(tenantId)?.revision !== revision) loadShared(tenantId, revision).catch(() => undefined);
    },
    forget(tenantId: string) {
      changes += 1;
      wanted.set(tenantId, `changed here ${changes}`);
    },
    of(tenantId: string): MaybePromise<T> {
      const standing = held.get(tenantId);
      const revision = wanted.get(tenantId);
      return standing && standing.revision === revision ? standing.value : loadShared(tenantId, revision);
    },
  };
}
