import { type Decision, decisions } from '../../core/call.ts';
import {
  type CompiledInput,
  compilePolicies,
  type Facts,
  type PolicySet,
  type Rule,
} from '../../policy/index.ts';
import type { Lack } from './call-of-trace.ts';

/*
 * Rules over a call of which not everything is known. A rule that asks for something lacking may hold if all
 * else that it asks for holds. Then the policy's decision is one of several. Only what all of them have in
 * common is certain.
 */

const needed: Readonly<Record<Lack | 'state', readonly string[]>> = {
  body: [
    'body_contains_any',
    'body_contains_all',
    'body_path_equals',
    'body_path_gt',
    'body_path_gte',
    'body_path_lt',
    'body_path_lte',
  ],
  resource: [
    'org_patterns',
    'repo_patterns',
    'channel_patterns',
    'region_patterns',
    'account_patterns',
    'aws_tags',
    'principal_patterns',
    'is_external_principal',
  ],
  url: ['url_patterns'],
  // Traces do not tell the trust and the budgets of their time.
  state: ['trust_score_lt', 'daily_budget_exceeded'],
};

export type PartialRules = ReturnType<typeof compilePartial>;

interface PartialRule {
  readonly rule: Rule;
  /** The keys of the rule that ask for something lacking. */
  readonly lacking: readonly string[];
  /** The rule without those keys, as a set of its own; undefined until it is first asked for. */
  alone: PolicySet | undefined;
}

export function compilePartial(inputs: readonly CompiledInput[], lacks: readonly Lack[]) {
  const keys = new Set([...lacks, 'state' as const].flatMap((it) => needed[it]));
  const enforced = inputs.filter((it) => it.mode === 'enforce');
  // Several policies may have one id: those of a file's environments.
  const policies = enforced.map((input, index) => ({
    input: { ...input, policyId: `${index}` },
    rules: input.rules.toSorted((a, b) => a.priority - b.priority).map((rule) => toPartial(rule, keys)),
  }));
  /**
   * Decides by the rules that ask for nothing lacking. Its decision stands where `doubts` returns undefined.
   */
  const certain = compilePolicies(
    policies.map(({ input, rules }) => ({
      ...input,
      rules: rules.filter((it) => it.lacking.length === 0).map((it) => it.rule),
    })),
  );
  const doubtful = policies.filter(({ rules }) => rules.some((it) => it.lacking.length > 0));

  return {
    certain,
    /** Returns the unknown facts that the decision depends on, as a text; undefined where there are none. */
    doubts(facts: Facts) {
      if (doubtful.length === 0) return undefined;
      const decided = certain.decide(facts).matched;
      let [mildest, strictest] = [-1, -1];
      const because = new Set<string>();
      let maySanitize = false;
      for (const { policyId, action } of decided) {
        if (doubtful.some(({ input }) => input.policyId === policyId)) continue;
        mildest = Math.max(mildest, rank(action));
        strictest = Math.max(strictest, rank(action));
      }
      for (const { input, rules } of doubtful) {
        const first = decided.find((it) => it.policyId === input.policyId);
        const ranks = [first ? rank(first.action) : -1];
        for (const it of rules) {
          if (it.rule.rule_id === first?.ruleId) break;
          // One rule of an action says as much as all rules of that action.
          if (it.lacking.length === 0 || ranks.includes(rank(it.rule.action))) continue;
          if (!mayHold(it, input, facts)) continue;
          ranks.push(rank(it.rule.action));
          maySanitize ||= it.rule.action === 'SANITIZE';
          because.add(
            `rule "${it.rule.rule_id}" of policy "${input.policyName}" asks for ${it.lacking.join(', ')}`,
          );
        }
        mildest = Math.max(mildest, Math.min(...ranks));
        strictest = Math.max(strictest, Math.max(...ranks));
      }
      const isHeld = decisions[strictest] === 'REQUIRE_APPROVAL';
      // A held call that cannot be sanitized cannot be sent at all, so the cuts matter.
      if (mildest === strictest && !(isHeld && maySanitize)) return undefined;
      return namesSome([...because]);
    },
  };
}

/** The most rules that are named for one trace. An answer has thousands of traces. */
const namedMax = 5;

const namesSome = (causes: readonly string[]): string =>
  [
    ...causes.slice(0, namedMax),
    ...(causes.length > namedMax ? [`and ${causes.length - namedMax} more`] : []),
  ].join('; ');

function mayHold(it: PartialRule, input: CompiledInput, facts: Facts): boolean {
  it.alone ??= compilePolicies([{ ...input, rules: [withoutKeys(it.rule, it.lacking)] }]);
  return it.alone.decide(facts).action !== undefined;
}

function toPartial(rule: Rule, keys: ReadonlySet<string>): PartialRule {
  const used = [...Object.keys(rule.match), ...Object.keys(rule.condition)];
  return { rule, lacking: used.filter((key) => keys.has(key)), alone: undefined };
}

const withoutKeys = (rule: Rule, keys: readonly string[]): Rule => ({
  ...rule,
  match: without(rule.match, keys),
  condition: without(rule.condition, keys),
});

const without = <T extends object>(from: T, keys: readonly string[]): T =>
  Object.fromEntries(Object.entries(from).filter(([key]) => !keys.includes(key))) as T;

/** Returns the strictness of the decision that an action comes to. */
const rank = (action: string): number =>
  decisions.indexOf(action === 'OPEN_INCIDENT' ? 'DENY' : (action as Decision));
