import { hash } from 'node:crypto';
import type { Call, Verdict } from '../call.ts';
import { overridingMethods } from '../catalogue/overriding-method.ts';
import type { TenantConfig } from '../config/schema.ts';
import { GatewayError } from '../errors.ts';
import { newId } from '../ids.ts';
import { toCanonicalJson } from '../state/canonical-json.ts';
import type { ApprovalRecord, Hold, KeyRecord, Store } from '../state/store.ts';
import { redactedMethod, redactedPreview, redactedUrl } from './redacted.ts';
import { toRequest } from './request.ts';

/** Whoever waits for a decision, on this node, at the same time: calls that are held open, and those who ask how it ends. */
export const waitersMax = 1000;
/** Of one tenant: the others must find room. */
export const waitersOfTenantMax = 500;
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
  /** As many wait as may, here or of this tenant. */
  isFull(tenantId: string): boolean;
  /** Something was decided here: who waits for it on this node need not look for it. */
  wake(approvalId: string): void;
  /** Whether the holder of this key may decide: who has asked, in whatever way, may not. */
  mayDecide(approval: ApprovalRecord, key: KeyRecord): Promise<boolean>;
}

export function createApprovalDesk(store: Store, now: () => number = Date.now): ApprovalDesk {
  const waiters = new Map<string, Set<() => void>>();
  const waitingOf = new Map<string, number>();
  let waiting = 0;

  const isFull = (tenantId: string): boolean =>
    waiting >= waitersMax || (waitingOf.get(tenantId) ?? 0) >= waitersOfTenantMax;

  function count(tenantId: string, by: 1 | -1): void {
    const ofTenant = (waitingOf.get(tenantId) ?? 0) + by;
    waiting += by;
    if (ofTenant === 0) waitingOf.delete(tenantId);
    else waitingOf.set(tenantId, ofTenant);
  }

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
    isFull,
    async wait(tenantId, approvalId, waitMs, isAwaited = () => true) {
      if (isFull(tenantId))
        throw new GatewayError('GATEWAY_BUSY', 'Too many wait for approvals here; ask again later.', {
          retryAfterSeconds: 5,
        });
      count(tenantId, 1);
      try {
        return await watch(tenantId, approvalId, now() + waitMs, isAwaited);
      } finally {
        count(tenantId, -1);
      }
    },
    wake(approvalId) {
      for (const resolve of waiters.get(approvalId) ?? []) resolve();
    },
    async mayDecide(approval, key) {
      return !isRequester(approval, key, await store.keyById(approval.tenantId, approval.keyId));
    },
  };
}

/**
 * Whether the holder of this key asked for the approval: with the key itself, with one that it was made with or has made, or with another
 * of the same agent, be it the agent that the call names or the one of the key that `asked` (undefined where it is not there any more).
 */
const isRequester = (approval: ApprovalRecord, key: KeyRecord, asked: KeyRecord | undefined): boolean =>
  liveKeyOf(key) === (asked ? liveKeyOf(asked) : approval.keyId) ||
  key.agentId === approval.agentId ||
  key.agentId === asked?.agentId;

/** An ephemeral key is its maker's. */
const liveKeyOf = ({ keyId, parentKeyId }: KeyRecord): string => parentKeyId ?? keyId;

function toApproval(call: Call, verdict: Verdict, tenant: TenantConfig, nowMs: number): ApprovalRecord {
  const { identity, operation } = call;
  if (!identity || !operation) throw new Error('an approval needs a call that was identified and understood');
  return {
    approvalId: newId(),
    status: 'pending',
    callHash: callHash(call, identity.agentId, tenant),
    denialHash: callHash(call, identity.ownAgent.agentId, tenant),
    traceId: call.traceId,
    tenantId: identity.tenantId,
    envName: identity.envName,
    agentId: identity.agentId,
    agentName: call.agentName ?? identity.agentName,
    keyId: identity.keyId,
    toolName: operation.toolName,
    operation: operation.name,
    method: redactedMethod(call),
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

/**
 * What makes two calls the same call: who makes it, what was asked for, and whatever servers may read that from. Of the headers those
 * count that the operation was read from, for it is in here, and those that say how the body is read.
 */
function callHash(call: Call, agentId: string, { maxDecodedBytes }: TenantConfig): string {
  const { identity, operation, method, target, contentType, contentEncoding, body } = call;
  const head = toCanonicalJson([
    agentId,
    identity?.envName,
    operation,
    [method, ...overridingMethods(toRequest(call, maxDecodedBytes))],
    target.href,
    target.fragment,
    target.userInfo,
    contentType,
    contentEncoding,
  ]);
  // JSON has no line breaks, so nothing runs into the body.
  return hash('sha256', Buffer.concat([Buffer.from(`${head}\n`), body]));
}
