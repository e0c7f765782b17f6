import { GatewayError } from '../../errors.ts';
import {
  approvalsMax,
  asOf,
  decide,
  holdBy,
  pendingMax,
  pendingPerAgentMax,
  tooManyPending,
} from '../approval.ts';
import type { ApprovalDecision, ApprovalRecord, AuditEvent, Hold, Page, Paged } from '../store.ts';
import type { Audit } from './audit.ts';
import { createRoom } from './bound.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Condition, createListing } from './listing.ts';
import { type Database, recordOf, toRecord } from './sqlite.ts';

export interface Approvals {
  /** In one transaction: a grant is spent once, and of many that ask at once one opens the approval. */
  hold(approval: ApprovalRecord): Promise<Hold>;
  decide(
    tenantId: string,
    approvalId: string,
    decision: ApprovalDecision,
    audit: AuditEvent,
  ): Promise<{ readonly isDecidedNow: boolean; readonly approval: ApprovalRecord } | undefined>;
  byId(tenantId: string, approvalId: string, nowMs: number): ApprovalRecord | undefined;
  list(
    tenantId: string,
    status: ApprovalRecord['status'] | undefined,
    nowMs: number,
    page: Page,
  ): Paged<ApprovalRecord>;
}

export function createApprovals(db: Database, commits: GroupCommit, audit: Audit): Approvals {
  const last = db.prepare(`
    SELECT record FROM approvals WHERE tenant_id = ? AND call_hash = ? AND counts_until_ms > ?
    ORDER BY created_at_ms DESC, rowid DESC LIMIT 1
  `);
  const denied = db.prepare(`
    SELECT record FROM approvals
    WHERE tenant_id = ? AND denial_hash = ? AND status = 'denied' AND counts_until_ms > ?
    ORDER BY created_at_ms DESC, rowid DESC LIMIT 1
  `);
  const pending = db.prepare(`
    SELECT count(*) AS held FROM approvals WHERE tenant_id = ? AND status = 'pending' AND expires_at_ms > ?
  `);
  const pendingOfAgent = db.prepare(`
    SELECT count(*) AS held FROM approvals
    WHERE tenant_id = ? AND agent_id = ? AND status = 'pending' AND expires_at_ms > ?
  `);
  const all = db.prepare('SELECT count(*) AS held FROM approvals WHERE tenant_id = ?');
  const forget = db.prepare(`
    DELETE FROM approvals WHERE approval_id IN (
      SELECT approval_id FROM approvals WHERE tenant_id = ? AND counts_until_ms <= ?
      ORDER BY created_at_ms, approval_id LIMIT ${approvalsMax / 8}
    )
  `);
  const insert = db.prepare(`
    INSERT INTO approvals (approval_id, tenant_id, call_hash, status, expires_at_ms, record)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
  `);
  const update = db.prepare('UPDATE approvals SET status = ?, record = ? WHERE approval_id = ?');
  const byId = db.prepare('SELECT record FROM approvals WHERE tenant_id = ? AND approval_id = ?');
  const list = createListing(db, {
    table: 'approvals',
    order: ['created_at_ms', 'approval_id'],
    toItem: recordOf<ApprovalRecord>,
  });

  const mayWait = createRoom(pendingMax, (tenantId, nowMs) => Number(pending.get(tenantId, nowMs)?.['held']));
  const mayStand = createRoom(approvalsMax, (tenantId) => Number(all.get(tenantId)?.['held']));

  /** For one more; what counts no more makes it. */
  function hasRoom({ tenantId, agentId, createdAtMs }: ApprovalRecord): boolean {
    const ofAgent = Number(pendingOfAgent.get(tenantId, agentId, createdAtMs)?.['held']);
    if (ofAgent >= pendingPerAgentMax || !mayWait(tenantId, createdAtMs)) return false;
    return mayStand(tenantId, createdAtMs) || forget.run(tenantId, createdAtMs) > 0;
  }

  const save = (changed: ApprovalRecord): ApprovalRecord => {
    update.run(changed.status, JSON.stringify(changed), changed.approvalId);
    return changed;
  };

  function standing({ tenantId, callHash, denialHash, createdAtMs }: ApprovalRecord): Hold | undefined {
    const rows = [last.get(tenantId, callHash, createdAtMs), denied.get(tenantId, denialHash, createdAtMs)];
    for (const row of rows) {
      const found = toRecord<ApprovalRecord>(row);
      const hold = found && holdBy(found, createdAtMs);
      if (!hold) continue;
      if (hold.approval !== found) save(hold.approval);
      return hold;
    }
    return undefined;
  }

  function open(approval: ApprovalRecord): Hold {
    const { approvalId, tenantId, callHash, status, expiresAtMs } = approval;
    if (!hasRoom(approval)) throw tooManyPending();
    if (insert.run(approvalId, tenantId, callHash, status, expiresAtMs, JSON.stringify(approval)) === 0)
      throw new GatewayError('CONFLICT', 'There is such an approval already.');
    return { kind: 'pending', approval, isNew: true };
  }

  function find(tenantId: string, approvalId: string, nowMs: number): ApprovalRecord | undefined {
    const approval = toRecord<ApprovalRecord>(byId.get(tenantId, approvalId));
    return approval && asOf(approval, nowMs);
  }

  return {
    hold: (approval) => commits.write(() => standing(approval) ?? open(approval)),

    decide: (tenantId, approvalId, made, event) =>
      commits.write(() => {
        const approval = find(tenantId, approvalId, made.nowMs);
        if (approval?.status !== 'pending') return approval && { isDecidedNow: false, approval };
        const decided = save(decide(approval, made));
        audit.append(event);
        return { isDecidedNow: true, approval: decided };
      }),

    byId: find,

    list(tenantId, status, nowMs, page) {
      const ofTenant: Condition = ['tenant_id = ?', tenantId];
      const { items, nextCursor } = list([ofTenant, ...conditionsOf(status, nowMs)], page);
      return { items: items.map((it) => asOf(it, nowMs)), nextCursor };
    },
  };
}

function conditionsOf(status: ApprovalRecord['status'] | undefined, nowMs: number): readonly Condition[] {
  if (status === undefined) return [];
  if (status === 'expired')
    return [
      ['status = ?', 'pending'],
      ['expires_at_ms <= ?', nowMs],
    ];
  const isStatus: Condition = ['status = ?', status];
  return status === 'pending' ? [isStatus, ['expires_at_ms > ?', nowMs]] : [isStatus];
}
