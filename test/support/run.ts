// Runs test files, all or those named, several in a process, and prints a plain closing line: 'N passed, N failed, N skipped'.
// tap's own runner would do, but its hooks in every process and thread are a fifth of the time; `npm run coverage` needs them and uses it.
// Tests that need a program which this machine lacks name it in a file; they are listed here, so that nobody takes a partial run for a whole
// one.
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { caVariables } from '../../src/daemon/start/client-variables.ts';
import { type Ended, filesVariable, readEnded } from './ended.ts';
import { grouped } from './groups.ts';

// tap compiles its plugin list into node_modules; after `npm ci` that is the default list, with ts-node in it, which cannot work beside
// TypeScript 7. One `tap build` puts the plugin list of .taprc in force.
const built = new URL('../../node_modules/@tapjs/test/test-built/dist/esm/index.js', import.meta.url);
if (readFileSync(built, 'utf8').includes('@tapjs/typescript')) {
  const { status } = spawnSync('tap', ['build'], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** A group takes a minute or two alone, and many times that on a busy machine. */
const groupSeconds = 1800;
/** A test waits for its daemon half of the time. */
const jobs = availableParallelism() + 1;

/** A tmpfs; in a container it may be small, and may run nothing. */
const memory = '/dev/shm';
const memoryBytesMin = 4 * 2 ** 30;

const folder = newFolder();
const leftOutFile = process.env['POSTERN_TEST_LEFT_OUT'] ?? join(folder, 'left-out');
// A shell that has taken the exports of a first start must not lead the tests through that gate, or with its secrets.
const exported = [
  'SERVICE_API_KEYS_ADMIN_SECRET',
  'MAX_BODY_BYTES',
  'REPLAY_WINDOW_SEC',
  'NODE_USE_ENV_PROXY',
  ...caVariables,
];
const isOurs = (name: string): boolean =>
  exported.includes(name) || /^(https?|no)_proxy$/i.test(name) || /^POSTERN_(?!TEST_|REEXEC)/.test(name);
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name))),
  TAP_TIMEOUT: String(groupSeconds),
  POSTERN_TEST_LEFT_OUT: leftOutFile,
  TMPDIR: folder,
  TAP_SAVE_FIXTURE: '1',
  // Each group is a process, and so is each daemon and command in it: they share what was compiled.
  NODE_COMPILE_CACHE: join(folder, 'compiled'),
};

/** For tests that become another user, too. */
function newFolderIn(parent: string): string {
  const folder = mkdtempSync(join(parent, 'postern-'));
  chmodSync(folder, 0o1777);
  return folder;
}

/**
 * Of all that the tests write. In memory where there is room and programs may run: half of the wall time of a state is waiting for the disk,
 * and no test pulls the plug.
 */
function newFolder(): string {
  const usual = () => newFolderIn(tmpdir());
  if (process.platform !== 'linux' || !existsSync(memory)) return usual();
  const { bavail, bsize } = statfsSync(memory);
  if (bavail * bsize < memoryBytesMin) return usual();
  const own = newFolderIn(memory);
  const program = join(own, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
  if (spawnSync(program).status === 0) return own;
  rmSync(own, { recursive: true });
  return usual();
}

const named = process.argv.slice(2).filter((it) => !it.startsWith('--'));
const files = named.length > 0 ? named : globSync('test/**/*.test.ts').sort();
const waiting = grouped(files);
const total = { pass: 0, fail: 0, skip: 0 };
// The log of a whole run is long: what failed is listed anew at its end, each under the file it is in, and no more than a screen of it.
const failed: string[] = [];
let ended = 0;

/** Prints how a file ended, with what it said where it failed, and adds what it counted. */
function note({ file, isPassed, pass, fail, skip }: Ended, seconds: number, said: readonly string[]): void {
  ended += 1;
  total.pass += pass;
  total.skip += skip;
  // A crash without a count is a failure.
  total.fail += isPassed ? 0 : Math.max(1, fail);
  const line = `${isPassed ? 'ok' : 'not ok'} ${ended} - ${file} # ${pass} passed, ${seconds.toFixed(1)} s`;
  console.log(line);
  if (isPassed) return;
  for (const it of said) console.log(`    ${it}`);
  failed.push(line, ...said.filter((it) => /^ *not ok /.test(it)).slice(0, 20));
}

/** Runs the files of a group; those behind one that ends the process begin anew in a process of their own. */
async function runGroup(group: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'together.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...env, [filesVariable]: JSON.stringify(group) },
  });
  // The group ends itself by TAP_TIMEOUT, unless it is stuck in a loop.
  const stuck = setTimeout(() => child.kill('SIGKILL'), groupSeconds * 1_100);
  const exited = new Promise<number | string>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'no code')),
  );
  const left = [...group];
  let hasFailed = false;
  let said: string[] = [];
  let startedMs = performance.now();
  const seconds = () => (performance.now() - startedMs) / 1000;
  for await (const line of createInterface({ input: child.stdout })) {
    const told = readEnded(line);
    if (!told) {
      said.push(line);
      continue;
    }
    left.splice(left.indexOf(told.file), 1);
    hasFailed ||= !told.isPassed;
    note(told, seconds(), said);
    said = [];
    startedMs = performance.now();
  }
  const code = await exited;
  clearTimeout(stuck);
  // Nothing may go wrong between and behind the files either.
  const isWhole = left.length === 0 && !said.some((it) => it.startsWith('not ok'));
  if (isWhole && (code === 0 || hasFailed)) return;
  const [file = group.at(-1) ?? '', ...others] = left;
  note({ file, isPassed: false, pass: 0, fail: 0, skip: 0 }, seconds(), [...said, `it ended with ${code}`]);
  if (others.length > 0) waiting.unshift(others);
}

async function runGroups(): Promise<void> {
  for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) await runGroup(group);
}

console.log(`TAP version 14\n1..${files.length}`);
await Promise.all(Array.from({ length: jobs }, runGroups));
if (existsSync(leftOutFile)) console.log(`\nThese tests did not run:\n${readFileSync(leftOutFile, 'utf8')}`);
rmSync(folder, { recursive: true, force: true });
if (failed.length > 0) console.log(`\nFailed:\n${failed.slice(0, 60).join('\n')}\n`);
console.log(`${total.pass} passed, ${total.fail} failed, ${total.skip} skipped`);
process.exitCode = total.fail > 0 || total.pass === 0 ? 1 : 0;
