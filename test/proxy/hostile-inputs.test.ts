import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net, { type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { basic, openSecureTunnel, openTunnel, send } from '../support/clients.ts';
import { startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../support/gateway.ts';
import { startRawUpstream, startUpstream } from '../support/upstream.ts';
import { addressInputs } from './hostile/addresses.ts';
import { outcomeOf } from './hostile/frames.ts';
import { http1Inputs } from './hostile/http1.ts';
import { http2Inputs, requestsWithUnheardFields } from './hostile/http2.ts';
import {
  agentOfAnother,
  goodPath,
  type HostileInput,
  type HostileLab,
  plainHost,
  secureHost,
} from './hostile/input.ts';
import { tunnelInputs } from './hostile/tunnels.ts';

/*
 * Inputs that mean harm, against a daemon of its own: each is refused or closed, none reaches an upstream, the next good request is
 * served, and after many rounds the daemon is no larger than after one.
 */

const inputs: readonly HostileInput[] = [...addressInputs, ...http1Inputs, ...tunnelInputs, ...http2Inputs];

/** Upstreams live at an address that nothing else has, so that the rest of loopback counts as inside. */
const upstreamAddress = '127.0.0.77';
const nameOf = ({ place, name }: HostileInput): string => `${place}: ${name}`;
const admin = `Bearer ${adminSecret}`;

async function startLab(t: Test) {
  const secure = await startUpstream(t, undefined, { address: upstreamAddress });
  const plain = await startUpstream(t, undefined, { address: upstreamAddress, tls: false });
  // What would be reached if the guard were passed.
  const inside = await startRawUpstream(t, (socket) => socket.destroy(), { tls: false });
  const patience = { header_timeout: '5s', body_timeout: '5s', handshake_timeout: '5s', idle_timeout: '5s' };
  const { dir, configFile } = writeTestConfig(t, {
    config: {
      upstream: {
        allow_private: [`${upstreamAddress}/32`],
        ca_files: [secure.caFile],
        resolve: [
          { host: plainHost, address: upstreamAddress, port: plain.port },
          { host: '*.test.internal', address: '127.0.0.1', port: inside.port },
          { host: 'test.example', address: upstreamAddress, port: secure.port },
          { host: '*.test.example', address: upstreamAddress, port: secure.port },
        ],
      },
      inbound: [
        {
          prefix: 'bot',
          tenant: 'acme',
          upstream: `https://${secureHost}/base`,
          allowed_methods: ['GET', 'POST'],
        },
      ],
      limits: { ...patience, scan_timeout: '30s', max_connections_per_agent: 10_000 },
    },
  });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const api = apiClient(daemon.controlUrl);
  const mint = async (tenant: string, agent: string): Promise<{ key: string; key_id: string }> =>
    (await api('POST', '/v1/keys', { tenant_id: tenant, name: 'test', default_agent_id: agent }, admin)).body;
  const { key } = await mint('acme', agentId);
  const revoked = await mint('acme', agentId);
  await mint('other', agentOfAnother);
  await api('DELETE', `/v1/keys/${revoked.key_id}`, undefined, `Bearer ${key}`);
  const proxyPort = Number(new URL(daemon.proxyUrl).port);
  const controlPort = Number(new URL(daemon.controlUrl).port);
  const lab: HostileLab = {
    key,
    revokedKey: revoked.key,
    proxyAuth: `Proxy-Authorization: ${basic(key)}\r\n`,
    auth: `Authorization: Bearer ${key}\r\n`,
    insidePort: inside.port,
    proxyPort,
    controlPort,
  };
  const ca = readFileSync(daemon.caFile, 'utf8');
  const tunnelTo = (host: string, port: number) => ({
    proxyUrl: daemon.proxyUrl,
    authorization: basic(key),
    authority: `${host}:${port}`,
    ca,
  });

  async function open({ place, serverName }: HostileInput): Promise<Socket> {
    if (place === 'proxy') return net.connect(proxyPort, '127.0.0.1');
    if (place === 'control') return net.connect(controlPort, '127.0.0.1');
    const target = tunnelTo(
      place === 'plain tunnel' ? plainHost : secureHost,
      place === 'plain tunnel' ? 80 : 443,
    );
    if (place === 'plain tunnel' || place === 'tunnel start') return (await openTunnel(target)).socket;
    const ofHandshake = {
      checkServerIdentity: () => undefined,
      ...(place === 'h2' ? { ALPNProtocols: ['h2'] } : {}),
    };
    return openSecureTunnel({ ...target, ...(serverName === undefined ? {} : { serverName }) }, ofHandshake);
  }

  /** What came of it: a status, the end of a stream or a connection; or how it was taken for something good. */
  async function outcome(input: HostileInput): Promise<string> {
    const socket = await open(input);
    // What the gateway does to the connection shows in what is read from it.
    socket.on('error', () => socket.destroy());
    socket.write(asBytes(input.bytes(lab)));
    let read = Buffer.alloc(0);
    try {
      for await (const chunk of socket) {
        read = Buffer.concat([read, chunk]);
        const end = input.place === 'h2' ? endOfHttp2(read) : endOfHttp1(read);
        if (end !== undefined) return end;
      }
    } catch (error) {
      if (!closedCodes.has((error as NodeJS.ErrnoException).code)) throw error;
    } finally {
      socket.destroy();
    }
    return 'closed';
  }

  async function goodRequest(): Promise<number> {
    const socket = await openSecureTunnel(tunnelTo(secureHost, 443));
    const { status } = await send(socket, { path: goodPath, headers: { host: secureHost } });
    socket.destroy();
    return status;
  }

  const strangers = (): string[] =>
    [...secure.requests, ...plain.requests]
      .filter(({ url }) => !url.startsWith(goodPath))
      .map(({ method, url }) => `${method} ${url}`);
  const rssMegabytes = (): number => {
    const status = readFileSync(`/proc/${daemon.process.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  };
  /** The names of the fields that came with the request of this path. */
  const fieldsOf = (path: string): readonly string[] => {
    const request = secure.requests.find(({ url }) => url === path);
    return Object.keys(request?.headers ?? {}).sort();
  };
  return { outcome, goodRequest, strangers, fieldsOf, inside, rssMegabytes, daemon };
}

/** A daemon may have closed the connection before all of the input was written. */
const closedCodes: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE']);

const asBytes = (bytes: string | Buffer): Buffer =>
  typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;

/** `100 Continue` decides nothing. */
function endOfHttp1(read: Buffer): string | undefined {
  const status = /^(?:HTTP\/1\.1 1\d\d [\s\S]*?\r\n\r\n)*HTTP\/1\.1 ([2-9]\d\d) /.exec(
    read.toString('latin1'),
  )?.[1];
  return status && (Number(status) >= 400 ? status : `taken: ${status}`);
}

function endOfHttp2(read: Buffer): string | undefined {
  const outcome = outcomeOf(read);
  return outcome === 'undecided' ? undefined : outcome === 'refused' ? 'refused' : 'taken';
}

/** So many at a time: many of them are over only when the patience of the daemon is. */
async function forAll<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
    }),
  );
}

t.test('hostile inputs are refused, reach nobody, and leave nothing behind', async (t) => {
  const { outcome, goodRequest, strangers, fieldsOf, inside, rssMegabytes, daemon } = await startLab(t);
  t.ok(inputs.length >= 150, `${inputs.length} inputs`);
  t.equal(new Set(inputs.map(nameOf)).size, inputs.length, 'each has a name of its own');

  const round = async (check: (input: HostileInput, outcome: string) => Promise<void>): Promise<void> => {
    await forAll(inputs, 24, async (input) => check(input, await outcome(input)));
  };
  await t.test('each is refused or closed, and the next good request is served', async (t) => {
    await round(async (input, outcome) => {
      t.notMatch(outcome, /^taken/, `${nameOf(input)}: ${outcome}`);
      t.equal(await goodRequest(), 200);
    });
  });
  t.same(strangers(), [], 'none reaches an upstream');
  for (const { name, path, input } of requestsWithUnheardFields) {
    await outcome(input);
    t.same(fieldsOf(path), ['host', 'via'], `HTTP/2 with ${name} goes on without that field`);
  }
  t.equal(inside.connections(), 0, 'none reaches what is inside');
  await t.test('memory does not grow from round to round', async (t) => {
    const before = rssMegabytes();
    for (let i = 0; i < 2; i++) await round(async () => {});
    const after = rssMegabytes();
    t.ok(
      after < before + 96,
      `${Math.round(before)} MB before, ${Math.round(after)} MB after two rounds more`,
    );
  });
  t.same(strangers(), [], 'still none has reached an upstream');
  t.equal(await goodRequest(), 200);
  const exited = once(daemon.process, 'exit');
  daemon.process.kill('SIGTERM');
  t.equal((await exited)[0], 0, 'the daemon was there to the end');
});
