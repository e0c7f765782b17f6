import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { urlOf } from '../addresses.ts';
import type { CommonOptions } from '../client.ts';
import { readConfig } from '../configuration.ts';
import { print, toJson } from '../output.ts';

/** `postern env`: what a shell must export so that its programs leave through the gate. */
export function addEnv(program: Command): void {
  program
    .command('env')
    .description('print the exports that lead a shell through the gate: eval "$(postern env)"')
    .action(async (_options: unknown, env: Command) => {
      const { config, json } = env.optsWithGlobals<CommonOptions>();
      const { readExports } = await import('../../gateway/first-start.ts');
      const exports = await exportsFor(config);
      await print(json ? `${toJson(Object.fromEntries(readExports(exports)))}\n` : exports);
    });
}

async function exportsFor(named: string | undefined): Promise<string> {
  const { file, config } = await readConfig(named);
  if (file === undefined) {
    const made = resolve('data', 'first-start.env');
    if (!existsSync(made))
      throw new Error('there is no daemon yet: start one with "postern serve", or name a --config.');
    return readFileSync(made, 'utf8');
  }
  const key = process.env['POSTERN_KEY'];
  if (!key) throw new Error('set POSTERN_KEY to the key that the programs shall use.');
  const proxy = urlOf(config, 'proxy');
  if (proxy === undefined) throw new Error('proxy.listen names no address.');
  const { clientVariables, toExports } = await import('../../gateway/first-start.ts');
  const { cert } = config.authority;
  return toExports({ POSTERN_CA: cert, ...clientVariables(proxy.replace('://', `://agent:${key}@`), cert) });
}
