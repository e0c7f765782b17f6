import type { Resource } from '../../src/core/call.ts';
import type { CompiledInput, Facts, Rule, RuleAction } from '../../src/policy/index.ts';

/*
 * A second reading of the policy language, written from its description: every rule is asked, nothing is compiled, kept or left
 * out. It is slow and short, so that it can be seen to be right; `properties.test.ts` holds the compiled policies against it.
 */

export const strictness: Readonly<Record<RuleAction, number>> = {
  ALLOW: 0,
  SANITIZE: 1,
  REQUIRE_APPROVAL: 2,
  OPEN_INCIDENT: 3,
  DENY: 3,
};

/** What the policies say: of each policy its first rule that holds, the deciding one first. */
export interface NaiveDecision {
  readonly enforced: readonly Held[];
  readonly monitored: readonly Held[];
}
export interface Held {
  readonly policyName: string;
  readonly rule: Rule;
}

export function interpret(policies: readonly CompiledInput[], call: Facts): NaiveDecision {
  const held = policies
    .filter(({ envNames }) => envNames === undefined || envNames.includes(call.envName))
    .flatMap(({ policyName, mode, rules }) => {
      const [rule] = [...rules]
        .sort((a, b) => a.priority - b.priority)
        .filter((it) => matches(it, call) && meets(it, call));
      return rule ? [{ policyName, mode, rule }] : [];
    })
    .sort(
      (a, b) =>
        strictness[b.rule.action] - strictness[a.rule.action] ||
        a.rule.priority - b.rule.priority ||
        (a.policyName < b.policyName ? -1 : 1),
    );
  const of = (wanted: string) =>
    held.filter(({ mode }) => mode === wanted).map(({ policyName, rule }) => ({ policyName, rule }));
  return { enforced: of('enforce'), monitored: of('monitor') };
}

/** Every key of the match that is there must hold. `every` for a rule that allows, `some` for any other: see `among`. */
function matches({ match, action }: Rule, call: Facts): boolean {
  const allows = action === 'ALLOW';
  const { operation } = call;
  const methods = [call.method, ...call.overridingMethods].map((method) => method.toUpperCase());
  const ofMethod = (names: readonly string[]) =>
    among(allows, methods, (method) => names.some((name) => name.toUpperCase() === method));
  const agents = allows ? [call.agentId] : [call.agentId, call.ownAgent.agentId];
  const runtimes = allows ? [call.runtimeType] : [call.runtimeType, call.ownAgent.runtimeType];
  return [
    match.tool_name === undefined || match.tool_name === operation.toolName,
    !match.tool_names || match.tool_names.includes(operation.toolName),
    !match.verbs || match.verbs.includes(operation.verb),
    !match.methods || ofMethod(match.methods),
    !match.operations ||
      match.operations.includes('*') ||
      match.operations.includes(operation.name) ||
      match.operations.includes(`category:${operation.category}`) ||
      ofMethod(match.operations.flatMap((it) => /^method:(.*)/.exec(it)?.[1] ?? [])),
    !match.agent_ids || agents.some((id) => match.agent_ids?.includes(id)),
    !match.agent_runtime_types || runtimes.some((type) => match.agent_runtime_types?.includes(type ?? '')),
    !match.org_patterns || ofOrg(match.org_patterns, operation.resource, allows),
    !match.repo_patterns || ofRepo(match.repo_patterns, operation.resource, allows),
    !match.channel_patterns ||
      ofField(match.channel_patterns.map(bare), operation.resource, 'channel', allows),
    !match.region_patterns || ofField(match.region_patterns, operation.resource, 'region', allows),
    !match.account_patterns || ofField(match.account_patterns, operation.resource, 'account', allows),
    Object.entries(match.aws_tags ?? {}).every(([name, tag]) => {
      const values = operation.resource.tags?.[name] ?? [];
      return allows ? values.length > 0 && values.every((it) => it === tag) : values.includes(tag);
    }),
    !match.principal_patterns || ofPrincipals(match.principal_patterns, operation.principals, allows),
    !match.url_patterns || match.url_patterns.some((it) => ofUrl(it, call.target.href, allows)),
  ].every((holds) => holds);
}

