import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';

/** A file of the folder that a command runs in belongs to somebody else. */
export class ForeignFileError extends Error {
  constructor(file: string) {
    super(
      `${file} belongs to another user, so it is not believed; remove it, or name a configuration with --config.`,
    );
  }
}

/**
 * Reads a file of the working directory that tells where a daemon is, or its secrets. It must be root's or
 * this user's: in a folder of an agent's own, the agent would have written it.
 */
export function readOwn(file: string, user = process.getuid?.()): string {
  const opened = openSync(file, 'r');
  try {
    const owner = fstatSync(opened).uid;
    if (user !== undefined && owner !== user && owner !== 0) throw new ForeignFileError(file);
    return readFileSync(opened, 'utf8');
  } finally {
    closeSync(opened);
  }
}
