import { closeSync, constants, fstatSync, globSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Environment } from './checks/references.ts';

const systemFile = '/etc/postern/postern.yaml';

/** The source of a configuration's files: the disk, or files that were read before. */
export interface Files {
  /** Returns the bytes of a regular file. Throws where it is anything else, or longer. */
  read(path: string, maxBytes: number): Buffer;
  /** Returns the paths that a glob matches, sorted. */
  find(pattern: string): readonly string[];
}

export const disk: Files = { read: readBytes, find: (pattern) => globSync(pattern).sort() };

/** Returns the text of a file in UTF-8. Throws where the file is anything else, or longer than `maxBytes`. */
export const readText = ({ read }: Files, path: string, maxBytes: number): string =>
  decode(read(path, maxBytes));

function readBytes(path: string, maxBytes: number): Buffer {
  // Opening a pipe that nobody writes to would otherwise never end.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) throw new Error('it is not a regular file');
    // The buffer has room for one byte more than may be there. The file is read to its end, because its size
    // can change while it is read.
    const buffer = Buffer.alloc(Math.min(fstatSync(file).size, maxBytes) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(file, buffer, length, buffer.length - length, null);
    }
    if (length > maxBytes) throw new TooLongError(maxBytes);
    return buffer.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** Says that a file has more bytes than may be read of it. */
export class TooLongError extends Error {
  constructor(maxBytes: number) {
    super(`it has more than ${maxBytes} bytes`);
  }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error('it is not UTF-8', { cause: error });
  }
}

/**
 * Returns the file to read: the named one, else that of `POSTERN_CONFIG`, else the system's where it exists.
 * A named file is returned whether it exists or not. So a misspelt path is an error, and never a start
 * without configuration.
 */
export function findConfigFile(
  explicit: string | undefined,
  env: Environment,
  fallback = systemFile,
): string | undefined {
  const named = explicit || env['POSTERN_CONFIG'];
  if (named) return resolve(named);
  return isAbsent(fallback) ? undefined : fallback;
}

/** Tells whether a file is certainly not there. A file that merely may not be read is not absent. */
function isAbsent(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** Returns the folder that relative paths start from. */
export const baseOf = (file: string | undefined): string =>
  file === undefined ? process.cwd() : dirname(resolve(file));