/** Of several values of which one counts, nobody knows which: what allows asks all of them (and that there is one), the rest any. */
const among = <T>(allows: boolean, values: readonly T[], holds: (value: T) => boolean): boolean =>
  allows ? values.length > 0 && values.every(holds) : values.some(holds);

type Field = 'org' | 'repo' | 'channel' | 'region' | 'account';
const valuesOf = (resource: Resource, field: Field): string[] => resource[field]?.split(',') ?? [];
const bare = (channel: string): string => (channel.startsWith('#') ? channel.slice(1) : channel);
const orgOf = (repo: string): string[] => (repo.includes('/') ? [repo.split('/')[0] ?? ''] : []);

function ofField(patterns: readonly string[], resource: Resource, field: Field, allows: boolean): boolean {
  if (resource.unknown?.includes(field)) return !allows;
  return among(allows, valuesOf(resource, field).map(bare), (value) =>
    patterns.some((pattern) => naiveGlob(pattern, value)),
  );
}

/** `acme` is the organisation, `acme/*` its repositories. What refuses takes either in any case, as code hosts do. */
function ofOrg(patterns: readonly string[], resource: Resource, allows: boolean): boolean {
  const globs = (value: string, of = patterns) => of.some((it) => naiveGlob(it, value, !allows));
  const repos = valuesOf(resource, 'repo');
  const byName = resource.unknown?.includes('org')
    ? !allows
    : among(allows, [...valuesOf(resource, 'org'), ...repos.flatMap(orgOf)], (it) => globs(it));
  const ofRepos = patterns.filter((it) => it.includes('/'));
  if (byName || ofRepos.length === 0) return byName;
  return resource.unknown?.includes('repo') ? !allows : among(allows, repos, (it) => globs(it, ofRepos));
}

/** A pattern with a slash is for `org/name`, one without for the name; one that refuses is also tried on the whole. */
function ofRepo(patterns: readonly string[], resource: Resource, allows: boolean): boolean {
  if (resource.unknown?.includes('repo')) return !allows;
  return among(allows, valuesOf(resource, 'repo'), (repo) =>
    patterns.some(
      (pattern) =>
        ((pattern.includes('/') || !allows) && naiveGlob(pattern, repo, !allows)) ||
        (!pattern.includes('/') && naiveGlob(pattern, repo.split('/').at(-1) ?? '', !allows)),
    ),
  );
}

/** `bob@acme.com` is an address, `acme.com` and `@acme.com` a domain (or, without the @, a name that is no address). */
function ofPrincipals(patterns: readonly string[], principals: readonly string[], allows: boolean): boolean {
  return among(allows, principals, (principal) =>
    patterns.some((pattern) => {
      const text = pattern.endsWith('$') ? pattern.slice(0, -1) : pattern;
      if (text.startsWith('@')) return domainHolds(text.slice(1), principal);
      if (text.includes('@') || !principal.includes('@')) return naiveGlob(text, principal, !allows);
      return domainHolds(text, principal);
    }),
  );
}
const domainHolds = (glob: string, principal: string): boolean =>
  principal.includes('@') && naiveGlob(glob, principal.split('@').at(-1) ?? '', true);

