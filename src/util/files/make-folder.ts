import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, and those above it, where they are missing. Throws at once, naming the folder that cannot
 * be made. `mkdirSync` with `recursive` tries for ever where a file system answers ENOENT, as `/proc` does.
 */
export function makeFolder(path: string, mode = 0o777): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolder(above, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process may have been first.
    if (code === 'EEXIST' && isFolder(path)) return;
    throw new Error(`the folder ${path} cannot be made: ${code}. May this user write to ${above}?`, {
      cause: error,
    });
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Returns once the names in a folder are on disk. Does nothing on Windows, which cannot open folders and
 * needs no such call.
 */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
