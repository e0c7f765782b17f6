import { hash } from 'node:crypto';
import type { Call, Verdict } from '../call.ts';
import type { TenantConfig } from '../config/schema.ts';
import { GatewayError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { ApprovalRecord, Hold, KeyRecord, Store } from '../state/store.ts';
import { redactedPreview, redactedUrl } from './redacted.ts';

/** Whoever waits for a decision, on this node, at the same time. */
export const waitersMax = 1000;
/** How soon a decision that was made on another node is seen. */
const pollMs = 500;

/** Where calls are held, and where one waits for what people decide. */
export interface ApprovalDesk {
  /** Spends a grant of the identical call, meets a denial that stands, or finds or opens its approval: on disk when this resolves. */
  hold(call: Call, verdict: Verdict, tenant: TenantConfig): Promise<Hold>;
  /**
   * Resolves with the record once it is no longer pending, when `waitMs` is over, or soon after nobody awaits it any more. Undefined where
   * there is no such approval. Throws GATEWAY_BUSY where too many wait already.
   */
  wait(
    tenantId: string,
    approvalId: string,
    waitMs: number,
    isAwaited?: () => boolean,
  ): Promise<ApprovalRecord | undefined>;
  /** As many wait as may. */
  readonly isFull: boolean;
  /** Something was decided here: who waits for it on this node need not look for it. */
  wake(approvalId: string): void;
}

export function createApprovalDesk(store: Store, now: () => number = Date.now): ApprovalDesk {
  const waiters = new Map<string, Set<() => void>>();
  let waiting = 0;

  /** Until somebody wakes, or the time is over. */
  async function rest(approvalId: string, ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own = waiters.get(approvalId) ?? new Set();
    waiters.set(approvalId, own.add(resolve));
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
    own.delete(resolve);
    if (own.size === 0 && waiters.get(approvalId) === own) waiters.delete(approvalId);
  }

  async function watch(
    tenantId: string,
    approvalId: string,
    endsAtMs: number,
    isAwaited: () => boolean,
  ): Promise<ApprovalRecord | undefined> {
    for (;;) {
      const approval = await store.approvalById(tenantId, approvalId, now());
      const leftMs = endsAtMs - now();
      if (approval?.status !== 'pending' || leftMs <= 0 || !isAwaited()) return approval;
      await rest(approvalId, Math.min(pollMs, leftMs));
    }
  }

  return {
    hold: (call, verdict, tenant) => store.holdCall(toApproval(call, verdict, tenant, now())),
    get isFull() {
      return waiting >= waitersMax;
    },
    async wait(tenantId, approvalId, waitMs, isAwaited = () => true) {
      if (waiting >= waitersMax)
        throw new GatewayError('GATEWAY_BUSY', 'Too many wait for approvals here; ask again later.', {
          retryAfterSeconds: 5,
        });
      waiting += 1;
      try {
        return await watch(tenantId, approvalId, now() + waitMs, isAwaited);
      } finally {
        waiting -= 1;
      }
    },
    wake(approvalId) {
      for (const resolve of waiters.get(approvalId) ?? []) resolve();
    },
  };
}

/**
 * Whether the holder of this key asked for the approval: with the key itself, with one that it is a child of, or with another key of the
 * same agent. Such a key decides nothing of it.
 */
export const isRequester = (approval: ApprovalRecord, key: KeyRecord): boolean =>
  key.keyId === approval.keyId || key.parentKeyId === approval.keyId || key.agentId === approval.agentId;

function toApproval(call: Call, verdict: Verdict, tenant: TenantConfig, nowMs: number): ApprovalRecord {
  const { identity, operation } = call;
  if (!identity || !operation) throw new Error('an approval needs a call that was identified and understood');
  return {
    approvalId: newId(),
    status: 'pending',
    callHash: callHash(call),
    traceId: call.traceId,
    tenantId: identity.tenantId,
    envName: identity.envName,
    agentId: identity.agentId,
    agentName: call.agentName ?? identity.agentName,
    keyId: identity.keyId,
    toolName: operation.toolName,
    operation: operation.name,
    method: call.method,
    url: redactedUrl(call),
    bodyPreview: redactedPreview(call),
    reasonCodes: verdict.reasonCodes,
    riskScore: call.riskScore,
    riskBand: call.riskBand,
    policyId: verdict.decidedBy?.policyId ?? null,
    ruleId: verdict.decidedBy?.ruleId ?? null,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + tenant.approvals.ttlMs,
    decidedAtMs: null,
    decidedBy: null,
    note: null,
    scope: null,
    countsUntilMs: null,
    spentAtMs: null,
  };
}

/** What makes two calls the same call: agent, method, URL and body, each with its length so that none runs into the next. */
function callHash(call: Call): string {
  const agentId = call.identity?.agentId ?? '';
  const head = [agentId, call.method, call.target.href]
    .map((it) => `${Buffer.byteLength(it)}:${it}`)
    .join('');
  return hash('sha256', Buffer.concat([Buffer.from(`${head}${call.body.length}:`), call.body]));
}
