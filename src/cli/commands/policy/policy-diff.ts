import type { Command } from 'commander';
import type { PolicyChange } from '../../../policy/diff.ts';
import { asks, command } from '../../ask.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { print, toJson } from '../../output.ts';
import { changesFrom, readStanding, toChangeAnswer, toChangeLines } from '../../policy-changes.ts';
import { readValidPolicies } from '../../policy-files.ts';

/** Exit code where something differs, for CI. */
export const differs = 3;

interface DiffOptions extends CommonOptions {
  readonly all?: boolean;
  readonly exitCode?: boolean;
}

/** Adds `postern policy diff`, which compares by policy and rule, not by line. */
export function addPolicyDiff(group: Command): void {
  command(group, 'diff', 'say in which policies and rules files differ from what the daemon has')
    .argument('<file...>', 'YAML or JSON; - for standard input')
    .option('--all', 'also say which policies of the daemon stand in none of the files')
    .option('--exit-code', `end with ${differs} where something differs`)
    .action(
      asks<DiffOptions>(async ({ client, operands, options }) => {
        const policies = await readValidPolicies(operands);
        const standing = await readStanding(client, policies, options.all ?? false);
        await reportChanges(changesFrom(standing, policies), options);
      }),
    );
}

/** Prints what differs, and sets the exit code where that is asked for. */
export async function reportChanges(
  changes: readonly PolicyChange[],
  { json, exitCode }: DiffOptions,
): Promise<void> {
  if (json) await print(`${toJson({ changes: changes.map(toChangeAnswer) })}\n`);
  else await print(changes.length === 0 ? 'Nothing differs.\n' : toChangeLines(changes));
  if (exitCode && changes.length > 0) process.exitCode = differs;
}
