import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { testAuthority } from '../support/certificates.ts';
import {
  basic,
  openHttp2Tunnel,
  openSecureTunnel,
  openTunnel,
  send,
  sendOnStream,
} from '../support/clients.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startParent } from '../support/parent.ts';
import { until } from '../support/redis.ts';
import { startRawUpstream, startUpstream } from '../support/upstream.ts';

/* Hosts that are tunnelled unread: the tunnel is judged as one call, and its bytes go to and fro as they are. */

const passed = { intercept: { passthrough: ['*.test.example', 'localhost'] } };

async function connect(gateway: TestGateway, authority: string, key = gateway.key) {
  return openTunnel({ proxyUrl: gateway.proxyUrl, authorization: basic(key), authority });
}

/** What the upstream proves to be, seen from inside a tunnel. */
async function handshake(socket: net.Socket, options: tls.ConnectionOptions): Promise<tls.TLSSocket> {
  const secured = tls.connect({ socket, ca: testAuthority().certPem, ...options });
  await once(secured, 'secureConnect');
  return secured;
}

const traceOf = async (gateway: TestGateway, headers: Readonly<Record<string, unknown>>) =>
  (await gateway.api('GET', `/v1/traces/${headers['x-service-trace-id']}`)).body;

const closed = (socket: net.Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.resume().once('close', () => resolve());
  });

/** Echoes, and counts what it was sent. */
const startEcho = (t: Test) => startRawUpstream(t, (socket) => socket.pipe(socket), { tls: false });

t.test(
  'the agent speaks TLS with the upstream itself, and the tunnel is one call with a trace',
  async (t) => {
    const upstream = await startUpstream(t);
    const gateway = await startTestGateway(t, { upstream, config: passed });
    const authority = `api.test.example:${upstream.port}`;
    const { status, headers, socket } = await connect(gateway, authority);
    t.equal(status, 200);
    t.match(headers, { 'x-service-decision': 'ALLOW', 'x-service-trace-id': /./ });
    const secured = await handshake(socket, { servername: 'api.test.example' });
    const { body } = await send(secured, { path: '/x', headers: { host: authority } });
    t.equal(body.toString(), '{"ok":true}');
    t.match(upstream.requests, [{ url: '/x' }]);
    t.notOk('via' in (upstream.requests[0]?.headers ?? {}), 'nothing was added');
    t.match(await traceOf(gateway, headers), {
      method: 'CONNECT',
      url: `https://api.test.example:${upstream.port}/`,
      entrance: 'forward',
      decision: 'ALLOW',
      tool_name: 'custom_proxy',
      operation: 'http_connect',
      reason_codes: ['NEW_DESTINATION', 'OPAQUE_CONTENT'],
    });
    const { body: usage } = await gateway.api('GET', '/v1/usage');
    t.equal(usage.scans_used, 1, 'it counts once, whatever goes through it');
    secured.destroy();
  },
);

