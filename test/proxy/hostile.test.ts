import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import t from 'tap';
import {
  basic,
  openHttp2Tunnel,
  openSecureTunnel,
  openTunnel,
  send,
  sendOnStream,
} from '../support/clients.ts';
import { agentId, denyDeletes, startTestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { startRawUpstream, startUpstream } from '../support/upstream.ts';

/** Clients and upstreams that mean harm, or are broken: the gateway answers, lets go of them, and serves the next. */

const read = async (socket: net.Socket): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString('latin1');
};

function connectTo(url: string, options: { allowHalfOpen?: boolean } = {}): net.Socket {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port), ...options });
  socket.on('error', () => socket.destroy());
  return socket;
}

t.test('a refused CONNECT does not hold its socket, even where the client never closes', async (t) => {
  const gateway = await startTestGateway(t, { config: { limits: { handshake_timeout: '200ms' } } });
  const socket = connectTo(gateway.proxyUrl, { allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  socket.write('CONNECT a.test.example:443 HTTP/1.1\r\nHost: a.test.example:443\r\n\r\n');
  socket.resume();
  await once(socket, 'end');
  // Our side stays open; that the socket is gone at the other end shows in the reset of what we write.
  const gone = new Promise((resolve) => socket.once('close', resolve));
  const writing = setInterval(() => socket.write('x'), 50);
  t.teardown(() => clearInterval(writing));
  await gone;
  t.pass('the gateway has let go of it');
});

t.test('one agent cannot hold more connections than its tenant allows, with however many keys', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { limits: { max_connections_per_agent: 2 } },
  });
  const open = () =>
    openTunnel({
      proxyUrl: gateway.proxyUrl,
      authorization: basic(gateway.key),
      authority: 'a.test.example:443',
    });
  const tunnels = [await open(), await open()];
  t.same(
    tunnels.map((it) => it.status),
    [200, 200],
  );
  const third = await open();
  t.equal(third.status, 503);
  t.equal(third.headers['retry-after'], '1');
  const openWith = (key: string) =>
    openTunnel({
      proxyUrl: gateway.proxyUrl,
      authorization: basic(key),
      authority: 'a.test.example:443',
    });
  const ephemeral = (await gateway.api('POST', '/v1/keys/ephemeral', {})).body.key;
  const ofEphemeral = await openWith(ephemeral);
  t.equal(ofEphemeral.status, 503, 'an ephemeral key counts for the agent of its maker');
  const second = await gateway.mint({ name: 'second' });
  const ofSecond = await openWith(second.key);
  t.equal(ofSecond.status, 503, 'and so does a second key of the agent');
  const other = await gateway.mint({ name: 'other', default_agent_id: randomUUID() });
  const ofOther = await openWith(other.key);
  t.equal(ofOther.status, 200, 'another agent is not held up');
  for (const { socket } of [...tunnels, third, ofEphemeral, ofSecond, ofOther]) socket.destroy();
  await until('there is room', async () => {
    const { status, socket } = await openWith(ephemeral);
    socket.destroy();
    return status === 200;
  });
});

t.test('a tunnel that its client closes before a request counts no longer', async (t) => {
  const gateway = await startTestGateway(t, { config: { limits: { max_connections_per_agent: 2 } } });
  const authority = 'a.test.example:443';
  const open = () => openTunnel({ proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority });
  const ca = readFileSync(gateway.caFile, 'utf8');
  const ways: Record<string, (socket: net.Socket) => Promise<void> | void> = {
    'ends its side': (socket) => void socket.resume().end(),
    'goes away': (socket) => void socket.destroy(),
    'goes away within the handshake': async (socket) => {
      const secured = tls.connect({ socket, ca, servername: 'a.test.example' });
      await once(secured, 'secureConnect');
      // Its last message has not been sent yet.
      secured.destroy();
      socket.destroy();
    },
    'goes away behind the handshake': async (socket) => {
      const secured = tls.connect({ socket, ca, servername: 'a.test.example' });
      secured.on('error', () => secured.destroy());
      // The ticket that follows the handshake.
      await once(secured, 'session');
      socket.resetAndDestroy();
    },
    'ends its side behind the handshake': async (socket) => {
      const secured = tls.connect({ socket, ca, servername: 'a.test.example' });
      await once(secured, 'session');
      secured.resume().end();
    },
  };
  for (const [name, leave] of Object.entries(ways)) {
    for (let i = 0; i < 2; i++) {
      const { status, socket } = await open();
      t.equal(status, 200, name);
      socket.on('error', () => socket.destroy());
      await leave(socket);
    }
    const sinceMs = Date.now();
    await until('there is room', async () => {
      const { status, socket } = await open();
      socket.resetAndDestroy();
      return status === 200;
    });
    t.ok(Date.now() - sinceMs < 5000, `who ${name} leaves at once`);
    await sleep(50);
  }
});

