import { once } from 'node:events';
import http from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import type { GatewayError } from '../../../src/core/errors.ts';
import {
  startHttp2Upstream,
  startRawUpstream,
  startUpstream,
  type UpstreamHandler,
} from '../../support/upstream.ts';
import { openFront } from './front.ts';

t.test('forwards a request and relays its answer', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.sendDate = false;
    const cookies = ['set-cookie', 'a=1', 'Set-Cookie', 'b=2'];
    response.writeHead(201, [
      'X-Cased',
      '1',
      ...cookies,
      'Content-Length',
      '5',
      'X-Service-Decision',
      'DENY',
    ]);
    response.end('hello');
  });
  const chunks: Buffer[] = [];
  const front = await openFront(t, {
    extraHeaders: ['X-Service-Decision', 'ALLOW', 'X-Service-Trace-Id', '1'],
    onData: (chunk) => chunks.push(chunk),
  });
  const headers = {
    'X-Agent': 'a',
    'Proxy-Authorization': 'Basic eA==',
    Via: '1.0 before',
    Connection: 'close',
  };
  const answer = await front.ask(`${upstream.origin}/v1/x?y=1`, { method: 'POST', headers, body: '{"a":1}' });

  t.match(answer, {
    status: 201,
    body: 'hello',
    headers: { 'content-length': '5', 'x-service-decision': 'ALLOW' },
  });
  const sent = answer.rawHeaders.slice(0, 12);
  t.same(sent, [
    ...['X-Cased', '1', 'set-cookie', 'a=1', 'Set-Cookie', 'b=2', 'Content-Length', '5'],
    ...['X-Service-Decision', 'ALLOW', 'X-Service-Trace-Id', '1'],
  ]);
  t.equal(Buffer.concat(chunks).toString(), 'hello');
  t.same(front.outcomes, [{ status: 201, receivedBytes: 5, aborted: false }]);

  const [request] = upstream.requests;
  t.match(request, { method: 'POST', url: '/v1/x?y=1', headers: { 'x-agent': 'a', 'content-length': '7' } });
  t.equal(request?.body.toString(), '{"a":1}');
  t.equal(request?.headers.host, `localhost:${upstream.port}`);
  t.equal(request?.headers.via, '1.0 before, 1.1 postern');
  t.notOk(request?.headers['proxy-authorization']);
});

t.test('forwards over plain HTTP as well', async (t) => {
  const upstream = await startUpstream(t, undefined, { tls: false });
  const front = await openFront(t);
  t.match(await front.ask(`${upstream.origin}/`), { status: 200, body: '{"ok":true}' });
});

t.test('keeps connections and TLS sessions of an origin', async (t) => {
  const upstream = await startUpstream(t);
  const front = await openFront(t);
  for (let i = 0; i < 4; i++) await front.ask(`${upstream.origin}/`);
  t.same(
    upstream.requests.map(({ connection }) => connection),
    [1, 1, 1, 1],
  );
});

t.test('lets a connection end on which the body may be taken for a request', async (t) => {
  const upstream = await startUpstream(t);
  const front = await openFront(t);
  const request = 'DELETE /admin HTTP/1.1\r\nHost: a\r\n\r\n';
  const asked = [
    { method: 'POST', body: '{"a":1}', isAlone: false },
    { method: 'DELETE', body: '{"a":1}', isAlone: false },
    { method: 'GET', body: '{"a":1}', isAlone: true },
    { method: 'POST', body: request, isAlone: true },
    { method: 'GET', body: '', isAlone: false },
    { method: 'POST', body: '', isAlone: false },
  ];
  for (const { method, body } of asked) {
    const headers = { 'Content-Length': body.length };
    const answer = await front.ask(`${upstream.origin}/`, { method, headers, body });
    t.match(answer, { status: 200, body: '{"ok":true}' });
  }
  const isLast = ({ headers }: (typeof upstream.requests)[number]) => headers.connection === 'close';
  t.same(
    upstream.requests.map(isLast),
    asked.map((it) => it.isAlone),
  );
  t.same(
    upstream.requests.map(({ connection }) => connection),
    [1, 1, 1, 2, 3, 3],
  );
});

