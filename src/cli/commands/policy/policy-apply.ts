import type { Command } from 'commander';
import type { TriedPolicy } from '../../../api/answers.ts';
import { asks, command } from '../../ask.ts';
import type { Client, CommonOptions } from '../../connection/client.ts';
import { note, print, printable, toJson } from '../../output.ts';
import { changesFrom, type Policy, readStanding } from '../../policy-changes.ts';
import { type FiledPolicy, labelOf, readValidPolicies, toDocument } from '../../policy-files.ts';
import { reportChanges } from './policy-diff.ts';

interface ApplyOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly exitCode?: boolean;
}

/** Adds `postern policy apply`, which applies the policies that differ, once all of them are checked. */
export function addPolicyApply(group: Command): void {
  command(
    group,
    'apply',
    'apply the policies of files that differ from those of the daemon; the next call is judged by them',
  )
    .argument('<file...>', 'YAML or JSON; - for standard input')
    .option('--dry-run', 'check everything and say what would change; change nothing')
    .option('--exit-code', 'with --dry-run: end with 3 where something would change')
    .action(
      asks<ApplyOptions>(async ({ client, operands, options, misused }) => {
        if (options.exitCode && !options.dryRun) misused('--exit-code goes with --dry-run.');
        const policies = await readValidPolicies(operands);
        for (const policy of policies) checkTenant(policy, options.tenant);
        const standing = await readStanding(client, policies, false);
        const fixed = policies.find(({ name }) => standing.namesOfFiles.has(name));
        if (fixed) throw new Error(`${fixed.name} stands in a policy file of the daemon; change it there.`);
        const changes = changesFrom(standing, policies);
        const labels = new Set(changes.map(labelOf));
        const changed = policies.filter((it) => labels.has(labelOf(it)));
        for (const policy of changed) tellWarnings(await validate(client, policy), policy);
        if (options.dryRun) return reportChanges(changes, options);
        for (const policy of changed) await apply(client, policy, options);
        if (changed.length === 0 && !options.json) await print('Nothing differs.\n');
      }),
    );
}

/** Throws where a policy is not for the tenant. An apply is for one tenant, and must not reach another. */
function checkTenant({ file, tenants, ...policy }: FiledPolicy, tenant: string | undefined): void {
  if (tenants === undefined) return;
  const label = `${printable(file)}: ${labelOf(policy)}`;
  if (tenant === undefined) throw new Error(`${label} is for certain tenants; name the one with --tenant.`);
  if (!tenants.includes(tenant)) throw new Error(`${label} is not for the tenant ${printable(tenant)}.`);
}

/** Validates a policy by the daemon. Among several policies, the error must name the refused one. */
async function validate(client: Client, policy: FiledPolicy): Promise<TriedPolicy> {
  try {
    return await client.send('POST', '/v1/policies/validate', toDocument(policy));
  } catch (error) {
    throw new Error(`${printable(policy.file)}: ${labelOf(policy)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function tellWarnings({ warnings }: TriedPolicy, policy: FiledPolicy): void {
  for (const warning of warnings) note(printable(`${policy.file}: ${labelOf(policy)}: warning: ${warning}`));
}

/** Applies a policy and prints a line, also as JSON. So what was done is known where a later policy fails. */
async function apply(client: Client, policy: FiledPolicy, { json }: ApplyOptions): Promise<void> {
  const applied = await client.send<Policy>('POST', '/v1/policies/apply', toDocument(policy));
  await print(json ? `${toJson(applied)}\n` : `${labelOf(policy)} is applied: version ${applied.version}.\n`);
}
