import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';

/*
 * What is made of the files that come with the program takes a second of each start and of each thread. So it is kept beside the program, where
 * whoever may write could change the program as well; where nobody may, it is made each time.
 */

const folder = join(import.meta.dirname, '../node_modules/.cache/postern/prepared');
/** Where nothing can be written or read: there is no such folder, or it is not ours. */
const passedOver: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
  'ENOTDIR',
]);

/**
 * What `make` makes of the content, which must be plain data and depend on nothing but the content and the program. Only for content that comes
 * with the program: it is written to the disk.
 */
export function prepared<T>(name: string, content: string, make: () => T): T {
  const key = createHash('sha256').update(programStamp()).update(content).digest('hex').slice(0, 32);
  const file = join(folder, `${name}-${key}`);
  const known = readIfThere(file);
  if (known) return deserialize(known) as T;
  const made = make();
  keep(name, file, serialize(made));
  return made;
}

let stamp: string | undefined;

/** Changes with each file of the program. */
function programStamp(): string {
  stamp ??= [
    process.version,
    ...readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => {
        const { size, mtimeMs } = statSync(join(import.meta.dirname, name));
        return `${name} ${size} ${mtimeMs}`;
      }),
  ].join('\n');
  return stamp;
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (passedOver.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

/** Whole or not at all, since others may start at the same time; in place of what was made of other content. */
function keep(name: string, file: string, bytes: Buffer): void {
  const own = `${file}.${process.pid}-${performance.now()}`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const other of readdirSync(folder))
      if (other.startsWith(`${name}-`)) rmSync(join(folder, other), { force: true });
    writeFileSync(own, bytes, { mode: 0o600 });
    renameSync(own, file);
  } catch (error) {
    if (!passedOver.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}
