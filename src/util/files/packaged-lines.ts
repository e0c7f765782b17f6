import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lazily } from '../lazily.ts';
import { packageFile } from '../program-files.ts';

/** Returns the lines of a list in `config`, without empty ones and comments, which begin with `# `. */
export const packagedLines = (path: string): readonly string[] =>
  readFileSync(packageFile(join('config', path)), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('# '));

/** Returns the words of a list in `config/words`, which is read when it is first asked for. */
export const packagedWords = (name: string): (() => ReadonlySet<string>) =>
  lazily(() => new Set(packagedLines(join('words', name))));
