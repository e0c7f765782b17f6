import type { SafeName } from '../../core/safe-name.ts';
import type { AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/** Calls that are held until somebody decides. */
export interface ApprovalStore {
  /**
   * Decides, in one step, what becomes of a call that must be held. A grant for the identical call
   * (`callHash`) is spent. A denial still stands (also by `denialHash`). A pending approval is the same one,
   * or else this one is opened. Rejects with GATEWAY_BUSY where 2,000 that keys of one agent have asked for,
   * or 10,000 of the tenant, are pending. It also rejects so where 20,000 of the tenant still count. The
   * newest 20,000 are kept; an eighth of that may have made room. The audit entry that `auditOf` makes of the
   * result is written down in the same step.
   */
  holdCall(approval: ApprovalRecord, auditOf?: (hold: Hold) => AuditEvent | undefined): Promise<Hold>;
  /**
   * Decides once: whoever comes second is told what stands. Undefined where there is no such approval.
   * Whoever comes after its end ends it, in the same step, so that nobody with a slower clock decides it
   * afterwards. One that another has followed has ended, too.
   */
  decideApproval(
    tenantId: string,
    approvalId: string,
    decision: ApprovalDecision,
    audit: AuditEvent,
  ): Promise<{ readonly isDecidedNow: boolean; readonly approval: ApprovalRecord } | undefined>;
  /** Returns the record as of `nowMs`: a pending one past its end is `expired`. */
  approvalById(tenantId: string, approvalId: string, nowMs: number): Promise<ApprovalRecord | undefined>;
  /** Newest first. */
  listApprovals(
    tenantId: string,
    filter: ApprovalFilter,
    nowMs: number,
    page: Page,
  ): Promise<Paged<ApprovalRecord>>;
  /**
   * Writes down what has expired, a bounded number of each tenant at a time, and answers it: each once,
   * whatever node asks. They were expired before; this is how it comes to be told.
   */
  expireApprovals(nowMs: number): Promise<readonly ApprovalRecord[]>;
}

export interface ApprovalFilter {
  readonly status?: ApprovalRecord['status'];
  readonly agentId?: string;
  readonly toolName?: string;
  /** Bounds on the time at which an approval was opened. */
  readonly fromMs?: number;
  readonly beforeMs?: number;
}

/** The call that is held, as people see it. */
interface HeldCall {
  /** SHA-256 of the canonical call: who makes it, what it does, method, URL and body. */
  readonly callHash: string;
  /** The same for whatever agent its key names: a denial stands for all of them. */
  readonly denialHash: string;
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
  /** Redacted. */
  readonly url: SafeName;
  /** Redacted and bounded. */
  readonly bodyPreview: SafeName;
  /** The call asks to go on as a WebSocket, so that more follows. */
  readonly opensWebSocket: boolean;
  /** Headers that say what is done, as `name: value`: redacted and bounded. Older records have none. */
  readonly fields?: readonly SafeName[];
  /** The size of the whole body, as it was received. */
  readonly bodyBytes: number;
  /** Findings in the call, never their text; bounded. */
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
  /** How often an approval counts; null until it is approved. */
  readonly scope: 'once' | 'window' | null;
  /** Until when the decision counts for identical calls. */
  readonly countsUntilMs: number | null;
  /** When a grant of scope `once` was used. */
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
  /** From now on, for identical calls; 0 = for none. */
  readonly windowMs: number;
}

/** `granted` has spent the grant where it is for one call. */
export interface Hold {
  readonly kind: 'granted' | 'denied' | 'pending';
  readonly approval: ApprovalRecord;
  /** The approval was opened by this step. */
  readonly isNew: boolean;
}
