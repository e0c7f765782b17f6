import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import * as tls from 'node:tls';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { type AcceptOptions, acceptTls } from '../../../src/wire/tls/accept.ts';
import { createContexts } from '../../../src/wire/tls/contexts.ts';
import { needProgram } from '../../support/programs.ts';
import { openTunnels, portOf, testAuthority, visit } from './tunnel.ts';

const authority = testAuthority(t);
const contexts = createContexts(authority, { now: Date.now });
const port = await openTunnels(t, authority);
const versions = ['TLSv1.3', 'TLSv1.2'] as const;

t.test('resumes a session of the same host', async (t) => {
  for (const version of versions) {
    const servername = 'a.example';
    const options = { ca: authority.certPem, servername, minVersion: version, maxVersion: version };
    const { session } = await visit(port, servername, options);
    t.ok(session, version);
    const second = await visit(port, servername, { ...options, ...(session ? { session } : {}) });
    t.equal(second.answer.resumed, true, version);
  }
});

t.test('agrees on the suite that costs least, where the client has it', async (t) => {
  const options = { ca: authority.certPem, servername: 'a.example' };
  const suiteWith = async (ciphers?: string) =>
    (await visit(port, 'a.example', { ...options, ...(ciphers ? { ciphers } : {}) })).answer.suite;
  t.equal(await suiteWith(), 'TLS_AES_128_GCM_SHA256');
  t.equal(await suiteWith('TLS_CHACHA20_POLY1305_SHA256'), 'TLS_CHACHA20_POLY1305_SHA256');
});

t.test('does not resume a session of another host', async (t) => {
  // Node's client does not send a ticket to another name; openssl does as it is told.
  const openssl = needProgram(t, 'openssl');
  if (!openssl) return;
  const file = join(t.testdir(), 'session');
  const get = async (host: string, ...more: string[]) => {
    const args = ['s_client', '-quiet', '-proxy', `127.0.0.1:${port}`, '-connect', `${host}:443`, ...more];
    const running = promisify(execFile)(openssl, [...args, '-CAfile', authority.certFile]);
    running.child.stdin?.end(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const { stdout } = await running;
    return JSON.parse(stdout.slice(stdout.indexOf('\r\n\r\n') + 4));
  };
  for (const version of ['-tls1_3', '-tls1_2']) {
    const withSni = (name: string) => ['-servername', name, version];
    await get('a.example', ...withSni('a.example'), '-sess_out', file);
    const again = await get('a.example', ...withSni('a.example'), '-sess_in', file);
    t.match(again, { host: 'a.example', resumed: true }, `${version}: the session can be resumed`);

    await get('a.example', ...withSni('a.example'), '-sess_out', file);
    const other = await get('b.example', ...withSni('b.example'), '-sess_in', file);
    t.match(other, { host: 'b.example', servername: 'b.example', resumed: false }, `${version}: by SNI`);

    await get('a.example', ...withSni('a.example'), '-sess_out', file);
    const address = await get('203.0.113.5', '-noservername', version, '-sess_in', file);
    t.match(address, { host: '203.0.113.5', servername: false, resumed: false }, `${version}: without SNI`);
  }
});

/** A client's socket, and what `acceptTls` makes of the other end of it. */
async function accept(t: Test, options: Partial<AcceptOptions> = {}) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const client = connect(portOf(server), '127.0.0.1');
  client.on('error', () => {}); // some tests destroy the other end
  t.teardown(() => client.destroy());
  const [socket] = (await once(server, 'connection')) as [Socket];
  t.teardown(() => socket.destroy());
  const secureContext = contexts.contextFor('a.example');
  const accepted = acceptTls(socket, { secureContext, alpnProtocols: [], timeoutMs: 30_000, ...options });
  accepted.catch(() => {}); // awaited later
  return { client, socket, accepted };
}

t.test('agrees on the protocol that it prefers', async (t) => {
  const cases = [
    { name: 'both offered', ours: ['h2', 'http/1.1'], theirs: ['http/1.1', 'h2'], want: 'h2' },
    { name: 'one in common', ours: ['h2', 'http/1.1'], theirs: ['spdy', 'http/1.1'], want: 'http/1.1' },
    { name: 'none offered', ours: ['h2', 'http/1.1'], theirs: [], want: false },
  ];
  for (const { name, ours, theirs, want } of cases) {
    const { client, accepted } = await accept(t, { alpnProtocols: ours });
    const secure = tls.connect({
      socket: client,
      servername: 'a.example',
      ca: authority.certPem,
      ALPNProtocols: theirs,
    });
    secure.on('error', () => {});
    t.equal((await accepted).alpnProtocol, want, name);
  }
  const { client, accepted, socket } = await accept(t, { alpnProtocols: ['h2'] });
  tls
    .connect({ socket: client, servername: 'a.example', ca: authority.certPem, ALPNProtocols: ['smtp'] })
    .on('error', () => {});
  await t.rejects(accepted, /handshake with the client failed/, 'nothing in common');
  t.equal(socket.destroyed, true);
});

t.test('reads first what was peeked at and put back', async (t) => {
  const server = createServer({ pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const client = tls.connect({
    port: portOf(server),
    host: '127.0.0.1',
    servername: 'a.example',
    ca: authority.certPem,
  });
  t.teardown(() => client.destroy());
  const [socket] = (await once(server, 'connection')) as [Socket];
  t.teardown(() => socket.destroy());
  await once(socket, 'readable');
  const first = socket.read() as Buffer;
  t.equal(first[0], 0x16, 'a TLS handshake record');
  socket.unshift(first);
  const secureContext = contexts.contextFor('a.example');
  const [secure] = await Promise.all([
    acceptTls(socket, { secureContext, alpnProtocols: [], timeoutMs: 30_000 }),
    once(client, 'secureConnect'),
  ]);
  t.equal(secure.servername, 'a.example');
});

t.test('rejects and lets the socket go', async (t) => {
  t.test('where the client speaks no TLS', async (t) => {
    const { client, accepted, socket } = await accept(t);
    client.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
    await t.rejects(accepted, { cause: { code: 'ERR_SSL_HTTP_REQUEST' } });
    t.equal(socket.destroyed, true);
  });

  t.test('where the client leaves', async (t) => {
    for (const leave of ['end', 'resetAndDestroy'] as const) {
      const { client, accepted, socket } = await accept(t);
      client[leave]();
      await t.rejects(accepted, /handshake with the client failed/, leave);
      t.equal(socket.destroyed, true);
    }
  });

  t.test('where the client is too slow', async (t) => {
    const { accepted, socket } = await accept(t, { timeoutMs: 20 });
    await t.rejects(accepted, { cause: { message: 'The client was too slow.' } });
    t.equal(socket.destroyed, true);
  });
});
