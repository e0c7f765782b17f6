import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns a text that changes with each file of a folder that comes with the program. It is made of names,
 * sizes and times; no file is read.
 */
export const folderStamp = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      return `${name} ${size} ${mtimeMs}`;
    })
    .join('\n');
