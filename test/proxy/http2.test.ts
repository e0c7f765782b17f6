import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  basic,
  openHttp2Tunnel,
  openSecureTunnel,
  openTunnel,
  run,
  sendOnStream,
} from '../support/clients.ts';
import { denyDeletes, startTestGateway } from '../support/gateway.ts';
import { needProgram } from '../support/programs.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startRawUpstream, startUpstream, type TestServer } from '../support/upstream.ts';

/* HTTP/2 inside tunnels: what agents that speak it see, and what the upstream is sent. */

const startLab = async (
  t: Test,
  handler?: Parameters<typeof startUpstream>[1],
  limits?: object,
  own?: object,
) => await openLab(t, await startUpstream(t, handler), limits, own);

async function openLab<Upstream extends TestServer>(
  t: Test,
  upstream: Upstream,
  limits: object = {},
  own: object = {},
) {
  const config = { limits: { scan_timeout: '30s', ...limits }, ...own };
  const gateway = await startTestGateway(t, { upstream, config });
  t.equal((await gateway.apply([denyDeletes])).status, 200, 'the policy is applied');
  const ca = readFileSync(gateway.caFile, 'utf8');
  const authority = `api.test.example:${upstream.port}`;
  const open = async () => {
    const { proxyUrl, key } = gateway;
    const session = await openHttp2Tunnel({ proxyUrl, authorization: basic(key), authority, ca });
    t.teardown(() => session.destroy());
    return session;
  };
  return { gateway, upstream, authority, open };
}

const post = { ':method': 'POST', ':path': '/v1/things', 'content-type': 'application/json' };

