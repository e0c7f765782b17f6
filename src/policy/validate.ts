import type { z } from 'zod';
import { nearestSuggestion } from '../util/nearest.ts';
import { type DocumentKeys, errorsMax, type PolicyError, toErrors, unknownWord } from './issues.ts';
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
import type { KnownNames } from './warnings/known-names.ts';
import { shorten } from './warnings/shorten.ts';
import { warningsOf } from './warnings/warnings.ts';

export type Validation =
  | { readonly ok: true; readonly policy: PolicyDocument; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly errors: readonly PolicyError[] };

/**
 * Checks the body of an apply. Returns up to 50 mistakes, each with its path, its value and the nearest valid
 * word.
 */
export function validatePolicy(value: unknown, known: KnownNames): Validation {
  const warnings = unknownFields(value).map((field) => {
    const near = nearestSuggestion(field, Object.keys(applySchema.shape));
    return `${shorten(field)} is not a field of a policy and was ignored${near}`;
  });
  return toValidation(applySchema.safeParse(value, { reportInput: true }), known, warnings);
}

/** Checks one document of a policy file, where unknown fields are mistakes. */
export function validateDocument(value: unknown, known: KnownNames): Validation {
  return toValidation(fileSchema.safeParse(value, { reportInput: true }), known, []);
}

/** Reads stored rules. Throws where this version cannot read one, because a policy must not be skipped. */
export function parseStoredRules(rules: readonly unknown[]): readonly Rule[] {
  return rules.map((rule) => ruleSchema.parse(rule));
}

type Parsed = z.ZodSafeParseResult<z.output<typeof applySchema>>;

function toValidation(parsed: Parsed, known: KnownNames, warnings: readonly string[]): Validation {
  if (!parsed.success) return { ok: false, errors: toErrors(parsed.error.issues, keys) };
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
    : { ok: true, policy, warnings: [...warnings, ...warningsOf(policy, known, errorsMax)] };
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

const keys: DocumentKeys = {
  at: validKeysAt,
  homes: { match: matchKeys, condition: conditionKeysAll, 'the rule itself': ruleKeys },
};

function unknownFields(value: unknown): string[] {
  // `tenant_id` is a field of the API. It says for which tenant the admin secret acts.
  const fields = [...Object.keys(applySchema.shape), 'tenant_id'];
  return typeof value === 'object' && value !== null
    ? Object.keys(value)
        .filter((key) => !fields.includes(key))
        .slice(0, errorsMax)
    : [];
}
