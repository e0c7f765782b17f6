import type { ShownException as Answer } from '../../../api/answers.ts';
import { get } from './api.ts';
import type { PolicyText } from './policy-call.ts';

/** A policy with the rule that lets a call through. */
interface ProposedChange extends Omit<Answer['changes'][number], 'policy' | 'rule'> {
  readonly policy: PolicyText;
  readonly rule: { readonly rule_id: string };
}

/** The smallest rules that would let a recorded call through, as the policies stand now. */
export interface Exception extends Omit<Answer, 'changes'> {
  readonly changes: readonly ProposedChange[];
}

export const exceptionFor = (traceId: string): Promise<Exception> => get(`/v1/traces/${traceId}/exception`);

/** Returns the policy as it was before the change. */
export const beforeOf = ({ policy, rule }: ProposedChange): PolicyText => ({
  ...policy,
  rules: policy.rules.filter((it) => it.rule_id !== rule.rule_id),
});