t.test('curl speaks HTTP/2 and has the three answers', async (t) => {
  if (!needProgram(t, 'curl')) return;
  const { gateway, upstream, authority } = await startLab(t);
  const call = async (...args: string[]) => {
    const format = '%{http_version} %{http_code} %header{x-service-decision}';
    const { stdout } = await run('curl', [
      ...['-s', '-o', '/dev/null', '-w', format, '--http2', '--cacert', gateway.caFile],
      ...['-x', gateway.proxyWithKey, ...args, `https://${authority}/v1/things`],
    ]);
    return stdout;
  };
  const json = ['-H', 'content-type: application/json', '-d'];
  t.equal(await call(), '2 200 ALLOW');
  t.equal(await call(...json, JSON.stringify({ note: `our key is ${awsKeyId()}` })), '2 200 SANITIZE');
  t.match(upstream.requests.at(-1)?.body.toString(), /our key is \[REDACTED:/);
  const before = upstream.requests.length;
  t.equal(await call('-X', 'DELETE'), '2 403 DENY');
  t.equal(upstream.requests.length, before, 'nothing reaches the upstream');
});

t.test('streams of one connection are calls of their own', async (t) => {
  const { open, upstream } = await startLab(t, (_request, response, body) => {
    response.end(body);
  });
  const session = await open();
  const bodies = Array.from({ length: 40 }, (_, i) =>
    Buffer.alloc(5_000 * i, String.fromCharCode(97 + (i % 26))),
  );
  const replies = await Promise.all(
    bodies.map((body, i) => sendOnStream(session, { ...post, ':path': `/echo/${i}` }, body)),
  );
  for (const [i, { status, body, headers }] of replies.entries()) {
    t.equal(status, 200);
    t.ok(body.equals(bodies[i] as Buffer), `the answer on stream ${i} is its own`);
    t.equal(headers['x-service-decision'], 'ALLOW');
  }
  t.equal(new Set(replies.map(({ headers }) => headers['x-service-trace-id'])).size, 40);
  t.same(upstream.requests.map(({ url }) => url).sort(), bodies.map((_, i) => `/echo/${i}`).sort());
});

t.test('heads are carried over to HTTP/1.1 and back', async (t) => {
  const { open, upstream, authority } = await startLab(t, (_request, response) => {
    response.writeHead(200, [
      ...['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Odd', 'caf\u00e9'],
      ...['Trailer', 'x-sum', 'Connection', 'x-gone', 'X-Gone', 'no', 'Alt-Svc', 'h3=":443"'],
    ]);
    response.write('part');
    response.addTrailers([['X-Sum', '42']]);
    response.end();
  });
  const session = await open();
  const { headers, trailers, body } = await sendOnStream(session, {
    ':path': '/a%2Fb?q=%20x&y=a+b',
    cookie: ['one=1', 'two=2'],
    'x-latin': 'caf\u00e9',
    te: 'trailers',
  });
  const [arrived] = upstream.requests;
  t.equal(arrived?.url, '/a%2Fb?q=%20x&y=a+b');
  t.match(arrived?.headers, {
    host: authority,
    cookie: 'one=1; two=2',
    te: 'trailers',
    'x-latin': 'caf\u00e9',
    via: '2 postern',
  });
  t.same(
    Object.keys(arrived?.headers ?? {}).filter((name) => name.startsWith(':')),
    [],
  );
  t.equal(body.toString(), 'part');
  t.same(headers['set-cookie'], ['a=1', 'b=2']);
  t.match(headers, { 'x-odd': 'caf\u00e9', 'x-service-decision': 'ALLOW' });
  for (const name of ['connection', 'x-gone', 'transfer-encoding', 'keep-alive', 'alt-svc'])
    t.notOk(name in headers, name);
  t.match(trailers, { 'x-sum': '42' });
});

t.test('answers without a body have none', async (t) => {
  const { open } = await startLab(t, ({ url }, response) => {
    response.writeHead(Number(url?.slice(1)), { 'x-kept': '1' });
    response.end();
  });
  const session = await open();
  for (const [method, status] of [
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
    ['GET', 200],
  ] as const) {
    const reply = await sendOnStream(session, { ':method': method, ':path': `/${status}` });
    t.match(reply, { status, headers: { 'x-kept': '1' } }, `${method} ${status}`);
    t.equal(reply.body.length, 0);
  }
});

t.test('events come as they are sent, and a client that leaves ends the request upstream', async (t) => {
  const gone = Promise.withResolvers<void>();
  const { open } = await startLab(t, (_request, response) => {
    response.once('close', () => gone.resolve());
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: one\n\n');
  });
  const session = await open();
  const stream = session.request({ ':path': '/events' });
  const [first] = (await once(stream, 'data')) as [Buffer];
  t.equal(first.toString(), 'data: one\n\n', 'though the answer has not ended');
  stream.close(http2.constants.NGHTTP2_CANCEL);
  await gone.promise;
  t.equal((await sendOnStream(session, { ':method': 'DELETE', ':path': '/' })).status, 403, 'others go on');
});

t.test('half an answer does not look whole', async (t) => {
  const halved = Promise.withResolvers<void>();
  const { open } = await startLab(t, async (request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.write('half');
    await halved.promise;
    request.socket.destroy();
  });
  const session = await open();
  const stream = session.request({ ':path': '/' });
  const failed = once(stream, 'error');
  let hasEnded = false;
  stream.once('end', () => {
    hasEnded = true;
  });
  t.equal(String((await once(stream, 'data'))[0]), 'half');
  halved.resolve();
  t.match((await failed)[0], { code: 'ERR_HTTP2_STREAM_ERROR' });
  t.notOk(hasEnded && stream.rstCode === http2.constants.NGHTTP2_NO_ERROR);
  t.equal((await sendOnStream(session, { ':method': 'DELETE', ':path': '/' })).status, 403, 'others go on');
});

t.test('a body over the limit is refused with its size, and dropped for a while', async (t) => {
  const limits = { max_body_bytes: '10KB', header_timeout: '200ms' };
  const { open, upstream } = await startLab(t, undefined, limits);
  const session = await open();
  const declared = session.request({ ...post, 'content-length': 5_000_000 });
  const chunks: Buffer[] = [];
  declared.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
  const [head] = (await once(declared, 'response')) as [http2.IncomingHttpHeaders & { ':status': number }];
  await once(declared, 'end');
  t.equal(head[':status'], 413);
  t.match(JSON.parse(Buffer.concat(chunks).toString()), { actual_bytes: 5_000_000, limit_bytes: 10_240 });
  const counted = await sendOnStream(session, post, Buffer.alloc(20_000, 'x')).catch((error: Error) => error);
  t.match(counted, { status: 413 });
  const patient = session.request(post);
  const answered = once(patient, 'response');
  // Some clients read the answer only once all of their body is sent.
  await new Promise((resolve) => patient.end(Buffer.alloc(1_000_000, 'x'), () => resolve(undefined)));
  t.match(await answered, [{ ':status': 413 }]);
  t.equal(patient.rstCode, http2.constants.NGHTTP2_NO_ERROR);
  const endless = session.request(post);
  endless.on('error', () => undefined).resume();
  while (!endless.closed) {
    endless.write(Buffer.alloc(1000, 'x'));
    await wait(5);
  }
  t.equal(endless.rstCode, http2.constants.NGHTTP2_NO_ERROR, 'and is told to stop in the end');
  t.equal(upstream.requests.length, 0);
  t.equal((await sendOnStream(session, post, '{}')).status, 200, 'the connection serves on');
});

t.test('what is not one clear request is refused, and nothing reaches the upstream', async (t) => {
  const { open, upstream, authority } = await startLab(t);
  const cases: readonly [name: string, headers: http2.OutgoingHttpHeaders, status: number][] = [
    ['another authority', { ':authority': 'evil.test.example' }, 421],
    ['another port', { ':authority': 'api.test.example:1' }, 421],
    ['a host that disagrees', { ':authority': authority, host: 'evil.test.example' }, 400],
    ['another scheme', { ':scheme': 'http', ':authority': authority }, 421],
    ['a second tunnel', { ':method': 'CONNECT', ':authority': authority }, 400],
    ['a method that no rule knows', { ':method': 'delete' }, 400],
    ['a method by the name of what objects have', { ':method': 'constructor' }, 400],
    ['an unknown expectation', { expect: 'teapot' }, 417],
    ['too many fields', Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`x-${i}`, '1'])), 431],
  ];
  for (const [name, headers, status] of cases) {
    const session = await open();
    const reply = await sendOnStream(session, headers).catch((error: Error) => error);
    t.match(reply, { status }, name);
  }
  const session = await open();
  const cut = session.request(post);
  cut.on('error', () => undefined);
  cut.write('{"half":');
  await once(session, 'remoteSettings').catch(() => undefined);
  cut.close(http2.constants.NGHTTP2_CANCEL);
  t.equal((await sendOnStream(session, { ':path': '/after' })).status, 200);
  t.same(
    upstream.requests.map(({ url }) => url),
    ['/after'],
  );
});

