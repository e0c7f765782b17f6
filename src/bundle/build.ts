import { cpSync, readdirSync } from 'node:fs';
import { extname, isAbsolute, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

/*
 * Joins the modules of a checkout into a few. Installed packages stay outside unless `--with-packages` is
 * given.
 *
 * node src/bundle/build.ts CHECKOUT FOLDER [--with-packages]
 */

/** Modules that a process or a thread starts with (see `programModule`). */
const entries = [
  'cli/main',
  'daemon/reload/read-thread',
  'daemon/workers/worker',
  'decision/reader-program',
  'risk/feeds/read-thread',
  'state/embedded/traces/traces-worker',
];

const [checkout = '.', folder = '', option] = process.argv.slice(2);
const root = resolve(checkout);
const sources = join(root, 'src');
/** Packages of the bundlers, which only a checkout has. */
const bundlers = ['vite', 'rolldown'];
const isPackage = (id: string): boolean => !id.startsWith('.') && !isAbsolute(id);

const build = await rolldown({
  cwd: root,
  platform: 'node',
  input: Object.fromEntries(entries.map((it) => [it, join(sources, `${it}.ts`)])),
  external: option === '--with-packages' ? bundlers : isPackage,
});
await build.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].mjs',
  chunkFileNames: 'chunks/[name]-[hash].mjs',
  // This module finds the program's folder by its own place, so it stays one folder below.
  codeSplitting: { groups: [{ name: 'program-files', test: /util[/\\]program-files\.ts$/ }] },
});
await build.close();

/** Tells whether a file beside the modules is read as it is. */
const isAsset = (name: string): boolean => ['.lua', '.sql', '.wasm'].includes(extname(name));
for (const name of readdirSync(sources, { recursive: true, encoding: 'utf8' }))
  if (isAsset(name)) cpSync(join(sources, name), join(folder, name));
