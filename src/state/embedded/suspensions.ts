import type { Store, TenantSuspension } from '../store.ts';
import type { Audit } from './audit.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Database, recordOf, rowToRecord } from './sqlite.ts';

/** Suspensions of whole tenants. All of them are in memory, so that the hot path may ask for each call. */
export interface Suspensions {
  /** At once. */
  find(tenantId: string): TenantSuspension | undefined;
  readonly suspend: Store['suspendTenant'];
  readonly reactivate: Store['reactivateTenant'];
}

export function createEmbeddedSuspensions(db: Database, commits: GroupCommit, audit: Audit): Suspensions {
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

  return {
    find: (tenantId) => held.get(tenantId),

    suspend(suspension, event) {
      const { tenantId } = suspension;
      const work = (): TenantSuspension => {
        const standing = rowToRecord<TenantSuspension>(byId.get(tenantId));
        if (!standing) insert.run(tenantId, JSON.stringify(suspension));
        audit.append(event);
        return standing ?? suspension;
      };
      return commits.write(work, (standing) => held.set(tenantId, standing));
    },

    async reactivate(tenantId, event) {
      const work = (): void => {
        remove.run(tenantId);
        audit.append(event);
      };
      await commits.write(work, () => held.delete(tenantId));
    },
  };
}
