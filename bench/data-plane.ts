// What the gateway's process spends on ways through it, in microseconds of CPU: calls of 2 KB by HTTP/1.1 and HTTP/2 in tunnels and on an
// inbound route, to upstreams of both protocols, events of a stream, and megabytes of a download. The daemon is a process of its own with a
// fresh state; client and upstream are here, so requests a second say nothing. `node bench/data-plane.ts [rounds]`
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import type http2 from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { basic, openHttp2Tunnel, openSecureTunnel, send } from '../test/support/clients.ts';
import { startDaemon } from '../test/support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../test/support/gateway.ts';
import { startUpstream, type UpstreamHandler } from '../test/support/upstream.ts';
import { type Teardown, withTeardown } from './with-teardown.ts';

const rounds = Number(process.argv[2] ?? 5);
const atOnce = 16;
const callsPerRound = 1600;
const eventsPerRound = 4000;
const downloadMegabytes = 64;

const body = Buffer.from(JSON.stringify({ note: 'plain words of no weight '.repeat(80) }));
const headers = { 'content-type': 'application/json', 'content-length': body.length };
const megabyte = Buffer.alloc(1 << 20, 'all work and no play ');

const answer: UpstreamHandler = async ({ url = '' }, response) => {
  if (url.endsWith('/events')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let i = 0; i < eventsPerRound / atOnce; i++) {
      response.write(`data: {"delta":"word ${i}"}\n\n`);
      // Each event is written alone, as a model's tokens are.
      await nextTurn();
    }
    response.end();
  } else if (url.endsWith('/download')) {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    for (let i = 0; i < downloadMegabytes; i++) if (!response.write(megabyte)) await once(response, 'drain');
    response.end();
  } else {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"ok":true}');
  }
};

await withTeardown(main);

