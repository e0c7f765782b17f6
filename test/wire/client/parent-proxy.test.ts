import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { GatewayError } from '../../../src/core/errors.ts';
import { Dialer, type DialerOptions, type Endpoint } from '../../../src/wire/client/connect.ts';
import { createGuard } from '../../../src/wire/client/reach/guard.ts';
import type { ParentOptions } from '../../../src/wire/client/reach/parent.ts';
import { createResolver } from '../../../src/wire/client/reach/resolve.ts';
import { createTestAuthority, testAuthority } from '../../support/certificates.ts';
import { run } from '../../support/clients.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { type ParentSetup, startParent } from '../../support/parent.ts';
import { needProgram } from '../../support/programs.ts';
import { until } from '../../support/redis.ts';
import { startHttp2Upstream, startRawUpstream, startUpstream } from '../../support/upstream.ts';
import { openFront } from './front.ts';

const guardWith = (ownPort = 0) =>
  createGuard({
    allowPrivate: ['127.0.0.0/8', '192.0.2.0/24'],
    deny: ['*.denied.example'],
    allowedPorts: [],
    ownListeners: () => [{ address: '127.0.0.1', port: ownPort }],
  });

const answering = (...addresses: string[]) =>
  createResolver({
    resolve: [{ host: 'localhost', address: '127.0.0.1' }],
    lookup: async () => addresses.map((address) => ({ address })),
  });

const dialerBy = (parent: Partial<ParentOptions> & { url: string }, options: Partial<DialerOptions> = {}) =>
  new Dialer({
    guard: guardWith(),
    resolver: answering('127.0.0.1'),
    roots: [testAuthority().certPem],
    connectTimeoutMs: 10_000,
    parent: { noProxy: [], resolves: false, ...parent },
    ...options,
  });

const at = (scheme: Endpoint['scheme'], host: string, port: number): Endpoint => ({ scheme, host, port });

