import type { DataClass } from './finding.ts';
import type { SafeName } from './safe-name.ts';

/* The judgement of a call: its risk, the rules that matched, and the decision. */

export const decisions = ['ALLOW', 'SANITIZE', 'REQUIRE_APPROVAL', 'DENY'] as const;
/** From the mildest to the strictest, as in `decisions`. */
export type Decision = (typeof decisions)[number];

export const bands = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
export type Band = (typeof bands)[number];

/** Something unusual that one engine noticed. */
export interface Signal {
  readonly engine: string;
  readonly name: string;
  /** 0 to 1. */
  readonly score: number;
  readonly details: SafeName;
  /** The text that the agent gets instead, where the details speak of other agents. */
  readonly shown?: SafeName;
}

/** The share of one engine in the score: its gravest signal times its weight. */
export interface RiskPart {
  readonly engine: string;
  readonly part: number;
}

/** How risky a call is, and how the score has come about. */
export interface Risk {
  readonly signals: readonly Signal[];
  /** 0 to 1. */
  readonly score: number;
  readonly band: Band;
  /** The band that is left when what SANITIZE cuts is gone. */
  readonly residualBand: Band;
  /** The share of each engine. */
  readonly parts: readonly RiskPart[];
  /** The share of the trust in the agent. */
  readonly trustModifier: number;
  /** The least that the score is for what was found. */
  readonly floor: number;
}

/** Why an analyst should look at a call, whatever became of it. */
export interface IncidentCause {
  /** `policy:<policy name>/<rule id>`, `scope-violation`, `threat-hit`, `critical-denial`. */
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

/** The pipeline's answer. */
export interface Verdict {
  readonly decision: Decision;
  readonly reasonCodes: readonly string[];
  readonly classifications: readonly DataClass[];
  /** Sentences saying why and what would make the call pass; never the sensitive text. */
  readonly explanation: readonly SafeName[];
  readonly matchedRules: readonly MatchedRule[];
  /** The rule that decided, where one did. */
  readonly decidedBy: MatchedRule | undefined;
  /** Tags from matching rules, by which the trace can be found. */
  readonly tags: readonly string[];
  /** Kinds of channels that the rules that hold want to be told of it. */
  readonly escalateTo: readonly string[];
  /** Sentences that say how the call leaves the scope of its key. */
  readonly violations: readonly SafeName[];
  /** In monitor mode: the decision that would have stood. */
  readonly wouldBe: Decision | undefined;
  /** On SANITIZE: what is forwarded instead of the body. */
  readonly sanitizedBody: Buffer | undefined;
  /** On SANITIZE: the classes that are cut out, besides SECRETS. */
  readonly cuts?: readonly DataClass[] | undefined;
  /** On REQUIRE_APPROVAL. */
  readonly approval: { readonly approvalId: string; readonly expiresAtMs: number } | undefined;
  /** The approval by whose grant it goes, or by whose denial it does not. */
  readonly byApproval?: string;
}
