import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';

/** Says that a file of the working directory belongs to another user. */
export class ForeignFileError extends Error {
  constructor(file: string) {
    super(
      `${file} belongs to another user, so it is not believed; remove it, or name a configuration with --config.`,
    );
  }
}

/**
 * Reads a file of the working directory that tells where a daemon is, or its secrets. Throws
 * `ForeignFileError` unless root or this user owns it. Where the folder is an agent's own, the agent may have
 * written such a file.
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
