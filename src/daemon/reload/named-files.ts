import type { Files } from '../../config/load.ts';

/* The named files that a reload reads again. */

const policyBytesMax = 16 * 1024 * 1024;
const rootsBytesMax = 16 * 1024 * 1024;

/** As text; what is no UTF-8 is a mistake that the parser finds. */
export const readPolicyFile = (files: Files, file: string): string =>
  files.read(file, policyBytesMax).toString('utf8');

/** The reader for `loadRoots`. */
export const readerOfRoots =
  (files: Files) =>
  (file: string): string =>
    files.read(file, rootsBytesMax).toString('latin1');
