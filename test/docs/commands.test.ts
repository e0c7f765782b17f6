import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { createProgram } from '../../src/cli/program.ts';
import { run } from '../support/clients.ts';
import { startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';
import { type Block, blocksIn, pages, posternLines, programsOf, root, textOf } from './blocks.ts';

/*
 * The commands of the documents: all of them are understood by the command line, and all that can be typed here are typed, in their
 * order, beside a daemon.
 */

/** What a block needs that starts one of these programs. Such a block is not typed. */
const needs: Readonly<Record<string, string>> = {
  npm: 'the registry; test/sdk/package.test.ts has the package',
  systemctl: 'systemd as PID 1; test/deploy has the units',
  'systemd-analyze': 'a package of the system; test/deploy has the units',
  docker: 'Docker',
  kubectl: 'a cluster',
  ip: 'another machine; test/deploy has the recipes',
  dig: 'the Internet; test/deploy has the recipes',
};
/** Sections of the README that test/docs/readme.test.ts types. */
const typedElsewhere =
  /^## (?:Try it|Your own configuration and ports|Give an agent its own key|Approve a call)$/;

const isOfReadmeTest = (page: string, { line }: Block): boolean => {
  if (page === 'docs/quick-start.md') return true;
  if (page !== 'README.md') return false;
  const above = textOf(page).split('\n').slice(0, line);
  return typedElsewhere.test(above.findLast((it) => it.startsWith('## ')) ?? '');
};

t.test('every command line of the documents is understood', async (t) => {
  let lines = 0;
  for (const page of pages)
    for (const line of posternLines(textOf(page))) {
      lines += 1;
      const problem = await problemWith(line);
      t.equal(problem, undefined, `${page}: ${line}`);
    }
  t.ok(lines > 100, `${lines} were found`);
});

/** What the command line says against it; undefined: nothing. */
async function problemWith(line: string): Promise<string | undefined> {
  const program = createProgram();
  const disarm = (command: Command): void => {
    command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
    command.action(() => undefined);
    for (const it of command.commands) disarm(it);
  };
  for (const it of program.commands) disarm(it);
  program.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  const spoken = line.replace(/ +>.*$/, '');
  const [, ...words] = [...spoken.matchAll(/(?:"(?:\\.|[^"])*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replaceAll(/["']/g, ''),
  );
  // What stands around words that may be left out, and for further ones.
  const typed = words.map((it) => it.replaceAll(/[[\]]|…$/g, ''));
  try {
    await program.parseAsync(typed, { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) return String(error);
    // A text may name a command without its arguments; one that is typed has them, since it is run.
    return error.exitCode === 0 || error.code === 'commander.missingArgument' ? undefined : String(error);
  }
}

t.test('what is typed is fenced as such', async (t) => {
  for (const page of pages) {
    const fences = [...textOf(page).matchAll(/^ *```(\w*)\n[\s\S]*?^ *```$/gm)].map(([, name = '']) => name);
    t.same(
      fences.filter((it) => !['sh', 'yaml', 'ts', 'js', 'python', 'http', 'text', ''].includes(it)),
      [],
      `${page}: commands are fenced as sh`,
    );
  }
});

t.test('the quick start types what the README types', async (t) => {
  const typed = textOf('README.md');
  const lines = blocksIn(textOf('docs/quick-start.md')).flatMap(({ text }) => text.trim().split('\n'));
  t.ok(lines.length > 10);
  for (const line of lines) t.ok(typed.includes(line), line);
});

interface Typing {
  type(commands: string): Promise<{ code: number; said: string }>;
}

const done = 'this-block-is-done';

/** A shell of its own for each page, whose blocks go on where the last one has stopped. */
function openShell(t: Test, cwd: string, path: string): Typing {
  const shell: ChildProcess = spawn('sh', [], {
    cwd,
    env: { HOME: cwd, PATH: path },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.teardown(() => shell.kill('SIGKILL'));
  let said = '';
  for (const stream of [shell.stdout, shell.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => {
      said += part;
    });
  return {
    async type(commands) {
      said = '';
      // What a block exports stays; a failure ends the block alone.
      const file = join(cwd, 'block.sh');
      writeFileSync(file, commands);
      shell.stdin?.write(`. ./block.sh; echo "${done} $?"\n`);
      while (!said.includes(done)) {
        const ended = await Promise.race([
          once(shell.stdout ?? shell, 'data').then(() => false),
          once(shell, 'exit').then(() => true),
        ]);
        if (ended) return { code: 1, said };
      }
      return { code: Number(said.split(`${done} `)[1]), said };
    },
  };
}

/** Answers notifications. */
async function startReceiver(t: Test): Promise<string> {
  const server = createServer((request, response) => request.resume().on('end', () => response.end('ok')));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

t.test('the commands of the documents run beside a daemon, in their order', async (t) => {
  const upstream = await startUpstream(t, (_, response) => void response.end('there'));
  const hook = await startReceiver(t);
  const held = { rule_id: 'ask', priority: 1, match: { methods: ['DELETE'] }, action: 'REQUIRE_APPROVAL' };
  const { dir, configFile } = writeTestConfig(t, {
    upstream,
    policyFiles: { 'held.yaml': stringify({ name: 'held', rules: [held] }) },
    config: {
      log: { level: 'info', file: 'log.json' },
      notifications: [
        {
          name: 'sec-chat',
          type: 'webhook',
          url: hook,
          allow_private: true,
          secret: `whsec_${btoa('s'.repeat(32))}`,
        },
      ],
    },
  });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const api = apiClient(daemon.controlUrl);
  const minted = { tenant_id: 'acme', name: 'x', default_agent_id: agentId };
  const { key } = (await api('POST', '/v1/keys', minted, `Bearer ${adminSecret}`)).body;
  const ask = async (): Promise<string> => {
    const call = { method: 'DELETE', url: `https://api.test.example/${Math.random()}` };
    return (await api('POST', '/v1/scan', call, `Bearer ${key}`)).body.approval_id;
  };
  const seen = await api('POST', '/v1/scan', { method: 'GET', url: 'https://a.example/' }, `Bearer ${key}`);
  const approvals = [await ask(), await ask()];

  const bin = join(dir, 'path');
  const user = join(dir, 'user');
  for (const folder of [bin, user, join(dir, 'backups')]) mkdirSync(folder);
  symlinkSync(join(root, 'config'), join(user, 'config'));
  symlinkSync(join(root, 'config/policies/recipes'), join(user, 'policies'));
  symlinkSync(daemon.caFile, join(user, 'ca.pem'));
  // Each failure is written down: a shell forgets that of $(…). That something differs is none.
  const wrapper = `#!/bin/sh\n'${process.execPath}' '${root}/bin/postern' "$@" 2>"$0.said"; code=$?; cat "$0.said" >&2\n[ $code = 0 ] || [ $code = 3 ] || { echo "postern $*: $code" >> "$0.failed"; exit $code; }\n`;
  writeFileSync(join(bin, 'postern'), wrapper, { mode: 0o755 });
  const { host: control } = new URL(daemon.controlUrl);
  const { host: proxy } = new URL(daemon.proxyUrl);
  const asHere = (text: string): string =>
    text
      .replaceAll('/etc/postern', dir)
      .replaceAll('/var/lib/postern', join(dir, 'data'))
      .replaceAll('/var/backups', join(dir, 'backups'))
      .replaceAll('127.0.0.1:8081', control)
      .replaceAll('127.0.0.1:8080', proxy)
      .replaceAll('api.github.com:443', `api.test.example:${upstream.port}`)
      .replaceAll('SECRET=…', `SECRET=${adminSecret}`)
      .replaceAll('KEY=…', `KEY=${key}`)
      .replaceAll('python3 agent.py', 'true')
      .replaceAll('TRACE_ID', seen.body.trace_id)
      .replaceAll('METHOD URL [BODY]', 'GET https://api.test.example/')
      .replaceAll('show ID', `show ${approvals[0]}`)
      .replaceAll('approve ID', `approve ${approvals[0]}`)
      .replaceAll('deny ID', `deny ${approvals[1]}`)
      .replaceAll(/^postern doctor .*$/gm, 'postern doctor --outside 127.0.0.1:1 --dns 127.0.0.1:1');
  const operator = `export POSTERN_CONFIG=${configFile} SERVICE_API_KEYS_ADMIN_SECRET=${adminSecret} POSTERN_KEY=${key}`;

  let typed = 0;
  for (const page of pages) {
    const blocks = blocksIn(textOf(page)).filter((it) => !isOfReadmeTest(page, it));
    const shell = openShell(t, user, `${bin}:${process.env['PATH']}`);
    await shell.type(operator);
    for (const block of blocks) {
      if (programsOf(block.text).some((it) => it in needs)) continue;
      const { code, said } = await shell.type(asHere(block.text));
      t.equal(code, 0, `${page}:${block.line}${code === 0 ? '' : ` says\n${said}`}`);
      typed += 1;
    }
  }
  t.ok(typed >= 12, `${typed} blocks were typed`);
  const failed = await run('sh', ['-c', `cat '${join(bin, 'postern.failed')}' 2>/dev/null`]);
  t.equal(failed.stdout, '', 'no command has failed');
  t.match(
    readFileSync(join(dir, 'data/vault-key'), 'utf8'),
    /^[0-9a-f]{64}\n[0-9a-f]{64}\n/,
    'a second vault key',
  );
});
