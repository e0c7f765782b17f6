import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { version } from '../../src/util/version.ts';
import { basic, openSecureTunnel, run, send } from '../support/clients.ts';
import { type Daemon, posternCommand, startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../support/gateway.ts';
import { startRedis, until } from '../support/redis.ts';
import { startUpstream } from '../support/upstream.ts';

/*
 * Three daemons on one Redis behind a balancer of TCP, as administrators have it: it asks /readyz, and gives new connections to whoever is
 * ready. Each is stopped while calls run, and the next version is started in its place.
 */

const nodes = 3;
const clients = 4;
/** Calls are new connections, which cost; a restart takes long enough for many of them. */
const pauseMs = 200;
const healthPollMs = 100;

/** Of Node, for a process of the next version. */
const asNext = [`--import=${new URL('next-version.ts', import.meta.url).href}`];

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

interface Backend {
  readonly proxyPort: number;
  readonly controlUrl: string;
  isReady: boolean;
}

/** Asks each backend in turn how it is; a connection goes to the next one that was ready. */
async function startBalancer(t: Test, backends: readonly Backend[]): Promise<string> {
  let turn = 0;
  let isOver = false;
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const ready = backends.filter((it) => it.isReady);
    const backend = ready[turn++ % ready.length];
    if (!backend) return client.destroy();
    const other = connect({ port: backend.proxyPort, host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [client, other]) sockets.add(socket.on('close', () => sockets.delete(socket)));
    client.pipe(other).on('error', () => client.destroy());
    other.pipe(client).on('error', () => other.destroy());
    return undefined;
  });
  const ask = async (backend: Backend): Promise<void> => {
    const { status } = await apiClient(backend.controlUrl)('GET', '/readyz', undefined, '');
    backend.isReady = status === 200;
  };
  const watch = async (backend: Backend): Promise<void> => {
    while (!isOver) {
      await ask(backend).catch(() => {
        backend.isReady = false;
      });
      await sleep(healthPollMs);
    }
  };
  const watching = backends.map(watch);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    isOver = true;
    server.close();
    for (const socket of sockets) socket.destroy();
    await Promise.all(watching);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('three daemons are upgraded one after the other, and no call fails', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const upstream = await startUpstream(t, async (request, response) => {
    if (!request.url?.startsWith('/stream')) return void response.end(request.url);
    for (let number = 0; number < 20; number += 1) response.write(`${number}\n`);
    await released;
    for (let number = 20; number < 40; number += 1) response.write(`${number}\n`);
    response.end();
  });
  // One folder for all: authority and vault key are shared.
  const shared = writeTestConfig(t, {});
  writeFileSync(join(shared.dir, 'vault-key'), '7'.repeat(64), { mode: 0o600 });
  const folders: { dir: string; configFile: string }[] = [];
  const backends: Backend[] = [];
  for (let node = 0; node < nodes; node += 1) {
    const [proxyPort, controlPort] = [await freePort(), await freePort()];
    folders.push(
      writeTestConfig(t, {
        upstream,
        config: {
          proxy: { listen: `127.0.0.1:${proxyPort}` },
          control: { listen: `127.0.0.1:${controlPort}` },
          state: { url: `redis://${redis.host}:${redis.port}/0`, dir: './local', timeout: '5s' },
          vault: { key_file: join(shared.dir, 'vault-key') },
          authority: { cert: join(shared.dir, 'ca.pem'), key: join(shared.dir, 'ca-key.pem') },
          limits: { scan_timeout: '5s' },
          drain_delay: '5s',
        },
      }),
    );
    backends.push({ proxyPort, controlUrl: `http://127.0.0.1:${controlPort}`, isReady: false });
  }
  const start = (node: number, nodeArgs: readonly string[] = []): Promise<Daemon> => {
    const { dir = '', configFile = '' } = folders[node] ?? {};
    return startDaemon(t, dir, ['--config', configFile], nodeArgs);
  };
  const versionOf = async (node: number): Promise<string> =>
    (await apiClient(backends[node]?.controlUrl ?? '')('GET', '/readyz', undefined, '')).body.version;
  const daemons: Daemon[] = [];
  for (let node = 0; node < nodes; node += 1) daemons.push(await start(node));
  const balancer = await startBalancer(t, backends);
  await until('all are ready', async () => backends.every((it) => it.isReady));
  const minted = { tenant_id: 'acme', name: 'x', default_agent_id: agentId };
  const { key } = (
    await apiClient(backends[0]?.controlUrl ?? '')('POST', '/v1/keys', minted, `Bearer ${adminSecret}`)
  ).body;
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(join(shared.dir, 'ca.pem'), 'utf8');
  const tunnel = (proxyUrl: string) =>
    openSecureTunnel({ proxyUrl, authorization: basic(key), authority, ca });

  let isOver = false;
  let calls = 0;
  const failures: string[] = [];
  const client = async (number: number): Promise<void> => {
    for (let at = 0; !isOver; at += 1) {
      const path = `/call/${number}/${at}`;
      try {
        const socket = await tunnel(balancer);
        const { status, body } = await send(socket, { path, headers: { host: authority } });
        socket.destroy();
        if (status !== 200 || String(body) !== path) failures.push(`${path}: ${status} ${body}`);
      } catch (error) {
        failures.push(`${path}: ${error}`);
      }
      calls += 1;
      await sleep(pauseMs);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  const atLeast = async (more: number): Promise<void> => {
    const wanted = calls + more;
    await until(`${more} more calls`, async () => calls >= wanted);
  };
  // A stream through the first daemon, which ends while that one drains.
  const streamed = await tunnel(`http://127.0.0.1:${backends[0]?.proxyPort}`);
  const request = http.request({
    createConnection: () => streamed,
    path: '/stream',
    headers: { host: authority },
  });
  request.end();
  const [stream] = (await once(request, 'response')) as [http.IncomingMessage];
  const lines = stream.toArray().then((parts) => String(Buffer.concat(parts)).trim().split('\n'));

  for (const [node, daemon] of daemons.entries()) {
    await atLeast(20);
    const before = await versionOf(node);
    const ended = daemon.end('SIGTERM');
    await until('the balancer has noticed', async () => backends[node]?.isReady === false);
    await atLeast(10);
    if (node === 0) release();
    t.equal(await ended, 0, `node ${node} has drained`);
    t.equal(before, version(), 'it was this version');
    await start(node, asNext);
    await until('it is ready again', async () => backends[node]?.isReady === true);
    t.equal(await versionOf(node), '99.0.0', 'and is the next one');
  }
  await atLeast(20);
  isOver = true;
  await running;
  t.same(failures, []);
  t.ok(calls > 100, `${calls} calls were answered`);
  t.same(
    await lines,
    Array.from({ length: 40 }, (_, number) => String(number)),
    'a stream of a daemon that drains ends whole, and in order',
  );
  const asked = apiClient(backends[2]?.controlUrl ?? '');
  const { body: usage } = await asked('GET', '/v1/usage', undefined, `Bearer ${key}`);
  t.ok(usage.scans_used >= calls, `each was counted: ${usage.scans_used} of ${calls}`);
  const { configFile = '' } = folders[0] ?? {};
  const checked = await run('env', posternCommand(['--config', configFile, 'upgrade', '--check']));
  t.match(
    checked,
    { code: 0, stdout: /format +2, readable from 1 on; this version has 1\n/ },
    checked.stderr,
  );
  const status = await run('env', posternCommand(['--config', configFile, 'status'], asNext));
  t.match(status, { code: 0, stdout: /version +99\.0\.0\n/ }, status.stderr);
});