t.test('a connection that an agent has authenticated is no other agent’s', async (t) => {
  for (const scheme of ['NTLM', 'negotiate']) {
    const users = new Map<unknown, string>();
    const upstream = await startUpstream(t, ({ headers, socket }, response) => {
      const [, step] = /^(?:ntlm|negotiate) (\S+)/i.exec(headers.authorization ?? '') ?? [];
      if (step === 'last') users.set(socket, 'alice');
      const user = users.get(socket);
      const challenge = step === 'first' ? `Basic realm="a", ${scheme} c2Vjb25k` : scheme;
      response.writeHead(user ? 200 : 401, user ? {} : { 'WWW-Authenticate': challenge });
      response.end(user ?? 'who?');
    });
    const front = await openFront(t);
    const ask = (authorization?: string) =>
      front.ask(`${upstream.origin}/`, { headers: authorization ? { Authorization: authorization } : {} });
    t.match(await ask(), { status: 401 });
    t.match(await ask(`${scheme} first`), { status: 401 });
    t.match(await ask(`${scheme} last`), { status: 200, body: 'alice' });
    t.match(await ask(), { status: 401, body: 'who?' }, 'the next one has to say who it is');
    t.match(await ask('Bearer x'), { status: 401 });
    t.same(
      upstream.requests.map(({ connection }) => connection),
      [1, 1, 1, 2, 2],
      'the steps of one authentication are on one connection, and nothing comes after them',
    );
    t.match(await ask(`${scheme} wrong`), { status: 401 });
    t.match(await ask(), { status: 401 });
    t.equal(upstream.requests.at(-1)?.connection, 3, 'nor after one that was refused in the end');
  }
});

t.test('follows no redirect', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(302, { Location: '/elsewhere' }).end();
  });
  const front = await openFront(t);
  t.match(await front.ask(`${upstream.origin}/`), { status: 302, headers: { location: '/elsewhere' } });
  t.equal(upstream.requests.length, 1);
});

t.test('relays answers that have no body', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.on('data', (data) => {
      const status = /\/(\d+)/.exec(data.toString('latin1'))?.[1] ?? '200';
      const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n';
      socket.write(`${interim}HTTP/1.1 ${status} X\r\nContent-Length: 1234\r\nETag: "a"\r\n\r\n`);
    });
  });
  const front = await openFront(t);
  const cases = [
    { name: 'HEAD', method: 'HEAD', path: '/200', length: '1234' },
    { name: '304', method: 'GET', path: '/304', length: '1234' },
    { name: '204, without the length that it may not have', method: 'GET', path: '/204', length: undefined },
  ];
  for (const { name, method, path, length } of cases) {
    const answer = await front.ask(`${upstream.origin}${path}`, { method });
    t.equal(answer.status, Number(path.slice(1)), name);
    t.equal(answer.headers['content-length'], length, name);
    t.equal(answer.headers.etag, '"a"', name);
    t.equal(answer.body, '', name);
  }
  t.ok(front.outcomes.every(({ aborted }) => !aborted));
});

t.test('relays a body without a length in chunks, with its trailers', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { Trailer: 'X-Checksum' });
    response.write('part one, ');
    response.addTrailers({ 'X-Checksum': 'abc', 'X-Service-Decision': 'ALLOW' });
    response.end('part two');
  });
  const front = await openFront(t, { extraHeaders: ['X-Service-Decision', 'DENY'] });
  const answer = await front.ask(`${upstream.origin}/`);
  t.match(answer, { body: 'part one, part two', headers: { 'transfer-encoding': 'chunked' } });
  t.same(answer.trailers, { 'x-checksum': 'abc' });
});

t.test('relays a body that ends with the connection', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end'));
  });
  const front = await openFront(t);
  t.match(await front.ask(`${upstream.origin}/`), { status: 200, body: 'until the end' });
});

t.test('writes a small answer at once, head and body together', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': 5 }).end('hello');
  });
  const front = await openFront(t);
  const request = http.request({ port: front.port, path: `${upstream.origin}/`, agent: false });
  const sizes: number[] = [];
  request.on('socket', (socket) => socket.on('data', (data: Buffer) => sizes.push(data.length)));
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  await response.toArray();
  t.equal(sizes.length, 1);
});

