import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { needProgram } from '../support/programs.ts';

/*
 * The commands of the README, typed one block after the other as a reader does it: into one shell for each terminal. Hosts are replaced by
 * names that lead nowhere (RFC 6761), since what is shown is decided before anything is dialled.
 */

const root = resolve(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The blocks of commands below a heading. */
function blocksOf(heading: string): readonly string[] {
  const [, section = ''] = readme.split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  const blocks = [...own.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  return blocks.map((block) =>
    block
      .replaceAll('api.github.com', 'api.postern.test')
      .replaceAll('httpbin.org', 'bin.postern.test')
      .replaceAll('python3 agent.py', 'true')
      .replaceAll(/127\.0\.0\.1:1808[01]/g, '127.0.0.1:0')
      // What is not in the answer of curl is of no interest here.
      .replaceAll('curl -i', 'curl -s -i'),
  );
}

interface Terminal {
  /** Types commands; answers what they print, in order, errors included. */
  type(commands: string): Promise<string>;
  readonly shell: ChildProcess;
}

const done = 'these-commands-are-done';

function openTerminal(t: Test, cwd: string): Terminal {
  const unset = [
    'NODE_OPTIONS',
    'POSTERN_CONFIG',
    'POSTERN_URL',
    'POSTERN_KEY',
    'SERVICE_API_KEYS_ADMIN_SECRET',
  ];
  const path = `${join(process.execPath, '..')}:${process.env['PATH']}`;
  const shell = spawn('env', [...unset.flatMap((name) => ['-u', name]), 'sh'], {
    cwd,
    env: { ...process.env, PATH: path },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    const ended = once(shell, 'exit');
    shell.kill('SIGKILL');
    await ended;
  });
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  shell.stdin.write('exec 2>&1\n');
  return {
    shell,
    async type(commands) {
      shell.stdin.write(`${commands}\necho; echo ${done} $?\n`);
      const said: string[] = [];
      for (;;) {
        const { value, done: isOver } = await lines.next();
        if (isOver || value.startsWith(done)) return said.join('\n');
        said.push(value);
      }
    },
  };
}

/** Starts a daemon in a terminal of its own, and waits until it says what is next. */
async function serve(t: Test, cwd: string, before = ''): Promise<string> {
  const { shell } = openTerminal(t, cwd);
  shell.stdin?.write(`${before}\nexec bin/postern serve\n`);
  const said: string[] = [];
  for await (const line of createInterface({ input: shell.stdout ?? process.stdin })) {
    said.push(line);
    if (/Next:|SERVICE_API_KEYS_ADMIN_SECRET=/.test(line)) break;
  }
  return said.join('\n');
}

const decisionsIn = (output: string): string[] =>
  [...output.matchAll(/^x-service-decision: (\w+)/gim)].map(([, decision = '']) => decision);

t.test('the README does what it says, from the first start to an approval', async (t) => {
  if (!needProgram(t, 'curl')) return;
  const folder = mkdtempSync(join(tmpdir(), 'postern-readme-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['bin', 'src', 'config', 'node_modules', 'package.json'])
    symlinkSync(join(root, name), join(folder, name));
  t.match(await serve(t, folder), /This was the first start/);

  await t.test('Try it', async (t) => {
    const [block = ''] = blocksOf('Try it');
    const terminal = openTerminal(t, folder);
    const output = await terminal.type(block);
    t.same(decisionsIn(output), ['ALLOW', 'SANITIZE', 'DENY']);
    t.match(output, /no-deletes is applied: version 1[\s\S]*decision +SANITIZE/);
    const looked = await terminal.type('bin/postern trace list; bin/postern usage; bin/postern audit verify');
    t.match(looked, /DENY[\s\S]*scans_used +\d[\s\S]*none altered or missing/);
  });

  await t.test('A configuration, a key and an approval of one’s own', async (t) => {
    const [configure = ''] = blocksOf('Your own configuration and ports');
    const [made = '', started = ''] = configure.split('bin/postern serve');
    t.equal(started.trim(), '', 'the daemon is started last');
    const operator = openTerminal(t, folder);
    t.match(await operator.type(made), /gate\/postern\.yaml is valid/);
    t.match(await serve(t, folder, `export POSTERN_CONFIG=$PWD/gate/postern.yaml`), /postern is ready/);
    t.match(await operator.type('bin/postern status'), /status +ready/);
    const [give = ''] = blocksOf('Give an agent its own key');
    t.match(await operator.type(give), /It is \S+, of the agent/);
    const [approve = ''] = blocksOf('Approve a call');
    const [hold = '', allow = ''] = approve.split(/^(?=bin\/postern approval approve)/m);
    const held = await operator.type(hold);
    t.same(decisionsIn(held), ['REQUIRE_APPROVAL']);
    const [, id = ''] = /"approval_id":"([0-9a-f-]+)"/.exec(held) ?? [];
    const allowed = await operator.type(allow.replace(' ID ', ` ${id} `));
    t.match(allowed, `${id} is approved.`);
    t.same(decisionsIn(allowed), ['ALLOW']);
  });
});
