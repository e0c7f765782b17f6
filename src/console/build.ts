import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/*
 * Builds the page of the console. A checkout has no built page, and no step that makes one, so the first
 * visit builds it. The page is built beside its place and moved there when it is whole. So several daemons of
 * one checkout never serve half of one.
 */

const buildMsMax = 120_000;
const outputBytesMax = 64 * 1024;

const run = promisify(execFile);

/** Returns the last change of anything in a folder. Folders count: a removed file changes its folder. */
export async function newestMsIn(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = [dir, ...entries.map((it) => join(it.parentPath, it.name))];
  const times = await Promise.all(paths.map(async (it) => (await stat(it)).mtimeMs));
  return Math.ceil(Math.max(...times));
}

/** Returns when the sources of a built page were changed last; undefined where there is no built page. */
export async function builtFromMs(built: string): Promise<number | undefined> {
  try {
    return Math.ceil((await stat(join(built, 'index.html'))).mtimeMs);
  } catch {
    return undefined;
  }
}

/** Builds the page of `sources` into a new folder beside `built` and returns it. Rejects with the reason. */
export async function buildPage(sources: string, built: string): Promise<string> {
  const newestMs = await newestMsIn(sources);
  const folder = `${built}-${randomUUID()}`;
  await mkdir(dirname(built), { recursive: true });
  const { PATH = '', HOME = '' } = process.env;
  const vite = ['build', '--config', join(sources, 'vite.config.ts'), '--configLoader', 'native'];
  try {
    await run(process.execPath, [viteProgram(), ...vite, '--logLevel', 'warn'], {
      timeout: buildMsMax,
      maxBuffer: outputBytesMax,
      // Vite gets nothing else of the environment, where secrets of the daemon stand.
      env: { PATH, HOME, NODE_ENV: 'production', CONSOLE_OUT: folder },
    });
    const seconds = newestMs / 1000;
    await utimes(join(folder, 'index.html'), seconds, seconds);
    return folder;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw toReason(error);
  }
}

/** Makes `folder` the built page. What another daemon has put there is removed. */
export async function moveInto(folder: string, built: string): Promise<void> {
  const old = `${built}-${randomUUID()}`;
  await rename(built, old).catch(() => undefined);
  await rename(folder, built).catch(() => undefined);
  for (const it of [old, folder]) await rm(it, { recursive: true, force: true });
}

function viteProgram(): string {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin', 'vite.js');
  } catch {
    throw new Error('vite is not installed: run npm ci without --omit=dev, or npm run build where it is.');
  }
}

function toReason(error: unknown): Error {
  const { stderr = '', stdout = '', message } = error as Error & { stderr?: string; stdout?: string };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours of a terminal
  const said = `${stderr}\n${stdout}`.replace(/\u001b\[[0-9;]*m/g, '').trim();
  return new Error(said === '' ? message : said, { cause: error });
}
