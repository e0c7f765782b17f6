import { get } from './api.ts';
import type { PolicyText } from './policy-call.ts';

/** A policy with the rule that lets a call through. */
interface ProposedChange {
  readonly name: string;
  /** The place of the policy. The API cannot change one of a `file`. */
  readonly source: 'api' | 'file';
  /** Version of the policy; null where there is no such policy yet. */
  readonly version: number | null;
  readonly rule: { readonly rule_id: string };
  readonly policy: PolicyText;
}

/** The smallest rules that would let a recorded call through, as the policies stand now. */
export interface Exception {
  /** The reason why no rule lets the call through, and what does; null where a rule does. */
  readonly because: string | null;
  readonly summary: string;
  /** Sentences on what else the rules let through. */
  readonly wider: readonly string[];
  readonly changes: readonly ProposedChange[];
}

export const exceptionFor = (traceId: string): Promise<Exception> => get(`/v1/traces/${traceId}/exception`);

/** Returns the policy as it was before the change. */
export const beforeOf = ({ policy, rule }: ProposedChange): PolicyText => ({
  ...policy,
  rules: policy.rules.filter((it) => it.rule_id !== rule.rule_id),
});
