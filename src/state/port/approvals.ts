import type { SafeName } from '../../core/safe-name.ts';
import type { AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/** Keeps calls that are held until somebody decides. */
export interface ApprovalStore {
  /**
   * Decides, in one step, what becomes of a call that must be held. A grant for the identical call
   * (`callHash`) is spent. A denial still counts, also one with the same `denialHash`. A pending approval is
   * returned again. Otherwise this approval is opened. Rejects with GATEWAY_BUSY where 2,000 that keys of one
   * agent have asked for, or 10,000 of the tenant, are pending. A tenant has at most 20,000 approvals. Where
   * there are as many, up to an eighth makes room, the oldest first, but none that still counts. It rejects
   * with GATEWAY_BUSY where all of them count. The audit entry that `auditOf` makes of the result is written
   * in the same step.
   */
  holdCall(approval: ApprovalRecord, auditOf?: (hold: Hold) => AuditEvent | undefined): Promise<Hold>;
  /**
   * Decides an approval once; a second decision gets what stands. Undefined where there is no such approval.
   * After its end the approval is marked as expired in the same step, so that nobody with a slower clock
   * decides it later. An approval that a newer one of the same call has followed counts as expired, too.
   */
  decideApproval(
    tenantId: string,
    approvalId: string,
    decision: ApprovalDecision,
    audit: AuditEvent,
  ): Promise<{ readonly isDecidedNow: boolean; readonly approval: ApprovalRecord } | undefined>;
  /** Returns the record as of `nowMs`: a pending approval past its end is `expired`. */
  approvalById(tenantId: string, approvalId: string, nowMs: number): Promise<ApprovalRecord | undefined>;
  /** Lists approvals, newest first. */
  listApprovals(
    tenantId: string,
    filter: ApprovalFilter,
    nowMs: number,
    page: Page,
  ): Promise<Paged<ApprovalRecord>>;
  /**
   * Writes down which approvals have expired, a bounded number at a time, and returns each once, whatever
   * node asks. They were expired before; this makes it known.
   */
  expireApprovals(nowMs: number): Promise<readonly ApprovalRecord[]>;
}

export interface ApprovalFilter {
  readonly status?: ApprovalRecord['status'];
  readonly agentId?: string;
  readonly toolName?: string;
  /** The earliest time of opening, inclusive; `beforeMs` is the end, exclusive. */
  readonly fromMs?: number;
  readonly beforeMs?: number;
}

/** The call that is held, as people see it. */
interface HeldCall {
  /** SHA-256 of the canonical call: who makes it, what it does, method, URL and body. */
  readonly callHash: string;
  /** The hash of the call without the agent that its key names. A denial stands for all such agents. */
  readonly denialHash: string;
  /** The hash of what a grant binds beside URL and body. Older records have none. */
  readonly termsHash?: string;
  readonly traceId: string;
  readonly tenantId: string;
  readonly envName: string;
  readonly agentId: string;
  readonly agentName: SafeName;
  /** The agent of the key that asked, whatever agent the call has named. */
  readonly ownAgentId: string;
  readonly keyId: string;
  readonly toolName: SafeName;
  readonly operation: SafeName;
  readonly method: SafeName;
  /** The URL, redacted. */
  readonly url: SafeName;
  /** The beginning of the body, redacted. */
  readonly bodyPreview: SafeName;
  /** Whether the call asks to go on as a WebSocket, so that more follows. */
  readonly opensWebSocket: boolean;
  /** Headers that say what is done, as `name: value`: redacted and bounded. Older records have none. */
  readonly fields?: readonly SafeName[];
  /** The size of the whole body as it was received, in bytes. */
  readonly bodyBytes: number;
  /** The findings in the call, never their text; bounded in number. */
  readonly findings: readonly ApprovalFinding[];
}

/** The reasons for which a call is held. */
interface HoldReason {
  readonly reasonCodes: readonly string[];
  readonly riskScore: number;
  readonly riskBand: string;
  readonly policyId: string | null;
  readonly ruleId: string | null;
}

export interface ApprovalRecord extends HeldCall, HoldReason {
  readonly approvalId: string;
  readonly status: 'pending' | 'approved' | 'denied' | 'expired';
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly decidedAtMs: number | null;
  readonly decidedBy: string | null;
  readonly note: string | null;
  /** How often a grant counts; null until the call is approved, and where it is denied. */
  readonly scope: 'once' | 'window' | null;
  /** The time until which the decision counts for identical calls; null until it is decided. */
  readonly countsUntilMs: number | null;
  /** The time at which a grant of scope `once` was used; null before. */
  readonly spentAtMs: number | null;
}

interface ApprovalFinding {
  readonly class: string;
  readonly kind: string;
  readonly location: string;
  readonly confidence: string;
}

export interface ApprovalDecision {
  readonly decision: 'approved' | 'denied';
  readonly decidedBy: string;
  readonly note: string | null;
  readonly scope: 'once' | 'window';
  readonly nowMs: number;
  /** How long the decision counts for identical calls, from `nowMs` on; 0 counts for none. */
  readonly windowMs: number;
}

/** The standing answer to a held call. A grant of scope `once` is spent when it is returned. */
export interface Hold {
  readonly kind: 'granted' | 'denied' | 'pending';
  readonly approval: ApprovalRecord;
  /** Whether this step has opened the approval. */
  readonly isNew: boolean;
}
