import { z } from 'zod';
import { ConfigError, validateConfig } from '../../config/load.ts';
import type { Config, TenantConfig } from '../../config/schema.ts';
import { decisions } from '../../core/call.ts';
import { parseDescribed } from '../../core/target.ts';
import type { PolicyDocument } from '../../policy/index.ts';
import { errorsMax, type PolicyError, toErrors, unknownWord } from '../../policy/issues.ts';
import { validateDocument } from '../../policy/validate.ts';
import { givenFacts } from '../facts/given-facts.ts';

const casesMax = 10_000;
const policyFilesMax = 100;
const detectorPatternsMax = 100;
/** The id of the tenant that the configuration of a case file has. */
export const caseTenantId = 'cases';

/**
 * Says all that is wrong with a case file or with a policy that it names. Each message stands behind its
 * path.
 */
export class CaseFileError extends Error {
  readonly errors: readonly PolicyError[];

  constructor(errors: readonly PolicyError[]) {
    super(errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('\n'));
    this.name = 'CaseFileError';
    this.errors = errors;
  }
}

const headerText = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const headerValue = z.union([headerText, z.array(headerText)], 'must be a text or a list of texts');

const call = z.strictObject({
  method: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/, 'must be an HTTP method'),
  url: z.string().max(65_536).refine(isAbsolute, 'must be an absolute URL'),
  headers: z.record(z.string(), headerValue).default({}),
  body: z.unknown().optional(),
  env: z.string().min(1).max(128).optional(),
  facts: givenFacts.default({}),
});

const expected = z.strictObject({
  decision: z.enum(decisions),
  reasons: z.array(z.string()).optional(),
  rule: z.string().nullable().optional(),
});

const testCase = z.strictObject({ name: z.string().min(1).max(256), call, expect: expected });

export type Case = z.output<typeof testCase>;

const caseFile = z.strictObject({
  policies: z.array(z.string().min(1)).min(1, 'must name a policy file').max(policyFilesMax),
  tenant: z.record(z.string(), z.unknown()).default({}),
  /** Additions to the catalogue of tools, as in the configuration. */
  tools: z.array(z.record(z.string(), z.unknown())).default([]),
  /** Globs of files with added detectors, relative to the case file. */
  detectors: z.array(z.string().min(1)).max(detectorPatternsMax).default([]),
  cases: z.array(testCase).min(1, 'must have a case').max(casesMax),
});

type CaseFile = z.output<typeof caseFile>;

/** Returns the whole file, but for the policies that it names. Throws `CaseFileError`. */
export function parseCaseFile(written: unknown): CaseFile {
  const parsed = caseFile.safeParse(written, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new CaseFileError(toErrors(parsed.error.issues, { at: keysAt }));
}

function keysAt(path: readonly PropertyKey[]): readonly string[] {
  const last = path.at(-1);
  if (last === undefined) return Object.keys(caseFile.shape);
  if (last === 'call') return Object.keys(call.shape);
  if (last === 'facts') return Object.keys(givenFacts.shape);
  return Object.keys(last === 'expect' ? expected.shape : testCase.shape);
}

/** Returns a configuration with the tenant and the tools of the file. Throws `CaseFileError`. */
export function configOf({ tenant, tools, cases }: CaseFile): Config {
  const written = {
    tenants: [{ environments: environmentsOf(cases), ...tenant, id: caseTenantId }],
    tools,
  };
  const config = sayingOfFile(() => validateConfig(written, { file: undefined, env: {} }));
  const known: readonly string[] = config.tenants.get(caseTenantId)?.environments ?? [];
  const strangers = cases.flatMap(({ call: { env } }, index) =>
    env === undefined || known.includes(env) ? [] : [{ env, path: `cases[${index}].call.env` }],
  );
  if (strangers.length === 0) return config;
  const said = 'is not an environment of the tenant';
  throw new CaseFileError(
    strangers.slice(0, errorsMax).map(({ env, path }) => ({ path, message: unknownWord(env, known, said) })),
  );
}

/**
 * Returns what `make` does. Throws mistakes of a configuration as mistakes of the case file that it was made
 * of.
 */
export function sayingOfFile<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CaseFileError(
      error.mistakes.map(({ path, message }) => ({
        path: path.replace(/^tenants\[0\]/, 'tenant'),
        message,
      })),
    );
  }
}

/** Returns the environments where the tenant names none: those of the cases, with `production` first. */
const environmentsOf = (cases: readonly Case[]): string[] => [
  ...new Set(['production', ...cases.flatMap(({ call }) => call.env ?? [])]),
];

/** Returns the policies that the file names. Throws `CaseFileError`, and what `readPolicies` throws. */
export async function policiesOf(
  { policies: paths, tenant: { environments } }: CaseFile,
  tenant: TenantConfig,
  readPolicies: (path: string) => Promise<readonly unknown[]>,
): Promise<PolicyDocument[]> {
  const policies: PolicyDocument[] = [];
  const errors: PolicyError[] = [];
  const known = {
    ...(environments === undefined ? {} : { environments: tenant.environments }),
    budgets: tenant.budgets.map((it) => it.name),
  };
  for (const path of paths) {
    for (const [index, document] of (await readPolicies(path)).entries()) {
      const validation = validateDocument(document, known);
      if (validation.ok) policies.push(validation.policy);
      else
        errors.push(
          ...validation.errors.map((it) => ({ ...it, path: `${path}[${index}] ${it.path}`.trimEnd() })),
        );
    }
  }
  if (errors.length > 0) throw new CaseFileError(errors);
  return policies;
}

function isAbsolute(url: string): boolean {
  try {
    parseDescribed(url);
    return true;
  } catch {
    return false;
  }
}
