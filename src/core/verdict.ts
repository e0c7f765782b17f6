import type { DataClass } from './finding.ts';
import type { SafeName } from './safe-name.ts';

/* The judgement of a call: its risk, the rules that matched, and the decision. */

export const decisions = ['ALLOW', 'SANITIZE', 'REQUIRE_APPROVAL', 'DENY'] as const;
/** The decision on a call. The order of `decisions` goes from the mildest to the strictest. */
export type Decision = (typeof decisions)[number];

export const bands = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
export type Band = (typeof bands)[number];

/** The names of signals, which policies may ask for. */
export const signalNames = [
  'SENSITIVE_DATA',
  'THREAT_INTEL_MATCH',
  'EXTERNAL_PRINCIPAL',
  'NEW_DESTINATION',
  'BASELINE_ANOMALY',
  'VOLUME_BURST',
  'READ_THEN_WRITE',
  'CROSS_AGENT_EXFIL',
  'PRIVILEGE_ESCALATION',
  'MASS_ACTION',
  'TOKEN_HARVESTING',
  'MCP_TOOL_DRIFT',
  'ORDERS_READ',
  'PROMPT_INJECTION',
  'EXFILTRATION',
  'DESTRUCTIVE',
  'LATERAL_MOVEMENT',
  'LOW_TRUST',
  'ENCODED_HOST',
  'OPAQUE_CONTENT',
] as const;
export type SignalName = (typeof signalNames)[number];

/** Something unusual that one signal engine noticed. */
export interface Signal {
  readonly engine: string;
  readonly name: SignalName;
  /** The strength of the signal, 0 to 1. */
  readonly score: number;
  readonly details: SafeName;
  /** The text that the agent gets instead of `details`, where those speak of other agents. */
  readonly shown?: SafeName;
}

/** The share of one engine in the score: its gravest signal times its weight. */
export interface RiskPart {
  readonly engine: string;
  readonly part: number;
}

/** The risk of a call, with the parts of its score. */
export interface Risk {
  readonly signals: readonly Signal[];
  /** The score, 0 to 1. */
  readonly score: number;
  readonly band: Band;
  /** The band that remains when what SANITIZE cuts is gone. */
  readonly residualBand: Band;
  /** The shares of the engines in the score. */
  readonly parts: readonly RiskPart[];
  /** The share of the trust in the agent. */
  readonly trustModifier: number;
  /** The least score that the findings of the call allow. */
  readonly floor: number;
}

/** A reason why an analyst should look at a call, whatever was decided. */
export interface IncidentCause {
  /**
   * The cause, such as `policy:<policy name>/<rule id>`, `scope-violation`, `threat-hit` or
   * `critical-denial`.
   */
  readonly trigger: SafeName;
  readonly title: SafeName;
  readonly severity: Band;
}

export interface MatchedRule {
  readonly policyId: string;
  readonly policyName: string;
  readonly version: number;
  readonly ruleId: string;
  readonly action: string;
}

/** The answer of the pipeline to a call. */
export interface Verdict {
  readonly decision: Decision;
  readonly reasonCodes: readonly string[];
  readonly classifications: readonly DataClass[];
  /** Sentences that say why, and what would make the call pass. They never have the sensitive text. */
  readonly explanation: readonly SafeName[];
  readonly matchedRules: readonly MatchedRule[];
  /** The rule that decided; undefined where none did. */
  readonly decidedBy: MatchedRule | undefined;
  /** Tags from matching rules. The trace can be found by them. */
  readonly tags: readonly string[];
  /** Kinds of channels that should be told of the call, by the rules that apply. */
  readonly escalateTo: readonly string[];
  /** Sentences that say how the call leaves the scope of its key. */
  readonly violations: readonly SafeName[];
  /**
   * The decision that monitor mode, of the daemon, the tenant or a policy, has kept from standing; undefined
   * where there is none.
   */
  readonly wouldBe: Decision | undefined;
  /** The body that is forwarded instead of the call's own, on SANITIZE. */
  readonly sanitizedBody: Buffer | undefined;
  /** The classes that are cut out besides SECRETS, on SANITIZE. */
  readonly cuts?: readonly DataClass[] | undefined;
  /** The approval that the call waits for, on REQUIRE_APPROVAL. */
  readonly approval: { readonly approvalId: string; readonly expiresAtMs: number } | undefined;
  /** The id of the approval whose grant lets the call out, or whose denial stops it. */
  readonly byApproval?: string;
}
