import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { folderStamp } from '../util/files/folder-stamp.ts';

/*
 * A checkout has a thousand modules, and finding and linking them is a third of each start. So the first
 * start of each version joins them into a bundle, which is kept in `node_modules/.cache`. Only those who may
 * change the program may write there. Where nobody may, or where the bundler is not installed, the program
 * runs from its sources.
 */

/** A daemon may still load parts of an older bundle, so the last ones stay. */
const bundlesMax = 4;
const buildMsMax = 120_000;
const prefix = 'program-';
const draftPrefix = 'draft-';

/** Returns the folder of the modules of the checkout at `root`, or of a bundle in `cache`. */
export function currentProgram(root: string, cache: string): string {
  const sources = join(root, 'src');
  const bundle = join(cache, `${prefix}${stampOf(root)}`);
  if (existsSync(bundle)) return bundle;
  if (!hasBundler(root)) return sources;
  const draft = join(cache, `${draftPrefix}${randomUUID()}`);
  try {
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    const { PATH = '', HOME = '' } = process.env;
    // In a process of its own, since the bundler takes a hundred megabytes.
    execFileSync(process.execPath, [join(sources, 'bundle/build.ts'), root, draft, '--with-packages'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: buildMsMax,
      // The folder of whoever starts the program is nothing to the bundler.
      cwd: root,
      // Nothing else of the environment, where secrets of the daemon stand.
      env: { PATH, HOME },
    });
    putInPlace(draft, bundle);
    removeOldOnes(cache, bundle);
    return bundle;
  } catch (error) {
    if (isUnwritable(error)) return sources;
    rmSync(draft, { recursive: true, force: true });
    process.stderr.write(`postern: runs from its sources: ${(error as Error).message}\n`);
    return sources;
  }
}

/** Changes with each file of the program, with what is installed, and with the Node that runs it. */
function stampOf(root: string): string {
  const { size = 0, mtimeMs = 0 } =
    statSync(join(root, 'node_modules/.package-lock.json'), { throwIfNoEntry: false }) ?? {};
  const stamp = `${process.version} ${size} ${mtimeMs}\n${folderStamp(join(root, 'src'))}`;
  return createHash('sha256').update(stamp).digest('hex').slice(0, 32);
}

const hasBundler = (root: string): boolean => existsSync(join(root, 'node_modules/rolldown/package.json'));

/** Several starts may build the same bundle at the same time; the first one stays. */
function putInPlace(draft: string, bundle: string): void {
  try {
    renameSync(draft, bundle);
  } catch (error) {
    if (!existsSync(bundle)) throw error;
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Leaves the bundle and those made last, and the drafts that another start may still be writing. */
function removeOldOnes(folder: string, bundle: string): void {
  const named = (beginning: string) =>
    readdirSync(folder)
      .filter((it) => it.startsWith(beginning))
      .map((name) => join(folder, name))
      .filter((path) => path !== bundle)
      // Another start may remove it meanwhile.
      .map((path) => ({ path, ms: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => b.ms - a.ms);
  const abandoned = named(draftPrefix).filter(({ ms }) => ms < Date.now() - 2 * buildMsMax);
  for (const { path } of [...abandoned, ...named(prefix).slice(bundlesMax - 1)])
    rmSync(path, { recursive: true, force: true });
}

const isUnwritable = (error: unknown): boolean =>
  ['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(String((error as NodeJS.ErrnoException).code));
