import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../core/log.ts';
import { makeFolder } from '../../util/files/make-folder.ts';
import { replaceFile } from '../../util/files/replace-file.ts';
import type { Bound } from '../bound.ts';

/* Tells people and scripts about the daemon, of one process or many. */

export function urlsOf(
  config: Config,
  bound: Bound,
): { readonly proxyUrl: string; readonly controlUrl: string } {
  return {
    proxyUrl: `${config.proxy.tls ? 'https' : 'http'}://${bound.proxy[0]}`,
    controlUrl: `${config.control.tls ? 'https' : 'http'}://${bound.control[0]}`,
  };
}

/** Warns of settings that are allowed and yet unwise. */
export function warn(config: Config, log: Log): void {
  for (const warning of config.warnings) log.warn({ warning }, 'the configuration is taken with a warning');
}

export function tellRefusal(error: unknown, log: Log): void {
  const reason = error instanceof ConfigError ? { mistakes: error.mistakes } : { err: error };
  log.error(reason, 'the configuration was refused; the old one stays');
}

/** Writes down for scripts where this daemon listens, and the id of its process. */
export function announce({ state, pidFile }: Config, bound: Bound): void {
  const file = join(state.dir, 'listening.json');
  replaceFile(file, `${JSON.stringify({ ...bound, pid: process.pid })}\n`);
  if (pidFile) writePid(pidFile);
}

function writePid(file: string): void {
  makeFolder(dirname(file));
  writeFileSync(file, `${process.pid}\n`);
}

/** Moves the process id after a reload into the file that is named now. */
export function movePid(before: Config, next: Config): void {
  if (before.pidFile === next.pidFile) return;
  if (next.pidFile) writePid(next.pidFile);
  removePid(before);
}

export function removePid({ pidFile }: Config): void {
  if (pidFile) rmSync(pidFile, { force: true });
}
