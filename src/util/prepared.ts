import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { folderStamp } from './files/folder-stamp.ts';
import { lazily } from './lazily.ts';
import { packageFile, programFile } from './program-files.ts';

/*
 * Tables made of the shipped files cost a second of each start and each thread. They are cached beside the
 * program, where only those who may change the program may write. Where this user may not write there, they
 * are made each time.
 */

const programFolder = programFile('');
const cacheFolder = packageFile('node_modules/.cache/postern');
export const preparedFolder = join(cacheFolder, 'prepared');

/**
 * Returns the environment of a thread, with the cache of compiled code. `bin/postern` turns that on for the
 * main thread alone.
 */
export const threadEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  NODE_COMPILE_CACHE: cacheFolder,
});
/** The codes of errors that mean that the folder cannot be used. The tables are then made in memory. */
const passedOver: ReadonlySet<string | undefined> = new Set([
  ...['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS', 'ENOSPC'],
]);
/** The limit of kept tables of one name: a checkout has tables for its sources and for each bundle. */
const keptMax = 4;
const digestBytes = 32;
const digestOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/**
 * Returns what `make` makes of the content, from the cache where it is there. The result must be plain data
 * that depends on the content and the program alone, since it is written to disk.
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

/** Returns a text that changes with each file of the program and with the version of Node. */
const programStamp = lazily(() => `${process.version}\n${folderStamp(programFolder)}`);

/**
 * Returns the bytes of a kept table; undefined where there are none. A damaged file counts as absent, so its
 * table is made anew.
 */
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

/**
 * Writes the file in one step, since others may start meanwhile, and removes the oldest of its name beyond
 * `keptMax`.
 */
function keep(name: string, file: string, bytes: Buffer): void {
  const own = `${file}.${process.pid}-${performance.now()}`;
  try {
    mkdirSync(preparedFolder, { recursive: true, mode: 0o700 });
    for (const other of madeBefore(name).slice(keptMax - 1)) rmSync(other, { force: true });
    writeFileSync(own, bytes, { mode: 0o600 });
    renameSync(own, file);
  } catch (error) {
    if (!passedOver.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}

/** Returns the paths of the kept tables of a name, newest first. */
const madeBefore = (name: string): string[] =>
  readdirSync(preparedFolder)
    .filter((it) => it.startsWith(`${name}-`))
    .map((it) => join(preparedFolder, it))
    // Another process that starts may remove the file meanwhile.
    .map((path) => ({ path, ms: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.ms - a.ms)
    .map(({ path }) => path);
