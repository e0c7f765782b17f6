// Runs tap, then prints a plain closing line: 'N passed, N failed, N skipped'. Tests that need a program which this machine lacks
// name it in a file; they are listed here, so that nobody takes a partial run for a whole one.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { caVariables } from '../../src/daemon/start/client-variables.ts';

// tap compiles its plugin list into node_modules; after `npm ci` that is the default list, with ts-node in it, which cannot work beside
// TypeScript 7. One `tap build` puts the plugin list of .taprc in force.
const built = new URL('../../node_modules/@tapjs/test/test-built/dist/esm/index.js', import.meta.url);
if (readFileSync(built, 'utf8').includes('@tapjs/typescript')) {
  const { status } = spawnSync('tap', ['build'], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

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
const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)));

// Each test file is a process, and so is each daemon and command in it: they share what was compiled. Coverage would be less exact by it.
const compiled = process.argv.includes('--disable-coverage')
  ? { NODE_COMPILE_CACHE: join(folder, 'compiled') }
  : {};
// tap leaves one processor free; but a test waits for its daemon half of the time.
const jobs = `--jobs=${availableParallelism() + 1}`;
const child = spawn('tap', [jobs, ...process.argv.slice(2)], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...own, ...compiled, POSTERN_TEST_LEFT_OUT: leftOutFile },
});
const exited = once(child, 'exit');
let totals = '';
// The log of a whole run is long: what failed is listed anew at its end, each under the file it is in, and no more than a screen of it.
const failed: string[] = [];
let failedInFile: string[] = [];
for await (const line of createInterface({ input: child.stdout })) {
  if (line.startsWith('# { total:')) totals = line;
  if (/^ +not ok /.test(line) && failedInFile.length < 20) failedInFile.push(line);
  if (/^(not )?ok /.test(line)) {
    if (line.startsWith('not')) failed.push(line, ...failedInFile);
    failedInFile = [];
  }
  console.log(line);
}
const [code] = await exited;
const count = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(totals)?.[1] ?? 0);
const pass = count('pass');
const fail = count('fail');
if (existsSync(leftOutFile)) console.log(`\nThese tests did not run:\n${readFileSync(leftOutFile, 'utf8')}`);
rmSync(folder, { recursive: true, force: true });
if (failed.length > 0) console.log(`\nFailed:\n${failed.slice(0, 60).join('\n')}\n`);
console.log(`${pass} passed, ${fail} failed, ${count('skip') + count('todo')} skipped`);
// No test ran, or a crash without a count, is a failure.
process.exitCode = code !== 0 ? (code ?? 1) : fail > 0 || pass === 0 ? 1 : 0;
