import { toParts } from '../decision/facts/trust-loss.ts';
import type { Gate } from '../decision/gate.ts';
import type { ApprovalDecision, ApprovalRecord } from '../state/store.ts';

/** A person's decision, from whichever entrance. `operator` is the person's name in the audit log. */
interface Deciding extends Pick<ApprovalDecision, 'decision' | 'note' | 'scope' | 'nowMs'> {
  readonly operator: string;
  /** Further details for the audit log. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Decides an approval once, wakes the call that waits for it, and holds a denial against the agent. Returns
 * undefined where the approval is gone. The caller of this function has to know that the person may decide.
 */
export async function settleApproval(
  gate: Gate,
  { tenantId, approvalId, traceId, agentId }: ApprovalRecord,
  { operator, details, ...decision }: Deciding,
): Promise<{ readonly isDecidedNow: boolean; readonly approval: ApprovalRecord } | undefined> {
  const windows = gate.tenants.find(tenantId)?.approvals;
  const windowMs = decision.decision === 'approved' ? windows?.grantWindowMs : windows?.denyWindowMs;
  const decided = await gate.store.decideApproval(
    tenantId,
    approvalId,
    { ...decision, decidedBy: operator, windowMs: windowMs ?? 0 },
    {
      atMs: decision.nowMs,
      operator,
      tenantId,
      kind: 'approval.decided',
      subject: approvalId,
      details: { decision: decision.decision, trace_id: traceId, agent_id: agentId, ...details },
    },
  );
  if (!decided) return undefined;
  gate.approvals.wake(approvalId);
  const isDenied = decided.isDecidedNow && decided.approval.status === 'denied';
  if (isDenied) await distrust(gate, decided.approval, decision.nowMs);
  return decided;
}

/** Lowers the trust in the agent whose call was denied. The denial stands even where this fails. */
async function distrust(
  { store, config, log }: Gate,
  { tenantId, agentId, traceId }: ApprovalRecord,
  nowMs: number,
): Promise<void> {
  const parts = toParts(config.risk.trust.analystDenial);
  try {
    if (parts > 0)
      await store.markTrust(tenantId, agentId, { cause: 'analyst-denial', parts, atMs: nowMs, traceId });
  } catch (error) {
    log.error(
      { trace_id: traceId, agent_id: agentId, err: error },
      'the denial was not held against the agent',
    );
  }
}
