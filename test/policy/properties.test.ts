import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { stringify } from 'yaml';
import {
  type CompiledInput,
  compilePolicies,
  type Facts,
  type PolicyDecision,
  parsePolicyFile,
  parseStoredRules,
  type RuleAction,
} from '../../src/policy/index.ts';
import { isOutside, parseClockTime, ZoneClock } from '../../src/policy/match/time-window.ts';
import { compileGlob, globProblem } from '../../src/util/glob.ts';
import { call, givenRule, givenRules, policies } from './arbitraries.ts';
import { decideBy, policyOf } from './facts.ts';
import { type Held, interpret, isOutsideNaive, naiveGlob, strictness } from './naive.ts';

/*
 * What holds of all policies and calls. The seed is fixed, so that a run is like the one before; a failure prints it with the
 * smallest counterexample. `PROPERTY_SEED=… PROPERTY_RUNS=… node test/policy/properties.test.ts` looks elsewhere and longer.
 */
const seed = Number(process.env['PROPERTY_SEED'] ?? 20_260_401);
const runs = (count: number) => ({ seed, numRuns: Number(process.env['PROPERTY_RUNS'] ?? count) });
const calls = fc.array(call, { minLength: 1, maxLength: 5 });

const idOf = ({ policyName, rule }: Held): string => `${policyName}/${rule.rule_id}`;
const idsOf = (matched: PolicyDecision['matched'] = []): string[] =>
  matched.map(({ policyName, ruleId }) => `${policyName}/${ruleId}`);
const sorted = (values: readonly (string | undefined)[]): string[] =>
  [...new Set(values.filter((value) => value !== undefined))].sort();

t.test('compiled policies decide as a naive reading of them', async (t) => {
  const seen: Record<string, number> = {};
  fc.assert(
    fc.property(policies, calls, (inputs, calls) => {
      // One set for several calls: what it keeps of one must not change the next.
      const set = compilePolicies(inputs);
      for (const facts of calls) {
        const decision = set.decide(facts);
        const { enforced, monitored } = interpret(inputs, facts);
        const deciding = enforced[0]?.rule;
        assert.deepEqual(
          {
            action: decision.action,
            matched: idsOf(decision.matched),
            wouldBe: decision.wouldBe,
            reason: decision.reasonCodes[0],
            tags: sorted(decision.tags),
            escalateTo: sorted(decision.escalateTo),
          },
          {
            action: deciding?.action,
            matched: enforced.map(idOf),
            wouldBe: monitored[0]?.rule.action,
            reason: deciding && (deciding.reason_code ?? `POLICY_${deciding.action}`),
            tags: sorted(enforced.map(({ rule }) => rule.tag)),
            escalateTo: sorted(enforced.map(({ rule }) => rule.escalate_to)),
          },
        );
        seen[deciding?.action ?? 'none'] = (seen[deciding?.action ?? 'none'] ?? 0) + 1;
      }
    }),
    runs(600),
  );
  for (const outcome of ['none', ...Object.keys(strictness)])
    t.ok((seen[outcome] ?? 0) > 20, `${outcome} came often enough to say something`);
});

/** A decision is as strict as it was, or a refusal. What nobody decided stays so, or is refused. */
function isAsStrict(after: RuleAction | undefined, before: RuleAction | undefined): boolean {
  return after === before || (after !== undefined && strictness[after] === strictness.DENY);
}

t.test('a further DENY never makes a decision milder', async (t) => {
  const place = fc.record({ policy: fc.nat(), rule: fc.nat() });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(policies, givenRule, place, calls, (inputs, given, place, calls) => {
        const rule = { ...given, action: 'DENY', rule_id: 'further' };
        const further = policyOf('further', [{ ...rule, match: {}, condition: {} }, rule]);
        const before = compilePolicies(inputs);
        const variants = [
          [...inputs, policyOf('more', [rule])],
          inputs.map((input, n) =>
            n === place.policy % inputs.length ? withRule(input, place.rule, rule) : input,
          ),
        ];
        for (const facts of calls) {
          const { action } = before.decide(facts);
          for (const variant of variants)
            assert.ok(isAsStrict(compilePolicies(variant).decide(facts).action, action));
          assert.equal(strictness[compilePolicies([...inputs, further]).decide(facts).action ?? 'ALLOW'], 3);
        }
      }),
      runs(80),
    ),
  );
});

