import type { AgentStatus, Charge, Identity, ToolConcern, Verb } from '../../core/call.ts';
import type { Habits, Sightings } from '../../core/history.ts';
import type { SafeName } from '../../core/safe-name.ts';
import type { TrustRecord } from './history.ts';
import type { KeyRecord } from './keys.ts';
import type { MaybePromise } from './page.ts';

/** Identifies and admits calls. Every call passes through these methods, so they must be fast. */
export interface AdmissionStore {
  /**
   * Returns whose key this is, without counting anything. It is asked where a tunnel opens and where a
   * management call is authenticated.
   */
  identify(keyHash: string, nowMs: number): MaybePromise<Identification>;
  /**
   * Admits or refuses a call in one atomic round trip, and returns all that the call needs from the state. It
   * looks at key and parent, agent, allowlist, permission, environment, quota, buckets, use count, scope and
   * counters. A refused call takes nothing from quota, bucket and uses. UNKNOWN_AGENT is checked last: with a
   * known agent the call would have been let in. A key and the keys that were made with it share one bucket.
   * What the call charges to budgets is added in the same step. A call that is not let out in the end gives
   * it back when it is recorded.
   */
  admit(request: AdmitRequest): MaybePromise<Admission>;
  /** Returns what `admit` would answer now, without counting or noting anything. */
  standingOf(question: StandingQuestion): Promise<AdmissionPreview>;
  /**
   * Returns the identity of a key that `identify` or `admit` found valid within the last `withinMs`;
   * undefined where they did not. It is for calls that may pass while the state is away.
   */
  recall(keyHash: string, nowMs: number, withinMs: number): Identification | undefined;
  /**
   * Returns true once for each nonce of a key until `endsAtMs`, on all nodes together. Rejects with
   * GATEWAY_BUSY where 10,000 of the key or 100,000 of the tenant have not ended.
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
      /** The live key that an ephemeral key was made with; undefined for a live key. */
      readonly parent: KeyRecord | undefined;
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
  /** The agent that the call names, which must be known and of the key's tenant. Undefined: the key's own. */
  readonly agentId: string | undefined;
  /**
   * The environment that the call names, which must be one that the key may name. Undefined: that of the
   * named agent, else the key's.
   */
  readonly envName: string | undefined;
  /** The address of the caller, for the allowlist of the key. */
  readonly clientAddress: string;
  /** The resource or host that the call would touch, as the condition `is_new_destination` counts it. */
  readonly destination: string;
  /**
   * Further names that the call would touch. The answer says which of them are new to the agent. Absent:
   * none.
   */
  readonly names?: readonly string[];
  /** The number of things that the call writes at once. Absent: none. */
  readonly mutations?: number;
  /** The MCP server and the tools that are called. The answer has the concerns about them. Absent: none. */
  readonly mcp?: McpCall | undefined;
  /** The called tool, which the scope of an ephemeral key must allow, as it must the verb. */
  readonly toolName: SafeName;
  readonly verb: Verb;
  /** The parts of a call that does several things; the scope of the key must allow each of them. */
  readonly parts?: readonly { readonly toolName: SafeName; readonly verb: Verb }[];
  /**
   * Says what is counted: `call` counts in full, `rate` takes from the buckets alone (`/v1/scan/response`).
   */
  readonly counts: 'call' | 'rate';
  /**
   * Returns the limits of a tenant's plan; undefined where the tenant is not served. It is the same function
   * for one configuration.
   */
  readonly termsOf: (tenantId: string) => TenantTerms | undefined;
  /**
   * Returns every budget of the tenant with the call's charge to it: 0 where the call does not count for it.
   * It is called only for a call that counts and has passed all checks but those of numbers, perhaps more
   * than once. Undefined: there are no budgets.
   */
  readonly chargesOf?: ((identity: Identity) => readonly BudgetCharge[]) | undefined;
}

export interface McpCall {
  /** The origin of the server, such as `https://mcp.example.com`. */
  readonly origin: string;
  readonly tools: readonly string[];
}

export interface BudgetCharge extends Charge {
  /**
   * The budget of a day, in the unit of `amount`; it is at least the amount and at most 2^53 - 1. A call that
   * comes when so much was charged exceeds the budget.
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
  /** The names of budgets that were used up before the call. */
  readonly exceededBudgets: readonly string[];
}

/** The limits of a tenant's plan; null is unlimited. */
export interface TenantTerms {
  readonly scansPerMonth: number | null;
  readonly scansPerMinute: number | null;
  /** The capacity of the bucket, in calls; null: twice the rate. */
  readonly burst: number | null;
  /** The rate of each key without a rate of its own. */
  readonly perKeyScansPerMinute: number | null;
  /** Whether calls beyond the quota are let in and counted. */
  readonly overage: boolean;
}

export type Admission = Admitted | NotAdmitted;

export interface Admitted extends AdmissionPreview {
  readonly ok: true;
  readonly key: KeyRecord;
  /** The caller, in the environment and with the agent that the call names. */
  readonly identity: Identity;
  readonly agentStatus: AgentStatus;
  /** The amounts above 0 that the call has charged to budgets. They must be recorded with it. */
  readonly charges: readonly Charge[];
  /** The concerns about the called tools at the time of the call, whichever node saw them. */
  readonly toolConcerns: readonly ToolConcern[];
  /** The names of the request that the agent has not touched before. */
  readonly newNames: readonly string[];
  readonly habits: Habits;
  readonly trust: TrustRecord;
  /** The tenant's events of the last ten minutes. Later events are added to this object. */
  readonly sightings: Sightings;
  /**
   * Sentences that say how the call leaves the scope of its key; empty where it does not. The use is spent in
   * any case.
   */
  readonly scopeViolations: readonly SafeName[];
  /** The calls of the month that count for the quota, this one included. */
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
  /** The owner of the key, for the record; undefined where no known key was presented. */
  readonly identity: Identity | undefined;
  /**
   * The seconds after which the call may come again, at least 1; only with RATE_LIMITED and QUOTA_EXCEEDED.
   */
  readonly retryAfterSeconds?: number;
}

export interface TenantUsage {
  /** The calls of the calendar month (UTC) that `nowMs` lies in. */
  readonly scansUsed: number;
  /** The calls that were refused with RATE_LIMITED in the last 24 hours, counted by whole hours. */
  readonly rateLimitHits24h: number;
  /** The calls admitted within the last minute, counted by slots of ten seconds. */
  readonly currentRatePerMin: number;
}
