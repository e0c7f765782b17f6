import { createCache } from '../../cache.ts';
import type { RedisConnection } from './connection.ts';
import type { Names } from './names.ts';

const tenantsMax = 2_048;

/**
 * Remembers something of each tenant that is read from the state as a whole, and reads it anew when `admit` has found another
 * revision of it. Reads that begin while the same revision is wanted share one.
 */
interface Follower<T> {
  /** `admit` has found this revision. */
  saw(tenantId: string, revision: string): void;
  /** This node has changed it: what is remembered, or being read, counts no longer. */
  forget(tenantId: string): void;
  of(tenantId: string): T | Promise<T>;
}

export function createFollower<T>(
  kind: 'policies' | 'credentials' | 'routes',
  read: (tenantId: string) => Promise<T>,
  names: Names,
  connection: RedisConnection,
): Follower<T> {
  const held = createCache<{ readonly revision: string; readonly value: T }>(tenantsMax);
  const wanted = createCache<string>(tenantsMax);
  const reading = new Map<string, { readonly wanted: string | undefined; readonly value: Promise<T> }>();
  let changes = 0;

  async function load(tenantId: string, wantedBefore: string | undefined): Promise<T> {
    // The revision comes first: what is read after it is at least as new, and a newer one is noticed by the next call.
    const { revisions } = names.of(tenantId);
    const revision = String((await connection.call('HGET', revisions, kind)) ?? '-');
    const value = await read(tenantId);
    held.set(tenantId, { revision, value });
    // A newer revision is wanted meanwhile, so this one was read too early.
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
    saw: wanted.set,
    forget(tenantId) {
      changes += 1;
      wanted.set(tenantId, `changed here ${changes}`);
    },
    of(tenantId) {
      const standing = held.get(tenantId);
      const revision = wanted.get(tenantId);
      return standing && standing.revision === revision ? standing.value : loadShared(tenantId, revision);
    },
  };
}
