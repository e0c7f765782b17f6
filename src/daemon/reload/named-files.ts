import type { Files } from '../../config/load.ts';

/* Of the files that a configuration names, those that a reload reads again. */

const policyBytesMax = 16 * 1024 * 1024;
const rootsBytesMax = 16 * 1024 * 1024;

/** As text; what is no UTF-8 is a mistake that the parser finds. */
export const readPolicyFile = (files: Files, file: string): string =>
  files.read(file, policyBytesMax).toString('utf8');

/** What `loadRoots` reads with. */
export const readerOfRoots =
  (files: Files) =>
  (file: string): string =>
    files.read(file, rootsBytesMax).toString('latin1');
