import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { commands } from './commands/index.ts';

/** Exit codes: 0 done, 1 refused or failed, 2 wrong usage. */
const failed = 1;
const wrongUsage = 2;
/** The time in which a failed command may close what it has open. */
const leftOpenMs = 5_000;

/** `bin/postern`: finds the command and runs it. Sets the exit code; never throws. */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('postern')
    .description('The gate that AI agents leave by: reads, judges and forwards their API calls.')
    .version(version())
    .option('--config <file>', 'configuration file (default: POSTERN_CONFIG, /etc/postern/postern.yaml)')
    .option('--url <url>', 'control plane (default: POSTERN_URL)')
    .option('--json', 'machine-readable output')
    .exitOverride();
  for (const add of commands) add(program);
  try {
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = report(error);
    // Open handles must not keep a command alive: whoever started it waits for its end.
    setTimeout(() => process.exit(), leftOpenMs).unref();
  }
}

/** Reports a failure to a person, with a stack only where it is a bug. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : wrongUsage;
  console.error(`postern: ${error instanceof Error ? error.message : String(error)}`);
  return failed;
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return String(version);
}
