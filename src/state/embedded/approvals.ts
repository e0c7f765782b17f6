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
import type {
  ApprovalDecision,
  ApprovalFilter,
  ApprovalRecord,
  AuditEvent,
  Hold,
  Page,
  Paged,
} from '../store.ts';
import type { Audit } from './audit.ts';
import { createRoom } from './bound.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Condition, createListing, records } from './listing.ts';
import { type Database, recordOf, rowToRecord } from './sqlite.ts';

export class Approvals {
  readonly #commits: GroupCommit;
  readonly #audit: Audit;
  readonly #last;
  readonly #denied;
  readonly #pendingOfAgent;
  readonly #forget;
  readonly #insert;
  readonly #update;
  readonly #later;
  readonly #ended;
  readonly #byId;
  readonly #list;
  readonly #mayWait;
  readonly #mayStand;

  constructor(db: Database, commits: GroupCommit, audit: Audit) {
    this.#commits = commits;
    this.#audit = audit;
    this.#last = db.prepare(`
      SELECT record FROM approvals WHERE tenant_id = ? AND call_hash = ? AND counts_until_ms > ?
      ORDER BY created_at_ms DESC, rowid DESC LIMIT 1
    `);
    this.#denied = db.prepare(`
      SELECT record FROM approvals
      WHERE tenant_id = ? AND denial_hash = ? AND status = 'denied' AND counts_until_ms > ?
      ORDER BY counts_until_ms DESC, approval_id DESC LIMIT 1
    `);
    const pending = db.prepare(`
      SELECT count(*) AS held FROM approvals WHERE tenant_id = ? AND status = 'pending' AND expires_at_ms > ?
    `);
    this.#pendingOfAgent = db.prepare(`
      SELECT count(*) AS held FROM approvals
      WHERE tenant_id = ? AND own_agent_id = ? AND status = 'pending' AND expires_at_ms > ?
    `);
    const all = db.prepare('SELECT count(*) AS held FROM approvals WHERE tenant_id = ?');
    this.#forget = db.prepare(`
    DELETE FROM approvals WHERE approval_id IN (
      SELECT approval_id FROM approvals WHERE tenant_id = ? AND counts_until_ms <= ?
      ORDER BY created_at_ms, approval_id LIMIT ${approvalsMax / 8}
    )
  `);
    this.#insert = db.prepare(`
      INSERT INTO approvals (approval_id, tenant_id, call_hash, status, expires_at_ms, record)
      VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    `);
    this.#update = db.prepare('UPDATE approvals SET status = ?, record = ? WHERE approval_id = ?');
    this.#later = db.prepare(`
      SELECT 1 AS found FROM approvals WHERE tenant_id = ? AND call_hash = ?
      AND rowid > (SELECT rowid FROM approvals WHERE approval_id = ?) LIMIT 1
    `);
    this.#ended = db.prepare(`
      SELECT record FROM approvals WHERE status = 'pending' AND expires_at_ms <= ?
      ORDER BY expires_at_ms LIMIT ${expiredPerStepMax}
    `);
    this.#byId = db.prepare('SELECT record FROM approvals WHERE tenant_id = ? AND approval_id = ?');
    this.#list = createListing(db, {
      table: 'approvals',
      order: ['created_at_ms', 'approval_id'],
      ...records<ApprovalRecord>(),
    });
    this.#mayWait = createRoom(pendingMax, (tenantId, nowMs) =>
      Number(pending.get(tenantId, nowMs)?.['held']),
    );
    this.#mayStand = createRoom(approvalsMax, (tenantId) => Number(all.get(tenantId)?.['held']));
  }

  /** In one transaction: a grant is spent once, and of many that ask at once one opens the approval. */
  hold(approval: ApprovalRecord, auditOf?: (hold: Hold) => AuditEvent | undefined): Promise<Hold> {
    return this.#commits.write(() => {
      const hold = this.#standing(approval) ?? this.#open(approval);
      const event = auditOf?.(hold);
      if (event) this.#audit.append(event);
      return hold;
    });
  }

  decide(
    tenantId: string,
    approvalId: string,
    made: ApprovalDecision,
    event: AuditEvent,
  ): Promise<{ readonly isDecidedNow: boolean; readonly approval: ApprovalRecord } | undefined> {
    return this.#commits.write(() => {
      const approval = this.#standingAt(tenantId, approvalId, made.nowMs);
      if (approval?.status !== 'pending') return approval && { isDecidedNow: false, approval };
      const decided = this.#save(decidedApproval(approval, made));
      this.#audit.append(event);
      return { isDecidedNow: true, approval: decided };
    });
  }

  byId(tenantId: string, approvalId: string, nowMs: number): ApprovalRecord | undefined {
    const approval = rowToRecord<ApprovalRecord>(this.#byId.get(tenantId, approvalId));
    return approval && asOf(approval, nowMs);
  }

  list(tenantId: string, filter: ApprovalFilter, nowMs: number, page: Page): Paged<ApprovalRecord> {
    const ofTenant: Condition = ['tenant_id = ?', tenantId];
    const { items, nextCursor } = this.#list([ofTenant, ...conditionsOf(filter, nowMs)], page);
    return { items: items.map((it) => asOf(it, nowMs)), nextCursor };
  }

  async expire(nowMs: number): Promise<readonly ApprovalRecord[]> {
    // Most of the time there is none, and nothing is written.
    if (this.#ended.all(nowMs).length === 0) return [];
    return this.#commits.write(() =>
      this.#ended.all(nowMs).map((row) => this.#expire(recordOf<ApprovalRecord>(row))),
    );
  }

  /** For one more; what counts no more makes it. */
  #hasRoom({ tenantId, ownAgentId, createdAtMs }: ApprovalRecord): boolean {
    const ofAgent = Number(this.#pendingOfAgent.get(tenantId, ownAgentId, createdAtMs)?.['held']);
    if (ofAgent >= pendingPerAgentMax || !this.#mayWait(tenantId, createdAtMs)) return false;
    return this.#mayStand(tenantId, createdAtMs) || this.#forget.run(tenantId, createdAtMs) > 0;
  }

  #save(changed: ApprovalRecord): ApprovalRecord {
    this.#update.run(changed.status, JSON.stringify(changed), changed.approvalId);
    return changed;
  }

  #standing({ tenantId, callHash, denialHash, createdAtMs }: ApprovalRecord): Hold | undefined {
    const rows = [
      this.#last.get(tenantId, callHash, createdAtMs),
      this.#denied.get(tenantId, denialHash, createdAtMs),
    ];
    for (const row of rows) {
      const found = rowToRecord<ApprovalRecord>(row);
      const hold = found && holdBy(found, createdAtMs);
      if (!hold) continue;
      if (hold.approval !== found) this.#save(hold.approval);
      return hold;
    }
    return undefined;
  }

  #open(approval: ApprovalRecord): Hold {
    const { approvalId, tenantId, callHash, status, expiresAtMs } = approval;
    if (!this.#hasRoom(approval)) throw tooManyPending();
    if (this.#insert.run(approvalId, tenantId, callHash, status, expiresAtMs, JSON.stringify(approval)) === 0)
      throw new GatewayError('CONFLICT', 'There is such an approval already.');
    return { kind: 'pending', approval, isNew: true };
  }

  #expire(pending: ApprovalRecord): ApprovalRecord {
    const approval = this.#save(expired(pending));
    this.#audit.append(expiryOf(approval));
    return approval;
  }

  /**
   * The approval at that time, which holds from now on: no process with a slower clock decides it any more. A
   * superseded approval has expired, whatever the time.
   */
  #standingAt(tenantId: string, approvalId: string, nowMs: number): ApprovalRecord | undefined {
    const found = rowToRecord<ApprovalRecord>(this.#byId.get(tenantId, approvalId));
    if (found?.status !== 'pending') return found;
    const isOver =
      nowMs >= found.expiresAtMs || this.#later.get(tenantId, found.callHash, approvalId) !== undefined;
    return isOver ? this.#expire(found) : found;
  }
}

function conditionsOf(
  { status, agentId, toolName, fromMs, beforeMs }: ApprovalFilter,
  nowMs: number,
): readonly Condition[] {
  const conditions: Condition[] = status === undefined ? [] : conditionsOfStatus(status, nowMs);
  if (agentId !== undefined) conditions.push(['agent_id = ?', agentId]);
  if (toolName !== undefined) conditions.push(["json_extract(record, '$.toolName') = ?", toolName]);
  if (fromMs !== undefined) conditions.push(['created_at_ms >= ?', fromMs]);
  if (beforeMs !== undefined) conditions.push(['created_at_ms < ?', beforeMs]);
  return conditions;
}

function conditionsOfStatus(status: ApprovalRecord['status'], nowMs: number): Condition[] {
  if (status === 'expired') return [["status IN ('pending', 'expired') AND expires_at_ms <= ?", nowMs]];
  const isStatus: Condition = ['status = ?', status];
  return status === 'pending' ? [isStatus, ['expires_at_ms > ?', nowMs]] : [isStatus];
}