t.test('streams count as connections of their key', async (t) => {
  const { open, upstream } = await startLab(t, undefined, { max_connections_per_agent: 5 });
  const session = await open();
  const held = Array.from({ length: 4 }, () => session.request(post));
  for (const stream of held) stream.on('error', () => undefined).write('{');
  const refused = await sendOnStream(session, { ':path': '/' });
  t.match(refused, { status: 503, headers: { 'retry-after': '1' } });
  held[0]?.close(http2.constants.NGHTTP2_CANCEL);
  await once(held[0] as http2.ClientHttp2Stream, 'close');
  t.match(await sendOnStream(session, { ':path': '/room' }), { status: 200 });
  t.same(
    upstream.requests.map(({ url }) => url),
    ['/room'],
  );
});

t.test('a client that closes its side has left, and its streams count no more', async (t) => {
  const { open } = await startLab(t, undefined, { max_connections_per_agent: 4 });
  const leaving = await open();
  for (const _ of [1, 2])
    leaving
      .request(post)
      .on('error', () => undefined)
      .write('{');
  await new Promise<void>((resolve) => leaving.ping(() => resolve()));
  leaving.destroy();
  let status = 503;
  for (let tries = 0; tries < 200 && status === 503; tries++) {
    const session = await open().catch(() => undefined);
    const replies = session
      ? await Promise.all([1, 2, 3].map(() => sendOnStream(session, { ':path': '/' })))
      : [];
    session?.destroy();
    status = Math.max(...replies.map((it) => it.status), session ? 0 : 503);
  }
  t.equal(status, 200, 'there is room for another connection, and for three streams');
});

t.test('a client that waits to be asked for its body is asked', async (t) => {
  const { open, upstream } = await startLab(t);
  const session = await open();
  const stream = session.request({ ...post, expect: '100-continue' });
  await once(stream, 'continue');
  stream.end('{"asked":true}');
  const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders & { ':status': number }];
  t.equal(head[':status'], 200);
  t.match(upstream.requests, [{ body: Buffer.from('{"asked":true}') }]);
  t.notOk(upstream.requests[0]?.headers.expect);
});

