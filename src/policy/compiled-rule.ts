import type { MatchedRule } from '../core/call.ts';
import type { RuleCheck } from './evaluation.ts';
import type { UrlCheck } from './match/match.ts';
import type { Rule } from './schema.ts';

export interface CompiledRule {
  readonly rule: Rule;
  readonly matched: MatchedRule;
  readonly isEnforced: boolean;
  /** The policy of the rule, the same object for all its rules. */
  readonly policy: CompiledInput;
  readonly checks: readonly RuleCheck[];
  readonly urlCheck: UrlCheck | undefined;
  /** The rule can only hold where one of the set's words stands in the body. */
  readonly needsWord: boolean;
  /** The reason why the rule applies, for the explanation. */
  readonly because: string;
  /** The reason where the body does not tell whether the rule applies. */
  readonly becauseUnclear: string;
}

/** A policy as it takes part in decisions: the latest version of one that is not archived. */
export interface CompiledInput {
  readonly policyId: string;
  readonly policyName: string;
  readonly version: number;
  /** The environments that the policy is for; undefined for all. */
  readonly envNames: readonly string[] | undefined;
  readonly mode: 'enforce' | 'monitor';
  readonly rules: readonly Rule[];
}