t.test('any protocol passes, whoever speaks first, and each side may be closed by itself', async (t) => {
  const greeting = await startRawUpstream(
    t,
    (socket) => {
      socket.write('220 ready\r\n');
      socket.once('data', (chunk) => socket.end(`got ${chunk}`));
    },
    { tls: false },
  );
  const gateway = await startTestGateway(t, { config: passed });
  const { socket } = await connect(gateway, `localhost:${greeting.port}`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  t.equal(first.toString(), '220 ready\r\n');
  socket.end('EHLO me\r\n');
  t.equal(Buffer.concat(await socket.toArray()).toString(), 'got EHLO me\r\n');
});

t.test('denied, held and limited tunnels are answered, and nothing is dialled', async (t) => {
  const echo = await startEcho(t);
  const rule = (action: string, port: number) => ({
    rule_id: action.toLowerCase(),
    priority: 1,
    match: { url_patterns: [`https://localhost:${port}/`] },
    condition: {},
    action,
  });
  const config = { ...passed, upstream: { allowed_ports: [] } };
  const gateway = await startTestGateway(t, { config });
  const cases = [
    { action: 'DENY', code: 'POLICY_DENIED', decision: 'DENY', reasons: /^POLICY_DENY/ },
    {
      action: 'REQUIRE_APPROVAL',
      code: 'APPROVAL_REQUIRED',
      decision: 'REQUIRE_APPROVAL',
      reasons: /APPROVAL/,
    },
    { action: 'SANITIZE', code: 'POLICY_DENIED', decision: 'DENY', reasons: /^UNSANITIZABLE/ },
  ];
  for (const { action, code, decision, reasons } of cases) {
    t.equal((await gateway.apply([rule(action, echo.port)])).status, 200);
    const { status, headers, socket } = await connect(gateway, `localhost:${echo.port}`);
    t.equal(status, 403, action);
    t.match(headers, {
      'x-service-decision': decision,
      'x-service-reasons': reasons,
      'content-type': 'application/problem+json',
      'proxy-status': /http_request_denied/,
    });
    t.match(Buffer.concat(await socket.toArray()).toString(), code);
    t.match(await traceOf(gateway, headers), { method: 'CONNECT', decision });
  }
  t.equal(echo.connections(), 0);
});

t.test('what a rule refuses of a tool it refuses of every tunnel to it', async (t) => {
  const gateway = await startTestGateway(t, { config: { intercept: { passthrough: ['api.github.com'] } } });
  await gateway.apply([
    {
      rule_id: 'no',
      priority: 1,
      match: { operations: ['delete_repo'], tool_name: 'github' },
      condition: {},
      action: 'DENY',
    },
  ]);
  const { status, headers } = await connect(gateway, 'api.github.com:443');
  t.equal(status, 403);
  t.match(await traceOf(gateway, headers), { tool_name: 'github', operation: 'tunnel', verb: 'ADMIN' });
});

t.test('a tunnel that is held opens once it is approved, and not for a client that has left', async (t) => {
  const echo = await startEcho(t);
  const gateway = await startTestGateway(t, { config: { ...passed, approvals: { hold: '30s' } } });
  await gateway.apply([
    {
      rule_id: 'ask',
      priority: 1,
      match: { methods: ['CONNECT'] },
      condition: {},
      action: 'REQUIRE_APPROVAL',
    },
  ]);
  const admin = `Bearer ${gateway.adminSecret}`;
  const decide = async (): Promise<void> => {
    let approvalId: string | undefined;
    await until('it is asked for', async () => {
      const { body } = await gateway.api('GET', '/v1/approvals?status=pending', undefined, admin);
      approvalId = body.items[0]?.approval_id;
      return approvalId !== undefined;
    });
    const decision = { decision: 'approved', scope: 'once' };
    await gateway.api('POST', `/v1/approvals/${approvalId}/decision`, decision, admin);
  };
  const { hostname, port } = new URL(gateway.proxyUrl);
  const leaving = net.connect(Number(port), hostname);
  const authorization = `Proxy-Authorization: ${basic(gateway.key)}`;
  leaving.write(`CONNECT localhost:${echo.port} HTTP/1.1\r\n${authorization}\r\n\r\n`);
  await until('it is held', async () => {
    const { body } = await gateway.api('GET', '/v1/approvals?status=pending', undefined, admin);
    return body.items.length === 1;
  });
  leaving.end();
  await closed(leaving);
  await decide();
  t.equal(echo.connections(), 0);
  const { status, headers, socket } = await connect(gateway, `localhost:${echo.port}`);
  t.equal(status, 200, 'the grant is still there');
  t.match(headers, { 'x-service-reasons': /^RECENT_APPROVAL_GRANT/ });
  socket.destroy();
  const [second] = await Promise.all([connect(gateway, `localhost:${echo.port}`), decide()]);
  t.equal(second.status, 200);
  second.socket.write('ping');
  t.equal(String((await once(second.socket, 'data'))[0]), 'ping');
  second.socket.destroy();
});

t.test('the guard holds: own listeners, metadata and private addresses are not reached', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      intercept: { passthrough: ['*'] },
      upstream: { resolve: [{ host: 'inside.example', address: '10.1.2.3' }] },
    },
  });
  const own = [gateway.controlUrl, gateway.proxyUrl].map((url) => new URL(url).port);
  const places = [
    `127.0.0.1:${own[0]}`,
    `localhost:${own[1]}`,
    '169.254.169.254:80',
    'inside.example:22',
    '0.0.0.0:9',
  ];
  for (const place of places) {
    const { status, headers, socket } = await connect(gateway, place);
    t.equal(status, 403, place);
    // Addresses are refused before the call is judged, names when they are resolved.
    if (/^[a-z]/.test(place)) t.equal(headers['x-service-decision'], 'DENY', place);
    t.match(Buffer.concat(await socket.toArray()).toString(), 'EGRESS_BLOCKED');
  }
});

t.test('an upstream that cannot be reached is an answer to CONNECT', async (t) => {
  const gone = await startEcho(t);
  await gone.close();
  const gateway = await startTestGateway(t, { config: passed });
  const { status, headers, socket } = await connect(gateway, `localhost:${gone.port}`);
  t.equal(status, 502);
  t.match(headers, { 'x-service-decision': 'ALLOW', 'proxy-status': /destination_unavailable/ });
  t.match(Buffer.concat(await socket.toArray()).toString(), 'UPSTREAM_UNREACHABLE');
});