t.test('one tenant cannot hold the connections of all, with however many agents', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      limits: { max_connections: 16 },
      tenants: [
        { id: 'acme', plan: 'enterprise' },
        { id: 'other', plan: 'enterprise' },
      ],
      agents: [{ id: agentId, tenant: 'acme', name: 'bot' }],
    },
  });
  const keyOf = async (tenant_id: string): Promise<string> =>
    (await gateway.mint({ tenant_id, default_agent_id: randomUUID() })).key;
  const open = async (key: string): Promise<number> => {
    const { status, socket } = await openTunnel({
      proxyUrl: gateway.proxyUrl,
      authorization: basic(key),
      authority: 'a.test.example:443',
    });
    t.teardown(() => void socket.destroy());
    return status;
  };
  const statuses: number[] = [];
  while (statuses.length < 16 && !statuses.includes(503)) statuses.push(await open(await keyOf('acme')));
  t.equal(statuses.filter((it) => it === 200).length, 8);
  t.equal(await open(await keyOf('other')), 200, 'another tenant has its own');
  t.equal(
    (await gateway.api('GET', '/v1/usage')).status,
    200,
    'the control plane has connections of its own',
  );
});

t.test('who opens connections from many addresses locks nobody out', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      proxy: { listen: '0.0.0.0:0' },
      limits: { max_connections: 16 },
      tenants: [
        { id: 'acme', plan: 'enterprise' },
        { id: 'other', plan: 'enterprise' },
      ],
      agents: [{ id: agentId, tenant: 'acme', name: 'bot' }],
    },
  });
  const port = Number(new URL(gateway.proxyUrl).port);
  const authority = 'a.test.example:443';
  const says = [
    '',
    'GET http://a/ HTTP/1.1\r\n',
    `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
  ];
  const strangers: net.Socket[] = [];
  const flood = async (): Promise<void> => {
    for (let i = 0; i < 60; i++) {
      const socket = net.connect({ host: '127.0.0.1', port, localAddress: `127.0.0.${2 + (i % 7)}` });
      socket.on('error', () => socket.destroy());
      t.teardown(() => void socket.destroy());
      await once(socket.resume(), 'connect');
      socket.write(says[i % says.length] ?? '');
      strangers.push(socket);
    }
  };
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) {
    await flood();
    const opened = await openTunnel({
      proxyUrl: `http://127.0.0.1:${port}`,
      authorization: basic(gateway.key),
      authority,
    });
    t.teardown(() => void opened.socket.destroy());
    statuses.push(opened.status);
  }
  t.same(statuses, [200, 200, 200, 200, 200, 200]);
  await sleep(100);
  await until('the others are closed', async () => strangers.filter((it) => !it.destroyed).length <= 8);
});

t.test('who opens connections and says nothing leaves room for other addresses', async (t) => {
  const gateway = await startTestGateway(t, { config: { limits: { max_connections: 8 } } });
  const { hostname, port } = new URL(gateway.proxyUrl);
  for (let i = 0; i < 12; i++) {
    const socket = net.connect({ host: hostname, port: Number(port), localAddress: '127.0.0.2' });
    socket.on('error', () => socket.destroy());
    t.teardown(() => void socket.destroy());
    await once(socket, 'connect');
  }
  const { status, socket } = await openTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority: 'a.test.example:443',
  });
  t.equal(status, 200);
  socket.destroy();
});

t.test('requests of the control plane count for their agent', async (t) => {
  const gateway = await startTestGateway(t, { config: { limits: { max_connections_per_agent: 2 } } });
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) {
    const socket = connectTo(gateway.controlUrl);
    t.teardown(() => void socket.destroy());
    const headers = { authorization: `Bearer ${gateway.key}` };
    statuses.push((await send(socket, { path: '/v1/usage', headers })).status);
  }
  t.same(statuses, [200, 200, 503]);
});

t.test('connections of a trusted proxy, which clients share, count while they are asked on', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      control: { trusted_proxies: ['127.0.0.0/8'] },
      limits: { max_connections: 8, max_connections_per_agent: 1 },
    },
  });
  for (let i = 1; i <= 7; i++) {
    const socket = connectTo(gateway.controlUrl);
    t.teardown(() => void socket.destroy());
    const headers = { authorization: `Bearer ${gateway.key}` };
    t.equal((await send(socket, { path: '/v1/usage', headers })).status, 200, `connection ${i}`);
  }
});

