import { type Resource, type Unclear, type UnknownField, type Verb, verbs } from '../../core/call.ts';
import { compileGlob, type Glob } from '../../util/glob.ts';
import type { Facts } from '../facts.ts';
import type { RuleMatch } from '../schema.ts';
import { usedKeys } from '../warnings/used-keys.ts';
import { compilePrincipalPattern } from './principal.ts';
import { compileUrlPattern, type UrlMatcher } from './url-pattern.ts';

/*
 * The tables of match keys, one entry a key. Keys of the first table depend only on what the index of a
 * policy set knows of a call. Rules whose keys do not match are left out beforehand. Keys of the second table
 * are asked at each call, in the order of the table, the cheapest first. `url_patterns` stands between the
 * two and is asked once for each URL.
 */

/** The properties by which the index tells calls apart. A name that no rule mentions is ''. */
export interface RuleRoute {
  readonly envName: string;
  readonly toolName: string;
  readonly verb: Verb;
  /** The HTTP method in upper case; '' where no rule mentions it. */
  readonly method: string;
  /** Methods that a server may take instead of `method`. */
  readonly overridingMethods: readonly string[];
  /**
   * Other operations that the call may be, where nobody can tell. A rule that allows must match all of them,
   * any other rule one.
   */
  readonly unclear: Unclear | undefined;
}

/** The facts that the match keys ask for. */
export type MatchFacts = Pick<
  Facts,
  'envName' | 'operation' | 'method' | 'overridingMethods' | 'target' | 'agentId' | 'runtimeType' | 'ownAgent'
>;

/** Tells whether one key matches a call. */
type Check = (call: { readonly facts: MatchFacts }) => boolean;

type RouteKey = 'tool_name' | 'tool_names' | 'verbs' | 'methods';
type RouteTable = {
  readonly [K in RouteKey]: (value: NonNullable<RuleMatch[K]>, route: RuleRoute, allows: boolean) => boolean;
};

const routeKeys: RouteTable = {
  tool_name: (name, route, allows) => isOfTool(route, allows, [name]),
  tool_names: (names, route, allows) => isOfTool(route, allows, names),
  verbs: (named, { verb, unclear }, allows) =>
    unclear ? !allows || verbs.every((it) => named.includes(it)) : named.includes(verb),
  methods: (methods, { method, overridingMethods, unclear }, allows) =>
    unclear?.anyMethod
      ? !allows
      : holdsForMethods(method, overridingMethods, allows, (it) =>
          methods.some((name) => name.toUpperCase() === it),
        ),
};

function isOfTool({ toolName, unclear }: RuleRoute, allows: boolean, names: readonly string[]): boolean {
  const may = unclear?.toolNames ?? [];
  return allows
    ? [toolName, ...may].every((it) => names.includes(it))
    : [toolName, ...may].some((it) => names.includes(it));
}

/** Tells whether all keys of the first table match. */
export function holdsOnRoute(match: RuleMatch, route: RuleRoute, allows: boolean): boolean {
  return usedKeys(routeKeys, match).every(({ entry, value }) => entry(value, route, allows));
}

/**
 * Tells whether a rule holds where a server may take any of several methods. A rule that allows must match
 * all, any other rule only one.
 */
function holdsForMethods(
  method: string,
  overriding: readonly string[],
  allows: boolean,
  isMatched: (method: string) => boolean,
): boolean {
  if (overriding.length === 0) return isMatched(method);
  const methods = [method, ...overriding];
  return allows ? methods.every(isMatched) : methods.some(isMatched);
}

type CallKey = Exclude<keyof RuleMatch, RouteKey | 'url_patterns'>;
/**
 * Makes the check of a key. `allows` says that the rule's action is ALLOW. Then what can be read in two ways
 * is read in the narrower one.
 */
type CallTable = { readonly [K in CallKey]: (value: NonNullable<RuleMatch[K]>, allows: boolean) => Check };

export const callKeys: CallTable = {
  operations: (operations, allows) => {
    const methods = operations.filter(isMethod).map((it) => it.slice('method:'.length).toUpperCase());
    return anyOf([
      ...(allows ? [] : [isUnclear]),
      ...operations.filter((it) => !isMethod(it)).map(toOperationCheck),
      ...(methods.length > 0 ? [methodCheck(methods, allows)] : []),
    ]);
  },
  agent_ids: (ids, allows) =>
    isAgentAmong(ids, allows, ({ agentId, ownAgent }) => [agentId, ownAgent.agentId]),
  agent_runtime_types: (types, allows) =>
    isAgentAmong(types, allows, ({ runtimeType, ownAgent }) => [runtimeType, ownAgent.runtimeType]),
  region_patterns: (patterns, allows) =>
    globsOn('region', anyGlob(patterns), allows, ({ region }) => valuesIn(region)),
  account_patterns: (patterns, allows) =>
    globsOn('account', anyGlob(patterns), allows, ({ account }) => valuesIn(account)),
  channel_patterns: (patterns, allows) =>
    globsOn('channel', anyGlob(patterns.map(withoutHash)), allows, ({ channel }) =>
      valuesIn(channel).map(withoutHash),
    ),
  org_patterns: (patterns, allows) => {
    const ofOrg = identifierGlob(patterns, allows);
    // Many write `acme/*` for all repositories of an organisation. The organisation itself is `acme`.
    const withRepo = patterns.filter(hasSlash);
    const ofRepo = identifierGlob(withRepo, allows);
    return anyOf([
      globsOn('org', ofOrg, allows, ({ org, repo }) => [...valuesIn(org), ...valuesIn(repo).flatMap(orgOf)]),
      ...(withRepo.length > 0 ? [globsOn('repo', ofRepo, allows, ({ repo }) => valuesIn(repo))] : []),
    ]);
  },
  repo_patterns: (patterns, allows) => {
    // A pattern without an organisation is about the repository's name, in any organisation. `acme*` may also
    // mean what begins with `acme/`.
    const ofName = identifierGlob(patterns.filter(hasNoSlash), allows);
    const ofRepo = identifierGlob(allows ? patterns.filter(hasSlash) : patterns, allows);
    return globsOn(
      'repo',
      (repo) => ofName(repo.slice(repo.lastIndexOf('/') + 1)) || ofRepo(repo),
      allows,
      ({ repo }) => valuesIn(repo),
    );
  },
  aws_tags: (tags, allows) => {
    const wanted = Object.entries(tags);
    return ({ facts }) => {
      const { tags: present = {}, unknown } = facts.operation.resource;
      if (unknown?.includes('tags')) return !allows;
      return wanted.every(([name, value]) => {
        const values = Object.hasOwn(present, name) ? (present[name] ?? []) : [];
        return allows ? values.length > 0 && values.every((it) => it === value) : values.includes(value);
      });
    };
  },
  principal_patterns: (patterns, allows) => {
    const matchers = patterns.map((pattern) => compilePrincipalPattern(pattern, allows));
    const isMatched = (principal: string): boolean => matchers.some((matches) => matches(principal));
    // One known recipient among strangers does not make a mail harmless, but one stranger makes it suspect.
    // So does `*`: everybody, or somebody whom the call does not name.
    return allows
      ? ({ facts: { operation } }) => operation.principals.length > 0 && operation.principals.every(isMatched)
      : ({ facts: { operation } }) => operation.principals.some((it) => it === '*' || isMatched(it));
  },
};

