import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../../config/schema.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { readAddresses } from '../../connection/configuration.ts';
import { print, toFacts, toJson } from '../../output.ts';

/** Adds `postern upgrade --check`, which says what a start of this version would do to the state. */
export function addUpgrade(program: Command): void {
  program
    .command('upgrade')
    .description('say what this version would do to the state that an earlier one has left')
    .option('--check', 'only look, which is all that this command does')
    .action(async (_options: unknown, upgrade: Command) => {
      const { json, config: named } = upgrade.optsWithGlobals<CommonOptions>();
      const { config } = await readAddresses(named);
      const { url } = config.state;
      const found = url.driver === 'embedded' ? await embeddedFacts(url.dir) : await redisFacts(config.state);
      const facts: Record<string, unknown> = { version: program.version() ?? '', ...found };
      if (facts['fits'] === false) process.exitCode = 1;
      await print(json ? `${toJson(facts)}\n` : toFacts(facts));
    });
}

const newer =
  'The state is of a newer version, which alone can open it. Start that one, or restore a backup.';
const nothingThere = 'There is no state yet; a start makes it.';
const nothingNoted =
  'No format is noted there yet: there is no state, or one that this version reads. A start notes it.';
const nothingChanges = 'A start changes nothing.';

async function embeddedFacts(dir: string): Promise<Record<string, unknown>> {
  const { migrationsOf } = await import('../../../state/embedded/file/migrations.ts');
  const { schemaVersion } = await import('../../../state/embedded/sqlite.ts');
  if (!existsSync(join(dir, 'state.db'))) return { state: dir, verdict: nothingThere };
  const schemas: Record<string, string> = {};
  const missing: number[] = [];
  for (const [name, { length: known }] of Object.entries(migrationsOf)) {
    const file = join(dir, name);
    const found = existsSync(file) ? schemaVersion(file) : 0;
    schemas[name] = `schema ${found}, this version has ${known}`;
    missing.push(known - found);
  }
  const facts = { state: dir, ...schemas };
  if (missing.some((it) => it < 0)) return { ...facts, fits: false, verdict: newer };
  const steps = missing.reduce((sum, it) => sum + it, 0);
  const migrates = `A start migrates the state in ${steps} steps, and the earlier version cannot open it then: make a backup first (postern backup FOLDER).`;
  return { ...facts, fits: true, verdict: steps === 0 ? nothingChanges : migrates };
}

async function redisFacts({ url, timeoutMs, caFile }: Config['state']): Promise<Record<string, unknown>> {
  const { redisFormats } = await import('../../../state/open.ts');
  const { noted, own } = await redisFormats({ url, timeoutMs, caFile });
  if (!noted) return { state: 'redis', fits: true, verdict: nothingNoted };
  const isNewer = noted.readableFrom > own.number;
  const sideBySide = `Records are written in format ${own.number} from the first start on, beside nodes that read it (from ${own.readableFrom} on): restart one node after the other.`;
  return {
    state: 'redis',
    format: `${noted.number}, readable from ${noted.readableFrom} on; this version has ${own.number}`,
    fits: !isNewer,
    verdict: isNewer ? newer : own.number > noted.number ? sideBySide : nothingChanges,
  };
}