t.test('malformed requests are answered with a problem, and the next client is served', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, { upstream });
  const auth = `Proxy-Authorization: ${basic(gateway.key)}\r\n`;
  const target = `http://api.test.example:${upstream.port}/`;
  const host = `Host: api.test.example:${upstream.port}\r\n`;
  const cases: { name: string; bytes: string; status: number }[] = [
    { name: 'no HTTP at all', bytes: 'hello\r\n\r\n', status: 400 },
    {
      name: 'a head over the limit',
      bytes: `GET ${target} HTTP/1.1\r\n${host}${auth}X: ${'a'.repeat(70_000)}\r\n\r\n`,
      status: 431,
    },
    {
      name: 'too many fields',
      bytes: `GET ${target} HTTP/1.1\r\n${host}${auth}${'X: 1\r\n'.repeat(250)}\r\n`,
      status: 431,
    },
    {
      name: 'two lengths',
      bytes: `POST ${target} HTTP/1.1\r\n${host}${auth}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      status: 400,
    },
    {
      name: 'a length and chunks',
      bytes: `POST ${target} HTTP/1.1\r\n${host}${auth}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      status: 400,
    },
    {
      name: 'a bad chunk',
      bytes: `POST ${target} HTTP/1.1\r\n${host}${auth}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`,
      status: 400,
    },
    {
      name: 'another coding before chunked',
      bytes: `POST ${target} HTTP/1.1\r\n${host}${auth}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      status: 400,
    },
    {
      name: 'chunks in HTTP/1.0',
      bytes: `POST ${target} HTTP/1.0\r\n${host}${auth}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      status: 400,
    },
    {
      name: 'a folded field',
      bytes: `GET ${target} HTTP/1.1\r\n${host}${auth}X: a\r\n b\r\n\r\n`,
      status: 400,
    },
    { name: 'two Host fields', bytes: `GET ${target} HTTP/1.1\r\n${host}${host}${auth}\r\n`, status: 400 },
    {
      name: 'two content types, the first empty',
      bytes: `GET ${target} HTTP/1.1\r\n${host}${auth}Content-Type:\r\nContent-Type: text/xml\r\n\r\n`,
      status: 400,
    },
    {
      name: 'user information in the URL',
      bytes: `GET http://u:p@api.test.example/ HTTP/1.1\r\n${auth}\r\n`,
      status: 400,
    },
    {
      name: 'another Host than the target',
      bytes: `GET ${target} HTTP/1.1\r\nHost: evil.example\r\n${auth}\r\n`,
      status: 421,
    },
    {
      name: 'a scheme that is not forwarded',
      bytes: `GET ftp://api.test.example/ HTTP/1.1\r\n${auth}\r\n`,
      status: 400,
    },
    { name: 'origin-form', bytes: `GET / HTTP/1.1\r\n${host}${auth}\r\n`, status: 404 },
    {
      name: 'an expectation that is none',
      bytes: `POST ${target} HTTP/1.1\r\n${host}${auth}Expect: magic\r\nContent-Length: 1\r\n\r\na`,
      status: 417,
    },
    {
      name: 'CONNECT without a port',
      bytes: `CONNECT api.test.example HTTP/1.1\r\n${auth}\r\n`,
      status: 400,
    },
    {
      name: 'CONNECT to the metadata service',
      bytes: `CONNECT 169.254.169.254:80 HTTP/1.1\r\n${auth}\r\n`,
      status: 403,
    },
  ];
  for (const { name, bytes, status } of cases) {
    const socket = connectTo(gateway.proxyUrl);
    socket.end(bytes);
    const answer = await read(socket);
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), name);
    t.match(answer, /application\/problem\+json/, `${name}: a problem says why`);
  }
  t.equal(upstream.requests.length, 0, 'none of them reaches the upstream');
  const good = connectTo(gateway.proxyUrl);
  good.write(`GET ${target} HTTP/1.1\r\n${host}${auth}Connection: close\r\n\r\n`);
  t.match(await read(good), /^HTTP\/1\.1 (200|502) /, 'the next one is served');
});

t.test('inside a tunnel, what is neither TLS nor HTTP is closed, and so is a second CONNECT', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, { upstream });
  const authority = `api.test.example:${upstream.port}`;
  const open = { proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority };
  const raw = await openTunnel(open);
  const closed = once(raw.socket, 'close');
  raw.socket.write(Buffer.from([0x00, 0x01, 0x02]));
  await closed;
  t.pass('raw bytes end the tunnel');
  const socket = await openSecureTunnel({ ...open, ca: readFileSync(gateway.caFile, 'utf8') });
  socket.on('error', () => socket.destroy());
  const ended = once(socket, 'close');
  socket.write(`CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n`);
  socket.resume();
  await ended;
  t.equal(upstream.connections(), 0);
});

