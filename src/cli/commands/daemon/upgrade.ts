import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { CommonOptions } from '../../connection/client.ts';
import { readAddresses } from '../../connection/configuration.ts';
import { print, toFacts, toJson } from '../../output.ts';

/** `postern upgrade --check`: what a start of this version would do to the state; changes nothing. */
export function addUpgrade(program: Command): void {
  program
    .command('upgrade')
    .description('say what this version would do to the state that an earlier one has left')
    .option('--check', 'only look, which is all that this command does')
    .action(async (_options: unknown, upgrade: Command) => {
      const { json, config: named } = upgrade.optsWithGlobals<CommonOptions>();
      const { config } = await readAddresses(named);
      const { url } = config.state;
      const facts: Record<string, unknown> = {
        version: program.version() ?? '',
        state: url.driver === 'embedded' ? url.dir : 'redis',
        ...(url.driver === 'embedded'
          ? await embeddedFacts(url.dir)
          : { verdict: 'Redis has no schema: nodes of this and the previous version run side by side.' }),
      };
      if (facts['fits'] === false) process.exitCode = 1;
      await print(json ? `${toJson(facts)}\n` : toFacts(facts));
    });
}

async function embeddedFacts(dir: string): Promise<Record<string, unknown>> {
  const { stateMigrations } = await import('../../../state/embedded/file/migrations.ts');
  const { schemaVersion } = await import('../../../state/embedded/sqlite.ts');
  const known = stateMigrations.length;
  if (!existsSync(join(dir, 'state.db'))) return { verdict: 'There is no state yet; a start makes it.' };
  const found = schemaVersion(join(dir, 'state.db'));
  if (found > known)
    return {
      schema: `${found}, this version knows ${known}`,
      fits: false,
      verdict:
        'The state is of a newer version, which alone can open it. Start that one, or restore a backup.',
    };
  return {
    schema: `${found}, this version has ${known}`,
    fits: true,
    verdict:
      found === known
        ? 'A start changes nothing.'
        : `A start migrates the state in ${known - found} steps, and the earlier version cannot open it then: make a backup first (postern backup FOLDER).`,
  };
}
