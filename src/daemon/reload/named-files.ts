import { cannotBeRead } from '../../config/checks/references.ts';
import { ConfigError, type Files } from '../../config/load.ts';

/* Reads the files that the configuration names, and that a reload reads again. */

const policyBytesMax = 16 * 1024 * 1024;
const rootsBytesMax = 16 * 1024 * 1024;

/**
 * Reads a policy file as text; the parser finds what is no UTF-8. Throws `ConfigError` where it cannot be
 * read.
 */
export function readPolicyFile(files: Files, file: string): string {
  try {
    return files.read(file, policyBytesMax).toString('utf8');
  } catch (error) {
    throw new ConfigError(undefined, [{ path: '', line: undefined, message: cannotBeRead(file, error) }]);
  }
}

/** Returns the reader for `loadRoots`. It throws an error that names the file. */
export const readerOfRoots =
  (files: Files) =>
  (file: string): string => {
    try {
      return files.read(file, rootsBytesMax).toString('latin1');
    } catch (cause) {
      throw new Error(cannotBeRead(file, cause), { cause });
    }
  };