/** The policy with one rule more, somewhere among its own. */
function withRule(input: CompiledInput, place: number, rule: object): CompiledInput {
  return {
    ...input,
    rules: input.rules.toSpliced(place % (input.rules.length + 1), 0, ...parseStoredRules([rule])),
  };
}

t.test('the order of policies never matters, nor what was asked of them before', async (t) => {
  const shuffled = policies.chain((inputs) =>
    fc.tuple(
      fc.constant(inputs),
      fc.shuffledSubarray(inputs, { minLength: inputs.length, maxLength: inputs.length }),
    ),
  );
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(shuffled, calls, ([inputs, reordered], calls) => {
        const [set, other] = [compilePolicies(inputs), compilePolicies(reordered)];
        const decisions = calls.map((facts) => set.decide(facts));
        assert.deepEqual(
          calls
            .toReversed()
            .map((facts) => other.decide(facts))
            .toReversed(),
          decisions,
        );
      }),
      runs(150),
    ),
  );
});

t.test('where a rule allows, the same rule with any other action would hold', async (t) => {
  const others = Object.keys(strictness).filter((action) => action !== 'ALLOW');
  let allowed = 0;
  fc.assert(
    fc.property(givenRule, calls, fc.constantFrom(...others), (given, calls, action) => {
      const holdsAs = (action: string, facts: Facts) =>
        compilePolicies([policyOf('p', [{ ...given, action }])]).decide(facts).action;
      for (const facts of calls) {
        if (holdsAs('ALLOW', facts) === undefined) continue;
        allowed += 1;
        assert.equal(holdsAs(action, facts), action);
      }
    }),
    runs(600),
  );
  t.ok(allowed > 100, 'allowances came often enough to say something');
});

// Policy files have no aliases, which `stringify` would write for what two rules share.
const toYaml = (value: unknown): string => stringify(value, { aliasDuplicateObjects: false });

t.test('a rule that is printed and read again is the same rule', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(givenRules, (given) => {
        const { rules } = policyOf('p', given);
        assert.deepEqual(parseStoredRules(JSON.parse(JSON.stringify(rules))), rules);
        for (const print of [toYaml, JSON.stringify]) {
          const file = parsePolicyFile(print({ name: 'p', rules }), 'p.yaml');
          assert.ok(file.ok);
          assert.deepEqual(file.policies[0]?.rules, rules);
        }
      }),
      runs(200),
    ),
  );
});

t.test('what a user writes as a pattern, path or phrase survives being stored', async (t) => {
  const text = fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(text, fc.string({ minLength: 1, maxLength: 30, unit: 'binary' }), (pattern, phrase) => {
        const rule = {
          rule_id: 'r',
          action: 'DENY',
          match: { region_patterns: [pattern] },
          condition: { body_contains_any: [phrase] },
        };
        // Some of these are no patterns; what is accepted is kept as it is, and answers without throwing.
        if (globProblem(pattern) !== undefined || /\p{Cc}/u.test(pattern)) return;
        const [parsed] = parseStoredRules(JSON.parse(JSON.stringify([rule])));
        assert.deepEqual(parsed?.match.region_patterns, [pattern]);
        assert.deepEqual(parsed?.condition.body_contains_any, [phrase]);
        const literal = decideBy([rule], {
          operation: { resource: { region: pattern } },
          body: `a ${phrase} b`,
        });
        if (!/[*?[\],]/.test(pattern) && phrase.isWellFormed()) assert.equal(literal.action, 'DENY');
      }),
      runs(250),
    ),
  );
});

