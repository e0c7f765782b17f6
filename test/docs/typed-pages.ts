import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { stringify } from 'yaml';
import { run } from '../support/clients.ts';
import { startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';
import { type Block, blocksIn, pages, programsOf, root, textOf } from './blocks.ts';

/* What the documents say to type, typed. */

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

interface Typing {
  type(commands: string): Promise<{ code: number; said: string }>;
}

const done = 'this-block-is-done';
const otherAgentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c44';

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

/** The program that the pages are typed with: by which Node, and its `postern`. */
export interface TypedProgram {
  readonly node: string;
  readonly postern: string;
}

/** Types the blocks of all pages, in their order, beside a daemon of this program. */
export async function typePages(t: Test, { node, postern }: TypedProgram): Promise<void> {
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
  const daemon = await startDaemon(t, dir, ['--config', configFile], [], postern);
  const api = apiClient(daemon.controlUrl);
  const minted = { tenant_id: 'acme', name: 'x', default_agent_id: agentId };
  const { key } = (await api('POST', '/v1/keys', minted, `Bearer ${adminSecret}`)).body;
  const ask = async (): Promise<string> => {
    const call = { method: 'DELETE', url: `https://api.test.example/${Math.random()}` };
    return (await api('POST', '/v1/scan', call, `Bearer ${key}`)).body.approval_id;
  };
  const seen = await api('POST', '/v1/scan', { method: 'GET', url: 'https://a.example/' }, `Bearer ${key}`);
  const approvals = [await ask(), await ask()];
  // What a page suspends or revokes belongs to an agent of its own.
  const spare = { tenant_id: 'acme', name: 'spare', default_agent_id: otherAgentId };
  const admin = `Bearer ${adminSecret}`;
  const ofOther = [
    (await api('POST', '/v1/keys', spare, admin)).body,
    (await api('POST', '/v1/keys', spare, admin)).body,
  ];
  const token = { tenant_id: 'acme', type: 'bearer', secret: { value: 'x'.repeat(20) } };
  t.equal((await api('PUT', '/v1/credentials/NAME', token, admin)).status, 200, 'a credential to revoke');

  const bin = join(dir, 'path');
  const user = join(dir, 'user');
  for (const folder of [bin, user, join(dir, 'backups')]) mkdirSync(folder);
  symlinkSync(join(root, 'config'), join(user, 'config'));
  symlinkSync(join(root, 'config/policies/recipes'), join(user, 'policies'));
  symlinkSync(daemon.caFile, join(user, 'ca.pem'));
  // Each failure is written down: a shell forgets that of $(…). That something differs is none.
  const wrapper = `#!/bin/sh\n'${node}' '${postern}' "$@" 2>"$0.said"; code=$?; cat "$0.said" >&2\n[ $code = 0 ] || [ $code = 3 ] || { echo "postern $*: $code" >> "$0.failed"; exit $code; }\n`;
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
      .replaceAll('AGENT_ID', otherAgentId)
      .replaceAll('OLD_ID', ofOther[0].key_id)
      .replaceAll('KEY_ID', ofOther[1].key_id)
      .replaceAll('--head HASH', '')
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
}
