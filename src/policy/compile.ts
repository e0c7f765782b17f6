import { readingsOf } from '../core/url-readings.ts';
import { WordList } from '../inspect/match/rule-words.ts';
import { kept } from '../util/kept.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import { inSlices } from '../util/pace.ts';
import type { CompiledInput, CompiledRule } from './compiled-rule.ts';
import { combine, noDecision, type PolicyDecision } from './decide.ts';
import { type CompiledBodyPath, Evaluation, type RuleCheck } from './evaluation.ts';
import type { Facts } from './facts.ts';
import { PlaceTree } from './match/body-places.ts';
import { conditions, type SetParts } from './match/conditions.ts';
import { parsePath, requiredWord } from './match/json-path.ts';
import { callKeys, compileUrlPatterns, holdsOnRoute, type RuleRoute, type UrlCheck } from './match/match.ts';
import { ZoneClock } from './match/time-window.ts';
import type { Rule } from './schema.ts';
import { usedKeys } from './warnings/used-keys.ts';

/*
 * Policies are compiled when they are applied: each key of a rule becomes a function. Phrases, paths and
 * clocks that several rules use stand once in the set. At a call the set looks up the rules that can apply to
 * its environment, tool, verb, method and URL, and asks only those.
 */

const routesMax = 1024;
/**
 * The bound of kept URLs and kept lists of rules. Agents call few URLs many times. Longer URLs than
 * `urlLengthMax` are not kept.
 */
const keptMax = 4096;
const urlLengthMax = 512;

/** The policies of one tenant, ready to decide. The same facts always give the same decision. */
export interface PolicySet {
  readonly ruleCount: number;
  /** All words that the rules look for in bodies. Whoever reads the body may look for them, too. */
  readonly words: readonly string[];
  decide(facts: Facts): PolicyDecision;
}