async function main(bench: Teardown): Promise<void> {
  const one = await startUpstream(bench, answer);
  const two = await startUpstream(bench, answer, { http2: true });
  const { dir, configFile } = writeTestConfig(bench, {
    config: {
      upstream: {
        ca_files: [one.caFile],
        resolve: [
          { host: 'one.test.example', address: '127.0.0.1', port: one.port },
          { host: 'two.test.example', address: '127.0.0.1', port: two.port },
        ],
      },
      inbound: [{ prefix: 'one', tenant: 'acme', upstream: 'https://one.test.example' }],
    },
  });
  const daemon = await startDaemon(bench, dir, ['--config', configFile]);
  const asked = { tenant_id: 'acme', name: 'bench', default_agent_id: agentId };
  const { key } = (await apiClient(daemon.controlUrl)('POST', '/v1/keys', asked, `Bearer ${adminSecret}`))
    .body;
  const ca = readFileSync(daemon.caFile, 'utf8');
  const target = (host: string) => ({
    proxyUrl: daemon.proxyUrl,
    authorization: basic(key),
    authority: `${host}:443`,
    ca,
  });
  const agent = new http.Agent({ keepAlive: true, maxSockets: atOnce });
  bench.teardown(() => agent.destroy());

  async function byHttp1(host: string): Promise<Work> {
    const sockets = await Promise.all(Array.from({ length: atOnce }, () => openSecureTunnel(target(host))));
    bench.teardown(() => sockets.forEach((socket) => void socket.destroy()));
    return (i, path) =>
      path === '/calls'
        ? send(sockets[i] as (typeof sockets)[0], {
            method: 'POST',
            path,
            headers: { ...headers, host },
            body,
          }).then(checked)
        : drained(
            http.get({
              createConnection: () => sockets[i] as (typeof sockets)[0],
              path,
              headers: { host, connection: 'keep-alive' },
            }),
          );
  }

  async function byHttp2(host: string): Promise<Work> {
    const session = await openHttp2Tunnel(target(host));
    bench.teardown(() => session.destroy());
    return async (_i, path) => {
      const asked = path === '/calls' ? { ':method': 'POST', ...headers } : {};
      const stream = session.request({ ':path': path, ...asked }, { endStream: path !== '/calls' });
      if (path === '/calls') stream.end(body);
      const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders & { ':status'?: number }];
      for await (const _chunk of stream);
      checked({ status: head[':status'] ?? 0 });
    };
  }

  const byInbound: Work = (_i, path) => {
    const url = new URL(`/inbound/one${path}`, daemon.controlUrl);
    const authorization = `Bearer ${key}`;
    const request = http.request(url, { method: 'POST', agent, headers: { ...headers, authorization } });
    request.end(body);
    return drained(request);
  };

  const [one11, one2, two11, two2] = [
    await byHttp1('one.test.example'),
    await byHttp2('one.test.example'),
    await byHttp1('two.test.example'),
    await byHttp2('two.test.example'),
  ];
  const scenarios: readonly Scenario[] = [
    { name: '2 KB, HTTP/1.1 to HTTP/1.1', unit: 'call', units: callsPerRound, run: () => calls(one11) },
    { name: '2 KB, HTTP/2 to HTTP/1.1', unit: 'call', units: callsPerRound, run: () => calls(one2) },
    { name: '2 KB, HTTP/1.1 to HTTP/2', unit: 'call', units: callsPerRound, run: () => calls(two11) },
    { name: '2 KB, HTTP/2 to HTTP/2', unit: 'call', units: callsPerRound, run: () => calls(two2) },
    { name: '2 KB, inbound to HTTP/1.1', unit: 'call', units: callsPerRound, run: () => calls(byInbound) },
    { name: 'events, HTTP/1.1 to HTTP/1.1', unit: 'event', units: eventsPerRound, run: () => streams(one11) },
    { name: 'events, HTTP/2 to HTTP/1.1', unit: 'event', units: eventsPerRound, run: () => streams(one2) },
    {
      name: 'download, HTTP/1.1 to HTTP/1.1',
      unit: 'MB',
      units: downloadMegabytes,
      run: () => one11(0, '/download'),
    },
    {
      name: 'download, HTTP/2 to HTTP/1.1',
      unit: 'MB',
      units: downloadMegabytes,
      run: () => one2(0, '/download'),
    },
  ];
  const least = new Map<Scenario, number>();
  // Interleaved, and the least of each: the noise of a shared machine only adds. The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const scenario of scenarios) {
      const before = cpuUs(daemon.process.pid);
      await scenario.run();
      const spent = (cpuUs(daemon.process.pid) - before) / scenario.units;
      if (round > 0) least.set(scenario, Math.min(least.get(scenario) ?? Infinity, spent));
    }
  }
  for (const [{ name, unit }, us] of least)
    console.log(`${name.padEnd(32)} ${us.toFixed(0).padStart(6)} us a ${unit}`);
}

/** Asks for a path once, as the `i`th of those at once. */
type Work = (i: number, path: string) => Promise<void>;

interface Scenario {
  readonly name: string;
  readonly unit: string;
  readonly units: number;
  run(): Promise<void>;
}

async function calls(work: Work): Promise<void> {
  const client = async (_: unknown, i: number): Promise<void> => {
    for (let n = 0; n < callsPerRound / atOnce; n++) await work(i, '/calls');
  };
  await Promise.all(Array.from({ length: atOnce }, client));
}

async function streams(work: Work): Promise<void> {
  await Promise.all(Array.from({ length: atOnce }, (_, i) => work(i, '/events')));
}

async function drained(request: http.ClientRequest): Promise<void> {
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  for await (const _chunk of answer);
  checked({ status: answer.statusCode ?? 0 });
}

/** What is refused costs something else than what is measured. */
function checked({ status }: { readonly status: number }): void {
  if (status !== 200) throw new Error(`The gateway answered ${status}.`);
}

/** User and system time of a process with all its threads (proc_pid_stat(5)), in ticks of 10 ms. */
function cpuUs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}