async function failureOf(dialing: Promise<net.Socket>): Promise<GatewayError> {
  try {
    (await dialing).destroy();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('The connection was opened.');
}

t.test(
  'asks for the very address that was judged, and speaks TLS with the upstream under its name',
  async (t) => {
    const upstream = await startUpstream(t);
    const parent = await startParent(t);
    let questions = 0;
    const lookup = async () => [{ address: questions++ === 0 ? '127.0.0.1' : '10.0.0.1' }];
    const resolver = createResolver({ resolve: [], lookup });
    const dialer = dialerBy({ url: `http://127.0.0.1:${parent.port}` }, { resolver });
    const socket = await dialer.dial(at('https', 'a.test.example', upstream.port), 'http/1.1');
    t.strictSame(parent.asked, [{ authority: `127.0.0.1:${upstream.port}`, authorization: undefined }]);
    socket.destroy();
    await until('the parent is left', async () => parent.connections() === 0);
    const error = await failureOf(dialer.dial(at('https', 'a.test.example', upstream.port), 'http/1.1'));
    t.equal(error.code, 'EGRESS_BLOCKED', 'a name that turned to the inside');
    t.equal(parent.asked.length, 1);
  },
);

t.test('a tunnel through the parent is verified like a connection past it', async (t) => {
  const certificate = testAuthority().issue({ names: ['other.example'] });
  const upstream = await startUpstream(t, undefined, { certificate });
  const parent = await startParent(t);
  const dialer = dialerBy({ url: `http://127.0.0.1:${parent.port}` });
  const error = await failureOf(dialer.dial(at('https', 'a.test.example', upstream.port), 'http/1.1'));
  t.match(error, {
    code: 'UPSTREAM_TLS',
    message: 'with the upstream failed: its certificate is for another',
  });
  await until('the parent is left', async () => parent.connections() === 0);
});

t.test('sends the credentials of its URL, to an https:// parent that proves who it is', async (t) => {
  const upstream = await startUpstream(t);
  const parent = await startParent(t, { certificate: testAuthority().issue() });
  const dialer = dialerBy({ url: `https://us%40er:p%3Ass@localhost:${parent.port}` });
  (await dialer.dial(at('https', 'a.test.example', upstream.port), 'http/1.1')).destroy();
  const authorization = `Basic ${Buffer.from('us@er:p:ss').toString('base64')}`;
  t.match(parent.asked, [{ authorization }]);

  const certificate = createTestAuthority('Unknown').issue();
  const forged = await startParent(t, { certificate });
  const misled = dialerBy({ url: `https://user:pass@localhost:${forged.port}` });
  t.match(await failureOf(misled.dial(at('https', 'a.test.example', upstream.port), 'http/1.1')), {
    code: 'UPSTREAM_TLS',
    message: 'TLS with the parent proxy failed: the issuer',
  });
  t.strictSame(forged.asked, [], 'no credential reached it');
});

t.test('leaves the parent aside for what no_proxy names', async (t) => {
  const upstream = await startUpstream(t);
  const parent = await startParent(t);
  const { port } = upstream;
  const passing = ['test.example', '*', '127.0.0.0/8', `*.test.example:${port}`, `127.0.0.1:${port}`];
  const going = ['.a.test.example', 'st.example', '10.0.0.0/8', `test.example:${port + 1}`, '*.example.com'];
  for (const noProxy of [...passing, ...going]) {
    const before = parent.asked.length;
    const dialer = dialerBy({ url: `http://127.0.0.1:${parent.port}`, noProxy: [noProxy] });
    (await dialer.dial(at('https', 'a.test.example', port), 'http/1.1')).destroy();
    t.equal(parent.asked.length - before, passing.includes(noProxy) ? 0 : 1, noProxy);
  }
  const mixed = dialerBy(
    { url: `http://127.0.0.1:${parent.port}`, noProxy: ['192.0.2.0/24'] },
    { resolver: answering('127.0.0.1', '192.0.2.1') },
  );
  (await mixed.dial(at('https', 'a.test.example', port), 'http/1.1')).destroy();
  t.equal(parent.asked.length, going.length + 1, 'one address of several is not all of them');
});

t.test('a parent that resolves is asked for names, past whatever is given here', async (t) => {
  const upstream = await startUpstream(t);
  const parent = await startParent(t, { leadsTo: upstream.port });
  const resolver = createResolver({
    resolve: [{ host: 'given.test.example', address: '192.0.2.7' }],
    lookup: async () => {
      throw new Error('no name server knows the outside');
    },
  });
  const dialer = dialerBy({ url: `http://127.0.0.1:${parent.port}`, resolves: true }, { resolver });
  for (const host of ['a.test.example', 'given.test.example'])
    (await dialer.dial(at('https', host, 8443), 'http/1.1')).destroy();
  t.match(parent.asked, [{ authority: 'a.test.example:8443' }, { authority: '192.0.2.7:8443' }]);
  for (const host of ['x.denied.example', '10.0.0.1', 'metadata.google.internal'])
    t.equal((await failureOf(dialer.dial(at('https', host, 443), 'http/1.1'))).code, 'EGRESS_BLOCKED', host);
  t.equal(parent.asked.length, 2);
});

t.test('a parent that does not open the tunnel ends the call, and says how', async (t) => {
  const whole = (text: string): ParentSetup => ({
    answer: (socket) => {
      socket.resume().end(text);
      return true;
    },
  });
  const cases: [name: string, setup: ParentSetup, want: { code: string; message: RegExp }][] = [
    [
      '407',
      whole('HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno'),
      { code: 'UPSTREAM_UNREACHABLE', message: /credentials of upstream\.proxy \(407\)/ },
    ],
    ['403', whole('HTTP/1.1 403 No\r\n\r\n'), { code: 'UPSTREAM_UNREACHABLE', message: /refuses.*\(403\)/ }],
    ['502', whole('HTTP/1.0 502 No\r\n\r\n'), { code: 'UPSTREAM_UNREACHABLE', message: /cannot reach.*502/ }],
    ['504', whole('HTTP/1.1 504 No\r\n\r\n'), { code: 'UPSTREAM_TIMEOUT', message: /in time \(504\)/ }],
    [
      'a redirect',
      whole('HTTP/1.1 302 Go\r\nLocation: /\r\n\r\n'),
      { code: 'UPSTREAM_UNREACHABLE', message: /302/ },
    ],
    ['101', whole('HTTP/1.1 101 Switch\r\n\r\n'), { code: 'UPSTREAM_UNREACHABLE', message: /no HTTP/ }],
    ['garbage', whole('SSH-2.0-OpenSSH_9.2\r\n'), { code: 'UPSTREAM_UNREACHABLE', message: /no HTTP/ }],
    [
      'an endless head',
      whole(`HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}`),
      { code: 'UPSTREAM_UNREACHABLE', message: /no HTTP/ },
    ],
    ['a cut head', whole('HTTP/1.1 200 O'), { code: 'UPSTREAM_UNREACHABLE', message: /closed/ }],
    ['nothing', whole(''), { code: 'UPSTREAM_UNREACHABLE', message: /closed/ }],
    [
      'bytes behind its answer',
      whole('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'),
      { code: 'UPSTREAM_TLS', message: /TLS with the upstream failed/ },
    ],
    [
      'a tunnel that it closes',
      whole('HTTP/1.1 200 OK\r\n\r\n'),
      { code: 'UPSTREAM_TLS', message: /closed the connection during the handshake/ },
    ],
  ];
  for (const [name, setup, want] of cases) {
    const parent = await startParent(t, setup);
    const dialer = dialerBy({ url: `http://user:hunter2@127.0.0.1:${parent.port}` });
    const error = await failureOf(dialer.dial(at('https', 'a.test.example', 443), 'http/1.1'));
    t.match(error, want, name);
    t.notMatch(`${error.message} ${JSON.stringify(error)} ${error.cause}`, /hunter2|dXNlcj/);
    await until('the parent is left', async () => parent.connections() === 0);
  }
});

t.test('bytes that a parent adds to a connection in plain http are not an answer', async (t) => {
  const parent = await startParent(t, {
    answer(socket) {
      socket.write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil');
      return true;
    },
  });
  const front = await openFront(t, {
    parent: { url: `http://127.0.0.1:${parent.port}`, noProxy: [], resolves: false },
  });
  const { code } = await front.ask('http://a.test.example/');
  t.equal(code, 'UPSTREAM_PROTOCOL');
});

t.test('a slow parent has the time of one connection, whatever it is slow in', async (t) => {
  const silent = await startRawUpstream(t, () => {}, { tls: false });
  const dripping = await startParent(t, {
    answer(socket) {
      const timer = setInterval(() => socket.write('X'), 5);
      socket.write('HTTP/1.1 200 OK\r\nX: ');
      socket.once('close', () => clearInterval(timer));
      return true;
    },
  });
  const mute = await startParent(t, { leadsTo: silent.port });
  const cases = [
    { url: `http://127.0.0.1:${silent.port}`, message: 'The parent proxy did not answer in time.' },
    { url: `https://127.0.0.1:${silent.port}`, message: 'The parent proxy did not accept' },
    { url: `http://127.0.0.1:${dripping.port}`, message: 'The parent proxy did not answer in time.' },
    { url: `http://127.0.0.1:${mute.port}`, message: 'The upstream did not accept the connection in time.' },
  ];
  for (const { url, message } of cases) {
    const dialer = dialerBy({ url }, { connectTimeoutMs: 80 });
    const error = await failureOf(dialer.dial(at('https', 'a.test.example', 443), 'http/1.1'));
    t.match(error, { code: 'UPSTREAM_TIMEOUT', message });
  }
});

t.test('another address is asked for only where the parent could not reach the one before', async (t) => {
  const upstream = await startUpstream(t);
  const statusBy = (first: number) =>
    startParent(t, {
      leadsTo: upstream.port,
      answer(socket, { authority }) {
        if (!authority.startsWith('192.0.2.1:')) return false;
        socket.end(`HTTP/1.1 ${first} No\r\n\r\n`);
        return true;
      },
    });
  const resolver = answering('192.0.2.1', '192.0.2.2');
  const unreachable = await statusBy(503);
  const dialer = dialerBy({ url: `http://127.0.0.1:${unreachable.port}` }, { resolver });
  (await dialer.dial(at('https', 'a.test.example', 443), 'http/1.1')).destroy();
  t.equal(unreachable.asked.length, 2);
  const refusing = await statusBy(407);
  const refused = dialerBy({ url: `http://127.0.0.1:${refusing.port}` }, { resolver });
  await failureOf(refused.dial(at('https', 'a.test.example', 443), 'http/1.1'));
  t.equal(refusing.asked.length, 1, 'wrong credentials are not tried twice');
});

t.test('the parent may stand on the inside, but is never this gateway', async (t) => {
  const parent = await startParent(t);
  const guard = guardWith(parent.port);
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]']) {
    const dialer = dialerBy({ url: `http://${host}:${parent.port}` }, { guard });
    t.match(await failureOf(dialer.dial(at('https', 'a.test.example', 443), 'http/1.1')), {
      code: 'EGRESS_BLOCKED',
      message: 'The address is that of this gateway.',
    });
  }
  const absent = dialerBy({ url: 'http://127.0.0.1:1' });
  t.match(await failureOf(absent.dial(at('https', 'a.test.example', 443), 'http/1.1')), {
    code: 'UPSTREAM_UNREACHABLE',
    message: 'The parent proxy refused the connection.',
  });
});