t.test('hands on a head without waiting for its body', async (t) => {
  let sendBody = () => {};
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': 5 }).flushHeaders();
    sendBody = () => response.end('hello');
  });
  const front = await openFront(t);
  const response = await front.open(`${upstream.origin}/`);
  t.equal(response.statusCode, 200, 'the head is here while the upstream still holds the body');
  sendBody();
  t.equal(Buffer.concat(await response.toArray()).toString(), 'hello');
});

t.test('hands on every server-sent event before the next is made', async (t) => {
  let send = (_event: string) => {};
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    send = (event) => (event === '' ? response.end() : response.write(event));
  });
  const front = await openFront(t);
  const response = await front.open(`${upstream.origin}/`);
  for (let i = 0; i < 5; i++) {
    send(`data: ${i}\n\n`);
    const [event] = await once(response, 'data');
    t.equal(String(event), `data: ${i}\n\n`);
  }
  send('');
  await once(response, 'end');
});

t.test('aborts the upstream request when the client leaves', async (t) => {
  let left: Promise<unknown> = Promise.resolve();
  let flush = true;
  const upstream = await startUpstream(t, (_request, response) => {
    left = once(response, 'close');
    if (flush) response.writeHead(200).write('beginning');
  });
  const front = await openFront(t);

  const response = await front.open(`${upstream.origin}/`);
  await once(response, 'data');
  const ended = once(front.events, 'end');
  response.destroy();
  t.same(await ended, [{ status: 200, receivedBytes: 9, aborted: true }]);
  await left;

  flush = false;
  const request = http.request({ port: front.port, path: `${upstream.origin}/`, agent: false });
  request.on('error', () => {});
  request.end();
  await once(front.events, 'forwarded');
  const gone = once(front.events, 'end');
  request.destroy();
  t.same(await gone, [{ status: 0, receivedBytes: 0, aborted: true }], 'before there is an answer');
  t.same(front.errors, [], 'there is nobody to answer');
});

t.test('takes no more from the upstream than a slow client reads', async (t) => {
  const chunk = Buffer.alloc(65_536, 'x');
  const chunksTotal = 1600;
  let sentBytes = 0;
  const upstream = await startUpstream(t, async (_request, response) => {
    response.writeHead(200, { 'Content-Length': chunk.length * chunksTotal });
    for (let i = 0; i < chunksTotal; i++) {
      sentBytes += chunk.length;
      if (!response.write(chunk)) await once(response, 'drain');
    }
    response.end();
  });
  let relayedBytes = 0;
  const front = await openFront(t, { onData: (data) => (relayedBytes += data.length) });
  const response = await front.open(`${upstream.origin}/`);

  // The client does not read. Without back-pressure all would come through; with it, buffers fill and nothing moves any more.
  for (let still = 0, before = -1; still < 2000 && relayedBytes < chunk.length * chunksTotal; ) {
    await nextTurn();
    still = relayedBytes === before ? still + 1 : 0;
    before = relayedBytes;
  }
  t.ok(
    sentBytes < 48 * 2 ** 20,
    'the rest stays with the upstream (what moved is in the buffers of four sockets)',
  );
  t.ok((front.responses[0]?.writableLength ?? 0) < 2 ** 20, 'little is held here');

  let readBytes = 0;
  for await (const data of response) readBytes += (data as Buffer).length;
  t.equal(readBytes, chunk.length * chunksTotal, 'and nothing is lost');
  t.match(front.outcomes, [{ receivedBytes: readBytes, aborted: false }]);
});

