import { GatewayError } from '../../core/errors.ts';
import type { ApprovalDecision, ApprovalFilter, ApprovalRecord, AuditEvent, Hold } from '../store.ts';
import { isFromWrongClock } from './clock-skew.ts';

/*
 * Decides about approvals. It is pure, and the same for every driver. A driver fetches the last approval of a
 * call, asks here, and stores the answer in the same atomic step.
 */

/** The limit of a tenant's pending approvals, since people decide them one by one. */
export const pendingMax = 10_000;

/**
 * The limit of pending approvals that keys of one agent ask for, whatever agents they name. So others can
 * still ask.
 */
export const pendingPerAgentMax = 2_000;

/**
 * The limit of a tenant's approvals. The oldest make room, but none that is pending or within the window of
 * its decision.
 */
export const approvalsMax = 2 * pendingMax;

/** The limit of approvals whose expiry is written down in one step. */
export const expiredPerStepMax = 100;

export const tooManyPending = (): GatewayError =>
  new GatewayError('GATEWAY_BUSY', 'Too many calls of the agent or of its tenant wait for an approval.', {
    retryAfterSeconds: 60,
  });

/** Returns the time until which an approval can be decided, or its decision counts. */
export const countsUntilMs = ({ countsUntilMs, expiresAtMs }: ApprovalRecord): number =>
  countsUntilMs ?? expiresAtMs;

/**
 * Returns the approval as expired. So everybody sees it once a newer one of the same call was opened, which
 * happens only after it has ended.
 */
export const expired = (approval: ApprovalRecord): ApprovalRecord => ({ ...approval, status: 'expired' });

/**
 * Returns the audit entry of an approval that has expired. It is written in the step that changes the record.
 */
export const expiryOf = ({
  tenantId,
  approvalId,
  expiresAtMs,
  traceId,
  agentId,
}: ApprovalRecord): AuditEvent => ({
  tenantId,
  atMs: expiresAtMs,
  kind: 'approval.expired',
  operator: 'gateway',
  subject: approvalId,
  details: { trace_id: traceId, agent_id: agentId },
});

/** Returns the record as of a time: a pending approval past its end is expired without any write. */
export const asOf = (approval: ApprovalRecord, nowMs: number): ApprovalRecord =>
  approval.status === 'pending' && nowMs >= approval.expiresAtMs ? expired(approval) : approval;

/**
 * Returns what the last approval of a call means for the same call now; undefined where it no longer counts.
 * Earlier approvals do not matter, since this one was opened because none of them counted. A grant for one
 * call is returned as spent.
 */
export function holdBy(last: ApprovalRecord, nowMs: number): Hold | undefined {
  const { status, scope, spentAtMs, decidedAtMs, countsUntilMs } = last;
  if (status === 'pending')
    return nowMs < last.expiresAtMs ? { kind: 'pending', approval: last, isNew: false } : undefined;
  if (countsUntilMs === null || nowMs >= countsUntilMs) return undefined;
  if (status === 'denied') return { kind: 'denied', approval: last, isNew: false };
  if (status !== 'approved' || spentAtMs !== null) return undefined;
  // A clock that is set back must not make a grant last longer.
  if (decidedAtMs !== null && isFromWrongClock(decidedAtMs, nowMs)) return undefined;
  const approval = scope === 'once' ? { ...last, spentAtMs: nowMs } : last;
  return { kind: 'granted', approval, isNew: false };
}

/**
 * Tells whether `denial` answers the call rather than `other`. Where both count, the one that ends later
 * does.
 */
export function answersFor(denial: ApprovalRecord, other: ApprovalRecord): boolean {
  const [end, otherEnd] = [countsUntilMs(denial), countsUntilMs(other)];
  return end > otherEnd || (end === otherEnd && denial.approvalId > other.approvalId);
}

/** Returns a pending approval after its decision. */
export const decidedApproval = (
  pending: ApprovalRecord,
  { decision, decidedBy, note, scope, nowMs, windowMs }: ApprovalDecision,
): ApprovalRecord => ({
  ...pending,
  status: decision,
  decidedAtMs: nowMs,
  decidedBy,
  note,
  scope: decision === 'approved' ? scope : null,
  countsUntilMs: nowMs + windowMs,
});

/** Tells whether an approval passes a filter. Its status must be that of the moment (`asOf`). */
export const isListed = (
  it: ApprovalRecord,
  { status, agentId, toolName, fromMs, beforeMs }: ApprovalFilter,
): boolean =>
  (status === undefined || it.status === status) &&
  (agentId === undefined || it.agentId === agentId) &&
  (toolName === undefined || it.toolName === toolName) &&
  (fromMs === undefined || it.createdAtMs >= fromMs) &&
  (beforeMs === undefined || it.createdAtMs < beforeMs);
