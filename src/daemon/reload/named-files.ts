import { cannotBeRead } from '../../config/checks/references.ts';
import { ConfigError, type Files } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { DetectorText } from '../../tenants/added-detectors.ts';

/* Reads the files that the configuration names, and that a reload reads again. */

const policyBytesMax = 16 * 1024 * 1024;
const rootsBytesMax = 16 * 1024 * 1024;
const detectorFilesMax = 100;
/** Bound on the bytes of all files of detectors together. */
const detectorBytesMax = 1024 * 1024;

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

/**
 * Reads the files of detectors that the patterns match, each once, and gives the patterns that match none.
 * Throws `ConfigError` where one cannot be read, or where they are too many or too long.
 */
export function readDetectorFiles(
  files: Files,
  { file: configFile, detectors: patterns }: Pick<Config, 'file' | 'detectors'>,
): { readonly texts: readonly DetectorText[]; readonly unmatched: readonly string[] } {
  const wrong = (message: string): ConfigError =>
    new ConfigError(configFile, [{ path: 'detectors', line: undefined, message }]);
  const found = patterns.map((pattern) => files.find(pattern));
  const unmatched = patterns.filter((_, at) => found[at]?.length === 0);
  const paths = [...new Set(found.flat())];
  if (paths.length > detectorFilesMax)
    throw wrong(`${paths.length} files match, and at most ${detectorFilesMax} are read`);
  let bytesLeft = detectorBytesMax;
  const texts = paths.map((file): DetectorText => {
    try {
      const bytes = files.read(file, detectorBytesMax);
      bytesLeft -= bytes.length;
      return { file, text: bytes.toString('utf8') };
    } catch (error) {
      throw wrong(cannotBeRead(file, error));
    }
  });
  if (bytesLeft < 0) throw wrong(`the files have more than ${detectorBytesMax} bytes together`);
  return { texts, unmatched };
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
