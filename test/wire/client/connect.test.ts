import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { GatewayError } from '../../../src/core/errors.ts';
import { Dialer, type DialerOptions, type Endpoint } from '../../../src/wire/client/connect.ts';
import { createGuard } from '../../../src/wire/client/reach/guard.ts';
import { createResolver } from '../../../src/wire/client/reach/resolve.ts';
import { loadRoots } from '../../../src/wire/client/reach/roots.ts';
import { createTestAuthority, testAuthority } from '../../support/certificates.ts';
import { startRawUpstream, startUpstream } from '../../support/upstream.ts';

const guard = createGuard({
  allowPrivate: ['127.0.0.0/8', '::1/128'],
  deny: ['*.denied.example'],
  allowedPorts: [],
  ownListeners: () => [],
});

const answering = (...addresses: string[]) =>
  createResolver({ resolve: [], lookup: async () => addresses.map((address) => ({ address })) });

const dialerWith = (options: Partial<DialerOptions> = {}) =>
  new Dialer({
    guard,
    resolver: answering('127.0.0.1'),
    roots: [testAuthority().certPem],
    connectTimeoutMs: 10_000,
    ...options,
  });

const secure = (host: string, port: number): Endpoint => ({ scheme: 'https', host, port });

async function failureOf(dialing: Promise<net.Socket>): Promise<GatewayError> {
  try {
    (await dialing).destroy();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('The connection was opened.');
}

t.test('verifies the certificate of every upstream', async (t) => {
  const authority = testAuthority();
  const cases = [
    { certificate: authority.issue({ validToDays: -0.5 }), detail: 'its certificate has expired' },
    { certificate: authority.issue({ validFromDays: 1 }), detail: 'not valid yet' },
    { certificate: authority.issue({ selfSigned: true }), detail: 'its certificate is self-signed' },
    { certificate: authority.issue({ names: ['other.example'] }), detail: 'for another host name' },
    {
      certificate: authority.issue({ names: ['localhost.evil.example', '*.localhost'] }),
      detail: 'another host name',
    },
    { certificate: createTestAuthority('Unknown').issue(), detail: 'issuer of its certificate is unknown' },
  ];
  for (const { certificate, detail } of cases) {
    const upstream = await startUpstream(t, undefined, { certificate });
    const error = await failureOf(dialerWith().dial(secure('localhost', upstream.port), 'http/1.1'));
    t.match(error, { code: 'UPSTREAM_TLS', message: detail });
    t.equal(upstream.requests.length, 0);
  }
});

t.test('verifies although the environment switches verification off', async (t) => {
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  t.teardown(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
  const certificate = createTestAuthority('Unknown').issue();
  const upstream = await startUpstream(t, undefined, { certificate });
  const error = await failureOf(dialerWith().dial(secure('localhost', upstream.port), 'http/1.1'));
  t.match(error, { code: 'UPSTREAM_TLS' });
});

t.test('compares the certificate with the host that was asked for, also for an address', async (t) => {
  const upstream = await startUpstream(t, undefined, {
    certificate: testAuthority().issue({ names: ['127.0.0.1'] }),
  });
  const socket = await dialerWith().dial(secure('127.0.0.1', upstream.port), 'http/1.1');
  socket.destroy();
  const error = await failureOf(dialerWith().dial(secure('a.test.example', upstream.port), 'http/1.1'));
  t.match(error, { code: 'UPSTREAM_TLS', message: 'another host name' }, 'a name that leads to that address');
});

t.test('sends the host name as SNI, and none for an address', async (t) => {
  const names: unknown[] = [];
  const upstream = await startRawUpstream(t, (socket) => {
    names.push((socket as TLSSocket).servername);
    socket.end('.');
  });
  for (const host of ['localhost', 'a.test.example', '127.0.0.1']) {
    const socket = await dialerWith().dial(secure(host, upstream.port), 'http/1.1');
    t.match((socket as TLSSocket).getProtocol(), /^TLSv1\.[23]$/);
    await once(socket.resume(), 'close');
  }
  t.same(names, ['localhost', 'a.test.example', false]);
});

t.test('resumes TLS sessions only from the store that it is given', async (t) => {
  const reused: boolean[] = [];
  const upstream = await startRawUpstream(t, (socket) => {
    reused.push((socket as TLSSocket).isSessionReused());
    socket.end('.');
  });
  const dialer = dialerWith();
  const store = { session: undefined };
  for (const session of [store, store, { session: undefined }]) {
    const socket = await dialer.dial(secure('localhost', upstream.port), 'http/1.1', session);
    await once(socket.resume(), 'close');
  }
  t.same(reused, [false, true, false]);
});

t.test('refuses the whole answer when one address of it is forbidden', async (t) => {
  const upstream = await startUpstream(t);
  const answers = [
    ['127.0.0.1', '10.0.0.1'],
    ['169.254.169.254', '127.0.0.1'],
    ['127.0.0.1', '127.0.0.1', '127.0.0.1', '::ffff:192.168.0.1'],
    [...new Array<string>(40).fill('127.0.0.1'), '192.168.0.1'],
    ['127.0.0.1', 'not an address'],
  ];
  for (const addresses of answers) {
    const dialer = dialerWith({ resolver: answering(...addresses) });
    const error = await failureOf(dialer.dial(secure('localhost', upstream.port), 'http/1.1'));
    t.equal(error.code, 'EGRESS_BLOCKED', addresses.join(' '));
  }
  t.equal(upstream.connections(), 0, 'nothing was dialled');
});

t.test('asks once for each connection and dials the address that was judged', async (t) => {
  const upstream = await startUpstream(t);
  let questions = 0;
  // A name that turns to the inside as soon as it has been looked at.
  const lookup = async () => [{ address: questions++ === 0 ? '127.0.0.1' : '10.0.0.1' }];
  const dialer = dialerWith({ resolver: createResolver({ resolve: [], lookup }) });
  const socket = await dialer.dial(secure('rebind.test.example', upstream.port), 'http/1.1');
  t.equal(socket.remoteAddress, '127.0.0.1');
  t.equal(questions, 1);
  socket.destroy();
  const error = await failureOf(dialer.dial(secure('rebind.test.example', upstream.port), 'http/1.1'));
  t.equal(error.code, 'EGRESS_BLOCKED');
});

t.test('asks nobody about a host that is denied, or an address', async (t) => {
  let questions = 0;
  const lookup = async () => {
    questions++;
    return [{ address: '127.0.0.1' }];
  };
  const dialer = dialerWith({ resolver: createResolver({ resolve: [], lookup }) });
  for (const host of ['a.denied.example', '10.0.0.1', 'metadata.google.internal', '::ffff:10.0.0.1']) {
    const error = await failureOf(dialer.dial(secure(host, 443), 'http/1.1'));
    t.equal(error.code, 'EGRESS_BLOCKED', host);
  }
  t.equal(questions, 0);
});

t.test('tries the further addresses when one refuses', async (t) => {
  const upstream = await startUpstream(t);
  const dialer = dialerWith({ resolver: answering('127.0.0.2', '::1', '127.0.0.1') });
  const socket = await dialer.dial(secure('localhost', upstream.port), 'http/1.1');
  t.equal(socket.remoteAddress, '127.0.0.1');
  socket.destroy();
});

t.test('does not try the further addresses after a failed handshake', async (t) => {
  const certificate = testAuthority().issue({ names: ['other.example'] });
  const upstream = await startUpstream(t, undefined, { certificate });
  const dialer = dialerWith({ resolver: answering('127.0.0.1', '127.0.0.1') });
  const error = await failureOf(dialer.dial(secure('localhost', upstream.port), 'http/1.1'));
  t.equal(error.code, 'UPSTREAM_TLS');
  t.equal(upstream.connections(), 1);
});

t.test('tries eight addresses at most', async (t) => {
  const upstream = await startUpstream(t);
  const refusing = new Array<string>(8).fill('127.0.0.2');
  const dialer = dialerWith({ resolver: answering(...refusing, '127.0.0.1') });
  const error = await failureOf(dialer.dial(secure('localhost', upstream.port), 'http/1.1'));
  t.match(error, { code: 'UPSTREAM_UNREACHABLE', message: 'refused the connection' });
  t.equal(upstream.connections(), 0);
});

t.test('says why an upstream cannot be reached', async (t) => {
  const free = await startUpstream(t);
  await free.close();
  const plain = await startUpstream(t, undefined, { tls: false });
  const closing = await startRawUpstream(t, (socket) => socket.destroy(), { tls: false });
  const cases = [
    { scheme: 'https', port: free.port, code: 'UPSTREAM_UNREACHABLE', message: 'refused the connection' },
    { scheme: 'http', port: free.port, code: 'UPSTREAM_UNREACHABLE', message: 'refused the connection' },
    { scheme: 'https', port: plain.port, code: 'UPSTREAM_TLS', message: 'TLS with the upstream failed' },
    { scheme: 'https', port: closing.port, code: 'UPSTREAM_TLS', message: 'during the handshake' },
  ] as const;
  for (const { scheme, port, ...want } of cases) {
    t.match(await failureOf(dialerWith().dial({ scheme, host: 'localhost', port }, 'http/1.1')), want);
  }
});

t.test('bounds name service, connection and handshake in time', async (t) => {
  const silent = await startRawUpstream(t, () => {}, { tls: false });
  const neverLooked = createResolver({ resolve: [], lookup: () => new Promise(() => {}) });
  const dialers = [
    dialerWith({ resolver: neverLooked, connectTimeoutMs: 30 }),
    dialerWith({ connectTimeoutMs: 60 }),
  ];
  for (const dialer of dialers) {
    const error = await failureOf(dialer.dial(secure('localhost', silent.port), 'http/1.1'));
    t.match(error, { code: 'UPSTREAM_TIMEOUT', message: 'in time' });
  }
});

t.test('loads the authorities of files beside those of Node', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-roots-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const bundle = `# two\n${testAuthority().certPem}\n${createTestAuthority('Second').certPem}`;
  t.equal(loadRoots([write('bundle.pem', bundle)]).length, loadRoots([]).length + 2);

  const upstream = await startUpstream(t);
  const dialer = dialerWith({ roots: loadRoots([upstream.caFile]) });
  (await dialer.dial(secure('localhost', upstream.port), 'http/1.1')).destroy();

  t.throws(() => loadRoots([join(folder, 'absent.pem')]), /ENOENT/);
  t.throws(() => loadRoots([write('empty.pem', 'nothing')]), /holds no PEM certificate/);
  const broken = testAuthority().certPem.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
  t.throws(() => loadRoots([write('broken.pem', broken)]), /cannot be read/);
});