t.test('ends calls that take too long', async (t) => {
  const silent: UpstreamHandler = () => {};
  const stalling: UpstreamHandler = (_request, response) => void response.writeHead(200).write('beginning');

  t.test('before the head of the answer', async (t) => {
    const upstream = await startUpstream(t, silent);
    const front = await openFront(t, { responseTimeoutMs: 80 });
    const answers = await Promise.all([1, 2, 3, 4].map(() => front.ask(`${upstream.origin}/`)));
    const want = { status: 504, code: 'UPSTREAM_TIMEOUT', detail: 'begin to answer' };
    for (const answer of answers) t.match(answer, want);
  });

  t.test('but not while the upstream still takes the body', async (t) => {
    const size = 24 * 2 ** 20;
    const readSlowly = (readable: Readable, done: () => void): void => {
      let read = 0;
      readable.on('data', (chunk: Buffer) => {
        read += chunk.length;
        if (read >= size) done();
        // What buffers of the system hold at the end is read at once.
        else if (read < size - 8 * 2 ** 20) {
          readable.pause();
          setTimeout(() => readable.resume(), 2);
        }
      });
    };
    const raw = await startRawUpstream(t, (socket) =>
      readSlowly(socket, () => socket.end('HTTP/1.1 204 No Content\r\n\r\n')),
    );
    const streamed = await startHttp2Upstream(t, (stream) =>
      readSlowly(stream, () => stream.respond({ ':status': 204 })),
    );
    for (const { origin } of [raw, streamed]) {
      const front = await openFront(t, { responseTimeoutMs: 1000 });
      const answer = await front.ask(`${origin}/`, { method: 'POST', body: 'x'.repeat(size) });
      t.match(answer, { status: 204 });
    }
  });

  t.test('other streams of the session do not keep one whose body stands still', async (t) => {
    const { origin } = await startHttp2Upstream(t, (stream, headers) => {
      if (headers[':path'] !== '/still') stream.respond({ ':status': 204 }, { endStream: true });
    });
    const front = await openFront(t, { responseTimeoutMs: 200 });
    let isOver = false;
    const still = front.ask(`${origin}/still`, { method: 'POST', body: 'x'.repeat(2 ** 20) }).finally(() => {
      isOver = true;
    });
    while (!isOver) await front.ask(`${origin}/`);
    t.match(await still, { status: 504 });
  });

  t.test('between two bytes of the answer', async (t) => {
    const upstream = await startUpstream(t, stalling);
    const front = await openFront(t, { idleTimeoutMs: 80 });
    const response = await front.open(`${upstream.origin}/`);
    const ended = once(front.events, 'end');
    await t.rejects(response.toArray(), { code: 'ECONNRESET' });
    t.match(await ended, [{ status: 200, receivedBytes: 9, aborted: true }]);
  });

  t.test('while the client does not read', async (t) => {
    const upstream = await startUpstream(t, (_request, response) => {
      response.end(Buffer.alloc(64 * 2 ** 20));
    });
    const front = await openFront(t, { idleTimeoutMs: 200 });
    const ended = once(front.events, 'end');
    const response = await front.open(`${upstream.origin}/`);
    t.match(await ended, [{ status: 200, aborted: true }]);
    await t.rejects(response.toArray(), { code: 'ECONNRESET' });
  });

  t.test('while they wait for a connection', async (t) => {
    const upstream = await startUpstream(t, (request, response) => {
      response.writeHead(200).write('beginning');
      if (request.url === '/third') response.end();
    });
    const front = await openFront(t, { responseTimeoutMs: 1000, connectionsMax: 1 });
    await front.open(`${upstream.origin}/first`);
    t.match(await front.ask(`${upstream.origin}/second`), { status: 504, code: 'UPSTREAM_TIMEOUT' });
    front.forwardings[0]?.abort();
    t.match(await front.ask(`${upstream.origin}/third`), { status: 200 });
    t.notOk(
      upstream.requests.some(({ url }) => url === '/second'),
      'and they are not sent any more',
    );
  });
});

t.test('answers with the reason when the upstream cannot be had', async (t) => {
  const front = await openFront(t);
  const gone = await startUpstream(t);
  await gone.close();
  const plain = await startUpstream(t, undefined, { tls: false });
  const cases = [
    { url: `${gone.origin}/`, want: { status: 502, code: 'UPSTREAM_UNREACHABLE' } },
    { url: `https://localhost:${plain.port}/`, want: { status: 502, code: 'UPSTREAM_TLS' } },
    { url: 'http://10.0.0.1/', want: { status: 403, code: 'EGRESS_BLOCKED', detail: 'private' } },
    { url: 'http://metadata.google.internal/', want: { status: 403, code: 'EGRESS_BLOCKED' } },
    { url: `ws://localhost:${plain.port}/`, want: { status: 400, code: 'VALIDATION_FAILED' } },
  ];
  for (const { url, want } of cases) t.match(await front.ask(url), want, url);
});

