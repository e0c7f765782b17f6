import { ConfigError } from '../config/load.ts';
import { changedFixedKeys } from '../config/reload.ts';
import type { Config } from '../config/schema.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

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
