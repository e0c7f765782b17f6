import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Changes with each file of a folder that comes with the program, none of which is read for it. */
export const folderStamp = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      return `${name} ${size} ${mtimeMs}`;
    })
    .join('\n');