/**
 * Returns the check of `url_patterns` over all readings of a URL. It depends on the URL alone, so the index
 * asks it once for each URL and not for each call.
 */
export function compileUrlPatterns(patterns: readonly string[], allows: boolean): UrlCheck {
  const matchers = patterns.map((pattern) => compileUrlPattern(pattern, allows));
  return (urls) => {
    for (const url of urls) if (matchesAny(matchers, url) !== allows) return !allows;
    return allows;
  };
}

/** Tells whether a URL matches, by all its readings. */
export type UrlCheck = (urls: readonly string[]) => boolean;

/**
 * Tells whether any pattern matches. It is a loop, because `some` with a closure makes a policy of many URL
 * rules cost a third more.
 */
function matchesAny(matchers: readonly UrlMatcher[], url: string): boolean {
  for (const matches of matchers) if (matches(url)) return true;
  return false;
}

const isUnclear: Check = ({ facts }) => facts.operation.unclear !== undefined;

const isMethod = (operation: string): boolean => operation.startsWith('method:');

const methodCheck =
  (methods: readonly string[], allows: boolean): Check =>
  ({ facts }) =>
    !facts.operation.unclear?.anyMethod &&
    holdsForMethods(facts.method.toUpperCase(), facts.overridingMethods, allows, (it) =>
      methods.includes(it),
    );

function toOperationCheck(operation: string): Check {
  if (operation === '*') return () => true;
  if (operation.startsWith('category:')) {
    const category = operation.slice('category:'.length);
    return ({ facts }) => facts.operation.category === category;
  }
  return ({ facts }) => facts.operation.name === operation;
}

function anyOf(checks: readonly Check[]): Check {
  return (call) => checks.some((check) => check(call));
}

/**
 * Makes a check of the calling agent. `read` gives a value of the agent that the call names and of the key's
 * own agent. A rule that does not allow asks both, so that naming another agent escapes no rule.
 */
function isAgentAmong(
  values: readonly string[],
  allows: boolean,
  read: (facts: MatchFacts) => readonly [named: Said, own: Said],
): Check {
  const set = new Set<Said>(values);
  return ({ facts }) => {
    const [named, own] = read(facts);
    return set.has(named) || (!allows && set.has(own));
  };
}

type Said = string | null | undefined;

/**
 * Makes a check of the values of a field. Of several values the vendor takes one, and nobody knows which. So
 * a rule that allows needs all of them to match, any other rule only one. A value that the call acts on
 * without naming it may be anything: no rule allows it, and any other rule holds.
 */
function globsOn(
  field: UnknownField,
  glob: Glob,
  allows: boolean,
  valuesOf: (resource: Resource) => readonly string[],
): Check {
  return ({ facts }) => {
    const { resource } = facts.operation;
    if (resource.unknown?.includes(field)) return !allows;
    const values = valuesOf(resource);
    return allows ? values.length > 0 && values.every(glob) : values.some(glob);
  };
}

/** Returns the values of a field. The catalogue joins several values of one field by commas. */
const valuesIn = (field: string | undefined): readonly string[] =>
  field === undefined ? noValues : field.includes(',') ? field.split(',') : [field];
const noValues: readonly string[] = [];

function anyGlob(patterns: readonly string[], ignoresCase = false): Glob {
  const globs = patterns.map((pattern) => compileGlob(pattern, ignoresCase));
  return (value) => globs.some((glob) => glob(value));
}

/**
 * Compiles patterns for names of organisations and repositories. Code hosts ignore case in them, so rules
 * that do not allow ignore it, too.
 */
const identifierGlob = (patterns: readonly string[], allows: boolean): Glob => anyGlob(patterns, !allows);

const orgOf = (repo: string): readonly string[] => (hasSlash(repo) ? [repo.slice(0, repo.indexOf('/'))] : []);
const withoutHash = (channel: string): string => channel.replace(/^#/, '');
const hasSlash = (pattern: string): boolean => pattern.includes('/');
const hasNoSlash = (pattern: string): boolean => !hasSlash(pattern);
