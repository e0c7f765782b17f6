import { type Command, Option } from 'commander';
import type { CommonOptions } from '../../connection/client.ts';
import { print, toJson } from '../../output.ts';
import { exportsFor, type Shell, shells } from '../../programs/shells.ts';

/** Adds `postern env`, which prints what a shell exports so that its programs leave through the gateway. */
export function addEnv(program: Command): void {
  program
    .command('env')
    .description('print the exports that lead a shell through the gateway: eval "$(postern env)"')
    .addOption(new Option('--shell <name>', 'the shell that reads them').choices(shells).default('bash'))
    .action(async (_options: unknown, env: Command) => {
      const options = env.optsWithGlobals<CommonOptions & { readonly shell: Shell }>();
      const { stands, toldWay } = await import('../../connection/way-out.ts');
      const { readExports } = await import('../../../daemon/start/client-variables.ts');
      const way = await toldWay(options);
      if (!way)
        throw new Error(
          'there is no daemon of this folder: start one with "postern serve", or name the configuration of one with --config.',
        );
      // The daemon need not run; one that runs must take the key.
      await stands(way);
      const values = Object.fromEntries(readExports(way.exports));
      if (options.json) await print(`${toJson(values)}\n`);
      else await print(options.shell === 'bash' ? way.exports : exportsFor[options.shell](values));
    });
}
