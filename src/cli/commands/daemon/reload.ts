import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { reasonOf } from '../../../config/checks/references.ts';
import type { Config } from '../../../config/schema.ts';
import type { LastReload } from '../../../daemon/reload/last-reload.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { readAddresses } from '../../connection/configuration.ts';
import { print, printableLines, toJson } from '../../output.ts';

const waitMs = 120_000;
const pollMs = 50;

/** Adds `postern reload`, which has this machine's daemon read its configuration, and tells the outcome. */
export function addReload(program: Command): void {
  program
    .command('reload')
    .description(
      'have the daemon of this machine read its configuration again; says what changed, or the mistakes',
    )
    .action(async (_options: unknown, reload: Command) => {
      const options = reload.optsWithGlobals<CommonOptions>();
      const { config } = await readAddresses(options.config);
      const done = await reloadDaemon(config);
      if (done.error !== null)
        throw new Error(`the reload was refused; the old one stays:\n${printableLines(done.error)}`);
      await print(options.json ? `${toJson(done)}\n` : toSentence(done));
    });
}

function toSentence({ generation, changed }: LastReload): string {
  const what =
    changed.length === 0 ? 'no key has another value; policies and files are read anew' : changed.join(', ');
  return `generation ${generation} is in force. Changed: ${what}\n`;
}

async function reloadDaemon(config: Config): Promise<LastReload> {
  const { lastReloadFile } = await import('../../../daemon/reload/last-reload.ts');
  const pid = pidOf(config);
  const file = lastReloadFile(config);
  const before = readReload(file)?.at;
  try {
    process.kill(pid, 'SIGHUP');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(
      code === 'EPERM'
        ? `the daemon, process ${pid}, belongs to another user: run this as that user, or "systemctl reload postern".`
        : `the daemon, process ${pid}, does not run.`,
      { cause: error },
    );
  }
  for (let waited = 0; waited < waitMs; waited += pollMs) {
    const now = readReload(file);
    if (now && now.at !== before) return now;
    await sleep(pollMs);
  }
  throw new Error(
    `the daemon, process ${pid}, has not answered in ${waitMs / 1000} seconds; its log says why.`,
  );
}

function pidOf({ state }: Config): number {
  const file = join(state.dir, 'listening.json');
  try {
    const { pid } = JSON.parse(readFileSync(file, 'utf8'));
    if (Number.isInteger(pid) && pid > 1) return pid;
  } catch (error) {
    throw new Error(
      `does a daemon run with this configuration? It would write its process id into ${file}, which cannot be read: ${reasonOf(error)}.`,
      { cause: error },
    );
  }
  throw new Error(`${file} names no process.`);
}

function readReload(file: string): LastReload | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
