import { GatewayError } from '../../errors.ts';
import type { ApprovalRecord } from '../store.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Database, toRecord } from './sqlite.ts';

export interface Approvals {
  open(approval: ApprovalRecord): Promise<ApprovalRecord>;
  byId(tenantId: string, approvalId: string, nowMs: number): ApprovalRecord | undefined;
}

export function createApprovals(db: Database, commits: GroupCommit): Approvals {
  const pending = db.prepare(`
    SELECT record FROM approvals
    WHERE tenant_id = ? AND call_hash = ? AND status = 'pending' AND expires_at_ms > ? LIMIT 1
  `);
  const insert = db.prepare(`
    INSERT INTO approvals (approval_id, tenant_id, call_hash, status, expires_at_ms, record)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
  `);
  const byId = db.prepare('SELECT record FROM approvals WHERE tenant_id = ? AND approval_id = ?');

  return {
    open(approval) {
      return commits.write(() => {
        const { approvalId, tenantId, callHash, status, createdAtMs, expiresAtMs } = approval;
        const standing = toRecord<ApprovalRecord>(pending.get(tenantId, callHash, createdAtMs));
        if (standing) return standing;
        const values = [approvalId, tenantId, callHash, status, expiresAtMs, JSON.stringify(approval)];
        if (insert.run(...values) === 0) {
          throw new GatewayError('CONFLICT', 'There is such an approval already.');
        }
        return approval;
      });
    },

    byId(tenantId, approvalId, nowMs) {
      const approval = toRecord<ApprovalRecord>(byId.get(tenantId, approvalId));
      const isOver = approval?.status === 'pending' && nowMs >= approval.expiresAtMs;
      return isOver ? { ...approval, status: 'expired' } : approval;
    },
  };
}
