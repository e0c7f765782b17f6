import { once } from 'node:events';
import * as tls from 'node:tls';
import t from 'tap';
import { type Authority, openAuthority } from '../../../src/wire/tls/authority.ts';
import { dayMs } from '../../../src/wire/tls/certificate.ts';
import { inOrder } from '../../../src/wire/tls/cipher-suites.ts';
import { createContexts } from '../../../src/wire/tls/contexts.ts';
import { bring, makeCa } from './test-ca.ts';
import { portOf, testAuthority } from './tunnel.ts';

/** The authority, and which hosts it has issued leaves for. */
function counted(authority: Authority): { authority: Authority; issued: string[] } {
  const issued: string[] = [];
  const issue: Authority['issue'] = (host, nowMs) => {
    issued.push(host);
    return authority.issue(host, nowMs);
  };
  return { authority: { ...authority, issue }, issued };
}

t.test('keeps a context for each host', async (t) => {
  const { authority, issued } = counted(testAuthority(t));
  const contexts = createContexts(authority, { now: Date.now });
  const context = contexts.contextFor('a.example');
  t.equal(contexts.contextFor('a.example'), context);
  t.not(contexts.contextFor('b.example'), context);
  t.same(issued, ['a.example', 'b.example']);
  t.equal(contexts.size, 2);
});

t.test('drops the least recently used host over its bound', async (t) => {
  const { authority, issued } = counted(testAuthority(t));
  const contexts = createContexts(authority, { now: Date.now, contextsMax: 3 });
  for (const host of ['a', 'b', 'c', 'a', 'd', 'a', 'c', 'b']) contexts.contextFor(host);
  t.same(issued, ['a', 'b', 'c', 'd', 'b'], 'b was dropped for d');
  t.equal(contexts.size, 3);
});

t.test('keeps a host in use through a flood of new names', async (t) => {
  const { authority, issued } = counted(testAuthority(t));
  const contexts = createContexts(authority, { now: Date.now, contextsMax: 20 });
  for (let count = 0; count < 300; count++) {
    if (count % 15 === 0) contexts.contextFor('hot.example');
    contexts.contextFor(`flood-${count}.example`);
    t.ok(contexts.size <= 20);
  }
  t.equal(issued.filter((host) => host === 'hot.example').length, 1);
});

t.test('makes a thousand by default, and no more', async (t) => {
  const contexts = createContexts(testAuthority(t), { now: Date.now });
  for (let count = 0; count < 1005; count++) contexts.contextFor(`host-${count}.example`);
  t.equal(contexts.size, 1000);
});

t.test('renews a leaf a day before it expires', async (t) => {
  let nowMs = Date.now();
  const { authority, issued } = counted(testAuthority(t, nowMs));
  const contexts = createContexts(authority, { now: () => nowMs });
  const first = contexts.contextFor('a.example');
  nowMs += 29 * dayMs - 1;
  t.equal(contexts.contextFor('a.example'), first);
  nowMs += 1;
  t.not(contexts.contextFor('a.example'), first);
  t.equal(issued.length, 2);
  t.equal(contexts.size, 1);
});

t.test('makes another leaf where the clock was set back to before it', async (t) => {
  const rightMs = Date.now();
  const { authority, issued } = counted(testAuthority(t, rightMs));
  let nowMs = rightMs + 60 * dayMs;
  const contexts = createContexts(authority, { now: () => nowMs });
  contexts.contextFor('a.example');
  nowMs -= dayMs;
  contexts.contextFor('a.example');
  t.equal(issued.length, 1, 'a day is within what leaves are backdated by');
  nowMs = rightMs;
  contexts.contextFor('a.example');
  t.equal(issued.length, 2);
});

t.test('keeps the last leaves to the end of the authority, and none for longer', async (t) => {
  let nowMs = Date.now();
  const ca = makeCa({ notAfterMs: nowMs + 12 * 3600_000 });
  const { authority, issued } = counted(openAuthority({ ...bring(t, ca), nowMs }));
  const contexts = createContexts(authority, { now: () => nowMs });
  const first = contexts.contextFor('a.example');
  nowMs = authority.expiresAtMs - 1;
  t.equal(contexts.contextFor('a.example'), first);
  t.equal(issued.length, 1);
  nowMs = authority.expiresAtMs;
  t.throws(() => contexts.contextFor('a.example'), /expired/);
  t.equal(contexts.size, 0);
});

t.test('keeps nothing for a host that has no certificate', async (t) => {
  const contexts = createContexts(testAuthority(t), { now: Date.now });
  t.throws(() => contexts.contextFor('*.example'), TypeError);
  t.equal(contexts.size, 0);
});

t.test('an administrator who allows no such suite gets none', async (t) => {
  t.equal(inOrder('TLS_AES_256_GCM_SHA384:HIGH'), 'TLS_AES_256_GCM_SHA384:HIGH');
  t.equal(inOrder('A:TLS_AES_128_GCM_SHA256:B'), 'TLS_AES_128_GCM_SHA256:A:B');
});

t.test('serves a tls.Server by SNI, from TLS 1.2 on', async (t) => {
  const authority = testAuthority(t);
  const contexts = createContexts(authority, { now: Date.now });
  const server = tls.createServer(
    { SNICallback: (name, done) => done(null, contexts.contextFor(name)) },
    (socket) => socket.on('error', () => {}).end(),
  );
  server.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');

  const connect = async (version: tls.SecureVersion, servername: string) => {
    const socket = tls.connect({
      port: portOf(server),
      host: '127.0.0.1',
      servername,
      ca: authority.certPem,
      minVersion: version,
      maxVersion: version,
      // Or our own side would not even offer the old versions.
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    t.teardown(() => socket.destroy());
    await once(socket, 'secureConnect');
    return [socket.getProtocol(), socket.getPeerCertificate().subject.CN];
  };
  t.same(await connect('TLSv1.3', 'a.example'), ['TLSv1.3', 'a.example']);
  t.same(await connect('TLSv1.2', 'b.example'), ['TLSv1.2', 'b.example']);
  await t.rejects(connect('TLSv1.1', 'a.example'), { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
});
