import { GatewayError } from '../../core/errors.ts';
import type { PolicyApply } from '../store.ts';

/*
 * Bounds a tenant's policies, without those of policy files. All are compiled together when the first call
 * after a change comes, and every call waits for that.
 */

/** The limit of policies in their latest versions. Each environment counts by itself. */
export const policiesMax = 200;
export const rulesMax = 5_000;
/** The limit of values in lists of rules: phrases, patterns, names. */
export const valuesMax = 10_000;
/** The limit of characters of the rules as JSON. */
export const charsMax = 1_000_000;

type Size = ReturnType<typeof sizeOf>;

const most: Size = { policies: policiesMax, rules: rulesMax, values: valuesMax, chars: charsMax };

const nameOf: Readonly<Record<keyof Size, string>> = {
  policies: 'policies',
  rules: 'rules',
  values: 'values in lists of rules',
  chars: 'characters of rules',
};

/**
 * Throws VALIDATION_FAILED where the policies of the tenant would pass a bound with this one. `before` is its
 * own latest version, `others` has those of all other policies. A version that is no larger than the one
 * before is taken, even where a bound is passed already.
 */
export function checkBounds(
  apply: PolicyApply,
  before: PolicyApply | undefined,
  others: readonly PolicyApply[],
): void {
  const [next, last, standing] = [sizeOf([apply]), sizeOf(before ? [before] : []), sizeOf(others)];
  for (const key of Object.keys(most) as (keyof Size)[]) {
    const total = standing[key] + next[key];
    if (total > most[key] && next[key] > last[key]) throw tooMany(key, total);
  }
}

function tooMany(key: keyof Size, total: number): GatewayError {
  const message = `a tenant may have ${most[key]} ${nameOf[key]} in all; with this policy there would be ${total}`;
  const path = key === 'policies' ? 'name' : 'rules';
  return new GatewayError('VALIDATION_FAILED', `The policy cannot be taken: ${message}.`, {
    errors: [{ path, message }],
  });
}

function sizeOf(policies: readonly PolicyApply[]) {
  const rules = policies.flatMap((it) => it.rules);
  return {
    policies: policies.length,
    rules: rules.length,
    values: rules.reduce<number>((sum, rule) => sum + valuesIn(rule), 0),
    chars: rules.reduce<number>((sum, rule) => sum + JSON.stringify(rule).length, 0),
  };
}

/** Counts the elements of all lists within a value. */
function valuesIn(json: unknown): number {
  if (json === null || typeof json !== 'object') return 0;
  const own = Array.isArray(json) ? json.length : 0;
  return Object.values(json).reduce<number>((sum, inner) => sum + valuesIn(inner), own);
}
