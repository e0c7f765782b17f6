import { Command } from 'commander';
import { version } from '../util/version.ts';
import { commands } from './commands/index.ts';
import { completeHelp } from './help.ts';
import { printableLines, write } from './output.ts';

/** Returns the program with all commands, their options and help. `toError` words mistakes in arguments. */
export function createProgram(toError: (text: string) => string = (text) => text): Command {
  const program = new Command('postern')
    .description('The gate that AI agents leave by: reads, judges and forwards their API calls.')
    .version(version())
    .option('--config <file>', 'configuration file (default: POSTERN_CONFIG, /etc/postern/postern.yaml)')
    .option('--url <url>', 'control plane (default: POSTERN_URL)')
    .option('--json', 'machine-readable output, errors included')
    .option('--wide', 'whole ids and cells in tables, however wide they become')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void write(text),
      outputError: (text, writeError) => writeError(printableLines(toError(text))),
    });
  for (const add of commands) add(program);
  completeHelp(program);
  return program;
}