t.test('refuses what cannot be written into a head', async (t) => {
  const upstream = await startUpstream(t);
  const front = await openFront(t);
  const answer = await front.ask(`${upstream.origin}/`, { headers: { 'X-Tab-Ok': 'a\tb' } });
  t.equal(answer.status, 200);
  const failure = once(front.events, 'failure');
  const response = new http.ServerResponse(new http.IncomingMessage(null as never));
  const target = {
    scheme: 'https',
    host: 'localhost',
    port: upstream.port,
    path: '/',
    href: '',
    fragment: '',
    userInfo: '',
  };
  front.upstream.forward(
    {
      tenantId: 'acme',
      agentId: 'bot',
      target: { ...target, isAddress: false },
      method: 'GET',
      headers: ['X', 'a\r\nY: b'],
      body: undefined,
    },
    { response, extraHeaders: [], onError: (error) => void front.events.emit('failure', error) },
  );
  t.match(await failure, [{ code: 'VALIDATION_FAILED' }]);
  t.equal(upstream.requests.length, 1);
});

t.test('keeps a bounded number of pools', async (t) => {
  const upstream = await startUpstream(t);
  const front = await openFront(t, { poolsMax: 2 });
  const ask = (name: string) => front.ask(`https://${name}.test.example:${upstream.port}/`);
  for (const name of ['a', 'b', 'b', 'c', 'a']) t.match(await ask(name), { status: 200 });
  const connections = upstream.requests.map(({ connection }) => connection);
  t.same(connections, [1, 2, 2, 3, 4], 'the third displaced the first');
});

t.test('lets the requests of a displaced pool finish', async (t) => {
  let finish = () => {};
  const upstream = await startUpstream(t, (request, response) => {
    response.writeHead(200).flushHeaders();
    finish = () => response.end('whole');
    if (request.url !== '/slow') finish();
  });
  const front = await openFront(t, { poolsMax: 1 });
  const slow = await front.open(`https://a.test.example:${upstream.port}/slow`);
  const finishSlow = finish;
  t.match(await front.ask(`https://b.test.example:${upstream.port}/`), { status: 200 });
  finishSlow();
  t.equal(Buffer.concat(await slow.toArray()).toString(), 'whole');
});

t.test('drops pools that idle', async (t) => {
  const sockets: Socket[] = [];
  const upstream = await startUpstream(t, (request, response) => {
    sockets.push(request.socket);
    response.end();
  });
  const front = await openFront(t, { poolIdleMs: 40 });
  await front.ask(`${upstream.origin}/`);
  const [socket] = sockets;
  if (socket && !socket.destroyed) await once(socket, 'close');
  t.match(await front.ask(`${upstream.origin}/`), { status: 200 }, 'and opens them again');
  t.equal(upstream.requests[1]?.connection, 2);
});

t.test('closes when the running requests are over', async (t) => {
  let finish = () => {};
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200).flushHeaders();
    finish = () => response.end('whole');
  });
  const front = await openFront(t);
  const running = await front.open(`${upstream.origin}/`);
  const closed = front.upstream.close();
  t.match(await front.ask(`${upstream.origin}/`), { status: 503, code: 'SHUTTING_DOWN' });
  finish();
  t.equal(Buffer.concat(await running.toArray()).toString(), 'whole');
  await closed;
});

t.test('ends everything when it is destroyed', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url === '/begun') response.writeHead(200).write('beginning');
    else front.upstream.destroy();
  });
  const front = await openFront(t);
  const begun = await front.open(`${upstream.origin}/begun`);
  const cut = t.rejects(begun.toArray(), { code: 'ECONNRESET' });
  t.match(await front.ask(`${upstream.origin}/waiting`), { status: 503, code: 'SHUTTING_DOWN' });
  await cut;
});

t.test('ends an exchange that its entrance gives up', async (t) => {
  const upstream = await startUpstream(
    t,
    (_request, response) => void response.writeHead(200).write('beginning'),
  );
  const front = await openFront(t);
  const response = await front.open(`${upstream.origin}/`);
  await once(response, 'data');
  front.forwardings[0]?.abort();
  await t.rejects(once(response, 'end'), { code: 'ECONNRESET' });
  front.forwardings[0]?.abort();
  t.match(front.outcomes, [{ aborted: true }], 'once');
  t.same(
    front.errors.map(({ code }: GatewayError) => code),
    [],
  );
});