const callThrough = (proxy: string, caFile: string, ...args: string[]) =>
  run('curl', ['-s', '-w', ' %{http_code}', '--cacert', caFile, '-x', proxy, ...args]);

t.test('calls, feeds and HTTP/2 leave through the parent, in TLS and without', async (t) => {
  if (!needProgram(t, 'curl')) return;
  const upstream = await startUpstream(t);
  const plain = await startUpstream(t, undefined, { tls: false });
  const h2only = await startHttp2Upstream(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('h2');
  });
  const feed = await startUpstream(t, (_request, response) => void response.end('evil.example\n'));
  const parent = await startParent(t);
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      upstream: { proxy: `http://u:p@127.0.0.1:${parent.port}` },
      feeds: [{ name: 'own', url: `https://localhost:${feed.port}/list`, format: 'lines' }],
    },
  });
  const { proxyWithKey, caFile } = gateway;
  t.match(await callThrough(proxyWithKey, caFile, `https://api.test.example:${upstream.port}/x`), {
    stdout: '{"ok":true} 200',
  });
  t.match(await callThrough(proxyWithKey, caFile, `http://localhost:${plain.port}/x`), {
    stdout: '{"ok":true} 200',
  });
  t.match(await callThrough(proxyWithKey, caFile, `https://localhost:${h2only.port}/x`), {
    stdout: 'h2 200',
  });
  await until('the feed is fetched', async () => feed.requests.length > 0);
  const asked = new Set(parent.asked.map(({ authority }) => authority));
  for (const { port } of [upstream, plain, h2only, feed]) t.ok(asked.has(`127.0.0.1:${port}`));
});

