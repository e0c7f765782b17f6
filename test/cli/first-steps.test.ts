import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { newKeyText } from '../../src/core/key-text.ts';
import { readExports, toExports } from '../../src/daemon/start/client-variables.ts';
import { run } from '../support/clients.ts';
import { posternCommand, startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, testConfig, writeTestConfig } from '../support/gateway.ts';
import { operatorOf, postern, startHere } from './support.ts';

/* From a configuration of one's own to the first call. */

const tenants = [{ id: 'acme', environments: ['production'] }, { id: 'b' }];
const agentOfB = '7b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c22';

/** What `postern serve` prints: its ready line and the one behind it, as a person reads them. It ends with the test, or before. */
async function served(t: Test, configFile: string) {
  const child = spawn('env', posternCommand(['--config', configFile, 'serve']), {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  const end = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  t.teardown(end);
  const said: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line);
    if (said.length > 1) break;
  }
  const [ready = '', next = ''] = said;
  return { controlUrl: / control (http:[^\s,]+)/.exec(ready)?.[1] ?? '', next, end };
}

t.test('--tenant names the tenant of a minted key, and of all that a command changes', async (t) => {
  const { configFile } = writeTestConfig(t, {
    config: {
      tenants,
      credentials: tenants.map(({ id }) => ({
        name: 'api',
        tenant: id,
        type: 'bearer',
        hosts: ['x.test.example'],
        vault: true,
      })),
    },
  });
  const operator = operatorOf(await startHere(t, configFile));
  const unnamed = await operator(['key', 'mint', '--name', 'x']);
  t.equal(unnamed.code, 2, 'of two tenants one must be named');
  const mint = ['--json', 'key', 'mint', '--name', 'x', '--agent', agentOfB, '--tenant', 'b'];
  const minted = await operator(mint);
  t.equal(minted.code, 0, minted.stderr);
  t.match(JSON.parse(minted.stdout), { tenant_id: 'b', default_agent_id: agentOfB });
  const misspelt = await operator(['key', 'mint', '--name', 'x', '--tenant', '../b']);
  t.equal(misspelt.code, 2, 'what cannot be a name makes no tenant');
  for (const { id } of tenants) {
    const set = await operator(['credential', 'set', 'api', '--type', 'bearer', '--tenant', id], {
      input: 'some-secret',
    });
    t.equal(set.code, 0, set.stderr);
  }
  const rekeyed = await operator(['--json', 'credential', 'rekey', '--tenant', 'b']);
  t.match(JSON.parse(rekeyed.stdout), { rekeyed: 0, unchanged: 1 }, 'the other tenant is not looked at');
  const suspended = await operator(['--json', 'agent', 'suspend', '--all', '--tenant', 'b']);
  t.match(JSON.parse(suspended.stdout), { tenant_id: 'b' });
});

t.test('a daemon that nobody can call says what to do next, until there is a key', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const first = await served(t, configFile);
  t.match(first.next, /no key\. With the admin secret in SERVICE_API_KEYS_ADMIN_SECRET, .* key mint/);
  t.notMatch(first.next, adminSecret);
  const minted = await operatorOf(first)(['key', 'mint', '--name', 'x', '--agent', agentId]);
  t.equal(minted.code, 0, minted.stderr);
  await first.end();
  writeFileSync(configFile, stringify(testConfig({ config: { log: { level: 'warn' } } })));
  const again = await startDaemon(t, dir, ['--config', configFile]);
  t.notMatch(JSON.stringify(again.log), /Nobody can call/);
});

t.test('who has neither key nor secret is told what the daemon needs, and not the shell', async (t) => {
  const { configFile } = writeTestConfig(t, {
    config: { control: { listen: '127.0.0.1:0', admin_secret: '' } },
  });
  const { next } = await served(t, configFile);
  t.match(next, 'control.admin_secret in ');
  t.match(next, configFile, 'the file is named');
  t.match(next, 'SERVICE_API_KEYS_ADMIN_SECRET in the environment of the daemon');
  t.match(next, 'key mint');
  const remedy = `control.admin_secret in ${configFile}, or SERVICE_API_KEYS_ADMIN_SECRET in the environment of the daemon`;
  const cases = [
    { args: ['env'], env: {} },
    { args: ['run', '--', 'true'], env: {} },
    { args: ['key', 'mint', '--name', 'x'], env: {} },
    { args: ['key', 'mint', '--name', 'x'], env: { SERVICE_API_KEYS_ADMIN_SECRET: 'of-the-shell-alone' } },
  ];
  for (const { args, env } of cases) {
    const ran = await postern(['--config', configFile, ...args], { env });
    t.equal(ran.code, 1, args.join(' '));
    t.match(ran.stderr, remedy, args.join(' '));
    t.notMatch(ran.stderr, 'of-the-shell-alone');
  }
});

