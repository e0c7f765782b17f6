import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { findConfigFile, loadConfig } from '../../config/load.ts';
import { clientVariables, toExports } from '../../gateway/first-start.ts';

/** `postern env`: what a shell must export so that its programs leave through the gate. */
export function addEnv(program: Command): void {
  program
    .command('env')
    .description('print the exports that lead a shell through the gate: eval "$(postern env)"')
    .action(() => {
      process.stdout.write(exportsFor(program.opts<{ config?: string }>().config));
    });
}

function exportsFor(configFile: string | undefined): string {
  const file = findConfigFile(configFile, process.env);
  if (file === undefined) {
    const made = resolve('data', 'first-start.env');
    if (!existsSync(made))
      throw new Error('there is no daemon yet: start one with "postern serve", or name a --config.');
    return readFileSync(made, 'utf8');
  }
  const config = loadConfig(file, process.env);
  const key = process.env['POSTERN_KEY'];
  if (!key) throw new Error('set POSTERN_KEY to the key that the programs shall use.');
  const listener = config.proxy.listen[0];
  if (listener?.kind !== 'tcp') throw new Error('proxy.listen names no address.');
  return toExports({
    POSTERN_CA: config.authority.cert,
    ...clientVariables(`http://agent:${key}@${listener.host}:${listener.port}`, config.authority.cert),
  });
}
