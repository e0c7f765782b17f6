import type { Store, TenantSuspension } from '../store.ts';
import type { Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { toRecord } from './records.ts';

type Suspensions = Pick<Store, 'suspendTenant' | 'reactivateTenant' | 'suspensionOf'>;

/** Among the agents of a tenant, whose ids are UUIDs: what suspends them all. `admit.lua` looks there as well. */
const field = 'suspension';

/** Suspensions of whole tenants: part of the records that a node remembers of each key, and of their revision. */
export function createRedisSuspensions(
  connection: RedisConnection,
  names: Names,
  commits: Commits,
): Suspensions {
  return {
    suspendTenant: (suspension, event) =>
      commits.write(suspension.tenantId, async (change) => {
        const { agents } = change.names;
        const standing = toRecord<TenantSuspension>(await change.read(agents, field));
        change.audit(event);
        if (standing) return standing;
        change.put(agents, field, JSON.stringify(suspension));
        change.revise('keys');
        return suspension;
      }),

    reactivateTenant: (tenantId, event) =>
      commits.write(tenantId, async (change) => {
        const { agents } = change.names;
        change.audit(event);
        if ((await change.read(agents, field)) === undefined) return;
        change.drop(agents, field);
        change.revise('keys');
      }),

    suspensionOf: async (tenantId) =>
      toRecord<TenantSuspension>(await connection.call('HGET', names.of(tenantId).agents, field)),
  };
}
