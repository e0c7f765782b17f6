import { isDeepStrictEqual } from 'node:util';
import type { PolicyDocument, Rule } from './schema.ts';

/*
 * Finds the differences in meaning between two sets of policies. A policy is known by name and environment, a
 * rule by id. The order of the values of a list never counts. The order of rules counts only among those of
 * one priority, since it decides nothing elsewhere.
 */

export interface ComparedPolicy extends Pick<PolicyDocument, 'name' | 'description' | 'mode' | 'rules'> {
  /** The environment; null for all. */
  readonly envName: string | null;
}

/** A key that was changed. `before` is undefined where the key is new, and `after` where it was removed. */
export interface RuleKeyChange {
  /** The name of the key: `action`, `match.verbs`, `condition.risk_score_gt`. */
  readonly key: string;
  readonly before: unknown;
  readonly after: unknown;
}

type Kind = 'added' | 'removed' | 'changed';

interface RuleChange {
  readonly kind: Kind;
  readonly ruleId: string;
  /** The keys that differ; empty unless the rule is changed. */
  readonly keys: readonly RuleKeyChange[];
}

export interface PolicyChange {
  readonly kind: Kind;
  readonly name: string;
  readonly envName: string | null;
  /**
   * The keys that differ: `description`, `mode`, and `order`. The values of `order` are ids of rules of one
   * priority that changed places.
   */
  readonly keys: readonly RuleKeyChange[];
  readonly rules: readonly RuleChange[];
}

/** Returns the policies that differ. Each name may stand only once for an environment in each set. */
export function diffPolicies(
  before: readonly ComparedPolicy[],
  after: readonly ComparedPolicy[],
): readonly PolicyChange[] {
  const [old, next] = [byPlace(before), byPlace(after)];
  return [...new Set([...old.keys(), ...next.keys()])]
    .sort()
    .map((place) => diffPolicy(old.get(place), next.get(place)))
    .filter((change) => change !== undefined);
}

/** Returns the difference between two policies; undefined where both mean the same. */
function diffPolicy(
  before: ComparedPolicy | undefined,
  after: ComparedPolicy | undefined,
): PolicyChange | undefined {
  const either = after ?? before;
  if (either === undefined) return undefined;
  const { name, envName } = either;
  const rules = diffRules(before?.rules ?? [], after?.rules ?? []);
  if (before === undefined || after === undefined)
    return { kind: before ? 'removed' : 'added', name, envName, keys: [], rules };
  const keys = [
    ...diffKeys(headOf(before), headOf(after)),
    ...orderChanges(before.rules, after.rules).map((it) => ({ key: 'order', ...it })),
  ];
  return keys.length + rules.length === 0 ? undefined : { kind: 'changed', name, envName, keys, rules };
}

const headOf = ({ description, mode }: ComparedPolicy) => ({ description, mode });

const byPlace = (policies: readonly ComparedPolicy[]): Map<string, ComparedPolicy> =>
  new Map(policies.map((it) => [`${it.name}\n${it.envName ?? ''}`, it]));

const byId = (rules: readonly Rule[]): Map<string, Rule> => new Map(rules.map((it) => [it.rule_id, it]));

/** Returns the changes of rules in the order of the new rules, removed ones last. */
function diffRules(before: readonly Rule[], after: readonly Rule[]): RuleChange[] {
  const [old, next] = [byId(before), byId(after)];
  const changes = after.map((rule): RuleChange => {
    const { rule_id: ruleId } = rule;
    const earlier = old.get(ruleId);
    if (earlier === undefined) return { kind: 'added', ruleId, keys: [] };
    return { kind: 'changed', ruleId, keys: diffKeys(flatten(earlier), flatten(rule)) };
  });
  const removed = before
    .filter(({ rule_id }) => !next.has(rule_id))
    .map(({ rule_id }): RuleChange => ({ kind: 'removed', ruleId: rule_id, keys: [] }));
  return [...changes.filter(({ kind, keys }) => kind !== 'changed' || keys.length > 0), ...removed];
}

type Flat = Readonly<Record<string, unknown>>;

const prefixed = (prefix: string, values: Flat): Flat =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [`${prefix}.${key}`, value]));

const flatten = ({ match, condition, ...rule }: Rule): Flat => ({
  ...rule,
  ...prefixed('match', match),
  ...prefixed('condition', condition),
});

const diffKeys = (before: Flat, after: Flat): RuleKeyChange[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((key) => ({ key, before: before[key], after: after[key] }))
    .filter((it) => !isDeepStrictEqual(asSet(it.before), asSet(it.after)));

/**
 * Returns a list as a set. The values of all lists of the language are alternatives or must all be there, so
 * they have no order.
 */
const asSet = (value: unknown): unknown => (Array.isArray(value) ? new Set<unknown>(value) : value);

interface OrderChange {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Returns the changes of order in each priority, among the rules that both sides have there. */
function orderChanges(before: readonly Rule[], after: readonly Rule[]): OrderChange[] {
  const [old, next] = [byId(before), byId(after)];
  const isIn = (rules: ReadonlyMap<string, Rule>) => (rule: Rule) =>
    rules.get(rule.rule_id)?.priority === rule.priority;
  const byPriority = (rules: readonly Rule[]) => Map.groupBy(rules, ({ priority }) => priority);
  const [stood, stand] = [byPriority(before.filter(isIn(next))), byPriority(after.filter(isIn(old)))];
  return [...stood]
    .map(([priority, rules]) => changedStretch(idsOf(rules), idsOf(stand.get(priority) ?? [])))
    .filter((change) => change !== undefined);
}

const idsOf = (rules: readonly Rule[]): string[] => rules.map((it) => it.rule_id);

/**
 * Compares two orders of the same ids. Returns the part from the first to the last place that differs, or
 * undefined.
 */
function changedStretch(before: readonly string[], after: readonly string[]): OrderChange | undefined {
  const differs = (id: string, at: number): boolean => id !== after[at];
  const [from, to] = [before.findIndex(differs), before.findLastIndex(differs) + 1];
  return from < 0 ? undefined : { before: before.slice(from, to), after: after.slice(from, to) };
}
