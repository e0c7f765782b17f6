import { hash } from 'node:crypto';
import { overridingMethods } from '../../catalogue/overriding-method.ts';
import type { TenantConfig } from '../../config/schema.ts';
import type { AssessedCall, Finding, Verdict } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import { ownName } from '../../core/safe-name.ts';
import { counts } from '../../inspect/parts/sanitize.ts';
import { toCanonicalJson } from '../../state/rules/canonical-json.ts';
import type { ApprovalRecord, AuditEvent, Hold, KeyRecord, Store } from '../../state/store.ts';
import { Tally } from '../../util/tally.ts';
import { toRequest } from '../request.ts';
import { redactedMethod, redactedPreview, redactedUrl } from '../trace/redacted.ts';
import { shownOperationOf } from '../trace/safe-names.ts';
import { publicFinding, recordedFindingsMax } from '../trace/trace-line.ts';
import { shownFields, tellingFields } from './telling-fields.ts';

/** Bounds who waits on this node at once: calls that are held open, and those who ask for the outcome. */
export const waitersMax = 1000;
/** Waiters of one tenant: the others must find room. */
export const waitersOfTenantMax = 500;
/** How soon a decision that was made on another node is seen. */
const pollMs = 500;

/** Holds calls, and waits for the decisions of people. */
export class ApprovalDesk {
  readonly #store: Store;
  readonly #now;
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #waitingOf = new Tally();
  #waiting = 0;

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /** Spends a grant of the identical call, meets a denial, or finds or opens its approval, stored by then. */
  hold(call: AssessedCall<TenantConfig>, verdict: Verdict): Promise<Hold> {
    return this.#store.holdCall(toApproval(call, verdict, this.#now()), (hold) => stepOf(hold, call));
  }

  /** Tells whether there is no room for another waiter, here or of this tenant. */
  isFull(tenantId: string): boolean {
    return this.#waiting >= waitersMax || this.#waitingOf.of(tenantId) >= waitersOfTenantMax;
  }

  /**
   * Resolves with the record once it is no longer pending, when `waitMs` is over, or soon after nobody awaits
   * it any more. Undefined where there is no such approval. Throws GATEWAY_BUSY where too many wait already.
   */
  async wait(
    tenantId: string,
    approvalId: string,
    waitMs: number,
    isAwaited: () => boolean = () => true,
  ): Promise<ApprovalRecord | undefined> {
    if (this.isFull(tenantId))
      throw new GatewayError('GATEWAY_BUSY', 'Too many wait for approvals here; ask again later.', {
        retryAfterSeconds: 5,
      });
    this.#count(tenantId, 1);
    try {
      return await this.#watch(tenantId, approvalId, this.#now() + waitMs, isAwaited);
    } finally {
      this.#count(tenantId, -1);
    }
  }

  /** Something was decided here: who waits for it on this node need not look for it. */
  wake(approvalId: string): void {
    for (const resolve of this.#waiters.get(approvalId) ?? []) resolve();
  }

  /** Tells whether the holder of this key may decide; who has asked, in whatever way, may not. */
  async mayDecide(approval: ApprovalRecord, key: KeyRecord): Promise<boolean> {
    return !isRequester(approval, key, await this.#store.keyById(approval.tenantId, approval.keyId));
  }

  #count(tenantId: string, by: 1 | -1): void {
    this.#waiting += by;
    this.#waitingOf.add(tenantId, by);
  }

  /** Until somebody wakes, or the time is over. */
  async #rest(approvalId: string, ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own = this.#waiters.get(approvalId) ?? new Set();
    this.#waiters.set(approvalId, own.add(resolve));
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
    own.delete(resolve);
    if (own.size === 0 && this.#waiters.get(approvalId) === own) this.#waiters.delete(approvalId);
  }

  async #watch(
    tenantId: string,
    approvalId: string,
    endsAtMs: number,
    isAwaited: () => boolean,
  ): Promise<ApprovalRecord | undefined> {
    for (;;) {
      const approval = await this.#store.approvalById(tenantId, approvalId, this.#now());
      const leftMs = endsAtMs - this.#now();
      if (approval?.status !== 'pending' || leftMs <= 0 || !isAwaited()) return approval;
      await this.#rest(approvalId, Math.min(pollMs, leftMs));
    }
  }
}