t.test('a key that is no key, or may not come from there, opens nothing', async (t) => {
  const echo = await startEcho(t);
  const gateway = await startTestGateway(t, { config: passed });
  const { key: elsewhere } = await gateway.mint({ ip_allowlist: ['198.51.100.0/24'] });
  const { key: revoked, key_id: revokedId } = await gateway.mint();
  await gateway.api('DELETE', `/v1/keys/${revokedId}`, undefined, `Bearer ${gateway.adminSecret}`);
  t.equal((await connect(gateway, `localhost:${echo.port}`, elsewhere)).status, 403);
  t.equal((await connect(gateway, `localhost:${echo.port}`, revoked)).status, 407);
  t.equal(echo.connections(), 0);
});

t.test('a client that speaks TLS may name no other host than that of the tunnel', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, { upstream, config: passed });
  const authority = `api.test.example:${upstream.port}`;
  const open = async (options: tls.ConnectionOptions) => {
    const { socket } = await connect(gateway, authority);
    return handshake(socket, { checkServerIdentity: () => undefined, ...options });
  };
  for (const servername of ['api.test.example', 'API.Test.Example', ''])
    (await open({ servername })).destroy();
  for (const servername of ['other.test.example', 'api.test.example.evil.example', 'xapi.test.example'])
    await t.rejects(open({ servername }), servername);
});

t.test('a hello is held until it is whole, however it is cut, and not for ever', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, {
    upstream,
    config: { ...passed, limits: { handshake_timeout: '200ms' } },
  });
  const authority = `api.test.example:${upstream.port}`;
  const hello = async (servername: string): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    const { Duplex } = await import('node:stream');
    const wire = new Duplex({ read() {}, write: (chunk, _coding, done) => done(void chunks.push(chunk)) });
    const client = tls.connect({ socket: wire, servername }).on('error', () => {});
    await until('the hello is written', async () => chunks.length > 0);
    client.destroy();
    return Buffer.concat(chunks);
  };
  for (const [servername, isLetThrough] of [
    ['api.test.example', true],
    ['evil.test.example', false],
  ] as const) {
    const bytes = await hello(servername);
    const records: Buffer[] = [];
    for (let at = 5; at < bytes.length; at += 64) {
      const fragment = bytes.subarray(at, at + 64);
      records.push(Buffer.concat([bytes.subarray(0, 3), Buffer.of(0, fragment.length), fragment]));
    }
    const { socket } = await connect(gateway, authority);
    socket.setNoDelay(true);
    for (const byte of Buffer.concat(records)) socket.write(Buffer.of(byte));
    const answer = await Promise.race([once(socket, 'data'), closed(socket)]);
    t.equal(answer !== undefined, isLetThrough, servername);
    socket.destroy();
  }
  const { socket } = await connect(gateway, authority);
  socket.write((await hello('api.test.example')).subarray(0, 20));
  await closed(socket);
  t.pass('a half one is not waited for');
});

t.test('a tunnel without traffic is closed', async (t) => {
  const echo = await startEcho(t);
  const gateway = await startTestGateway(t, { config: { ...passed, limits: { idle_timeout: '100ms' } } });
  const { socket } = await connect(gateway, `localhost:${echo.port}`);
  await closed(socket);
  t.pass();
});

t.test('a tunnel ends with its key, its agent, or the word that let it pass', async (t) => {
  const echo = await startEcho(t);
  const config = { ...passed, limits: { handshake_timeout: '400ms' } };
  const gateway = await startTestGateway(t, { config });
  const admin = `Bearer ${gateway.adminSecret}`;
  const open = async (key?: string) => {
    const { status, socket } = await connect(gateway, `localhost:${echo.port}`, key);
    t.equal(status, 200);
    socket.write('ping');
    await once(socket, 'data');
    return socket;
  };
  const stays = await open();
  const { key, key_id: keyId } = await gateway.mint();
  const ofRevoked = await open(key);
  await gateway.api('DELETE', `/v1/keys/${keyId}`, undefined, admin);
  await closed(ofRevoked);
  t.notOk(stays.destroyed, 'others stay');

  const { body: child } = await gateway.api('POST', '/v1/keys/ephemeral', { max_uses: 1, ttl_seconds: 600 });
  const usedUp = await open(child.key);
  const moved = await gateway.mint();
  const ofMoved = await open(moved.key);
  await gateway.api('PATCH', `/v1/keys/${moved.key_id}`, { ip_allowlist: ['198.51.100.0/24'] }, admin);
  await closed(ofMoved);
  t.notOk(usedUp.destroyed, 'its one use is this tunnel');

  await gateway.api('POST', `/v1/agents/${gateway.agentId}/suspend`, {}, admin);
  await Promise.all([closed(stays), closed(usedUp)]);
  t.equal((await connect(gateway, `localhost:${echo.port}`)).status, 403, 'and no new one is opened');
  await gateway.api('POST', `/v1/agents/${gateway.agentId}/reactivate`, {}, admin);

  const ofHost = await open();
  const written = parse(readFileSync(gateway.configFile, 'utf8'));
  writeFileSync(gateway.configFile, stringify({ ...written, intercept: { passthrough: [] } }));
  t.ok(await gateway.reload());
  await closed(ofHost);
});

