import { GatewayError } from '../../errors.ts';
import type { ApprovalDecision, ApprovalRecord, AuditEvent, Hold, Page, Paged } from '../store.ts';
import type { Audit } from './audit.ts';
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

/** Of one call; spent grants among them. People decide them one by one. */
const standingMax = 100;

export function createApprovals(db: Database, commits: GroupCommit, audit: Audit): Approvals {
  const standing = db.prepare(`
    SELECT record FROM approvals WHERE tenant_id = ? AND call_hash = ? AND counts_until_ms > ?
    ORDER BY created_at_ms DESC LIMIT ${standingMax}
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

  const save = (changed: ApprovalRecord): ApprovalRecord => {
    update.run(changed.status, JSON.stringify(changed), changed.approvalId);
    return changed;
  };

  function findStanding({ tenantId, callHash, createdAtMs }: ApprovalRecord): Hold | undefined {
    const found = standing.all(tenantId, callHash, createdAtMs).map(recordOf<ApprovalRecord>);
    const grant = found.find(
      (it) => it.status === 'approved' && (it.scope === 'window' || it.spentAtMs === null),
    );
    if (grant) {
      const used = grant.scope === 'once' ? save({ ...grant, spentAtMs: createdAtMs }) : grant;
      return { kind: 'granted', approval: used, isNew: false };
    }
    const denial = found.find((it) => it.status === 'denied');
    if (denial) return { kind: 'denied', approval: denial, isNew: false };
    const pending = found.find((it) => it.status === 'pending');
    return pending && { kind: 'pending', approval: pending, isNew: false };
  }

  function open(approval: ApprovalRecord): Hold {
    const { approvalId, tenantId, callHash, status, expiresAtMs } = approval;
    if (insert.run(approvalId, tenantId, callHash, status, expiresAtMs, JSON.stringify(approval)) === 0)
      throw new GatewayError('CONFLICT', 'There is such an approval already.');
    return { kind: 'pending', approval, isNew: true };
  }

  function find(tenantId: string, approvalId: string, nowMs: number): ApprovalRecord | undefined {
    const approval = toRecord<ApprovalRecord>(byId.get(tenantId, approvalId));
    return approval && asOf(approval, nowMs);
  }

  return {
    hold: (approval) => commits.write(() => findStanding(approval) ?? open(approval)),

    decide: (tenantId, approvalId, made, event) =>
      commits.write(() => {
        const approval = find(tenantId, approvalId, made.nowMs);
        if (approval?.status !== 'pending') return approval && { isDecidedNow: false, approval };
        const { decision, decidedBy, note, scope, nowMs, windowMs } = made;
        const decided = save({
          ...approval,
          status: decision,
          decidedAtMs: nowMs,
          decidedBy,
          note,
          scope: decision === 'approved' ? scope : null,
          countsUntilMs: nowMs + windowMs,
        });
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

/** A pending approval past its end is expired; nobody has to come by and write that down. */
const asOf = (approval: ApprovalRecord, nowMs: number): ApprovalRecord =>
  approval.status === 'pending' && nowMs >= approval.expiresAtMs
    ? { ...approval, status: 'expired' }
    : approval;

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