t.test('inside a tunnel, malformed requests are answered with a problem and end it', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, { upstream });
  const authority = `api.test.example:${upstream.port}`;
  const open = { proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority };
  const ca = readFileSync(gateway.caFile, 'utf8');
  const post = `POST / HTTP/1.1\r\nHost: ${authority}\r\n`;
  const cases: { name: string; bytes: string; status: number; isOurs?: boolean }[] = [
    {
      name: 'a length and chunks',
      bytes: `${post}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      status: 400,
    },
    { name: 'a second CONNECT', bytes: 'CONNECT evil.example:443 HTTP/1.1\r\n\r\n', status: 400 },
    {
      name: 'a method half in lower case',
      bytes: `DELete / HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
      status: 400,
    },
    { name: 'a head over the limit', bytes: `${post}X: ${'a'.repeat(70_000)}\r\n\r\n`, status: 431 },
    { name: 'too many fields', bytes: `${post}${'X: 1\r\n'.repeat(250)}\r\n`, status: 431 },
    { name: 'an unmet expectation', bytes: `${post}Expect: magic\r\nContent-Length: 1\r\n\r\n`, status: 417 },
    {
      name: 'a bad chunk',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`,
      status: 400,
      isOurs: true,
    },
    {
      name: 'a body over the limit, sent all the same',
      bytes: `${post}Content-Length: 4000000\r\n\r\n${'a'.repeat(4_000_000)}`,
      status: 413,
      isOurs: true,
    },
  ];
  for (const { name, bytes, status, isOurs = false } of cases) {
    for (const isTls of [true, false]) {
      const socket = isTls ? await openSecureTunnel({ ...open, ca }) : (await openTunnel(open)).socket;
      socket.write(`${bytes}GET /smuggled HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
      const answer = await read(socket);
      t.match(
        answer,
        new RegExp(`^HTTP/1\\.1 ${status} .*\r\n\r\n\\{[^\n]*\\}\n$`, 's'),
        `${name}: one answer`,
      );
      t.match(answer, /application\/problem\+json/, `${name}: a problem says why`);
      if (isOurs) t.match(answer, /x-service-trace-id: /i, `${name}: it is a call, and has a trace`);
      socket.destroy();
    }
  }
  t.equal(upstream.connections(), 0, 'nothing is dialled for any of them');
});

t.test('TLS 1.2 is not renegotiated', async (t) => {
  const gateway = await startTestGateway(t);
  const { socket } = await openTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority: 'a.test.example:443',
  });
  const secured = tls.connect({
    socket,
    servername: 'a.test.example',
    ca: readFileSync(gateway.caFile, 'utf8'),
    maxVersion: 'TLSv1.2',
  });
  t.teardown(() => secured.destroy());
  secured.on('error', () => secured.destroy());
  await once(secured, 'secureConnect');
  const outcome = await Promise.race([
    new Promise<string>((resolve) => secured.renegotiate({}, (error) => resolve(error ? 'refused' : 'done'))),
    new Promise<string>((resolve) => secured.once('close', () => resolve('refused'))),
  ]);
  t.equal(outcome, 'refused');
});

t.test('an upstream that breaks the protocol becomes a 502, never a crash', async (t) => {
  const answers = [
    'HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n',
    'garbage\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    '',
  ];
  let next = 0;
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () => socket.end(answers[next++] ?? ''));
  });
  const gateway = await startTestGateway(t, { upstream });
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(gateway.caFile, 'utf8');
  for (const answer of answers) {
    const socket = await openSecureTunnel({
      proxyUrl: gateway.proxyUrl,
      authorization: basic(gateway.key),
      authority,
      ca,
    });
    const reply = await send(socket, { method: 'POST', path: '/', headers: { host: authority }, body: '{}' });
    t.equal(reply.status, 502, JSON.stringify(answer.slice(0, 20)));
    t.match(JSON.parse(reply.body.toString()), { code: /^UPSTREAM_/ });
    socket.destroy();
  }
});

