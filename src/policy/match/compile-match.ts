import { readingsOf } from '../../core/url-readings.ts';
import type { RuleMatch } from '../schema.ts';
import { usedKeys } from '../warnings/used-keys.ts';
import { callKeys, compileUrlPatterns, holdsOnRoute, type MatchFacts } from './match.ts';

/**
 * Compiles a match that counts calls, outside of policies. Ambiguous values match in their wider reading, so
 * that nothing is left uncounted.
 */
export function compileMatch(match: RuleMatch): (facts: MatchFacts) => boolean {
  const checks = usedKeys(callKeys, match).map(({ entry, value }) => entry(value, false));
  const isUrlMatched = match.url_patterns && compileUrlPatterns(match.url_patterns, false);
  return (facts) => {
    const { envName, operation, method, overridingMethods } = facts;
    const { toolName, verb, unclear } = operation;
    const route = { envName, toolName, verb, method: method.toUpperCase(), overridingMethods, unclear };
    return (
      holdsOnRoute(match, route, false) &&
      checks.every((check) => check({ facts })) &&
      (isUrlMatched?.(readingsOf(facts.target.href)) ?? true)
    );
  };
}
