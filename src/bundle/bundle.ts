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

/** Bundles that are kept. A daemon may still load parts of an older one, so the last ones stay. */
const bundlesMax = 4;
const buildMsMax = 120_000;
const prefix = 'program-';
const draftPrefix = 'draft-';

/**
 * Returns the folder of the modules of the checkout at `root`, or of their bundle in `cache`, made if need
 * be.
 */
export function currentProgram(root: string, cache: string): string {
  const sources = join(root, 'src');
  const bundle = join(cache, `${prefix}${stampOf(root)}`);
  if (existsSync(bundle)) return bundle;
  if (!hasBundler(root)) return sources;
  const draft = join(cache, `${draftPrefix}${randomUUID()}`);
  try {
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    const { PATH = '', HOME = '' } = process.env;
    // The bundler has a process of its own, since it takes a hundred megabytes.
    execFileSync(process.execPath, [join(sources, 'bundle/build.ts'), root, draft, '--with-packages'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: buildMsMax,
      // The folder of whoever starts the program must not matter to the bundler.
      cwd: root,
      // The bundler gets nothing else of the environment, where secrets of the daemon stand.
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

/** Returns a stamp that changes with each file of the program, with what is installed, and with Node. */
function stampOf(root: string): string {
  const { size = 0, mtimeMs = 0 } =
    statSync(join(root, 'node_modules/.package-lock.json'), { throwIfNoEntry: false }) ?? {};
  const stamp = `${process.version} ${size} ${mtimeMs}\n${folderStamp(join(root, 'src'))}`;
  return createHash('sha256').update(stamp).digest('hex').slice(0, 32);
}

const hasBundler = (root: string): boolean => existsSync(join(root, 'node_modules/rolldown/package.json'));

/** Gives a draft the bundle's name. Of several starts that build at the same time, the first one stays. */
function putInPlace(draft: string, bundle: string): void {
  try {
    renameSync(draft, bundle);
  } catch (error) {
    if (!existsSync(bundle)) throw error;
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * Keeps this bundle and those made last. Removes the others, and drafts that no start can still be writing.
 */
function removeOldOnes(folder: string, bundle: string): void {
  const named = (beginning: string) =>
    readdirSync(folder)
      .filter((it) => it.startsWith(beginning))
      .map((name) => join(folder, name))
      .filter((path) => path !== bundle)
      // Another start may remove the path meanwhile.
      .map((path) => ({ path, ms: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => b.ms - a.ms);
  const abandoned = named(draftPrefix).filter(({ ms }) => ms < Date.now() - 2 * buildMsMax);
  for (const { path } of [...abandoned, ...named(prefix).slice(bundlesMax - 1)])
    rmSync(path, { recursive: true, force: true });
}

const isUnwritable = (error: unknown): boolean =>
  ['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(String((error as NodeJS.ErrnoException).code));
