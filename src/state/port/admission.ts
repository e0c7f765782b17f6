import type { AgentStatus, Charge, Identity, ToolConcern, Verb } from '../../core/call.ts';
import type { Habits, Sightings } from '../../core/history.ts';
import type { SafeName } from '../../core/safe-name.ts';
import type { TrustRecord } from './history.ts';
import type { KeyRecord } from './keys.ts';
import type { MaybePromise } from './page.ts';

/** The hot path. */
export interface AdmissionStore {
  /** Who is this? Counts nothing; used where a tunnel opens and where a management call is authenticated. */
  identify(keyHash: string, nowMs: number): MaybePromise<Identification>;
  /**
   * Gives everything that a call needs from the state in one atomic round trip. It looks at key and parent,
   * agent, allowlist, permission, environment, quota, buckets, use count, scope and counters. What is refused
   * has taken nothing from quota, bucket and uses. UNKNOWN_AGENT is what is wrong last: without it the call
   * would have been let in. A key and those that were made with it have one bucket. What the call charges to
   * budgets is added in the same step. A call that is not let out in the end gives it back when it is
   * recorded.
   */
  admit(request: AdmitRequest): MaybePromise<Admission>;
  /** Tells what `admit` would answer now, without counting or noting anything. */
  standingOf(question: StandingQuestion): Promise<AdmissionPreview>;
  /**
   * The identity that `identify` or `admit` answered within the last `withinMs`, for calls that may pass
   * while the state is away.
   */
  recall(keyHash: string, nowMs: number, withinMs: number): Identification | undefined;
  /**
   * True once for each nonce of a key until `endsAtMs`, on all nodes together. Rejects with GATEWAY_BUSY
   * where 10,000 of the key or 100,000 of the tenant have not ended.
   */
  claimNonce(
    tenantId: string,
    keyId: string,
    nonce: string,
    nowMs: number,
    endsAtMs: number,
  ): MaybePromise<boolean>;
  usageOf(tenantId: string, nowMs: number): Promise<TenantUsage>;
}

export type Identification =
  | {
      readonly ok: true;
      readonly key: KeyRecord;
      readonly identity: Identity;
      readonly agentStatus: AgentStatus;
    }
  | InvalidKey;

/** The answer to a key that nobody may use now. */
export interface InvalidKey {
  readonly ok: false;
  readonly code: 'INVALID_KEY';
  readonly why: 'unknown' | 'revoked' | 'expired';
  readonly detail: string;
}

export interface AdmitRequest {
  readonly keyHash: string;
  readonly nowMs: number;
  /** Is the agent that the call names, known and of the key's tenant. Undefined: the key's own. */
  readonly agentId: string | undefined;
  /** An environment that the call names; the key must be of it, or may name it. */
  readonly envName: string | undefined;
  /** The address of the caller, for the allowlist of the key. */
  readonly clientAddress: string;
  /** The resource or host that the call would touch, as `is_new_destination` counts it. */
  readonly destination: string;
  /** Further names, of which it is asked whether the agent has touched them before. Absent: none. */
  readonly names?: readonly string[];
  /** How many things at once the call writes. Absent: none. */
  readonly mutations?: number;
  /** The MCP server and its tools that are called, whose concerns are asked for. Absent: none. */
  readonly mcp?: McpCall | undefined;
  /** For the scope of an ephemeral key. */
  readonly toolName: SafeName;
  readonly verb: Verb;
  /** All parts of a call that does several things; the scope of the key must allow each of them. */
  readonly parts?: readonly { readonly toolName: SafeName; readonly verb: Verb }[];
  /** `call` counts in full; `rate` takes from the buckets alone (`/v1/scan/response`). */
  readonly counts: 'call' | 'rate';
  /** Is the same function for one configuration. Undefined: the tenant is not served. */
  readonly termsOf: (tenantId: string) => TenantTerms | undefined;
  /**
   * Every budget of the tenant, with what the call would charge to it: 0 where it does not count for that
   * one. Asked only where the call counts and nothing is wrong but perhaps its numbers; perhaps more than
   * once. Undefined: there are no budgets.
   */
  readonly chargesOf?: ((identity: Identity) => readonly BudgetCharge[]) | undefined;
}

export interface McpCall {
  /** `https://mcp.example.com` */
  readonly origin: string;
  readonly tools: readonly string[];
}

export interface BudgetCharge extends Charge {
  /**
   * Is at least the amount, at most 2^53 - 1, in the same parts. Whoever comes when so much was charged
   * exceeds the budget.
   */
  readonly daily: number;
}

interface StandingQuestion {
  readonly tenantId: string;
  readonly agentId: string;
  readonly destination: string;
  readonly charges: readonly BudgetCharge[];
}

export interface AdmissionPreview {
  readonly isNewDestination: boolean;
  /** Names of budgets that were used up before. */
  readonly exceededBudgets: readonly string[];
}

/** The limits of a tenant's plan. null is unlimited. */
export interface TenantTerms {
  readonly scansPerMonth: number | null;
  readonly scansPerMinute: number | null;
  /** Capacity of the bucket; null: twice the rate. */
  readonly burst: number | null;
  /** The rate of each key that has none of its own. */
  readonly perKeyScansPerMinute: number | null;
  /** Calls beyond the quota are let in and counted. */
  readonly overage: boolean;
}

export type Admission = Admitted | NotAdmitted;

export interface Admitted extends AdmissionPreview {
  readonly ok: true;
  readonly key: KeyRecord;
  /** In the environment and with the agent that the call names. */
  readonly identity: Identity;
  readonly agentStatus: AgentStatus;
  /** Amounts above 0 that the call has charged to budgets; they must be recorded with it. */
  readonly charges: readonly Charge[];
  /** The concerns about the called tools at the time of the call, whichever node saw them. */
  readonly toolConcerns: readonly ToolConcern[];
  /** Which of the further names the agent has not touched before. */
  readonly newNames: readonly string[];
  readonly habits: Habits;
  readonly trust: TrustRecord;
  /** The tenant's events of the last ten minutes. Later ones are added to it. */
  readonly sightings: Sightings;
  /** Sentences; empty where the call is within the scope of its key. The use is spent all the same. */
  readonly scopeViolations: readonly SafeName[];
  /** The part of the month's quota that is used, this call included. */
  readonly scansUsed: number;
}

export interface NotAdmitted {
  readonly ok: false;
  readonly code:
    | 'INVALID_KEY'
    | 'IP_NOT_ALLOWED'
    | 'FORBIDDEN'
    | 'CROSS_TENANT'
    | 'CROSS_ENVIRONMENT'
    | 'UNKNOWN_AGENT'
    | 'RATE_LIMITED'
    | 'QUOTA_EXCEEDED';
  readonly detail: string;
  /** Whose key it was, for the record; undefined where no known key was presented. */
  readonly identity: Identity | undefined;
  /** With RATE_LIMITED and QUOTA_EXCEEDED: at least 1. */
  readonly retryAfterSeconds?: number;
}

export interface TenantUsage {
  /** The calls of the calendar month (UTC) that `nowMs` lies in. */
  readonly scansUsed: number;
  /** Refused with RATE_LIMITED, by full hours. */
  readonly rateLimitHits24h: number;
  /** Admitted within the last minute, by slots of ten seconds. */
  readonly currentRatePerMin: number;
}
