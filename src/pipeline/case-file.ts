import { z } from 'zod';
import { decisions } from '../call.ts';
import { ConfigError, validateConfig } from '../config/load.ts';
import type { Config, TenantConfig } from '../config/schema.ts';
import type { PolicyDocument } from '../policy/index.ts';
import { validateDocument } from '../policy/validate.ts';
import { parseTarget } from '../target.ts';
import { givenFacts } from './given-facts.ts';

const casesMax = 10_000;
const policyFilesMax = 100;
/** Of the configuration that a case file's tenant stands in. */
export const caseTenantId = 'cases';

export interface CaseMistake {
  /** `cases[2].expect.decision`, or a policy file's own path in front. */
  readonly path: string;
  readonly message: string;
}

/** A case file, or a policy that it names, is not valid: all that is wrong with it. */
export class CaseFileError extends Error {
  readonly errors: readonly CaseMistake[];

  constructor(errors: readonly CaseMistake[]) {
    super(errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('\n'));
    this.name = 'CaseFileError';
    this.errors = errors;
  }
}

const headerText = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const testCase = z.strictObject({
  name: z.string().min(1).max(256),
  call: z.strictObject({
    method: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/, 'must be an HTTP method'),
    url: z.string().min(1).max(65_536).refine(isAbsolute, 'must be an absolute URL'),
    headers: z.record(z.string(), z.union([headerText, z.array(headerText)])).default({}),
    body: z.unknown().optional(),
    env: z.string().min(1).max(128).optional(),
    facts: givenFacts.default({}),
  }),
  expect: z.strictObject({
    decision: z.enum(decisions),
    reasons: z.array(z.string()).optional(),
    rule: z.string().nullable().optional(),
  }),
});

export type Case = z.output<typeof testCase>;

const caseFile = z.strictObject({
  policies: z.array(z.string().min(1)).min(1).max(policyFilesMax),
  tenant: z.record(z.string(), z.unknown()).default({}),
  cases: z.array(testCase).min(1).max(casesMax),
});

export type CaseFile = z.output<typeof caseFile>;

/** The whole file, but for the policies that it names. Throws `CaseFileError`. */
export function parseCaseFile(written: unknown): CaseFile {
  const parsed = caseFile.safeParse(written);
  if (parsed.success) return parsed.data;
  throw new CaseFileError(parsed.error.issues.map((it) => ({ path: toPath(it.path), message: it.message })));
}

/** A configuration with the file's tenant, plan and all. Throws `CaseFileError`. */
export function configOf({ tenant, cases }: CaseFile): Config {
  try {
    const config = validateConfig(
      { tenants: [{ environments: environmentsOf(cases), ...tenant, id: caseTenantId }] },
      { file: undefined, env: {} },
    );
    const known: readonly string[] = config.tenants.get(caseTenantId)?.environments ?? [];
    const strangers = cases.flatMap(({ call: { env } }, index) =>
      env === undefined || known.includes(env)
        ? []
        : [{ path: `cases[${index}].call.env`, message: `"${env}" is not an environment of the tenant` }],
    );
    if (strangers.length > 0) throw new CaseFileError(strangers);
    return config;
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

/** Where the tenant names none: those of the cases, `production` first, where calls without one are made. */
const environmentsOf = (cases: readonly Case[]): string[] => [
  ...new Set(['production', ...cases.flatMap(({ call }) => call.env ?? [])]),
];

/** The policies that the file names. Throws `CaseFileError`, and what `readPolicies` throws. */
export async function policiesOf(
  { policies: paths, tenant: { environments } }: CaseFile,
  tenant: TenantConfig,
  readPolicies: (path: string) => Promise<readonly unknown[]>,
): Promise<PolicyDocument[]> {
  const policies: PolicyDocument[] = [];
  const errors: CaseMistake[] = [];
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
    parseTarget(url);
    return true;
  } catch {
    return false;
  }
}

const toPath = (path: readonly PropertyKey[]): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '');
