import { GatewayError } from '../../core/errors.ts';
import {
  approvalsMax,
  asOf,
  decidedApproval,
  expired,
  expiredPerStepMax,
  expiryOf,
  holdBy,
  pendingMax,
  pendingPerAgentMax,
  tooManyPending,
} from '../rules/approval.ts';
import type { ApprovalFilter, ApprovalRecord, ApprovalStore, Hold } from '../store.ts';
import { createRoom } from './bound.ts';
import type { Disk } from './disk.ts';
import { type Condition, createListing, given, records } from './listing.ts';
import { type Database, recordOf, rowToRecord } from './sqlite.ts';

const statements = (db: Database) => ({
  last: db.prepare(`
    SELECT record FROM approvals WHERE tenant_id = ? AND call_hash = ? AND counts_until_ms > ?
    ORDER BY rowid DESC LIMIT 1
  `),
  denied: db.prepare(`
    SELECT record FROM approvals
    WHERE tenant_id = ? AND denial_hash = ? AND status = 'denied' AND counts_until_ms > ?
    ORDER BY counts_until_ms DESC, approval_id DESC LIMIT 1
  `),
  pending: db.prepare(`
    SELECT count(*) AS held FROM approvals WHERE tenant_id = ? AND status = 'pending' AND expires_at_ms > ?
  `),
  pendingOfAgent: db.prepare(`
    SELECT count(*) AS held FROM approvals
    WHERE tenant_id = ? AND own_agent_id = ? AND status = 'pending' AND expires_at_ms > ?
  `),
  all: db.prepare('SELECT count(*) AS held FROM approvals WHERE tenant_id = ?'),
  forget: db.prepare(`
    DELETE FROM approvals WHERE approval_id IN (
      SELECT approval_id FROM approvals WHERE tenant_id = ? AND counts_until_ms <= ?
      ORDER BY created_at_ms, approval_id LIMIT ${approvalsMax / 8}
    )
  `),
  insert: db.prepare(`
    INSERT INTO approvals (approval_id, tenant_id, call_hash, status, expires_at_ms, record)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
  `),
  update: db.prepare('UPDATE approvals SET status = ?, record = ? WHERE approval_id = ?'),
  later: db.prepare(`
    SELECT 1 AS found FROM approvals WHERE tenant_id = ? AND call_hash = ?
    AND rowid > (SELECT rowid FROM approvals WHERE approval_id = ?) LIMIT 1
  `),
  ended: db.prepare(`
    SELECT record FROM approvals WHERE status = 'pending' AND expires_at_ms <= ?
    ORDER BY expires_at_ms LIMIT ${expiredPerStepMax}
  `),
  byId: db.prepare('SELECT record FROM approvals WHERE tenant_id = ? AND approval_id = ?'),
});