t.test('globs match as a naive matcher that tries every length of each star', async (t) => {
  /** Pieces of a pattern, each with a text that it fits: what is put together of them often matches, or fails by a little. */
  const pieces: (readonly [pattern: string, text: string])[] = [
    ['a', 'a'],
    ['B', 'b'],
    ['/', '/'],
    ['*', ''],
    ['*', 'a'],
    ['*a*', 'a'],
    ['*', 'b/a'],
    ['?', 'a'],
    ['[ab]', 'b'],
    ['[!a]', 'A'],
    ['[^b/]', 'a'],
    ['[A-C]', 'b'],
    ['[]a]', ']'],
    ['[a-]', '-'],
  ];
  const glob = fc
    .array(fc.tuple(fc.constantFrom(...pieces), fc.integer({ min: 0, max: 9 })), { maxLength: 7 })
    .map((all) => ({
      pattern: all.map(([[pattern]]) => pattern).join(''),
      // One piece in ten has nothing of its own in the text.
      text: all.map(([[, text], luck]) => (luck === 0 ? '' : text)).join(''),
    }));
  let matched = 0;
  fc.assert(
    fc.property(glob, glob, fc.boolean(), ({ pattern, text }, other, ignoresCase) => {
      assert.equal(globProblem(pattern), undefined);
      const matches = compileGlob(pattern, ignoresCase);
      for (const candidate of [text, other.text, text.slice(1), `${text}a`]) {
        const wanted = naiveGlob(pattern, candidate, ignoresCase);
        assert.equal(matches(candidate), wanted, `${pattern} on ${candidate}`);
        if (wanted) matched += 1;
      }
    }),
    runs(3000),
  );
  t.ok(matched > 100, 'matches came often enough to say something');
});

t.test('time windows go by the clock on the wall, over the days that clocks change', async (t) => {
  // North and south, by whole and half hours, at midnight and at night, and none at all.
  const zones = [
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'America/Santiago',
    'Africa/Cairo',
    'Pacific/Apia',
    'Asia/Kathmandu',
    'UTC',
  ];
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  const clockTime = fc
    .tuple(fc.nat(23), fc.nat(59))
    .map(([hour, minute]) => `${twoDigits(hour)}:${twoDigits(minute)}`);
  const quarterHourMs = 15 * 60_000;
  const clocks = new Map(zones.map((zone) => [zone, new ZoneClock(zone)]));
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      clockTime,
      fc.oneof(clockTime, fc.constant('24:00')),
      fc.nat(),
      (tz, start, end, chosen) => {
        fc.pre(start !== end);
        const change = changesOf(tz)[chosen % 2] ?? Date.UTC(2026, 5, 1);
        for (let at = -8; at <= 8; at++) {
          const nowMs = change + at * quarterHourMs - 1;
          const minute = clocks.get(tz)?.minuteOfDay(nowMs) ?? Number.NaN;
          assert.equal(
            isOutside(minute, parseClockTime(start), parseClockTime(end)),
            isOutsideNaive(nowMs, { start, end, tz }),
            `${start} to ${end} in ${tz} at ${new Date(nowMs).toISOString()}`,
          );
        }
      },
    ),
    runs(150),
  );
  t.equal(changesOf('Europe/Berlin').length, 2);
  t.equal(changesOf('UTC').length, 0);
});

const changes = new Map<string, readonly number[]>();

/** When the clocks of a zone change in 2026, to the hour. */
function changesOf(tz: string): readonly number[] {
  const known = changes.get(tz);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en', { timeZone: tz, timeZoneName: 'longOffset' });
  const offsetAt = (ms: number): string | undefined =>
    format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value;
  const [hourMs, days] = [3_600_000, Array.from({ length: 365 }, (_, n) => Date.UTC(2026, 0, 1 + n))];
  const found = days
    .filter((day) => offsetAt(day) !== offsetAt(day + 24 * hourMs))
    .map((day) => {
      let at = day;
      while (offsetAt(at) === offsetAt(day)) at += hourMs;
      return at;
    });
  changes.set(tz, found);
  return found;
}