t.test('another gateway can be the parent where it resolves', async (t) => {
  if (!needProgram(t, 'curl')) return;
  const upstream = await startUpstream(t);
  const outer = await startTestGateway(t, {
    upstream,
    config: { upstream: { deny: ['*.denied.example'] } },
  });
  const inner = await startTestGateway(t, {
    config: {
      upstream: { ca_files: [outer.caFile], proxy: outer.proxyWithKey, proxy_resolves: true },
    },
  });
  const { stdout } = await callThrough(
    inner.proxyWithKey,
    inner.caFile,
    `https://api.test.example:${upstream.port}/x`,
  );
  t.equal(stdout, '{"ok":true} 200');
  const { stdout: refused } = await callThrough(
    inner.proxyWithKey,
    inner.caFile,
    'https://x.denied.example/',
  );
  t.match(refused, /"The parent proxy refuses the connection \(403\)\.".* 502$/s);
  const asking = await startTestGateway(t, {
    config: {
      upstream: { allow_private: ['127.0.0.0/8'], ca_files: [outer.caFile], proxy: outer.proxyWithKey },
    },
  });
  const { stdout: told } = await callThrough(asking.proxyWithKey, asking.caFile, `${upstream.origin}/x`);
  t.match(told, /for another host name\. A parent proxy that reads TLS needs `upstream.proxy_resolves`/);
});

/** As squid asks: a line with the user and the password, percent-encoded. */
const checker = `while read -r user password; do
  [ "$user $password" = "agent s:cret" ] && echo OK || echo ERR
done
`;

/** A squid that knows one user; undefined where there is none on this machine. */
async function startSquid(t: Test): Promise<number | undefined> {
  const program = needProgram(t, 'squid');
  if (!program) return undefined;
  const dir = mkdtempSync(join(tmpdir(), 'postern-squid-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  chmodSync(dir, 0o755);
  writeFileSync(join(dir, 'check'), checker);
  const port = await freePort();
  const config = join(dir, 'squid.conf');
  const lines = [
    `http_port 127.0.0.1:${port}`,
    `auth_param basic program /bin/sh ${join(dir, 'check')}`,
    'auth_param basic children 1 startup=1',
    'acl known proxy_auth REQUIRED',
    'http_access allow known',
    'http_access deny all',
    'pid_filename none',
    `coredump_dir ${dir}`,
    'access_log none',
    'cache_log /dev/null',
    'cache_mem 1 MB',
    'cache deny all',
    'shutdown_lifetime 0 seconds',
    // Root starts it as somebody else, who must be able to read its folder.
    'cache_effective_user nobody',
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  // Its shared memory is named after the service, and it takes that away only when it ends by itself.
  const child = spawn(program, ['-N', '-n', `postern${process.pid}`, '-f', config], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  await until('squid listens', async () => {
    const socket = net.connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    return true;
  });
  return port;
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

t.test('squid as the parent takes the credentials, and refuses others', async (t) => {
  const port = await startSquid(t);
  if (port === undefined || !needProgram(t, 'curl')) return;
  const upstream = await startUpstream(t);
  const asUser = async (user: string): Promise<string> => {
    const gateway = await startTestGateway(t, {
      upstream,
      config: { upstream: { proxy: `http://${user}@127.0.0.1:${port}` } },
    });
    const url = `https://api.test.example:${upstream.port}/x`;
    return (await callThrough(gateway.proxyWithKey, gateway.caFile, url)).stdout;
  };
  t.equal(await asUser('agent:s%3Acret'), '{"ok":true} 200');
  const refused = await asUser('agent:hunter2');
  t.match(refused, /"UPSTREAM_UNREACHABLE".* 502$/s);
  t.notMatch(refused, /hunter2/);
});
