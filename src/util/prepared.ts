import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';

/*
 * What is made of the files that come with the program takes a second of each start and of each thread. So it is kept beside the program, where
 * whoever may write could change the program as well; where nobody may, it is made each time.
 */

const programFolder = join(import.meta.dirname, '..');
const cacheFolder = join(import.meta.dirname, '../../node_modules/.cache/postern');
/** Where it is kept. */
export const preparedFolder = join(cacheFolder, 'prepared');

/** The environment of a thread that keeps its compiled code, too: what `bin/postern` says counts for the main thread alone. */
export const threadEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  NODE_COMPILE_CACHE: cacheFolder,
});
/** Where nothing can be written or read: there is no such preparedFolder, or it is not ours. */
const passedOver: ReadonlySet<string | undefined> = new Set([
  ...['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS', 'ENOSPC'],
]);
const digestBytes = 32;
const digestOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/**
 * What `make` makes of the content, which must be plain data and depend on nothing but the content and the program. Only for content that comes
 * with the program: it is written to the disk.
 */
export function prepared<T>(name: string, content: string, make: () => T): T {
  const key = createHash('sha256').update(programStamp()).update(content).digest('hex').slice(0, 32);
  const file = join(preparedFolder, `${name}-${key}`);
  const known = readIfThere(file);
  if (known) return deserialize(known) as T;
  const made = make();
  const bytes = serialize(made);
  keep(name, file, Buffer.concat([digestOf(bytes), bytes]));
  return made;
}

let stamp: string | undefined;

/** Changes with each file of the program. */
function programStamp(): string {
  stamp ??= [
    process.version,
    ...readdirSync(programFolder, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => {
        const { size, mtimeMs } = statSync(join(programFolder, name));
        return `${name} ${size} ${mtimeMs}`;
      }),
  ].join('\n');
  return stamp;
}

/** What a disk has damaged is made anew. */
function readIfThere(file: string): Buffer | undefined {
  let kept: Buffer;
  try {
    kept = readFileSync(file);
  } catch (error) {
    if (passedOver.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
  const bytes = kept.subarray(digestBytes);
  return digestOf(bytes).equals(kept.subarray(0, digestBytes)) ? bytes : undefined;
}

/** Whole or not at all, since others may start at the same time; in place of what was made of other content. */
function keep(name: string, file: string, bytes: Buffer): void {
  const own = `${file}.${process.pid}-${performance.now()}`;
  try {
    mkdirSync(preparedFolder, { recursive: true, mode: 0o700 });
    for (const other of readdirSync(preparedFolder))
      if (other.startsWith(`${name}-`)) rmSync(join(preparedFolder, other), { force: true });
    writeFileSync(own, bytes, { mode: 0o600 });
    renameSync(own, file);
  } catch (error) {
    if (!passedOver.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}
