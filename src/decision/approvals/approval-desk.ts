import { hash } from 'node:crypto';
import { overridingMethods } from '../../catalogue/overriding-method.ts';
import type { TenantConfig } from '../../config/schema.ts';
import type { AssessedCall, Finding, Verdict } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import { ownName } from '../../core/safe-name.ts';
import { routeKeyPrefix } from '../../credentials/keyless.ts';
import { counts } from '../../inspect/parts/sanitize.ts';
import { toCanonicalJson } from '../../state/rules/canonical-json.ts';
import type { ApprovalRecord, AuditEvent, Hold, KeyRecord, Store } from '../../state/store.ts';
import { Tally } from '../../util/tally.ts';
import { toRequest } from '../request.ts';
import { redactedMethod, redactedPreview, redactedUrl } from '../trace/redacted.ts';
import { shownOperationOf } from '../trace/safe-names.ts';
import { publicFinding, recordedFindingsMax } from '../trace/trace-line.ts';
import { comparedBody } from './compared-body.ts';
import { shownFields, tellingFields } from './telling-fields.ts';

/** The bound of all who wait on this node at once: held calls, and requests for the outcome. */
export const waitersMax = 1000;
/** The bound of waiters of one tenant. It leaves room for other tenants. */
export const waitersOfTenantMax = 500;
/** The time after which a decision from another node is seen. */
const pollMs = 500;

/** Holds calls, and waits for the decisions of people. */
export class ApprovalDesk {
  readonly #store: Store;
  readonly #now;
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #waitingOf = new Tally();
  #waiting = 0;
  #endsWaits = false;

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * Finds a decision on the identical call, and spends it if it is a grant. Where there is none, finds or
   * opens the approval of the call. Resolves when the result is stored.
   */
  hold(call: AssessedCall<TenantConfig>, verdict: Verdict): Promise<Hold> {
    return this.#store.holdCall(toApproval(call, verdict, this.#now()), (hold) => stepOf(hold, call));
  }

  /** Tells whether there is no room for another waiter, on this node or of this tenant. */
  isFull(tenantId: string): boolean {
    return this.#waiting >= waitersMax || this.#waitingOf.of(tenantId) >= waitersOfTenantMax;
  }

  /**
   * Waits for the decision on an approval. Resolves with the record once it is no longer pending, when
   * `waitMs` is over, at `endWaits`, or soon after nobody awaits it any more. Resolves with undefined where
   * there is no such approval. Throws GATEWAY_BUSY where too many wait already.
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
      return await this.#watch(tenantId, approvalId, performance.now() + waitMs, isAwaited);
    } finally {
      this.#count(tenantId, -1);
    }
  }

  /** Wakes those who wait on this node for an approval that was decided here. */
  wake(approvalId: string): void {
    for (const resolve of this.#waiters.get(approvalId) ?? []) resolve();
  }

  /** Ends all waits, now and from now on, so that whoever waits is answered before the daemon ends. */
  endWaits(): void {
    this.#endsWaits = true;
    for (const approvalId of this.#waiters.keys()) this.wake(approvalId);
  }

  /**
   * Tells whether the holder of this key may decide. Whoever asked for the approval, in whatever way, may
   * not.
   */
  async mayDecide(approval: ApprovalRecord, key: KeyRecord): Promise<boolean> {
    return !isRequester(approval, key, await this.#store.keyById(approval.tenantId, approval.keyId));
  }

  #count(tenantId: string, by: 1 | -1): void {
    this.#waiting += by;
    this.#waitingOf.add(tenantId, by);
  }

  /** Waits until somebody wakes those who wait for the approval, or the time is over. */
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
    /** By a clock that nobody sets, or one that is set back would keep the call. */
    untilMs: number,
    isAwaited: () => boolean,
  ): Promise<ApprovalRecord | undefined> {
    for (;;) {
      const approval = await this.#store.approvalById(tenantId, approvalId, this.#now());
      const leftMs = untilMs - performance.now();
      const isOver = leftMs <= 0 || this.#endsWaits || !isAwaited();
      if (approval?.status !== 'pending' || isOver) return approval;
      await this.#rest(approvalId, Math.min(pollMs, leftMs));
    }
  }
}

/**
 * Tells whether the holder of this key asked for the approval. That is so with the same key, a key that it
 * made, or the key that made it. It is also so with a key of the agent that the call names, or of the agent
 * that `asked` belongs to. A key with `routes:write` may have made the inbound route of the call.
 */
const isRequester = (approval: ApprovalRecord, key: KeyRecord, asked: KeyRecord | undefined): boolean =>
  liveKeyOf(key) === (asked ? liveKeyOf(asked) : approval.keyId) ||
  (asked?.prefix === routeKeyPrefix && key.permissions.includes('routes:write')) ||
  [approval.agentId, approval.ownAgentId, asked?.agentId].includes(key.agentId);

/** Returns the id of the key that made an ephemeral key, or of the key itself. */
const liveKeyOf = ({ keyId, parentKeyId }: KeyRecord): string => parentKeyId ?? keyId;

/**
 * Returns the audit event of a held call; undefined where the approval was pending before. That is told by
 * the trace of the call.
 */
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
    termsHash: termsHash(call),
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

/** The terms of a grant. A denial has none: it stands for any agent, route and headers. */
interface GrantTerms {
  readonly agentId: string;
  /** The credential that the route of the call names; null for none. */
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

/** Returns the findings in headers with their places. Calls that differ in them are not identical. */
const headerFindings = ({ head, findings }: AssessedCall): string[] =>
  findings
    .filter((it) => it.location.startsWith('header:') && counts(it))
    .map(({ location, start, end }: Finding) => `${location}: ${head.toString('latin1', start, end)}`);

/**
 * Returns the hash that identical calls share. It covers the key's agent, what is asked for, and how servers
 * may read it. With the terms it also covers the headers that say what is done.
 */
function callHash(call: AssessedCall<TenantConfig>, terms: GrantTerms | null): string {
  const { identity, operation, received } = call;
  const { target, contentType, contentEncoding } = received;
  const head = toCanonicalJson([
    identity.ownAgent.agentId,
    terms,
    identity.envName,
    operation,
    methodsOf(call),
    target.href,
    target.fragment,
    target.userInfo,
    contentType,
    contentEncoding,
  ]);
  // JSON has no line breaks, so a line break ends it before the body.
  return hash('sha256', Buffer.concat([Buffer.from(`${head}\n`), comparedBody(call)]));
}

/** Returns the hash that calls share which differ in URL and body alone. */
function termsHash(call: AssessedCall<TenantConfig>): string {
  const { identity, received } = call;
  const { target, contentType, contentEncoding } = received;
  const terms = [identity.ownAgent.agentId, grantTerms(call), identity.envName, methodsOf(call)];
  return hash('sha256', toCanonicalJson([...terms, target.userInfo, contentType, contentEncoding]));
}

const methodsOf = ({ received, tenant }: AssessedCall<TenantConfig>): readonly string[] => [
  received.method,
  ...overridingMethods(toRequest(received, tenant.maxDecodedBytes)),
];
