import type { PolicyDocument, Rule } from '../../policy/index.ts';
import { urlPatternProblem } from '../../policy/match/url-pattern.ts';
import type { Trace } from './call-of-trace.ts';

/* Finds the smallest rule that lets one recorded call through, by its trace and the present policies. */

/** A policy that can be changed, because it was applied through the API or is written in a file. */
export interface EditablePolicy {
  readonly document: PolicyDocument;
  /** The version of the policy; null where there is no such policy yet. */
  readonly version: number | null;
  readonly source: 'api' | 'file';
}

/** The call of a trace, in the words of a rule. */
interface ExceptionMatch {
  readonly match: Rule['match'];
  /** Sentences on what else the rule would let through. */
  readonly wider: readonly string[];
}

/** The name of the policy for exceptions from the posture, which no rule of a policy has decided. */
export const exceptionsName = 'exceptions';

/**
 * Returns a match of the recorded call, as exact as its trace allows; undefined where not even its host is
 * known.
 */
export function matchOf(trace: Trace): ExceptionMatch | undefined {
  const { pattern, isExact } = urlPatternOf(trace.url);
  if (pattern === undefined) return undefined;
  const operation = trace.operation ?? '';
  const isNamed = operation !== '' && operation.length <= 128 && !operation.includes('[REDACTED');
  const match: Rule['match'] = {
    agent_ids: [trace.agent_id],
    ...(trace.tool_name && !trace.tool_name.includes('[REDACTED') ? { tool_name: trace.tool_name } : {}),
    ...(isNamed ? { operations: [operation] } : {}),
    methods: [trace.method],
    url_patterns: [pattern],
  };
  const wider = [
    ...(isExact ? [] : ['Every URL that begins so: the trace does not hold the rest.']),
    trace.body_bytes > 0
      ? 'The same request with any other body, whatever is found in it.'
      : 'The same request with a body, whatever is found in it.',
  ];
  return { match, wider };
}

/**
 * Returns a pattern that matches only this URL. If the trace cuts the URL, the pattern matches all that begin
 * so.
 */
function urlPatternOf(url: string): { pattern: string | undefined; isExact: boolean } {
  const [whole = ''] = url.split('#', 1);
  const cutAt = Math.min(
    ...['[REDACTED', '…'].map((it) => whole.indexOf(it)).map((at) => (at < 0 ? Infinity : at)),
  );
  const isExact = cutAt === Infinity;
  const [, scheme = '', authority = '', rest = ''] =
    /^([a-z][a-z0-9+.-]*):\/\/([^/]*)(.*)$/s.exec(isExact ? whole : whole.slice(0, cutAt)) ?? [];
  if (scheme === '' || (!isExact && rest === '')) return { pattern: undefined, isExact };
  // A set of one letter makes the pattern a glob, which must match the whole URL. Without it the pattern
  // would be a prefix.
  const exactScheme = `${scheme.slice(0, -1)}[${scheme.slice(-1)}]`;
  const literal = rest.replace(/[*?[]/g, (it) => `[${it}]`);
  const pattern = `${exactScheme}://${authority}${literal}${isExact ? '' : '*'}`;
  if (urlPatternProblem(pattern, true) === undefined) return { pattern, isExact };
  const prefix = `${scheme}://${authority}${rest.split(/[*?[]/, 1)[0] || '/'}`;
  return { pattern: urlPatternProblem(prefix, true) === undefined ? prefix : undefined, isExact: false };
}

/** Returns the id of the exception's rule. The same call always gets the same one. */
export const exceptionId = ({ trace_id }: Trace): string => `allow-${trace_id}`;

/**
 * Returns the policy with the exception before the rule of that name. Without such a rule, the exception
 * stands before all others.
 */
export function withException(
  document: PolicyDocument,
  rule: Rule,
  beforeRule: string | undefined,
): PolicyDocument {
  const at = Math.max(
    0,
    document.rules.findIndex(({ rule_id }) => rule_id === beforeRule),
  );
  return { ...document, rules: document.rules.toSpliced(at, 0, rule) };
}

/** Returns a rule that lets the call through before the rule `before` is asked. */
export const exceptionRule = (trace: Trace, match: Rule['match'], before: Rule | undefined): Rule => ({
  rule_id: exceptionId(trace),
  priority: before?.priority ?? 100,
  match,
  condition: {},
  action: 'ALLOW',
});

/**
 * Returns why no rule can let the call through, as a sentence that says what can; undefined where a rule may.
 */
export function whyNoRule(trace: Trace & { readonly detail?: string }): string | undefined {
  const code = trace.reason_codes?.[0] ?? '';
  const known = notByRules[code];
  if (known !== undefined) return known;
  if (trace.explanation !== undefined) return undefined;
  return `The call was refused before policies were asked (${code || 'no reason'}): ${trace.detail ?? 'see its reason'}`;
}

const notByRules: Readonly<Record<string, string>> = {
  AGENT_SUSPENDED: 'The agent is suspended: reactivate it.',
  DENYLISTED: 'The destination is on the denylist of the tenant: take it off there, in the configuration.',
  THREAT_INTEL_MATCH:
    'A threat feed lists the destination: put it on the allowlist of the tenant, in the configuration.',
  EPHEMERAL_SCOPE_VIOLATION: 'The key may not do this: make one with a wider scope.',
  UNREADABLE: 'The call could not be read to its end: raise the limit that its explanation names.',
  NO_VERDICT: 'Nothing has judged the call; the log of the daemon says why.',
  RECENT_APPROVAL_DENIAL:
    'Somebody has denied the identical call: it may be asked again when that denial has ended.',
  APPROVAL_IMPOSSIBLE: 'It is a message of an open connection, for which an approval cannot wait.',
};
