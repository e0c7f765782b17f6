import type { Command } from 'commander';
import type { CommonOptions } from '../connection/client.ts';
import { print, toJson } from '../output.ts';

/** `postern env`: what a shell must export so that its programs leave through the gate. */
export function addEnv(program: Command): void {
  program
    .command('env')
    .description('print the exports that lead a shell through the gate: eval "$(postern env)"')
    .action(async (_options: unknown, env: Command) => {
      const options = env.optsWithGlobals<CommonOptions>();
      const { stands, toldWay } = await import('../connection/way-out.ts');
      const { readExports } = await import('../../daemon/start/first-start.ts');
      const way = await toldWay(options);
      if (!way)
        throw new Error(
          'there is no daemon of this folder: start one with "postern serve", or name the configuration of one with --config.',
        );
      // The daemon need not run; one that does must take the key.
      await stands(way);
      await print(options.json ? `${toJson(Object.fromEntries(readExports(way.exports)))}\n` : way.exports);
    });
}
