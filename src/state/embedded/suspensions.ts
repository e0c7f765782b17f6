import type { SuspensionStore, TenantSuspension } from '../store.ts';
import type { Disk } from './disk.ts';
import { createRecordTable } from './record-table.ts';
import { recordOf } from './sqlite.ts';

/**
 * Keeps suspensions of whole tenants. All of them are in memory, so that the hot path may ask for each call.
 */
export type Suspensions = ReturnType<typeof createEmbeddedSuspensions>;

export function createEmbeddedSuspensions({ db, commits, audit }: Disk) {
  const all = db.prepare('SELECT record FROM suspensions');
  const table = createRecordTable<TenantSuspension>(db, 'suspensions', ['tenant_id']);
  const held = new Map(
    all
      .all()
      .map(recordOf<TenantSuspension>)
      .map((it) => [it.tenantId, it]),
  );

  /** Returns a tenant's suspension, from memory; undefined where there is none. */
  const find = (tenantId: string) => held.get(tenantId);
  const store: SuspensionStore = {
    suspensionOf: async (tenantId) => find(tenantId),

    suspendTenant(suspension, event) {
      const { tenantId } = suspension;
      const work = (): TenantSuspension => {
        const standing = table.find(tenantId) ?? table.put(suspension, tenantId);
        audit.append(event);
        return standing;
      };
      return commits.write(work, (standing) => held.set(tenantId, standing));
    },

    async reactivateTenant(tenantId, event) {
      const work = (): void => {
        table.remove(tenantId);
        audit.append(event);
      };
      await commits.write(work, () => held.delete(tenantId));
    },
  };
  return { find, store };
}