/** Opens the table of approvals. Changes belong to the running transaction. */
function createApprovalTable(db: Database) {
  const sql = statements(db);
  const list = createListing(db, {
    table: 'approvals',
    order: ['created_at_ms', 'approval_id'],
    ...records<ApprovalRecord>(),
  });
  const mayWait = createRoom(pendingMax, (tenantId, nowMs) =>
    Number(sql.pending.get(tenantId, nowMs)?.['held']),
  );
  const mayStand = createRoom(approvalsMax, (tenantId) => Number(sql.all.get(tenantId)?.['held']));
  const find = (tenantId: string, approvalId: string) =>
    rowToRecord<ApprovalRecord>(sql.byId.get(tenantId, approvalId));

  /** Tells whether there is room for one more approval. Approvals that no longer count make room. */
  function hasRoom({ tenantId, ownAgentId, createdAtMs }: ApprovalRecord): boolean {
    const ofAgent = Number(sql.pendingOfAgent.get(tenantId, ownAgentId, createdAtMs)?.['held']);
    if (ofAgent >= pendingPerAgentMax || !mayWait(tenantId, createdAtMs)) return false;
    return mayStand(tenantId, createdAtMs) || sql.forget.run(tenantId, createdAtMs) > 0;
  }

  function save(changed: ApprovalRecord): ApprovalRecord {
    sql.update.run(changed.status, JSON.stringify(changed), changed.approvalId);
    return changed;
  }

  function answering({ tenantId, callHash, denialHash, createdAtMs }: ApprovalRecord): Hold | undefined {
    const rows = [
      sql.last.get(tenantId, callHash, createdAtMs),
      sql.denied.get(tenantId, denialHash, createdAtMs),
    ];
    for (const row of rows) {
      const found = rowToRecord<ApprovalRecord>(row);
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
    if (sql.insert.run(approvalId, tenantId, callHash, status, expiresAtMs, JSON.stringify(approval)) === 0)
      throw new GatewayError('CONFLICT', 'There is such an approval already.');
    return { kind: 'pending', approval, isNew: true };
  }

  return { ...sql, list, find, save, answering, open };
}

export function createEmbeddedApprovals({ db, commits, audit }: Disk): ApprovalStore {
  const table = createApprovalTable(db);

  function expire(pending: ApprovalRecord): ApprovalRecord {
    const approval = table.save(expired(pending));
    audit.append(expiryOf(approval));
    return approval;
  }

  /**
   * Returns the approval at a time. Where it has ended, that is written down, so no process with a slower
   * clock decides it later. A superseded approval has ended, whatever the time.
   */
  function standingAt(tenantId: string, approvalId: string, nowMs: number): ApprovalRecord | undefined {
    const found = table.find(tenantId, approvalId);
    if (found?.status !== 'pending') return found;
    const isOver =
      nowMs >= found.expiresAtMs || table.later.get(tenantId, found.callHash, approvalId) !== undefined;
    return isOver ? expire(found) : found;
  }

  return {
    /**
     * Answers a held call in one transaction. So a grant is spent once, and of many calls at once one opens
     * the approval.
     */
    holdCall: (approval, auditOf) =>
      commits.write(() => {
        const hold = table.answering(approval) ?? table.open(approval);
        const event = auditOf?.(hold);
        if (event) audit.append(event);
        return hold;
      }),

    decideApproval: (tenantId, approvalId, made, event) =>
      commits.write(() => {
        const approval = standingAt(tenantId, approvalId, made.nowMs);
        if (approval?.status !== 'pending') return approval && { isDecidedNow: false, approval };
        const decided = table.save(decidedApproval(approval, made));
        audit.append(event);
        return { isDecidedNow: true, approval: decided };
      }),

    async approvalById(tenantId, approvalId, nowMs) {
      const approval = table.find(tenantId, approvalId);
      return approval && asOf(approval, nowMs);
    },

    async listApprovals(tenantId, filter, nowMs, page) {
      const { items, nextCursor } = table.list(
        [['tenant_id = ?', tenantId], ...conditionsOf(filter, nowMs)],
        page,
      );
      return { items: items.map((it) => asOf(it, nowMs)), nextCursor };
    },

    async expireApprovals(nowMs) {
      // Most of the time none has expired, and nothing is written.
      if (table.ended.all(nowMs).length === 0) return [];
      return commits.write(() => table.ended.all(nowMs).map((row) => expire(recordOf<ApprovalRecord>(row))));
    },
  };
}

function conditionsOf(
  { status, agentId, toolName, fromMs, beforeMs }: ApprovalFilter,
  nowMs: number,
): readonly Condition[] {
  const ofStatus = status === undefined ? [] : conditionsOfStatus(status, nowMs);
  const others = given(
    ['agent_id = ?', agentId],
    ["json_extract(record, '$.toolName') = ?", toolName],
    ['created_at_ms >= ?', fromMs],
    ['created_at_ms < ?', beforeMs],
  );
  return [...ofStatus, ...others];
}

function conditionsOfStatus(status: ApprovalRecord['status'], nowMs: number): Condition[] {
  if (status === 'expired') return [["status IN ('pending', 'expired') AND expires_at_ms <= ?", nowMs]];
  const isStatus: Condition = ['status = ?', status];
  return status === 'pending' ? [isStatus, ['expires_at_ms > ?', nowMs]] : [isStatus];
}
