import { ConfigError, type Files, loadConfig } from '../config/load.ts';
import { changedFixedKeys } from '../config/reload.ts';
import type { Config } from '../config/schema.ts';
import { refusedKeys } from './not-yet.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads a file, and refuses it where it asks for what this version does not do. Throws ConfigError with all that is wrong. */
export function readConfig(file: string | undefined, env: Environment, files: Files): Config {
  return checked(loadConfig(file, env, files));
}

export function checked(config: Config): Config {
  const gaps = refusedKeys(config);
  if (gaps.length > 0) throw new ConfigError(config.file, gaps);
  return config;
}

/** Throws ConfigError, naming them, where `next` changes keys that hold as long as the daemon runs. */
export function checkFixedKeys(before: Config, next: Config): void {
  const changed = changedFixedKeys(before, next);
  if (changed.length === 0) return;
  const message = 'cannot be changed by a reload; restart';
  throw new ConfigError(
    next.file,
    changed.map((path) => ({ path, line: undefined, message })),
  );
}
