import type { z } from 'zod';
import { nearest } from './nearest.ts';
import {
  applySchema,
  conditionAliases,
  conditionKeys,
  fileSchema,
  matchSchema,
  type PolicyDocument,
  type Rule,
  ruleSchema,
} from './schema.ts';
import { urlPatternWarning } from './url-pattern.ts';

const errorsMax = 50;
const quotedLengthMax = 60;

export interface PolicyError {
  /** `rules[0].match.verbs[1]` */
  readonly path: string;
  readonly message: string;
}

/** What a policy is checked against. A list that is left out is not checked. */
export interface KnownNames {
  readonly environments?: readonly string[];
  readonly budgets?: readonly string[];
  readonly channelKinds?: readonly string[];
}

export type Validation =
  | { readonly ok: true; readonly policy: PolicyDocument; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly errors: readonly PolicyError[] };

/** Checks the body of an apply. Answers all mistakes at once (up to 50), each with its path, value and the nearest valid word. */
export function validatePolicy(value: unknown, known: KnownNames): Validation {
  const warnings = unknownFields(value).map((field) => {
    const near = nearest(field, Object.keys(applySchema.shape));
    return `${shorten(field)} is not a field of a policy and was ignored${near ? `; did you mean ${near}?` : ''}`;
  });
  return toValidation(applySchema.safeParse(value, { reportInput: true }), known, warnings);
}

/** Checks one document of a policy file, where unknown fields are mistakes. */
export function validateDocument(value: unknown, known: KnownNames): Validation {
  return toValidation(fileSchema.safeParse(value, { reportInput: true }), known, []);
}

/** Rules as they come back from the store. Throws for what this version cannot read: such a policy must not be skipped. */
export function parseStoredRules(rules: readonly unknown[]): readonly Rule[] {
  return rules.map((rule) => ruleSchema.parse(rule));
}

type Parsed = z.ZodSafeParseResult<z.output<typeof applySchema> & Partial<z.output<typeof fileSchema>>>;

function toValidation(parsed: Parsed, known: KnownNames, warnings: readonly string[]): Validation {
  if (!parsed.success) return { ok: false, errors: firstErrors(parsed.error.issues) };
  const { name, description, mode, rules, env_name, env_names, tenants } = parsed.data;
  const policy: PolicyDocument = {
    name,
    description,
    mode,
    rules,
    envNames: env_names ?? (env_name ? [env_name] : undefined),
    tenants: tenants ?? undefined,
  };
  const errors = environmentErrors(policy, known.environments, env_name != null, env_names != null);
  return errors.length > 0
    ? { ok: false, errors }
    : { ok: true, policy, warnings: [...warnings, ...warningsOf(policy, known)] };
}

function environmentErrors(
  policy: PolicyDocument,
  environments: readonly string[] | undefined,
  one: boolean,
  many: boolean,
): PolicyError[] {
  if (one && many) return [{ path: 'env_names', message: 'env_name is there too; give one of them' }];
  if (environments === undefined) return [];
  return (policy.envNames ?? [])
    .map((envName, index) => ({ envName, path: one ? 'env_name' : `env_names[${index}]` }))
    .filter(({ envName }) => !environments.includes(envName))
    .map(({ envName, path }) => ({
      path,
      message: unknownWord(envName, environments, 'is not an environment of the tenant'),
    }));
}

/** No further than they are shown: looking for the nearest word costs more than reading the policy. */
function firstErrors(issues: readonly z.core.$ZodIssue[]): PolicyError[] {
  const errors: PolicyError[] = [];
  for (const issue of issues) {
    if (errors.length >= errorsMax) break;
    errors.push(...toErrors(issue, errorsMax - errors.length));
  }
  return errors;
}

function toErrors(issue: z.core.$ZodIssue, max: number): PolicyError[] {
  if (issue.code === 'unrecognized_keys') {
    const valid = validKeysAt(issue.path);
    return issue.keys
      .slice(0, max)
      .map((key) => ({ path: toPath([...issue.path, key]), message: unknownKey(key, valid) }));
  }
  return [{ path: toPath(issue.path), message: toMessage(issue) }];
}

function toMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value' && typeof issue.input === 'string') {
    return unknownWord(issue.input, issue.values.map(String), 'is not valid');
  }
  if (issue.code !== 'invalid_type') return `${issue.message}${quote(issue.input)}`;
  if (issue.input === undefined) return 'is missing';
  return `must be ${typeNames[issue.expected] ?? issue.expected}${quote(issue.input)}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

function unknownKey(key: string, valid: readonly string[]): string {
  const near = nearest(key, valid);
  if (near !== undefined) return `${shorten(key)}: did you mean ${near}?`;
  const home = Object.entries({
    match: matchKeys,
    condition: conditionKeysAll,
    'the rule itself': ruleKeys,
  }).find(([, keys]) => keys.includes(key));
  return home
    ? `${key} belongs in ${home[0]}`
    : `${shorten(key)} is not a key here; valid are ${valid.join(', ')}`;
}

function unknownWord(word: string, valid: readonly string[], what: string): string {
  const near = nearest(word, valid);
  return `"${shorten(word)}" ${what}: ${near ? `did you mean ${near}?` : `one of ${valid.join(', ')}`}`;
}

const matchKeys: readonly string[] = Object.keys(matchSchema.shape);
const conditionKeysAll: readonly string[] = [...conditionKeys, ...Object.keys(conditionAliases)];
const ruleKeys: readonly string[] = Object.keys(ruleSchema.shape);

function validKeysAt(path: readonly PropertyKey[]): readonly string[] {
  const last = path.at(-1);
  if (last === undefined) return Object.keys(fileSchema.shape);
  if (last === 'match') return matchKeys;
  if (last === 'condition') return conditionKeysAll;
  if (last === 'time_of_day_outside') return ['start', 'end', 'tz'];
  return String(last).startsWith('body_path_') ? ['path', 'value'] : ruleKeys;
}

const toPath = (path: readonly PropertyKey[]): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${shorten(String(step))}`))
    .join('')
    .replace(/^\./, '');

const shorten = (text: string): string =>
  text.length > quotedLengthMax ? `${text.slice(0, quotedLengthMax)}…` : text;

const quote = (input: unknown): string =>
  ['string', 'number', 'boolean'].includes(typeof input) ? ` (it is ${shorten(JSON.stringify(input))})` : '';

function unknownFields(value: unknown): string[] {
  // `tenant_id` is the API's: it says for whom the admin secret acts.
  const fields = [...Object.keys(applySchema.shape), 'tenant_id'];
  return typeof value === 'object' && value !== null
    ? Object.keys(value)
        .filter((key) => !fields.includes(key))
        .slice(0, errorsMax)
    : [];
}

/** What is accepted and yet may not do what its author thinks. */
function warningsOf(policy: PolicyDocument, known: KnownNames): string[] {
  const warnings: string[] = [];
  for (const rule of policy.rules) {
    const warn = (text: string) => warnings.push(`rule ${rule.rule_id}: ${text}`);
    const budget = rule.condition.daily_budget_exceeded;
    if (budget !== undefined && known.budgets?.includes(budget) === false)
      warn(`there is no budget ${budget}; the condition is false`);
    const kind = rule.escalate_to;
    if (kind !== undefined && known.channelKinds?.includes(kind) === false)
      warn(`there is no channel of the kind ${kind}; nobody is notified`);
    for (const pattern of rule.match.url_patterns ?? []) {
      const text = urlPatternWarning(pattern, rule.action === 'ALLOW');
      if (text !== undefined) warn(text);
    }
    for (const pattern of rule.action === 'ALLOW' ? (rule.match.repo_patterns ?? []) : []) {
      if (!pattern.includes('/') && pattern !== '*')
        warn(`${pattern} allows the repository of this name in any organisation`);
    }
    for (const operation of rule.match.operations ?? []) {
      if (/^method:(?:READ|WRITE|ADMIN)$/i.test(operation))
        warn(`${operation} names an HTTP method; for READ, WRITE and ADMIN there is verbs`);
    }
  }
  return [...warnings, ...shadowed(policy.rules)].slice(0, errorsMax);
}

/** Rules behind one that holds for every call. */
function shadowed(rules: readonly Rule[]): string[] {
  const ordered = rules.toSorted((a, b) => a.priority - b.priority);
  const always = ordered.findIndex(
    ({ match, condition }) => Object.keys(match).length + Object.keys(condition).length === 0,
  );
  if (always < 0) return [];
  return ordered
    .slice(always + 1)
    .map(
      ({ rule_id }) =>
        `rule ${rule_id}: is never reached, since rule ${ordered[always]?.rule_id} before it holds for every call`,
    );
}