t.test('run and env lead through a daemon that was started with a configuration', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const key = (await operatorOf(daemon)(['key', 'mint', '--name', 'x', '--agent', agentId])).stdout.trim();
  const env = { POSTERN_KEY: key, SERVICE_API_KEYS_ADMIN_SECRET: adminSecret };
  const printed = await postern(['--config', configFile, 'env'], { env });
  t.equal(printed.code, 0, printed.stderr);
  const exported = Object.fromEntries(readExports(printed.stdout));
  const wanted = {
    POSTERN_URL: daemon.controlUrl,
    POSTERN_KEY: key,
    POSTERN_CA: daemon.caFile,
    HTTPS_PROXY: daemon.proxyUrl.replace('://', `://agent:${key}@`),
  };
  t.match(exported, wanted);
  const show = 'process.stdout.write(JSON.stringify(process.env))';
  for (const [name, args, shell] of [
    ['--config', ['--config', configFile], env],
    ['what env has exported', [], { ...exported, SERVICE_API_KEYS_ADMIN_SECRET: adminSecret }],
  ] as const) {
    const ran = await postern([...args, 'run', '--', process.execPath, '-e', show], { env: shell });
    t.equal(ran.code, 0, ran.stderr);
    const seen = JSON.parse(ran.stdout);
    t.match(seen, wanted, name);
    t.notOk(seen.SERVICE_API_KEYS_ADMIN_SECRET, 'the secret above all keys stays behind');
  }
  const unknown = { POSTERN_KEY: newKeyText('live') };
  for (const args of [['env'], ['run', '--', 'true']]) {
    const ran = await postern(['--config', configFile, ...args], { env: unknown });
    t.match(ran, { code: 1, stdout: '', stderr: /does not take the key in POSTERN_KEY/ }, args.join(' '));
  }
  const alone = await run(
    'sh',
    ['-c', 'cd "$1" && shift && "$@"', 'sh', dir, 'env', ...posternCommand(['run', '--', 'true'])],
    {
      ...env,
      POSTERN_URL: daemon.controlUrl,
    },
  );
  t.match(alone, { code: 1, stderr: /name its configuration with --config/ }, 'no second gate is started');
  daemon.process.kill('SIGKILL');
  await once(daemon.process, 'exit');
  const down = await postern(['run', '--', 'true'], { env: exported });
  t.match(
    down,
    { code: 1, stderr: /does not answer: start it, or unset POSTERN_URL/ },
    'nor where it is down',
  );
});

t.test('exports of a first start whose key the daemon does not know are said to be stale', async (t) => {
  const { dir, configFile } = writeTestConfig(t, { config: { log: { level: 'warn' } } });
  const { proxyUrl, ...made } = { proxyUrl: 'http://127.0.0.1:1', POSTERN_KEY: newKeyText('live') };
  const write = (folder: string, url: string): void => {
    mkdirSync(join(folder, 'data'), { recursive: true });
    const ends = { POSTERN_URL: url, POSTERN_CA: '/ca.pem', HTTPS_PROXY: proxyUrl };
    writeFileSync(join(folder, 'data', 'first-start.env'), toExports({ ...made, ...ends }));
  };
  write(dir, 'http://127.0.0.1:1');
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  t.match(JSON.stringify(daemon.log), /first-start\.env is stale/, 'the daemon finds them beside its state');

  const folder = mkdtempSync(join(tmpdir(), 'postern-stale-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  write(folder, daemon.controlUrl);
  const inFolder = (...args: string[]) =>
    run('sh', [
      '-c',
      'cd "$1" && shift && "$@"',
      'sh',
      folder,
      'env',
      '-u',
      'POSTERN_URL',
      ...posternCommand(args),
    ]);
  for (const args of [['env'], ['run', '--', 'true']])
    t.match(
      await inFolder(...args),
      { code: 1, stdout: '', stderr: /first-start\.env is stale/ },
      args.join(' '),
    );
  write(folder, 'http://203.0.113.9:80');
  for (const args of [['env'], ['key', 'list']])
    t.match(await inFolder(...args), { code: 1, stdout: '' }, 'a file of a folder leads to no other machine');
  t.match((await inFolder('env')).stderr, /leads to another machine/);
  write(folder, 'http://127.0.0.1:1');
  const file = join(folder, 'data/first-start.env');
  const written = readFileSync(file, 'utf8');
  writeFileSync(file, `${written}touch obeyed\nexport LD_PRELOAD='/x.so'\n`);
  t.equal((await inFolder('env')).stdout, written, 'of the file nothing else is passed on');
  writeFileSync(file, written);
  const offline = await inFolder('env');
  t.match(
    offline,
    { code: 0, stdout: readFileSync(join(folder, 'data/first-start.env'), 'utf8') },
    'nobody to ask',
  );
});