/** A prefix that ends with the host ends where the host does. The stars of a host stay in it where the rule allows. */
/** What refuses `https` refuses the same without TLS, and by WebSocket. */
function ofUrl(pattern: string, href: string, allows: boolean): boolean {
  const url = !allows && pattern.startsWith('https:') ? href.replace(/^(http|ws|wss):/, 'https:') : href;
  const [, scheme = '', host = '', path = ''] = /^([^/]*):\/\/([^/]*)(.*)$/.exec(pattern) ?? [];
  const [, urlScheme = '', urlHost = '', urlPath = ''] = /^([^/]*):\/\/([^/]*)(.*)$/.exec(url) ?? [];
  if (!/[*?[]/.test(pattern)) {
    return path === ''
      ? scheme === urlScheme && (host === urlHost || urlHost.startsWith(`${host}:`))
      : url.startsWith(pattern);
  }
  const wholePath = path === '' ? (host.endsWith('*') ? '*' : '/*') : path;
  return allows
    ? naiveGlob(scheme, urlScheme) && naiveGlob(host, urlHost) && naiveGlob(wholePath, urlPath)
    : naiveGlob(`${scheme}://${host}${wholePath}`, url);
}

/** Every condition that is there must hold. */
function meets({ condition, action }: Rule, call: Facts): boolean {
  const text = call.body.texts.map(String).join('\n').toLowerCase();
  const has = (phrase: string) => text.includes(phrase.toLowerCase());
  const allows = action === 'ALLOW';
  const numbers = (path: string) => valuesAt(path, call).map(numberOf).filter(Number.isFinite);
  const compared = (given: { path: string; value: number } | undefined, holds: Comparison): boolean =>
    given === undefined ||
    (toldBy(call, allows, given.path) ??
      (numbers(given.path).some((number) => holds(number, given.value)) ||
        (!allows && valuesAt(given.path, call).some(isOdd))));
  const { body_path_equals: equals, time_of_day_outside: window } = condition;
  return [
    !condition.has_data_class || condition.has_data_class.some((it) => call.classes.includes(it)),
    !condition.has_signal || condition.has_signal.some((it) => call.signals.includes(it)),
    !condition.has_detector ||
      call.detectors.some((id) => condition.has_detector?.some((it) => naiveGlob(it, id))),
    !condition.body_contains_any || condition.body_contains_any.some(has),
    !condition.body_contains_all || condition.body_contains_all.every(has),
    equals === undefined ||
      (toldBy(call, allows, equals.path) ??
        valuesAt(equals.path, call).some((it) => isEqual(it, equals.value, allows))),
    compared(condition.body_path_gt, (a, b) => a > b),
    compared(condition.body_path_gte, (a, b) => a >= b),
    compared(condition.body_path_lt, (a, b) => a < b),
    compared(condition.body_path_lte, (a, b) => a <= b),
    condition.body_size_bytes_gt === undefined || call.body.bytes > condition.body_size_bytes_gt,
    (condition.is_external_principal ?? call.isExternalPrincipal) === call.isExternalPrincipal,
    (condition.is_new_destination ?? call.isNewDestination) === call.isNewDestination,
    (condition.is_volume_burst ?? call.isVolumeBurst) === call.isVolumeBurst,
    (condition.threat_intel_match ?? call.threatIntelMatch) === call.threatIntelMatch,
    condition.risk_score_gt === undefined || call.riskScore > condition.risk_score_gt,
    condition.trust_score_lt === undefined || call.trustScore < condition.trust_score_lt,
    condition.daily_budget_exceeded === undefined || call.isBudgetExceeded(condition.daily_budget_exceeded),
    window === undefined || isOutsideNaive(call.nowMs, window),
  ].every((holds) => holds);
}

type Comparison = (value: number, limit: number) => boolean;

/** What a body answers that does not tell: what allows does not hold, everything else does. undefined where it tells. */
function toldBy(call: Facts, allows: boolean, path: string): boolean | undefined {
  const body = call.body.value();
  if (body.kind === 'none') return false;
  if (body.kind === 'unclear') return !allows;
  const hasOtherSpelling = valuesAt(path, call).length > valuesAt(path, call, isSame).length;
  return allows && (body.readings.length > 1 || hasOtherSpelling) ? false : undefined;
}

type SameName = (a: string, b: string) => boolean;
const isSame: SameName = (a, b) => a === b;
const isAlike: SameName = (a, b) => folded(a) === folded(b);
const folded = (name: string): string => name.trim().toUpperCase().replace(/[ .]/g, '_');

/** Digits that not everybody reads as the same number. */
const isOdd = (value: unknown): boolean =>
  typeof value === 'string' && Number.isNaN(Number(value)) && /\p{Nd}/u.test(value);

/** The paths of the properties, as steps: a name, an index, or every element. */
export const each = Symbol('each');
export const naivePaths: Readonly<Record<string, readonly (string | number | typeof each)[]>> = {
  '$.amount': ['amount'],
  '$.order.amount': ['order', 'amount'],
  '$.items[*].amount': ['items', each, 'amount'],
  '$.items[1].amount': ['items', 1, 'amount'],
  "$['odd name']": ['odd name'],
  '$.items[*]': ['items', each],
};

function valuesAt(path: string, call: Facts, isNamed = isAlike): unknown[] {
  const body = call.body.value();
  const isLenient = isNamed === isAlike;
  let values: unknown[] = body.kind === 'value' ? [...body.readings] : [];
  const steps = naivePaths[path] ?? [];
  for (const [at, step] of steps.entries()) {
    // An object may stand where a list is due, but for the body itself and the end of the path.
    const takesItself = isLenient && step === each && at > 0 && at < steps.length - 1;
    values = values.flatMap((value) => [
      ...stepInto(value, step, isNamed),
      ...(takesItself && !Array.isArray(value) ? [value] : []),
    ]);
  }
  return isLenient ? values.flatMap((value) => [value, ...elementsOf(value)]) : values;
}

/** Of a list, and of an object with fields such as forms write for one. */
const elementsOf = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, it]) => (/^\d*$/.test(name) ? [it] : []))
    : [];