t.test('answers that HTTP/2 would not carry as they are end none but themselves', async (t) => {
  const cases: readonly [name: string, answer: string, want: object][] = [
    ['doubled fields', '200 OK\r\nETag: "a"\r\nETag: "b"\r\nContent-Length: 0\r\n\r\n', { status: 200 }],
    ['a field of upgrades', '200 OK\r\nHTTP2-Settings: AAMA\r\nContent-Length: 0\r\n\r\n', { status: 200 }],
    ['a status over 599', '999 Odd\r\nContent-Length: 0\r\n\r\n', { status: 502 }],
    ['a status over 599 with a body', '999 Odd\r\nContent-Length: 2\r\n\r\nab', { status: 502 }],
    ['a 205 with a body', '205 Reset\r\nContent-Length: 2\r\n\r\nab', { status: 205, body: Buffer.alloc(0) }],
    [
      'trailers of all kinds',
      '200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nETag: "a"\r\nETag: "b"\r\nHTTP2-Settings: AAMA\r\n\r\n',
      { status: 200, trailers: { etag: '"a"' } },
    ],
  ];
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', (head: Buffer) => {
      const [, at] = /^GET \/(\d+)/.exec(head.toString()) ?? [];
      socket.end(`HTTP/1.1 ${cases[Number(at)]?.[1]}`);
    });
  });
  const { open } = await openLab(t, upstream);
  const session = await open();
  for (const [i, [name, , want]] of cases.entries()) {
    const reply = await sendOnStream(session, { ':path': `/${i}` });
    t.match(reply, want, name);
    t.notOk('http2-settings' in reply.headers || 'http2-settings' in reply.trailers);
  }
});

t.test('a body that does not come in the time of its tenant is told so', async (t) => {
  const limits = { header_timeout: '100ms', body_timeout: '10m' };
  const acme = { id: 'acme', environments: ['production'], limits: { body_timeout: '100ms' } };
  const { open } = await startLab(t, undefined, limits, { tenants: [acme] });
  const stream = (await open()).request(post);
  stream.write('half of ');
  const [headers] = await once(stream, 'response');
  t.equal(headers[':status'], 400);
  t.match(String(Buffer.concat(await stream.toArray())), 'did not arrive in time');
});

t.test('a client that never closes its side after our goodbye is cut off', async (t) => {
  const limits = { max_connections_per_agent: 1, header_timeout: '200ms', idle_timeout: '200ms' };
  const { gateway, authority } = await startLab(t, undefined, limits);
  const { proxyUrl, key } = gateway;
  const tunnel = { proxyUrl, authorization: basic(key), authority };
  const ca = readFileSync(gateway.caFile, 'utf8');
  const secured = await openSecureTunnel({ ...tunnel, ca }, { ALPNProtocols: ['h2'] });
  secured.on('error', () => undefined);
  t.teardown(() => secured.destroy());
  const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  secured.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), emptySettings]));
  // It reads nothing, and so does not see an end that it would answer with its own.
  secured.pause();
  for (;;) {
    const { status, socket: another } = await openTunnel(tunnel);
    another.destroy();
    if (status === 200) break;
    await wait(20);
  }
  t.pass('its key may open another tunnel');
});

t.test('what nobody reads of a request that was answered does not keep its connection', async (t) => {
  const limits = { max_connections_per_agent: 12, idle_timeout: '400ms', header_timeout: '400ms' };
  const { gateway, authority } = await startLab(t, undefined, limits);
  const { proxyUrl, key } = gateway;
  const tunnel = { proxyUrl, authorization: basic(key), authority };
  const ca = readFileSync(gateway.caFile, 'utf8');
  const message = Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 0x61]);
  const head = { ':method': 'POST', ':path': '/a.B/C', 'content-type': 'application/grpc', te: 'trailers' };
  for (let round = 0; round < 40; round += 1) {
    const session = await until(() => openHttp2Tunnel({ ...tunnel, ca }));
    const streams = [0, 1, 2].map((nth) => {
      const stream = session.request(head);
      stream.on('error', () => undefined);
      if (nth > 0) stream.resume();
      // Messages, half messages and an end at any moment: the call has failed meanwhile, for the upstream speaks HTTP/1.1 alone.
      for (let at = 0; at < 6; at += 1)
        setTimeout(
          () => {
            if (stream.destroyed) return;
            if ((round + at + nth) % 5 < 3) stream.write(message);
            else if ((round + at + nth) % 5 === 3) stream.write(message.subarray(0, 7));
            else stream.close(http2.constants.NGHTTP2_CANCEL);
          },
          (round * 7 + at * 13 + nth * 5) % 60,
        );
      return stream;
    });
    await wait((round * 11) % 70);
    for (const stream of streams) stream.destroy();
    setTimeout(() => session.destroy(), 200);
  }
  const { socket, status } = await until(() => openTunnel(tunnel));
  t.equal(status, 200, 'and the key has its places back');
  socket.destroy();
});

/** Places are given back at a tick of the clock. */
async function until<T extends object>(open: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      const opened = await open();
      if (!('status' in opened) || opened.status === 200) return opened;
    } catch {
      // Full for now.
    }
    await wait(20);
  }
}
