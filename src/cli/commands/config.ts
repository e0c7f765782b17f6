import type { Command } from 'commander';
import { findConfigFile, loadConfig } from '../../config/load.ts';
import { loadPolicyFiles } from '../../gateway/generation.ts';
import { openLog } from '../../log.ts';

/** `postern config check`: says what is wrong with a configuration, all of it, before a daemon does. */
export function addConfig(program: Command): void {
  program
    .command('config')
    .description('look at a configuration')
    .command('check')
    .description('validate a configuration file and the policy files that it names')
    .argument('[file]', 'default: --config, POSTERN_CONFIG, /etc/postern/postern.yaml')
    .action((named: string | undefined) => {
      const { config: option, json } = program.opts<{ config?: string; json?: boolean }>();
      const file = findConfigFile(named ?? option, process.env);
      if (file === undefined) throw new Error('there is no configuration file; name one.');
      const config = loadConfig(file, process.env);
      const policies = loadPolicyFiles(config, openLog({ level: 'warn', file: null }));
      console.log(
        json
          ? JSON.stringify({ file, ok: true, tenants: config.tenants.size, policies: policies.length })
          : `${file} is valid: ${config.tenants.size} tenants, ${policies.length} policies in files.`,
      );
    });
}