function stepInto(value: unknown, step: string | number | typeof each, isNamed: SameName): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (step === each) return Object.values(value);
  if (Array.isArray(value) && typeof step === 'string') return [];
  return Object.entries(value)
    .filter(([name]) => isNamed(name, String(step)))
    .map(([, it]) => it);
}

const numberOf = (value: unknown): number =>
  typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
    ? Number(value)
    : Number.NaN;

/** A number equals its text; unless the rule allows, so does a text in another case, and a word for true and false. */
const isEqual = (value: unknown, wanted: unknown, allows: boolean): boolean =>
  value === wanted ||
  (!allows && typeof value !== 'object' && wanted !== null && isAlikeText(String(value), wanted)) ||
  ([value, wanted].some((it) => typeof it === 'number') && numberOf(value) === numberOf(wanted));

function isAlikeText(value: string, wanted: unknown): boolean {
  const text = value.trim().toLowerCase();
  const words = wanted ? ['true', '1', 'on', 'yes', 't', 'y'] : ['false', '0', 'off', 'no', 'f', 'n'];
  return typeof wanted === 'boolean' ? words.includes(text) : text === String(wanted).toLowerCase();
}

/** As the clock on the wall says it, minute by minute of the day: inside from `start` up to, not including, `end`. */
export function isOutsideNaive(nowMs: number, window: { start: string; end: string; tz: string }): boolean {
  const { start, end, tz } = window;
  const wall = new Date(nowMs).toLocaleTimeString('sv-SE', { timeZone: tz }).slice(0, 5);
  // Zero-padded 24-hour times compare as text.
  const isInside = start <= end ? start <= wall && wall < end : start <= wall || wall < end;
  return !isInside;
}

/** A shell glob by backtracking: of `*` every length is tried. A set that ignores case has a letter if it has either of its cases. */
export function naiveGlob(pattern: string, text: string, ignoresCase = false): boolean {
  if (pattern === '') return text === '';
  if (pattern[0] === '*') {
    return (
      naiveGlob(pattern.slice(1), text, ignoresCase) ||
      (text !== '' && naiveGlob(pattern, text.slice(1), ignoresCase))
    );
  }
  const char = text[0];
  if (char === undefined) return false;
  const set = /^\[([!^]?)(\]?[^\]]*)\]/.exec(pattern);
  if (set === null) {
    const isLetter = ignoresCase ? pattern[0]?.toLowerCase() === char.toLowerCase() : pattern[0] === char;
    return (pattern[0] === '?' || isLetter) && naiveGlob(pattern.slice(1), text.slice(1), ignoresCase);
  }
  const [whole, negation, members = ''] = set;
  const cases = ignoresCase ? [char.toLowerCase(), char.toUpperCase()] : [char];
  const isIn = cases.some((it) => isMember(members, it) !== (negation !== ''));
  return isIn && naiveGlob(pattern.slice(whole.length), text.slice(1), ignoresCase);
}

function isMember(members: string, char: string): boolean {
  if (members === '') return false;
  const range = /^(.)-(.)/.exec(members);
  if (range === null) return members[0] === char || isMember(members.slice(1), char);
  const [, from = '', to = ''] = range;
  return (from <= char && char <= to) || isMember(members.slice(3), char);
}