/**
 * Tells whether the holder of this key asked for the approval. That is so with the same key, a key that it
 * made, or the key that made it. A key of an agent that the call names, or that `asked` belongs to, counts as
 * well.
 */
const isRequester = (approval: ApprovalRecord, key: KeyRecord, asked: KeyRecord | undefined): boolean =>
  liveKeyOf(key) === (asked ? liveKeyOf(asked) : approval.keyId) ||
  [approval.agentId, approval.ownAgentId, asked?.agentId].includes(key.agentId);

/** An ephemeral key is its maker's. */
const liveKeyOf = ({ keyId, parentKeyId }: KeyRecord): string => parentKeyId ?? keyId;

/** The audit event of a held call. An approval that was pending before is told by the call's trace. */
function stepOf({ kind, isNew, approval }: Hold, call: AssessedCall): AuditEvent | undefined {
  const isUsedUp = kind === 'granted' && approval.scope === 'once';
  const { identity, traceId, receivedAtMs } = call;
  if (!isNew && !isUsedUp) return undefined;
  return {
    tenantId: approval.tenantId,
    atMs: isNew ? approval.createdAtMs : (approval.spentAtMs ?? receivedAtMs),
    kind: isNew ? 'approval.requested' : 'approval.used',
    operator: identity.keyPrefix,
    subject: approval.approvalId,
    details: { trace_id: traceId, agent_id: approval.agentId },
  };
}

function toApproval(call: AssessedCall<TenantConfig>, verdict: Verdict, nowMs: number): ApprovalRecord {
  const { identity, operation, risk, tenant } = call;
  return {
    approvalId: newId(),
    status: 'pending',
    callHash: callHash(call, grantTerms(call)),
    denialHash: callHash(call, null),
    traceId: call.traceId,
    tenantId: identity.tenantId,
    envName: identity.envName,
    agentId: identity.agentId,
    agentName: call.inspection.agentName ?? ownName(identity.agentName),
    ownAgentId: identity.ownAgent.agentId,
    keyId: identity.keyId,
    toolName: call.safeName(operation.toolName),
    operation: shownOperationOf(call),
    method: redactedMethod(call),
    url: redactedUrl(call),
    bodyPreview: redactedPreview(call),
    bodyBytes: call.body.length,
    opensWebSocket: call.received.opensWebSocket,
    fields: shownFields(call),
    findings: call.findings.slice(0, recordedFindingsMax).map(publicFinding),
    reasonCodes: verdict.reasonCodes,
    riskScore: risk.score,
    riskBand: risk.band,
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

/** The terms of a grant. A denial stands for any agent, way and headers. */
interface GrantTerms {
  readonly agentId: string;
  /** That its way names. */
  readonly credential: string | null;
  readonly opensWebSocket: boolean;
  readonly headers: readonly string[];
}

const grantTerms = (call: AssessedCall): GrantTerms => ({
  agentId: call.identity.agentId,
  credential: call.received.wayCredential ?? null,
  opensWebSocket: call.received.opensWebSocket,
  headers: [...tellingFields(call), ...headerFindings(call)].sort(),
});

/** Returns the findings in headers, with their places, that distinguish calls. */
const headerFindings = ({ head, findings }: AssessedCall): string[] =>
  findings
    .filter((it) => it.location.startsWith('header:') && counts(it))
    .map(({ location, start, end }: Finding) => `${location}: ${head.toString('latin1', start, end)}`);

/**
 * The hash of an identical call. It covers the key's agent, what is asked for and how servers may read it. It
 * includes the headers that decide the operation and how the body is read.
 */
function callHash(call: AssessedCall<TenantConfig>, terms: GrantTerms | null): string {
  const { identity, operation, received, tenant } = call;
  const { method, target, contentType, contentEncoding, body } = received;
  const head = toCanonicalJson([
    identity.ownAgent.agentId,
    terms,
    identity.envName,
    operation,
    [method, ...overridingMethods(toRequest(received, tenant.maxDecodedBytes))],
    target.href,
    target.fragment,
    target.userInfo,
    contentType,
    contentEncoding,
  ]);
  // JSON has no line breaks, so nothing runs into the body.
  return hash('sha256', Buffer.concat([Buffer.from(`${head}\n`), body]));
}