t.test('a slow reader slows its sender down, in both directions', async (t) => {
  const megabyte = Buffer.alloc(1024 * 1024, 'x');
  /** Writes as long as the other side takes it; answers how much that was so far. */
  const flood = (socket: net.Socket): (() => number) => {
    let written = 0;
    const more = (): void => {
      while (written < 256 && socket.write(megabyte)) written++;
    };
    socket.on('drain', more);
    more();
    return () => written;
  };
  let received = (): number => 0;
  const flooding = await startRawUpstream(
    t,
    (socket) => {
      received = flood(socket);
    },
    { tls: false },
  );
  const silent = await startRawUpstream(t, (socket) => socket.pause(), { tls: false });
  const gateway = await startTestGateway(t, { config: passed });
  const { socket: reading } = await connect(gateway, `localhost:${flooding.port}`);
  const { socket: sending } = await connect(gateway, `localhost:${silent.port}`);
  reading.pause();
  const sent = flood(sending);
  let before = -1;
  await until('both stand still', async () => {
    const now = received() + sent();
    const isStill = now === before;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return isStill;
  });
  t.ok(received() < 64, 'the upstream is not read further than the client reads');
  t.ok(sent() < 64, 'nor the client further than the upstream');
  reading.destroy();
  sending.destroy();
});

t.test('a tunnel counts as a connection of its key', async (t) => {
  const echo = await startEcho(t);
  const config = { ...passed, limits: { max_connections_per_agent: 1 } };
  const gateway = await startTestGateway(t, { config });
  const { socket } = await connect(gateway, `localhost:${echo.port}`);
  t.equal((await connect(gateway, `localhost:${echo.port}`)).status, 503);
  socket.destroy();
  await until('there is room', async () => (await connect(gateway, `localhost:${echo.port}`)).status === 200);
});

t.test('passes through a parent proxy, whose first bytes may be those of the upstream', async (t) => {
  const parent = await startParent(t, {
    answer(socket) {
      socket.write('HTTP/1.1 200 OK\r\n\r\nSSH-2.0-here\r\n');
      socket.pipe(socket);
      return true;
    },
  });
  const gateway = await startTestGateway(t, {
    config: { ...passed, upstream: { proxy: `http://127.0.0.1:${parent.port}` } },
  });
  const { socket } = await connect(gateway, 'localhost:22');
  const [greeting] = (await once(socket, 'data')) as [Buffer];
  t.equal(greeting.toString(), 'SSH-2.0-here\r\n');
  socket.write('SSH-2.0-me\r\n');
  const [echoed] = (await once(socket, 'data')) as [Buffer];
  t.equal(echoed.toString(), 'SSH-2.0-me\r\n');
  socket.destroy();
});

t.test('other hosts are read as before, and speak nothing but HTTP', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, {
    upstream,
    config: { intercept: { passthrough: ['passed.test.example'] } },
  });
  const authority = `api.test.example:${upstream.port}`;
  const session = await openHttp2Tunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority,
    ca: readFileSync(gateway.caFile, 'utf8'),
  });
  t.equal((await sendOnStream(session, { ':path': '/x' })).status, 200);
  const nested = await sendOnStream(session, {
    ':method': 'CONNECT',
    ':authority': 'passed.test.example:443',
  });
  t.equal(nested.status, 400, 'no tunnel inside a tunnel');
  session.destroy();
  const secured = await openSecureTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority,
    ca: readFileSync(gateway.caFile, 'utf8'),
  });
  const asPath = await send(secured, { method: 'OPTIONS', path: '/', headers: { host: authority } });
  t.equal(asPath.status, 200);
  secured.write(`CONNECT / HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  t.match(String((await once(secured, 'data'))[0]), /^HTTP\/1\.1 400 /, 'nor one that names a path');
  const { socket } = await connect(gateway, authority);
  socket.write('\x01\x02');
  await closed(socket);
});

t.test('a gateway that is stopped does not wait for tunnels in which nothing moves', async (t) => {
  const echo = await startEcho(t);
  const config = { ...passed, limits: { handshake_timeout: '100ms' } };
  const gateway = await startTestGateway(t, { config });
  const { socket } = await connect(gateway, `localhost:${echo.port}`);
  await Promise.all([gateway.stop(), closed(socket)]);
  t.pass();
});