/** Reads heads and no body, as some servers do with a GET: what follows a head is the next request. */
function startBodiless(t: Parameters<typeof startRawUpstream>[0], requests: string[]) {
  return startRawUpstream(t, (socket) => {
    let waiting = '';
    socket.on('data', (chunk) => {
      waiting += chunk.toString('latin1');
      for (let end = waiting.indexOf('\r\n\r\n'); end >= 0; end = waiting.indexOf('\r\n\r\n')) {
        const head = waiting.slice(0, end);
        waiting = waiting.slice(end + 4);
        requests.push(head.split('\r\n', 1)[0] ?? '');
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        if (!/^connection: close$/im.test(head)) continue;
        socket.end();
        socket.removeAllListeners('data').resume();
        return;
      }
    });
  });
}

t.test('no body becomes a request that nobody has judged, at servers that read none', async (t) => {
  const requests: string[] = [];
  const upstream = await startBodiless(t, requests);
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      inbound: [
        {
          prefix: 'bot',
          tenant: 'acme',
          upstream: `https://api.test.example:${upstream.port}`,
          allowed_methods: ['GET', 'POST'],
        },
      ],
    },
  });
  await gateway.apply([denyDeletes]);
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(gateway.caFile, 'utf8');
  const target = { proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca };
  const hidden = `DELETE /admin HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
  const headers = { host: authority, 'content-type': 'text/plain', 'content-length': hidden.length };
  const ask = async (method: string, path: string, body: string) => {
    const socket = await openSecureTunnel(target);
    const reply = await send(socket, {
      method,
      path,
      headers: { ...headers, 'content-length': body.length },
      body,
    });
    socket.destroy();
    return reply;
  };

  for (const method of ['GET', 'OPTIONS', 'PROPFIND']) {
    const reply = await ask(method, '/page', hidden);
    t.equal(reply.status, 400, method);
    t.match(JSON.parse(reply.body.toString()), { code: 'VALIDATION_FAILED' }, method);
    const trace = (await gateway.api('GET', `/v1/traces/${reply.headers['x-service-trace-id']}`)).body;
    t.match(trace, { decision: 'DENY', reason_codes: ['VALIDATION_FAILED'] }, `${method} leaves a trace`);
  }
  const session = await openHttp2Tunnel(target);
  const fields = { ':method': 'GET', ':path': '/page', ':scheme': 'https', ':authority': authority };
  t.equal((await sendOnStream(session, fields, hidden)).status, 400, 'in HTTP/2');
  session.destroy();
  const inbound = connectTo(gateway.controlUrl);
  const lines = ['GET /inbound/bot/page HTTP/1.1', 'Host: a', `Authorization: Bearer ${gateway.key}`];
  inbound.write([...lines, 'Connection: close', `Content-Length: ${hidden.length}`, '', hidden].join('\r\n'));
  t.match(await read(inbound), /^HTTP\/1\.1 400 /, 'through an inbound route');
  t.same(requests, [], 'none of them was sent');

  t.equal((await ask('POST', '/unread', hidden)).status, 200);
  t.equal((await ask('GET', '/elastic', `{}\r\n${hidden}`)).status, 200);
  t.equal((await ask('POST', '/last', '{"a":1}')).status, 200);
  t.same(
    requests,
    ['POST /unread HTTP/1.1', 'GET /elastic HTTP/1.1', 'POST /last HTTP/1.1'],
    'a connection ends with the answer where a server may take the body for the next request',
  );
});

t.test('an agent whose answers never end keeps no other agent from their host', async (t) => {
  const perAgent = 140;
  const upstream = await startUpstream(
    t,
    ({ url }, response) => {
      response.writeHead(200);
      if (url === '/endless') response.write('x');
      else response.end('ok');
    },
    { tls: false },
  );
  const gateway = await startTestGateway(t, {
    config: {
      limits: { max_connections_per_agent: perAgent },
      upstream: {
        allow_private: ['127.0.0.0/8'],
        resolve: [{ host: '*.test.example', address: '127.0.0.1', port: upstream.port }],
      },
    },
  });
  const other = await gateway.mint({ name: 'other', default_agent_id: randomUUID() });
  const ask = (key: string, path: string) => {
    const socket = connectTo(gateway.proxyUrl);
    t.teardown(() => socket.destroy());
    const lines = [`GET http://a.test.example${path} HTTP/1.1`, 'Host: a.test.example'];
    socket.write([...lines, `Proxy-Authorization: ${basic(key)}`, '', ''].join('\r\n'));
    return once(socket, 'data');
  };
  await Promise.all(Array.from({ length: perAgent }, () => ask(gateway.key, '/endless')));
  t.equal(upstream.connections(), perAgent, 'each of its calls has a connection to the host');
  const [answer] = await ask(other.key, '/ok');
  t.match(String(answer), /^HTTP\/1\.1 200 OK/);
});
