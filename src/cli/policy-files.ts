import type { Config } from '../config/schema.ts';
import type { ComparedPolicy } from '../policy/diff.ts';
import type { KnownNames, PolicyDocument } from '../policy/index.ts';
import { printable } from './output.ts';
import { MistakesError, type Problem } from './problems.ts';
import { readTextFile } from './text-file.ts';

/* Reads policy files without a daemon, and names the line of everything that is wrong. */

const fileBytesMax = 4 * 1024 * 1024;

/** A policy as one apply takes it. A document for several environments makes as many policies. */
export interface FiledPolicy extends ComparedPolicy {
  readonly file: string;
  /** Tenants that the policy is for; undefined for all. */
  readonly tenants: readonly string[] | undefined;
}

export interface PolicyFiles {
  readonly policies: readonly FiledPolicy[];
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** Reads policy files; `-` is standard input. Two policies of one name and environment are a mistake. */
export async function readPolicyFiles(
  files: readonly string[],
  known: KnownNames = {},
): Promise<PolicyFiles> {
  const read: PolicyFiles[] = [];
  for (const file of files) read.push(await readPolicyFile(file, known));
  const policies = read.flatMap((it) => it.policies);
  return {
    policies,
    errors: [...read.flatMap((it) => it.errors), ...twice(policies)],
    warnings: read.flatMap((it) => it.warnings),
  };
}

async function readPolicyFile(file: string, known: KnownNames): Promise<PolicyFiles> {
  const { parsePolicyFile } = await import('../policy/index.ts');
  let text: string;
  try {
    text = await readTextFile(file, fileBytesMax);
  } catch (error) {
    if (error instanceof MistakesError) return failed(error.mistakes);
    throw error;
  }
  const parsed = parsePolicyFile(text, file, known);
  if (!parsed.ok) return failed(parsed.errors);
  if (parsed.policies.length === 0) return failed([ofWhole(file, 'has no policy')]);
  const policies = parsed.policies.flatMap((it) => toFiled(it, file));
  return { policies, errors: [], warnings: parsed.warnings };
}

const failed = (errors: readonly Problem[]): PolicyFiles => ({ policies: [], errors, warnings: [] });

const ofWhole = (file: string, message: string): Problem => ({ file, line: undefined, path: '', message });

const toFiled = ({ envNames, ...policy }: PolicyDocument, file: string): FiledPolicy[] =>
  (envNames ?? [null]).map((envName) => ({ ...policy, envName, file }));

/** Returns a mistake for each policy that is there twice, as the second would silently replace the first. */
function twice(policies: readonly FiledPolicy[]): Problem[] {
  const fileOf = new Map<string, string>();
  return policies.flatMap((policy) => {
    const label = labelOf(policy);
    const earlier = fileOf.get(label);
    fileOf.set(label, policy.file);
    return earlier === undefined ? [] : [ofWhole(policy.file, `${label} stands in ${earlier} already`)];
  });
}

/** Returns the name of a policy for people: `deploys`, or `deploys (production)`. */
export const labelOf = ({ name, envName }: Pick<FiledPolicy, 'name' | 'envName'>): string =>
  envName === null ? name : `${name} (${envName})`;

/** Returns the body of an apply. */
export const toDocument = ({ name, description, mode, envName, rules }: FiledPolicy): object => ({
  name,
  description,
  mode,
  ...(envName === null ? {} : { env_name: envName }),
  rules,
});

/** Returns the policies of files. Throws `MistakesError` with everything that is wrong. */
export async function readValidPolicies(files: readonly string[]): Promise<readonly FiledPolicy[]> {
  const { policies, errors } = await readPolicyFiles(files);
  if (errors.length > 0) throw new MistakesError(errors);
  return policies;
}

/**
 * Returns the names that policies may use; without a configuration, the tools alone. Throws for a tenant that
 * the configuration lacks.
 */
export async function namesKnownIn(
  config: Config | undefined,
  tenantId: string | undefined,
): Promise<KnownNames> {
  const { namesInFiles, namesKnownTo, toolsKnownTo } = await import('../decision/trace/known-names.ts');
  const { createCatalogues, ownTables } = await import('../tenants/catalogues.ts');
  if (config === undefined) return { tools: toolsKnownTo() };
  const catalogues = createCatalogues(config, ownTables());
  const { disk } = await import('../config/load.ts');
  const { loadAddedDetectors } = await import('../daemon/start/loaded.ts');
  const { loadEngines } = await import('../tenants/engines.ts');
  const detectors = loadEngines().idsWith(loadAddedDetectors(config, disk).added);
  const ofAll = namesInFiles(config, catalogues, detectors);
  if (tenantId === undefined) return ofAll;
  const tenant = config.tenants.get(tenantId);
  if (!tenant) throw new Error(`the configuration has no tenant ${printable(tenantId)}.`);
  return { ...ofAll, ...namesKnownTo(config, catalogues, [tenant], detectors) };
}
