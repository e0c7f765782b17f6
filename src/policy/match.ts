import type { Resource, Verb } from '../call.ts';
import type { Check, Evaluation } from './evaluation.ts';
import { compileGlob } from './glob.ts';
import { compilePrincipalPattern } from './principal.ts';
import type { Match } from './schema.ts';
import { compileUrlPattern, type UrlMatcher } from './url-pattern.ts';
import { usedKeys } from './used-keys.ts';

/*
 * One entry a match key, in two tables. Keys of the first depend only on what the index of a policy set knows of a call: their
 * rules are left out beforehand. Keys of the second are asked call by call, in the order of the table, the cheapest first. Between
 * the two stands `url_patterns`, asked once for each URL.
 */

/** What the index tells calls apart by. A name that no rule mentions is ''. */
export interface Route {
  readonly envName: string;
  readonly toolName: string;
  readonly verb: Verb;
  /** Upper case. */
  readonly method: string;
}

type RouteKey = 'tool_name' | 'tool_names' | 'verbs' | 'methods';
type RouteTable = { readonly [K in RouteKey]: (value: NonNullable<Match[K]>, route: Route) => boolean };

const routeKeys: RouteTable = {
  tool_name: (name, { toolName }) => name === toolName,
  tool_names: (names, { toolName }) => names.includes(toolName),
  verbs: (verbs, { verb }) => verbs.includes(verb),
  methods: (methods, { method }) => methods.some((name) => name.toUpperCase() === method),
};

/** Whether all keys of the first table hold. */
export function holdsOnRoute(match: Match, route: Route): boolean {
  return usedKeys(routeKeys, match).every(({ entry, value }) => entry(value, route));
}

type CallKey = Exclude<keyof Match, RouteKey | 'url_patterns'>;
/** `allows`: the rule's action is ALLOW, so that what can be read in two ways is read in the narrower one. */
type CallTable = { readonly [K in CallKey]: (value: NonNullable<Match[K]>, allows: boolean) => Check };

export const callKeys: CallTable = {
  operations: (operations) => anyOf(operations.map(toOperationCheck)),
  agent_ids: (ids) => isAmong(ids, ({ facts }) => facts.agentId),
  agent_runtime_types: (types) => isAmong(types, ({ facts }) => facts.runtimeType),
  region_patterns: (patterns) => globsOn(patterns, ({ region }) => [region]),
  account_patterns: (patterns) => globsOn(patterns, ({ account }) => [account]),
  channel_patterns: (patterns) =>
    globsOn(patterns.map(withoutHash), ({ channel }) => [channel && withoutHash(channel)]),
  org_patterns: (patterns) =>
    anyOf([
      globsOn(patterns, ({ org, repo }) => [org ?? repo?.split('/', 1)[0]]),
      // `acme/*` is how many write all of an organisation's repositories; the organisation itself is `acme`.
      globsOn(patterns.filter(hasSlash), ({ repo }) => [repo]),
    ]),
  repo_patterns: (patterns, allows) =>
    anyOf([
      // Without an organisation a pattern speaks of the name, whosever it is; `acme*` may also mean what begins with `acme/`.
      globsOn(patterns.filter(hasNoSlash), ({ repo }) => [repo?.slice(repo.lastIndexOf('/') + 1)]),
      globsOn(allows ? patterns.filter(hasSlash) : patterns, ({ repo }) => [repo]),
    ]),
  aws_tags: (tags) => {
    const wanted = Object.entries(tags);
    return ({ facts }) => {
      const { tags: present = {} } = facts.operation.resource;
      return wanted.every(([name, value]) => Object.hasOwn(present, name) && present[name] === value);
    };
  },
  principal_patterns: (patterns, allows) => {
    const matchers = patterns.map(compilePrincipalPattern);
    const isMatched = (principal: string): boolean => matchers.some((matches) => matches(principal));
    // One known recipient among strangers does not make a mail harmless, but one stranger makes it suspect.
    return allows
      ? ({ facts: { operation } }) => operation.principals.length > 0 && operation.principals.every(isMatched)
      : ({ facts: { operation } }) => operation.principals.some(isMatched);
  },
};

/**
 * The check of `url_patterns`, over all readings of a URL. It depends on the URL alone, so the index asks it once for each URL
 * and not for each call.
 */
export function compileUrlPatterns(patterns: readonly string[], allows: boolean): UrlCheck {
  const matchers = patterns.map((pattern) => compileUrlPattern(pattern, allows));
  return (urls) => {
    for (const url of urls) if (matchesAny(matchers, url) !== allows) return !allows;
    return allows;
  };
}

/** Takes the readings of one URL. */
export type UrlCheck = (urls: readonly string[]) => boolean;

/** A loop: with `some` and its closure a policy of many URL rules costs a third more. */
function matchesAny(matchers: readonly UrlMatcher[], url: string): boolean {
  for (const matches of matchers) if (matches(url)) return true;
  return false;
}

function toOperationCheck(operation: string): Check {
  if (operation === '*') return () => true;
  if (operation.startsWith('category:')) {
    const category = operation.slice('category:'.length);
    return ({ facts }) => facts.operation.category === category;
  }
  if (operation.startsWith('method:')) {
    const method = operation.slice('method:'.length).toUpperCase();
    return ({ facts }) => facts.method.toUpperCase() === method;
  }
  return ({ facts }) => facts.operation.name === operation;
}

function anyOf(checks: readonly Check[]): Check {
  return (call) => checks.some((check) => check(call));
}

function isAmong(values: readonly string[], read: (call: Evaluation) => string | undefined): Check {
  const set = new Set<string | undefined>(values);
  return (call) => set.has(read(call));
}

/** Whether a glob matches one of the values; a value that the catalogue does not know matches nothing. */
function globsOn(
  patterns: readonly string[],
  valuesOf: (resource: Resource) => readonly (string | undefined)[],
): Check {
  const globs = patterns.map(compileGlob);
  return ({ facts }) =>
    valuesOf(facts.operation.resource).some(
      (value) => value !== undefined && globs.some((glob) => glob(value)),
    );
}

const withoutHash = (channel: string): string => channel.replace(/^#/, '');
const hasSlash = (pattern: string): boolean => pattern.includes('/');
const hasNoSlash = (pattern: string): boolean => !hasSlash(pattern);
