import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { validateConfig } from '../../src/config/load.ts';
import { readExports } from '../../src/daemon/start/client-variables.ts';
import { firstStartConfig, openFirstStart } from '../../src/daemon/start/first-start.ts';
import { basic, openSecureTunnel, run, send } from '../support/clients.ts';
import { posternCommand, startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, testConfig, writeTestConfig } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { startUpstream } from '../support/upstream.ts';

const admin = `Bearer ${adminSecret}`;
const mintFields = { tenant_id: 'acme', name: 'test', default_agent_id: agentId };

function temporaryFolder(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'postern-daemon-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

t.test(
  'a reload under load loses no call: a good file is taken, a bad one refused with all its mistakes',
  async (t) => {
    const upstream = await startUpstream(t, (_request, response) => {
      // Some calls are under way whenever a reload happens.
      setTimeout(() => response.end('ok'), 2);
    });
    const { dir, configFile } = writeTestConfig(t, { upstream, config: { log: { level: 'info' } } });
    const daemon = await startDaemon(t, dir, ['--config', configFile]);
    const api = apiClient(daemon.controlUrl);
    const { key } = (await api('POST', '/v1/keys', mintFields, admin)).body;
    const ca = readFileSync(daemon.caFile, 'utf8');
    const authority = `api.test.example:${upstream.port}`;

    const waiting: { count: number; resolve: () => void }[] = [];
    /** Resolves when so many further calls were answered. */
    const answered = (more: number): Promise<void> =>
      new Promise((resolve) => waiting.push({ count: answers.length + more, resolve }));
    let isOver = false;
    const answers: number[] = [];
    const client = async (): Promise<void> => {
      const socket = await openSecureTunnel({
        proxyUrl: daemon.proxyUrl,
        authorization: basic(key),
        authority,
        ca,
      });
      t.teardown(() => socket.destroy());
      while (!isOver) {
        const { status } = await send(socket, {
          method: 'POST',
          path: '/x',
          headers: { host: authority },
          body: '{"a":1}',
        });
        answers.push(status);
        for (const it of waiting.filter(({ count }) => answers.length >= count)) it.resolve();
      }
    };
    const clients = Promise.all([client(), client(), client(), client()]);
    const generation = async (): Promise<{ generation: number; last_error: string | null }> =>
      (await api('GET', '/readyz', undefined, '')).body.config;

    t.match(await generation(), { generation: 1, last_error: null });
    const policy = {
      name: 'from-file',
      rules: [
        { rule_id: 'no-patch', priority: 1, match: { methods: ['PATCH'] }, condition: {}, action: 'DENY' },
      ],
    };
    writeFileSync(join(dir, 'policies', 'a.yaml'), stringify(policy));
    await answered(20);
    const taken = daemon.logged('configuration reloaded');
    daemon.process.kill('SIGHUP');
    await taken;
    t.match(await generation(), { generation: 2, last_error: null });

    writeFileSync(
      configFile,
      `${stringify(testConfig({ upstream }))}limitz: {}\nbranding: { header_word: "a b" }\nworkers: none\n`,
    );
    const refused = daemon.logged('the configuration was refused; the old one stays');
    daemon.process.kill('SIGHUP');
    const { mistakes } = await refused;
    t.match(JSON.stringify(mistakes), /limitz/, 'one mistake is named');
    t.match(JSON.stringify(mistakes), /header_word/, 'and another');
    t.match(JSON.stringify(mistakes), /workers/, 'and the third');
    const standing = await generation();
    t.equal(standing.generation, 2, 'the old one stays');
    t.match(standing.last_error, /limitz/);

    writeFileSync(
      configFile,
      stringify(testConfig({ upstream, config: { state: { url: 'embedded:./elsewhere' } } })),
    );
    await answered(20);
    const fixed = daemon.logged('the configuration was refused; the old one stays');
    daemon.process.kill('SIGHUP');
    t.match(JSON.stringify((await fixed)['mistakes']), /state\.url/, 'what cannot be reloaded is named');

    await answered(20);
    isOver = true;
    await clients;
    t.ok(answers.length > 60, `${answers.length} calls ran meanwhile`);
    t.ok(
      answers.every((status) => status === 200),
      'and all of them were answered 200',
    );
    const socket = await openSecureTunnel({
      proxyUrl: daemon.proxyUrl,
      authorization: basic(key),
      authority,
      ca,
    });
    t.teardown(() => socket.destroy());
    const patched = await send(socket, {
      method: 'PATCH',
      path: '/x',
      headers: { host: authority },
      body: '{}',
    });
    t.equal(patched.status, 403, 'the policy that the reload brought is in force');
  },
);

t.test('SIGTERM lets a running call end, takes no new one, and leaves with 0', async (t) => {
  const { promise: arrived, resolve: onArrived } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const upstream = await startUpstream(t, async (_request, response) => {
    onArrived();
    await released;
    response.end('late');
  });
  const { dir, configFile } = writeTestConfig(t, { upstream, config: { log: { level: 'info' } } });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const { key } = (await apiClient(daemon.controlUrl)('POST', '/v1/keys', mintFields, admin)).body;
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(daemon.caFile, 'utf8');
  const socket = await openSecureTunnel({
    proxyUrl: daemon.proxyUrl,
    authorization: basic(key),
    authority,
    ca,
  });
  t.teardown(() => socket.destroy());
  const running = send(socket, { path: '/slow', headers: { host: authority } });
  await arrived;
  const draining = daemon.logged('draining');
  const ended = daemon.end('SIGTERM');
  await draining;
  const refused = http.get(daemon.proxyUrl);
  const error = await once(refused, 'response').catch((cause: Error) => cause);
  t.match(error, { code: /^ECONN(REFUSED|RESET)$/ }, 'nobody new is let in');
  release();
  t.match(await running, { status: 200, body: Buffer.from('late') });
  t.equal(await ended, 0);
});

t.test('for drain_delay a daemon that stops says so, and serves whoever comes', async (t) => {
  const upstream = await startUpstream(t);
  const { dir, configFile } = writeTestConfig(t, { upstream, config: { drain_delay: '1h' } });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const api = apiClient(daemon.controlUrl);
  const { key } = (await api('POST', '/v1/keys', mintFields, admin)).body;
  t.match(await api('GET', '/readyz', undefined, ''), { status: 200 });
  daemon.process.kill('SIGTERM');
  await until('it is draining', async () => (await api('GET', '/readyz', undefined, '')).status === 503);
  t.match((await api('GET', '/readyz', undefined, '')).body, { status: 'draining', code: 'SHUTTING_DOWN' });
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(daemon.caFile, 'utf8');
  const socket = await openSecureTunnel({
    proxyUrl: daemon.proxyUrl,
    authorization: basic(key),
    authority,
    ca,
  });
  t.teardown(() => socket.destroy());
  t.match(await send(socket, { path: '/late', headers: { host: authority } }), { status: 200 });
  t.equal(await daemon.end('SIGTERM'), 1, 'a second signal ends it at once');
});

t.test('a download of 100 MB passes through, and what waits for a slow reader is bounded', async (t) => {
  const chunk = Buffer.alloc(64 * 1024, 0x61);
  const chunks = 1600;
  let written = 0;
  const upstream = await startUpstream(t, async (_request, response) => {
    response.writeHead(200, { 'content-length': chunk.length * chunks });
    for (let i = 0; i < chunks; i++) {
      written += chunk.length;
      if (!response.write(chunk)) await once(response, 'drain');
    }
    response.end();
  });
  const { dir, configFile } = writeTestConfig(t, { upstream });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const { key } = (await apiClient(daemon.controlUrl)('POST', '/v1/keys', mintFields, admin)).body;
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(daemon.caFile, 'utf8');
  const peakKb = (): number =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.process.pid}/status`, 'utf8'))?.[1]);

  let aheadMax = 0;
  const download = async (): Promise<number> => {
    const open = { proxyUrl: daemon.proxyUrl, authorization: basic(key), authority, ca };
    const socket = await openSecureTunnel(open);
    t.teardown(() => socket.destroy());
    const request = http.request({
      createConnection: () => socket,
      path: '/big',
      headers: { host: authority },
    });
    request.end();
    const writtenBefore = written;
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    let read = 0;
    for await (const part of response) {
      read += part.length;
      aheadMax = Math.max(aheadMax, written - writtenBefore - read);
    }
    return read;
  };
  t.equal(await download(), chunk.length * chunks, 'all of it arrives');
  // The first one shows how late the collector comes, the second what a download really keeps.
  const before = peakKb();
  t.equal(await download(), chunk.length * chunks);
  // The buffers of the sockets on the way, some megabytes each.
  t.ok(aheadMax < 50 * 1024 * 1024, `at most ${aheadMax} bytes were under way`);
  t.ok(peakKb() - before < 32 * 1024, `the second one took ${peakKb() - before} KB more than the first`);
});

t.test('what was acknowledged before SIGKILL is there after it', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const first = await startDaemon(t, dir, ['--config', configFile]);
  const api = apiClient(first.controlUrl);
  const keys: { key: string; key_id: string; name: string }[] = [];
  const policies: { name: string; version: number }[] = [];
  const { promise: enough, resolve: onEnough } = Promise.withResolvers<void>();
  // Writers that never stop; the daemon is killed under them.
  const writer = async (number: number): Promise<void> => {
    for (let i = 0; ; i++) {
      const minted = await api('POST', '/v1/keys', { ...mintFields, name: `key ${number}.${i}` }, admin);
      if (minted.status === 201) keys.push(minted.body);
      const rules = [{ rule_id: 'r', priority: i, match: {}, condition: {}, action: 'ALLOW' }];
      const applied = await api(
        'POST',
        '/v1/policies/apply',
        { tenant_id: 'acme', name: `policy-${number}`, rules },
        admin,
      );
      if (applied.status === 200) policies.push(applied.body);
      if (keys.length > 40) onEnough();
    }
  };
  const writers = Promise.allSettled([0, 1, 2, 3].map(writer));
  await enough;
  t.equal(await first.end('SIGKILL'), 'SIGKILL');
  const ends = await writers;
  t.ok(
    ends.every((it) => it.status === 'rejected'),
    'the writers were cut off',
  );

  const second = await startDaemon(t, dir, ['--config', configFile]);
  const after = apiClient(second.controlUrl);
  for (const { key, name } of keys) {
    const scanned = await after(
      'POST',
      '/v1/scan',
      { method: 'GET', url: 'https://api.github.com/zen' },
      `Bearer ${key}`,
    );
    t.equal(scanned.status, 200, `${name} is still valid`);
  }
  const latest = new Map(policies.map((it) => [it.name, it.version]));
  for (const [name, version] of latest) {
    const found = await after('GET', `/v1/policies/by-name/${name}`, undefined, admin);
    t.ok(found.body.version >= version, `${name} has at least version ${version}`);
  }
  const twice = await run('env', posternCommand(['--config', configFile, '--json', 'serve']));
  t.equal(twice.code, 1, 'a second daemon on the same state is refused');
  t.match(twice.stderr, /data/, 'and told which folder is taken');
});

t.test('a first start without a configuration makes everything once', async (t) => {
  const dir = temporaryFolder(t);
  const before = process.cwd();
  process.chdir(dir);
  t.teardown(() => process.chdir(before));
  const first = openFirstStart({});
  const again = openFirstStart({});
  t.ok(first.isNew);
  t.notOk(again.isNew);
  t.equal(again.keyText, first.keyText, 'the key is made once');
  t.equal(statSync(first.file).mode & 0o777, 0o600);
  const exports = readExports(readFileSync(first.file, 'utf8'));
  for (const name of [
    'POSTERN_URL',
    'POSTERN_KEY',
    'POSTERN_KEY_ID',
    'POSTERN_AGENT_ID',
    'SERVICE_API_KEYS_ADMIN_SECRET',
    'POSTERN_CA',
    'HTTPS_PROXY',
    'HTTP_PROXY',
    'SSL_CERT_FILE',
    'NODE_EXTRA_CA_CERTS',
  ]) {
    t.ok(exports.get(name), `${name} is exported`);
  }
  const config = validateConfig(firstStartConfig(first), { file: undefined, env: {} });
  t.match(config.tenants.get('default'), { environments: ['default'], plan: { name: 'enterprise' } });
});
