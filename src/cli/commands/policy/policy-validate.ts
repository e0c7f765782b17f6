import type { Command } from 'commander';
import { command } from '../../ask.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { readConfig } from '../../connection/configuration.ts';
import { print, toJson } from '../../output.ts';
import { namesKnownIn, type PolicyFiles, readPolicyFiles } from '../../policy-files.ts';
import { toProblemLine } from '../../problems.ts';

/** Adds `postern policy validate`, which asks no daemon. Mistakes are its output, and make it end with 1. */
export function addPolicyValidate(group: Command): void {
  command(group, 'validate', 'say what is wrong with policy files; asks no daemon')
    .argument('<file...>', 'YAML or JSON; - for standard input')
    .addHelpText(
      'after',
      '\nWith --config, tenants, environments, budgets, channels and tools are those of the configuration.',
    )
    .action(async (files: readonly string[], _options: unknown, validate: Command) => {
      const { config, tenant, json } = validate.optsWithGlobals<CommonOptions>();
      const configuration = config === undefined ? undefined : (await readConfig(config)).config;
      const known = await namesKnownIn(configuration, tenant);
      const read = await readPolicyFiles(files, known);
      await print(json ? `${toJson(toAnswer(read))}\n` : toLines(read));
      if (read.errors.length > 0) process.exitCode = 1;
    });
}

const toAnswer = ({ policies, errors, warnings }: PolicyFiles): object => ({
  valid: errors.length === 0,
  policies: policies.map(({ file, name, envName, rules }) => ({
    file,
    name,
    env_name: envName,
    rules: rules.length,
  })),
  errors,
  warnings,
});

function toLines({ policies, errors, warnings }: PolicyFiles): string {
  const lines = [
    ...errors.map(toProblemLine),
    ...warnings.map((it) => toProblemLine({ ...it, message: `warning: ${it.message}` })),
  ];
  if (errors.length === 0)
    lines.push(`${policies.length} ${policies.length === 1 ? 'policy is' : 'policies are'} valid.`);
  return lines.map((it) => `${it}\n`).join('');
}
