import { GatewayError } from '../../core/errors.ts';
import type { ApprovalDecision, ApprovalFilter, ApprovalRecord, AuditEvent, Hold } from '../store.ts';

/*
 * Decides about approvals. It is pure, and the same for every driver. A driver fetches the last approval of a
 * call, asks here, and stores the answer in the same atomic step.
 */

/** Pending approvals that a tenant may have: people decide them one by one. */
export const pendingMax = 10_000;

/** Bounds what keys of one agent may ask for, whatever agents they name: others can still ask. */
export const pendingPerAgentMax = 2_000;

/**
 * Approvals that a tenant may have. The oldest make room that are neither pending nor within the window of
 * their decision.
 */
export const approvalsMax = 2 * pendingMax;

/** That have expired, of one tenant, are written down in one step. */
export const expiredPerStepMax = 100;

export const tooManyPending = (): GatewayError =>
  new GatewayError('GATEWAY_BUSY', 'Too many calls of the agent or of its tenant wait for an approval.', {
    retryAfterSeconds: 60,
  });

/** Until then its decision may come, or counts. */
export const countsUntilMs = ({ countsUntilMs, expiresAtMs }: ApprovalRecord): number =>
  countsUntilMs ?? expiresAtMs;

/**
 * Returns the approval as everybody sees it once another one of the same call was opened, which happens only
 * after it has ended.
 */
export const expired = (approval: ApprovalRecord): ApprovalRecord => ({ ...approval, status: 'expired' });

/** Returns the audit entry of an approval that has expired, written in the step that changes the record. */
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

/** Returns the record as of then: a pending approval past its end is expired without any write. */
export const asOf = (approval: ApprovalRecord, nowMs: number): ApprovalRecord =>
  approval.status === 'pending' && nowMs >= approval.expiresAtMs ? expired(approval) : approval;

/**
 * Answers what the last approval of a call means for the same call now; undefined where it means nothing any
 * more. Those before it do not matter: it was opened because none of them counted. A grant for one call comes
 * back as spent.
 */
export function holdBy(last: ApprovalRecord, nowMs: number): Hold | undefined {
  const { status, scope, spentAtMs, countsUntilMs } = last;
  if (status === 'pending')
    return nowMs < last.expiresAtMs ? { kind: 'pending', approval: last, isNew: false } : undefined;
  if (countsUntilMs === null || nowMs >= countsUntilMs) return undefined;
  if (status === 'denied') return { kind: 'denied', approval: last, isNew: false };
  if (status !== 'approved' || spentAtMs !== null) return undefined;
  const approval = scope === 'once' ? { ...last, spentAtMs: nowMs } : last;
  return { kind: 'granted', approval, isNew: false };
}

/** Tells which of two denials that both count answers the call: the one that ends later. */
export function answersFor(denial: ApprovalRecord, other: ApprovalRecord): boolean {
  const [end, otherEnd] = [countsUntilMs(denial), countsUntilMs(other)];
  return end > otherEnd || (end === otherEnd && denial.approvalId > other.approvalId);
}

/** Returns a pending approval, decided. */
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

/** Tells whether a list with that filter has it; its status is that of the moment. */
export const isListed = (
  it: ApprovalRecord,
  { status, agentId, toolName, fromMs, beforeMs }: ApprovalFilter,
): boolean =>
  (status === undefined || it.status === status) &&
  (agentId === undefined || it.agentId === agentId) &&
  (toolName === undefined || it.toolName === toolName) &&
  (fromMs === undefined || it.createdAtMs >= fromMs) &&
  (beforeMs === undefined || it.createdAtMs < beforeMs);
