import { compileGlob } from '../../util/glob.ts';
import { nearest, nearestSuggestion } from '../../util/nearest.ts';
import type { PolicyDocument, Rule, RuleCondition } from '../schema.ts';
import type { KnownNames } from './known-names.ts';
import { shorten } from './shorten.ts';
import { createToolWarnings } from './tool-warnings.ts';
import { urlPatternWarning } from './url-warnings.ts';

/** Returns warnings about valid settings that may not do what their author thinks; at most `max`. */
export function warningsOf(policy: PolicyDocument, known: KnownNames, max: number): string[] {
  const warnings: string[] = [];
  for (const text of allWarnings(policy, known)) {
    if (warnings.length === max) break;
    warnings.push(text);
  }
  return warnings;
}

function* allWarnings({ rules, tenants = [] }: PolicyDocument, known: KnownNames): Generator<string> {
  for (const id of tenants) {
    if (known.tenants?.includes(id) === false)
      yield `the configuration has no tenant ${shorten(id)}${nearestSuggestion(id, known.tenants)}`;
  }
  const ofTools = known.tools && createToolWarnings(known.tools);
  for (const rule of rules) {
    const ofRule = [ofNames(rule, known), ofTools?.(rule) ?? [], ofMatch(rule), ofCondition(rule)];
    for (const warnings of ofRule) for (const text of warnings) yield `rule ${rule.rule_id}: ${text}`;
  }
  yield* unreached(rules);
}

function* ofNames(
  { condition, escalate_to: kind }: Rule,
  { budgets, channelKinds, detectors }: KnownNames,
): Generator<string> {
  const budget = condition.daily_budget_exceeded;
  if (budget !== undefined && budgets?.includes(budget) === false)
    yield `there is no budget ${budget}${nearestSuggestion(budget, budgets)}; the condition is false`;
  for (const pattern of condition.has_detector ?? []) {
    const holds = compileGlob(pattern);
    if (detectors?.some((id) => holds(id)) === false)
      yield `there is no detector ${shorten(pattern)}${nearestSuggestion(pattern, detectors)}; it never finds anything`;
  }
  if (kind !== undefined && channelKinds?.includes(kind) === false)
    yield `there is no channel of the kind ${kind}${nearestSuggestion(kind, channelKinds)}; nobody is notified`;
}

const knownMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'];

function* ofMatch({ match, action, incident_severity: severity }: Rule): Generator<string> {
  const { tool_name: name, tool_names: names, url_patterns, repo_patterns = [], operations = [] } = match;
  if (name !== undefined && names?.includes(name) === false)
    yield 'never holds: its tool_name is none of its tool_names';
  for (const pattern of url_patterns ?? []) {
    const text = urlPatternWarning(pattern, action === 'ALLOW');
    if (text !== undefined) yield text;
  }
  for (const pattern of action === 'ALLOW' ? repo_patterns : []) {
    if (!pattern.includes('/') && pattern !== '*')
      yield `${shorten(pattern)} allows the repository of this name in any organisation`;
  }
  for (const method of match.methods ?? []) {
    if (method === '*') yield 'methods: * is the name of no method; left out, all of them count';
    else if (!knownMethods.includes(method.toUpperCase())) {
      const near = nearest(method, knownMethods, 1);
      if (near !== undefined) yield `methods: there is no method ${shorten(method)}; did you mean ${near}?`;
    }
  }
  for (const operation of operations) {
    if (/^method:(?:READ|WRITE|ADMIN)$/i.test(operation))
      yield `${operation} names an HTTP method; for READ, WRITE and ADMIN there is verbs`;
  }
  if (severity !== undefined && action !== 'OPEN_INCIDENT')
    yield `incident_severity has no effect on ${action}; only OPEN_INCIDENT opens an incident`;
}

/** Warns of conditions that never hold. Scores go from 0 to 1, and a day from 00:00 to 24:00. */
function* ofCondition({ condition }: Rule): Generator<string> {
  const { risk_score_gt, trust_score_lt, time_of_day_outside: window } = condition;
  if (risk_score_gt === 1) yield never('risk_score_gt', 'no risk score is above 1');
  if (trust_score_lt === 0) yield never('trust_score_lt', 'no trust is below 0');
  if (window?.start === '00:00' && window.end === '24:00')
    yield never('time_of_day_outside', 'nothing is outside 00:00 to 24:00');
}

const never = (key: keyof RuleCondition, because: string): string => `never holds: ${key}: ${because}`;

/** Warns of rules behind one that holds for every call, or behind one that asks for the same. */
function* unreached(rules: readonly Rule[]): Generator<string> {
  const earlier = new Map<string, Rule>();
  let always: Rule | undefined;
  for (const rule of rules.toSorted((a, b) => a.priority - b.priority)) {
    const { rule_id: id, match, condition, action } = rule;
    const asks = JSON.stringify([match, condition]);
    const same = earlier.get(asks);
    if (always)
      yield `rule ${id}: is never reached, since rule ${always.rule_id} before it holds for every call`;
    else if (same)
      yield `rule ${id}: is never reached, since rule ${same.rule_id} before it asks for the same`;
    else if (holdsAlways(rule)) always = rule;
    // An ALLOW may not hold where a call can be read in two ways, and the rule behind it may. So an ALLOW
    // hides no rule.
    else if (action !== 'ALLOW') earlier.set(asks, rule);
  }
}

const holdsAlways = ({ match: { operations, ...match }, condition }: Rule): boolean =>
  Object.keys(match).length + Object.keys(condition).length === 0 && (operations?.includes('*') ?? true);
