import type { SuspensionStore, TenantSuspension } from '../store.ts';
import type { Link } from './link/link.ts';
import { readRecord } from './records.ts';

/**
 * The field of a tenant's suspension. It stands among the tenant's agents, whose ids are UUIDs; `admit.lua`
 * reads it there, too.
 */
const field = 'suspension';

/**
 * Keeps suspensions of tenants. They are part of what a node remembers of each key, and share the revision of
 * keys.
 */
export function createRedisSuspensions({ connection, names, commits }: Link): SuspensionStore {
  return {
    suspendTenant: (suspension, event) =>
      commits.write(suspension.tenantId, async (change) => {
        const { agents } = change.names;
        const standing = await change.readRecord<TenantSuspension>(agents, field);
        change.audit(event);
        if (standing) return standing;
        change.putRecord(agents, field, suspension);
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

    suspensionOf: (tenantId) => readRecord(connection, names.of(tenantId).agents, field),
  };
}
