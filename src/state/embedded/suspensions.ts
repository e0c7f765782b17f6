import type { SuspensionStore, TenantSuspension } from '../store.ts';
import type { Disk } from './disk.ts';
import { recordOf, rowToRecord } from './sqlite.ts';

/**
 * Keeps suspensions of whole tenants. All of them are in memory, so that the hot path may ask for each call.
 */
export type Suspensions = ReturnType<typeof createEmbeddedSuspensions>;

export function createEmbeddedSuspensions({ db, commits, audit }: Disk) {
  const all = db.prepare('SELECT record FROM suspensions');
  const insert = db.prepare('INSERT INTO suspensions (tenant_id, record) VALUES (?, ?)');
  const remove = db.prepare('DELETE FROM suspensions WHERE tenant_id = ?');
  const byId = db.prepare('SELECT record FROM suspensions WHERE tenant_id = ?');
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
        const standing = rowToRecord<TenantSuspension>(byId.get(tenantId));
        if (!standing) insert.run(tenantId, JSON.stringify(suspension));
        audit.append(event);
        return standing ?? suspension;
      };
      return commits.write(work, (standing) => held.set(tenantId, standing));
    },

    async reactivateTenant(tenantId, event) {
      const work = (): void => {
        remove.run(tenantId);
        audit.append(event);
      };
      await commits.write(work, () => held.delete(tenantId));
    },
  };
  return { find, store };
}
