// Runs test files, all or those named, each as a process of its own, and prints a plain closing line: 'N passed, N failed, N skipped'.
// tap's own runner would do, but its hooks in every process and thread are a fifth of the time; `npm run coverage` needs them and uses it.
// Tests that need a program which this machine lacks name it in a file; they are listed here, so that nobody takes a partial run for a whole
// one.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { caVariables } from '../../src/daemon/start/client-variables.ts';

// tap compiles its plugin list into node_modules; after `npm ci` that is the default list, with ts-node in it, which cannot work beside
// TypeScript 7. One `tap build` puts the plugin list of .taprc in force.
const built = new URL('../../node_modules/@tapjs/test/test-built/dist/esm/index.js', import.meta.url);
if (readFileSync(built, 'utf8').includes('@tapjs/typescript')) {
  const { status } = spawnSync('tap', ['build'], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** A file takes a minute alone, and many times that on a busy machine. */
const fileSeconds = 900;
/** A test waits for its daemon half of the time. */
const jobs = availableParallelism() + 1;

const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
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
  TAP_TIMEOUT: String(fileSeconds),
  POSTERN_TEST_LEFT_OUT: leftOutFile,
  // Each test file is a process, and so is each daemon and command in it: they share what was compiled.
  NODE_COMPILE_CACHE: join(folder, 'compiled'),
};

const named = process.argv.slice(2).filter((it) => !it.startsWith('--'));
const files = named.length > 0 ? named : globSync('test/**/*.test.ts').sort();
const waiting = [...files];
const total = { pass: 0, fail: 0, skip: 0, todo: 0 };
// The log of a whole run is long: what failed is listed anew at its end, each under the file it is in, and no more than a screen of it.
const failed: string[] = [];
let ended = 0;

/** Runs one file, prints what it said where it failed, and adds what it counted. */
async function runFile(file: string): Promise<void> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'], env });
  // The file ends itself by TAP_TIMEOUT, unless it is stuck in a loop.
  const stuck = setTimeout(() => child.kill('SIGKILL'), fileSeconds * 1_100);
  const exited = new Promise<number | string>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'no code')),
  );
  const said = await text(child.stdout);
  const code = await exited;
  clearTimeout(stuck);
  ended += 1;

  const counted = said.slice(said.lastIndexOf('\n# { total:'));
  const count = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(counted)?.[1] ?? 0);
  const isPassed = code === 0 && /^1\.\.\d/m.test(said);
  for (const name of ['pass', 'skip', 'todo'] as const) total[name] += count(name);
  // A crash without a count is a failure.
  total.fail += isPassed ? 0 : Math.max(1, count('fail'));
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const line = `${isPassed ? 'ok' : 'not ok'} ${ended} - ${file} # ${count('pass')} passed, ${seconds} s`;
  console.log(line);
  if (isPassed) return;
  console.log(said.replace(/^/gm, '    '));
  console.log(`    it ended with ${code}`);
  failed.push(
    line,
    ...said
      .split('\n')
      .filter((it) => /^ *not ok /.test(it))
      .slice(0, 20),
  );
}

async function runFiles(): Promise<void> {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await runFile(file);
}

console.log(`TAP version 14\n1..${files.length}`);
await Promise.all(Array.from({ length: jobs }, runFiles));
if (existsSync(leftOutFile)) console.log(`\nThese tests did not run:\n${readFileSync(leftOutFile, 'utf8')}`);
rmSync(folder, { recursive: true, force: true });
if (failed.length > 0) console.log(`\nFailed:\n${failed.slice(0, 60).join('\n')}\n`);
console.log(`${total.pass} passed, ${total.fail} failed, ${total.skip + total.todo} skipped`);
process.exitCode = total.fail > 0 || total.pass === 0 ? 1 : 0;
