import type { AuditEvent, Store } from '../state/store.ts';

/**
 * Wraps the store, so that a write to a tenant's audit log that people hear of wakes the reader of that log.
 */
export function withNudges(store: Store, nudge: (tenantId: string) => void): Store {
  const nudged = async <T>({ tenantId }: AuditEvent, written: Promise<T>): Promise<T> => {
    const result = await written;
    nudge(tenantId);
    return result;
  };
  return {
    ...store,
    addKey: (key, audit) => nudged(audit, store.addKey(key, audit)),
    revokeKey: (tenantId, keyId, audit) => nudged(audit, store.revokeKey(tenantId, keyId, audit)),
    decideApproval: (tenantId, approvalId, decision, audit) =>
      nudged(audit, store.decideApproval(tenantId, approvalId, decision, audit)),
    async expireApprovals(nowMs) {
      const expired = await store.expireApprovals(nowMs);
      for (const tenantId of new Set(expired.map((it) => it.tenantId))) nudge(tenantId);
      return expired;
    },
    openIncident: (incident, audit) => nudged(audit, store.openIncident(incident, audit)),
    changeIncident: (tenantId, incidentId, status, change, audit) =>
      nudged(audit, store.changeIncident(tenantId, incidentId, status, change, audit)),
    alertUsage: (tenantId, alert, audit) => nudged(audit, store.alertUsage(tenantId, alert, audit)),
    appendAudit: (audit) => nudged(audit, store.appendAudit(audit)),
  };
}