export function compilePolicies(policies: readonly CompiledInput[]): PolicySet {
  const work = compiling(policies);
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Compiles policies as `compilePolicies` does, in slices, between which calls have their turns. */
export const compileInSlices = (policies: readonly CompiledInput[]): MaybePromise<PolicySet> =>
  inSlices(compiling(policies));

/** Compiles policies and pauses behind each rule. */
function* compiling(policies: readonly CompiledInput[]): Generator<void, PolicySet> {
  const words = new WordList();
  const places = new PlaceTree();
  const parts = setParts(words, places);
  const rules: CompiledRule[] = [];
  const names = new RouteNames();
  for (const policy of policies)
    for (const rule of policy.rules.toSorted((a, b) => a.priority - b.priority)) {
      rules.push(compileRule(policy, rule, parts));
      names.add(policy, rule);
      yield;
    }
  if (rules.length === 0) return { ruleCount: 0, words: [], decide: () => noDecision };
  const built = words.build();
  const candidatesFor = createIndex(rules, names);
  return {
    ruleCount: rules.length,
    words: built.list,
    decide(facts) {
      const { all, wordless } = candidatesFor(facts);
      if (all.length === 0) return noDecision;
      const call = new Evaluation(facts, built, places);
      const candidates = wordless.length < all.length && !call.mayHoldWords() ? wordless : all;
      return combine(firstOfEachPolicy(candidates, call));
    },
  };
}

/** Returns the rule that holds in each policy. The first one decides, and those behind it are not asked. */
function firstOfEachPolicy(candidates: readonly CompiledRule[], call: Evaluation): CompiledRule[] {
  const holding: CompiledRule[] = [];
  let decided: CompiledInput | undefined;
  for (const candidate of candidates) {
    if (candidate.policy === decided) continue;
    call.heldUnclear = false;
    if (!holds(candidate.checks, call)) continue;
    holding.push(call.heldUnclear ? { ...candidate, because: candidate.becauseUnclear } : candidate);
    decided = candidate.policy;
  }
  return holding;
}

/**
 * The rules that can hold, in order. `wordless` are those of them that can hold where a body has none of the
 * set's words.
 */
interface Candidates {
  readonly all: readonly CompiledRule[];
  readonly wordless: readonly CompiledRule[];
}

const toCandidates = (all: readonly CompiledRule[]): Candidates => ({
  all,
  wordless: all.filter(({ needsWord }) => !needsWord),
});

function holds(checks: readonly RuleCheck[], call: Evaluation): boolean {
  for (const check of checks) if (!check(call)) return false;
  return true;
}

function setParts(words: WordList, places: PlaceTree): SetParts {
  const paths = new Map<string, CompiledBodyPath>();
  const clocks = new Map<string, ZoneClock>();
  return {
    word: (text) => words.add(text),
    path: (text) => kept(paths, text, () => compilePath(text, places, words)),
    clock: (zone) => kept(clocks, zone, () => new ZoneClock(zone)),
  };
}

function compilePath(text: string, places: PlaceTree, words: WordList): CompiledBodyPath {
  const steps = parsePath(text);
  if (steps === undefined) throw new TypeError('A rule has a body path that was not validated.');
  const word = requiredWord(steps);
  return { place: places.add(steps), word: word === undefined ? undefined : words.add(word) };
}

function compileRule(policy: CompiledInput, rule: Rule, parts: SetParts): CompiledRule {
  const { policyId, policyName, version } = policy;
  const used = usedKeys(conditions, rule.condition);
  const allows = rule.action === 'ALLOW';
  return {
    rule,
    policy,
    matched: Object.freeze({ policyId, policyName, version, ruleId: rule.rule_id, action: rule.action }),
    isEnforced: policy.mode === 'enforce',
    urlCheck: rule.match.url_patterns && compileUrlPatterns(rule.match.url_patterns, allows),
    checks: [
      ...usedKeys(callKeys, rule.match).map(({ entry, value }) => entry(value, allows)),
      ...used.map(({ entry, value }) => entry.compile(value, parts, allows)),
    ],
    needsWord: used.some(({ entry, value }) => entry.needsWord?.(value, parts) ?? false),
    because: reasonOf(rule, false),
    becauseUnclear: reasonOf(rule, true),
  };
}

function reasonOf({ match, condition }: Rule, isUnclear: boolean): string {
  const sentences = usedKeys(conditions, condition).map(({ entry, value }) => {
    const sentence = entry.says(value);
    return isUnclear && entry.readsFields ? `whether ${sentence} cannot be told from the body` : sentence;
  });
  if (sentences.length > 0) return sentences.join(' and ');
  const keys = Object.keys(match);
  return keys.length > 0 ? `the call matches its ${keys.join(', ')}` : 'it applies to every call';
}

/**
 * Returns a function that finds the rules that can hold for a call, by environment, tool, verb, method and
 * URL. A list is made when the first such call comes. Names that no rule mentions share one list. Beyond a
 * bound all lists are forgotten, so that a caller cannot make the index grow.
 */
function createIndex(rules: readonly CompiledRule[], names: RouteNames): (facts: Facts) => Candidates {
  const routes = new Map<string, RouteIndex>();
  let keptCount = 0;
  const onKept = (): void => {
    keptCount += 1;
  };
  return (facts) => {
    const route = names.routeOf(facts);
    const key = keyOf(route);
    if (routes.size >= routesMax || keptCount >= keptMax) {
      routes.clear();
      keptCount = 0;
    }
    let index = routes.get(key);
    if (index === undefined) {
      index = new RouteIndex(
        rules.filter((rule) => holdsOn(rule, route)),
        onKept,
      );
      routes.set(key, index);
    }
    return index.candidatesAt(facts.target.href);
  };
}

/**
 * Returns the text by which the rules of a route are kept. One overriding method that no rule mentions (an
 * empty name) differs from no such method.
 */
function keyOf({ envName, toolName, verb, method, overridingMethods, unclear }: RuleRoute): string {
  let key = `${envName}\n${toolName}\n${verb}\n${method}`;
  for (const it of overridingMethods) key += `\n${it}`;
  return unclear ? [key, `?${unclear.anyMethod}`, ...unclear.toolNames].join('\n') : key;
}

const holdsOn = ({ rule, policy }: CompiledRule, route: RuleRoute): boolean =>
  (policy.envNames === undefined || policy.envNames.includes(route.envName)) &&
  holdsOnRoute(rule.match, route, rule.action === 'ALLOW');

/** The names of tools, methods and environments that rules mention. */
class RouteNames {
  readonly #tools = new Set<string>();
  readonly #methods = new Set<string>();
  readonly #envs = new Set<string>();

  add({ envNames = [] }: CompiledInput, { match }: Rule): void {
    const { tool_name = [], tool_names = [], methods = [] } = match;
    for (const it of [tool_name, tool_names].flat()) this.#tools.add(it);
    for (const it of methods) this.#methods.add(it.toUpperCase());
    for (const it of envNames) this.#envs.add(it);
  }

  /** Returns the route of a call. A name that no rule mentions is ''. */
  routeOf({ envName, operation, method, overridingMethods }: Facts): RuleRoute {
    return {
      envName: among(this.#envs, envName),
      toolName: among(this.#tools, operation.toolName),
      verb: operation.verb,
      method: among(this.#methods, method.toUpperCase()),
      overridingMethods: overridingMethods.map((it) => among(this.#methods, it)),
      unclear: operation.unclear && {
        ...operation.unclear,
        toolNames: operation.unclear.toolNames.map((it) => among(this.#tools, it)),
      },
    };
  }
}

const among = (names: ReadonlySet<string>, name: string): string => (names.has(name) ? name : '');

/**
 * Keeps the rules of one route by URL. URLs for which the same rules remain share one list. Otherwise a
 * caller with many URLs would fill the memory with equal lists.
 */
class RouteIndex {
  readonly #rules: readonly CompiledRule[];
  readonly #urlChecks: readonly UrlCheck[];
  readonly #onKept: () => void;
  readonly #byUrl = new Map<string, Candidates>();
  /** The candidates by the answers of all checks, one letter each. */
  readonly #byAnswers = new Map<string, Candidates>();

  constructor(rules: readonly CompiledRule[], onKept: () => void) {
    this.#rules = rules;
    this.#urlChecks = rules.flatMap(({ urlCheck }) => urlCheck ?? []);
    this.#onKept = onKept;
  }

  candidatesAt(href: string): Candidates {
    if (this.#urlChecks.length === 0) return this.#answered('');
    const known = this.#byUrl.get(href);
    if (known !== undefined) return known;
    const urls = readingsOf(href);
    let answers = '';
    for (const check of this.#urlChecks) answers += check(urls) ? 'y' : 'n';
    const made = this.#answered(answers);
    if (href.length <= urlLengthMax) {
      this.#byUrl.set(href, made);
      this.#onKept();
    }
    return made;
  }

  #answered(answers: string): Candidates {
    return kept(this.#byAnswers, answers, () => {
      this.#onKept();
      let asked = 0;
      return toCandidates(this.#rules.filter(({ urlCheck }) => !urlCheck || answers[asked++] === 'y'));
    });
  }
}
