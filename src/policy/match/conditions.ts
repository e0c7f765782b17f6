import { compileGlob } from '../../util/glob.ts';
import type { CompiledBodyPath, RuleCheck } from '../evaluation.ts';
import type { Facts } from '../facts.ts';
import type { RuleCondition } from '../schema.ts';
import type { BodyValues } from './body-values.ts';
import { isOutside, parseClockTime, type ZoneClock } from './time-window.ts';

/*
 * The table of conditions. Each entry says how a condition is checked, and how it is explained to whoever
 * asks why a call was stopped. Explanations name harmless settings of the rule and nothing of the call. They
 * never name phrases or values of the rule, since a code name in a policy is itself a secret. Conditions are
 * checked in the order of the table. Those on known facts come first, then those that read the body, then
 * those that parse it.
 */

/** Parts that the conditions of one set share. Each phrase, path and clock is there once. */
export interface SetParts {
  word(text: string): number;
  path(text: string): CompiledBodyPath;
  clock(zone: string): ZoneClock;
}

interface ConditionKey<V> {
  readonly compile: (value: V, parts: SetParts, allows: boolean) => RuleCheck;
  readonly says: (value: V) => string;
  /** The condition asks for a field of the body. Some bodies do not tell whether they have it. */
  readonly readsFields?: true;
  /** Tells whether the condition can only hold where one of the set's words stands in the body. */
  readonly needsWord?: (value: V, parts: SetParts) => boolean;
}

type ConditionTable = { readonly [K in keyof RuleCondition]-?: ConditionKey<NonNullable<RuleCondition[K]>> };

export const conditions: ConditionTable = {
  has_data_class: ofFacts(
    ({ classes }, wanted) => wanted.some((name) => classes.includes(name)),
    (wanted) => `the call contains ${wanted.join(' or ')}`,
  ),
  has_detector: {
    compile: (patterns) => {
      const globs = patterns.map((pattern) => compileGlob(pattern));
      return ({ facts }) => facts.detectors.some((id) => globs.some((holds) => holds(id)));
    },
    says: (wanted) => `it contains what ${wanted.join(' or ')} finds`,
  },
  has_signal: ofFacts(
    ({ signals }, wanted) => wanted.some((name) => signals.includes(name)),
    (wanted) => `it has the signal ${wanted.join(' or ')}`,
  ),
  is_external_principal: isSo(
    (facts) => facts.isExternalPrincipal,
    'it addresses someone outside the organisation',
    'it addresses the organisation itself',
  ),
  is_new_destination: isSo(
    (facts) => facts.isNewDestination,
    'the agent has not used this destination before',
    'the agent has used this destination before',
  ),
  is_volume_burst: isSo(
    (facts) => facts.isVolumeBurst,
    'the agent calls far more often than usual',
    'the agent calls as often as usual',
  ),
  threat_intel_match: isSo(
    (facts) => facts.threatIntelMatch,
    'a threat feed lists the destination',
    'no threat feed lists the destination',
  ),
  risk_score_gt: ofFacts(
    (facts, threshold) => facts.riskScore > threshold,
    (threshold) => `its risk score is above ${threshold}`,
  ),
  trust_score_lt: ofFacts(
    (facts, threshold) => facts.trustScore < threshold,
    (threshold) => `the agent's trust is below ${threshold}`,
  ),
  body_size_bytes_gt: ofFacts(
    (facts, bytes) => facts.body.bytes > bytes,
    (bytes) => `its body is larger than ${bytes} bytes`,
  ),
  time_of_day_outside: {
    compile: (window, parts) => {
      const [start, end, clock] = [
        parseClockTime(window.start),
        parseClockTime(window.end),
        parts.clock(window.tz),
      ];
      return ({ facts }) => isOutside(clock.minuteOfDay(facts.nowMs), start, end);
    },
    says: ({ start, end, tz }) => `it is made outside ${start} to ${end} (${tz})`,
  },
  daily_budget_exceeded: ofFacts(
    (facts, name) => facts.isBudgetExceeded(name),
    (name) => `the budget ${name} is used up for today`,
  ),
  body_contains_any: {
    compile: (phrases, parts) => {
      const words = phrases.map((phrase) => parts.word(phrase));
      return (call) => {
        for (const word of words) if (call.hasWord(word)) return true;
        return false;
      };
    },
    says: () => 'its body contains a phrase that the rule names',
    needsWord: () => true,
  },
  body_contains_all: {
    compile: (phrases, parts) => {
      const words = phrases.map((phrase) => parts.word(phrase));
      return (call) => words.every((word) => call.hasWord(word));
    },
    says: () => 'its body contains all phrases that the rule names',
    needsWord: () => true,
  },
  body_path_equals: bodyPath(
    (values, wanted, allows) => values.has(wanted, !allows),
    'has the value that the rule names',
  ),
  body_path_gt: bodyNumber(({ greatest }, limit) => greatest > limit, 'is above the limit of the rule'),
  body_path_gte: bodyNumber(({ greatest }, limit) => greatest >= limit, 'reaches the limit of the rule'),
  body_path_lt: bodyNumber(({ least }, limit) => least < limit, 'is below the limit of the rule'),
  body_path_lte: bodyNumber(({ least }, limit) => least <= limit, 'is at or below the limit of the rule'),
};

/** Returns a condition on facts that are known without reading the body. */
function ofFacts<V>(holds: (facts: Facts, value: V) => boolean, says: (value: V) => string): ConditionKey<V> {
  return { compile: (value) => (call) => holds(call.facts, value), says };
}

/** Returns a condition that a fact is true, or is false. */
function isSo(of: (facts: Facts) => boolean, yes: string, no: string): ConditionKey<boolean> {
  return ofFacts(
    (facts, wanted) => of(facts) === wanted,
    (wanted) => (wanted ? yes : no),
  );
}

/**
 * Returns a condition on the numbers at a path. A text that only some servers read as a number may be on
 * either side of the limit, so the answer for it is undefined.
 */
function bodyNumber(
  compare: (values: BodyValues, limit: number) => boolean,
  says: string,
): ConditionKey<{ path: string; value: number }> {
  return bodyPath(
    (values, limit) => compare(values, limit) || (values.hasOddNumber ? undefined : false),
    says,
  );
}

function bodyPath<V>(
  compare: (values: BodyValues, value: V, allows: boolean) => boolean | undefined,
  says: string,
): ConditionKey<{ path: string; value: V }> {
  return {
    compile: ({ path, value }, parts, allows) => {
      const bodyPath = parts.path(path);
      const isMet = (values: BodyValues) => compare(values, value, allows);
      return (call) => call.meetsAt(bodyPath, allows, isMet);
    },
    readsFields: true,
    says: ({ path }) => `${path} of its body ${says}`,
    needsWord: ({ path }, parts) => parts.path(path).word !== undefined,
  };
}
