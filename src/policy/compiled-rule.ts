import type { MatchedRule } from '../core/call.ts';
import type { RuleCheck } from './evaluation.ts';
import type { UrlCheck } from './match/match.ts';
import type { Rule } from './schema.ts';

export interface CompiledRule {
  readonly rule: Rule;
  readonly matched: MatchedRule;
  readonly isEnforced: boolean;
  /** Whose rule it is: equal for rules of one policy. */
  readonly policy: CompiledInput;
  readonly checks: readonly RuleCheck[];
  readonly urlCheck: UrlCheck | undefined;
  /** It can only hold where one of the set's words stands in the body. */
  readonly needsWord: boolean;
  /** Why it applies, for the explanation. */
  readonly because: string;
  /** The same for a body that does not tell. */
  readonly becauseUnclear: string;
}

/** A policy as it takes part in decisions: the latest version of one that is not archived. */
export interface CompiledInput {
  readonly policyId: string;
  readonly policyName: string;
  readonly version: number;
  /** undefined: all environments. */
  readonly envNames: readonly string[] | undefined;
  readonly mode: 'enforce' | 'monitor';
  readonly rules: readonly Rule[];
}
