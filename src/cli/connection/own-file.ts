import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';

/** A file of the folder that a command runs in belongs to somebody else. */
export class ForeignFileError extends Error {
  constructor(file: string) {
    super(`${file} belongs to another user; name the daemon with --config or --url, or remove the file.`);
  }
}

/**
 * Reads a file that tells where the daemon of this folder is. It must be root's or this user's: in a folder of an
 * agent's own, it would lead the secrets of the shell to a listener of the agent.
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
