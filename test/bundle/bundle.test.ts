import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import t, { type Test } from 'tap';

const root = resolve(import.meta.dirname, '../..');

/** A checkout of its own, with the packages of this one. */
function checkout(t: Test): string {
  const folder = t.testdir({ bin: {} });
  for (const name of ['package.json', 'bin/postern', 'src'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '.cache') symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  return folder;
}

const cacheOf = (folder: string): string => join(folder, 'node_modules/.cache/postern');
const bundlesIn = (folder: string): string[] =>
  readdirSync(cacheOf(folder)).filter((it) => it.startsWith('program-'));
const draftsIn = (folder: string): string[] =>
  readdirSync(cacheOf(folder)).filter((it) => it.startsWith('draft-'));

/** Makes folders in the cache, by name, of some age. */
function makeFolders(folder: string, agesMs: Record<string, number>): void {
  for (const [name, ageMs] of Object.entries(agesMs)) {
    const path = join(cacheOf(folder), name);
    mkdirSync(path);
    utimesSync(path, (Date.now() - ageMs) / 1000, (Date.now() - ageMs) / 1000);
  }
}

/** Says its version, and from where it ran. */
function run(folder: string): { readonly stdout: string; readonly stderr: string } {
  const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'bin/postern'), '--version'], {
    encoding: 'utf8',
  });
  return { stdout, stderr };
}

t.test('a checkout runs from a bundle that its first start makes', async (t) => {
  const folder = checkout(t);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const said = { stdout: `${version}\n`, stderr: '' };
  t.match(run(folder), said);
  const [bundle = ''] = bundlesIn(folder);
  t.equal(bundlesIn(folder).length, 1);
  const path = join(cacheOf(folder), bundle);
  const { mtimeMs, mode } = statSync(path);
  t.equal(mode & 0o77, 0, 'nobody else writes into it');
  t.equal(statSync(cacheOf(folder)).mode & 0o77, 0, 'or puts one there');

  t.match(run(folder), said);
  t.equal(statSync(path).mtimeMs, mtimeMs, 'the next start takes it as it is');

  await t.test('a change of a source makes another, and the last four stay', async (t) => {
    makeFolders(folder, { 'program-a': 3e9, 'program-b': 2e9, 'program-c': 1e9 });
    makeFolders(folder, { 'draft-old': 3e9, 'draft-new': 0 });
    const file = join(folder, 'src/cli/program.ts');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('.version(version())', `.version(version() + '-changed')`),
    );
    t.match(run(folder), { stdout: `${version}-changed\n`, stderr: '' });
    t.equal(bundlesIn(folder).length, 4);
    t.ok(bundlesIn(folder).includes(bundle), 'what runs from the old one may go on');
    t.notOk(bundlesIn(folder).includes('program-a'), 'the oldest one is gone');
    t.same(draftsIn(folder), ['draft-new'], 'and what a start left that was killed');
  });

  await t.test('one that was made stays, whatever other starts make at the same time', async (t) => {
    makeFolders(folder, { 'program-d': -1e9, 'program-e': -1e9, 'program-f': -1e9, 'program-g': -1e9 });
    appendFileSync(join(folder, 'src/cli/main.ts'), '\n// changed once more\n');
    t.match(run(folder), { stdout: `${version}-changed\n`, stderr: '' });
    t.equal(bundlesIn(folder).length, 4);
  });

  await t.test('sources that cannot be bundled run as they are, and it is said why', async (t) => {
    const file = join(folder, 'src/cli/commands/daemon/init.ts');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, `${text}\nimport './nowhere.ts';\n`);
    const { stderr } = run(folder);
    t.match(stderr, /runs from its sources: .*nowhere/s);
    t.equal(bundlesIn(folder).length, 4);
    t.same(draftsIn(folder), ['draft-new'], 'no draft is left');
    writeFileSync(file, text);
  });

  await t.test('where the cache is no folder, it runs from its sources', async (t) => {
    rmSync(dirname(cacheOf(folder)), { recursive: true });
    writeFileSync(dirname(cacheOf(folder)), '');
    t.match(run(folder), { stdout: `${version}-changed\n`, stderr: /runs from its sources/ });
    rmSync(dirname(cacheOf(folder)));
  });

  await t.test('without the bundler it runs from its sources', async (t) => {
    rmSync(join(folder, 'node_modules/rolldown'));
    t.match(run(folder), { stdout: `${version}-changed\n`, stderr: '' });
    t.same(bundlesIn(folder), [], 'nothing was built');
  });
});

t.test('every module that a thread or a process starts with is in the bundle', async (t) => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((it) =>
    it.endsWith('.ts'),
  );
  const texts = files.map((it) => readFileSync(join(root, 'src', it), 'utf8'));
  const named = texts.flatMap((it) =>
    [...it.matchAll(/programModule\('([^']+)'\)/g)].map(([, name = '']) => name),
  );
  t.ok(named.length >= 5, 'they are found');
  const build = readFileSync(join(root, 'src/bundle/build.ts'), 'utf8');
  for (const name of named) t.ok(build.includes(`'${name}'`), name);
});

t.test('no other module asks where it stands, since it stands elsewhere in a bundle', async (t) => {
  const apart = /^(?:bundle|console\/page)\/|^util\/program-files\.ts$/;
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const asking = files.filter((file) => {
    if (!file.endsWith('.ts') || apart.test(file)) return false;
    const text = readFileSync(join(root, 'src', file), 'utf8').replaceAll(
      'createRequire(import.meta.url)',
      '',
    );
    return /import\.meta\.(?:url|dirname|filename)/.test(text);
  });
  t.same(asking, []);
});
