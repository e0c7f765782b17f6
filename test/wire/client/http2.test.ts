import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { GatewayError } from '../../../src/core/errors.ts';
import { parseTarget } from '../../../src/core/target.ts';
import type { BodySink, StreamedBody } from '../../../src/wire/client/carrier.ts';
import type { RelayOutcome } from '../../../src/wire/client/relay.ts';
import type { Answer } from '../../../src/wire/http1/answer.ts';
import { startHttp2Upstream, startRawUpstream, startUpstream } from '../../support/upstream.ts';
import { type Front, openFront } from './front.ts';

/* Upstreams that are spoken to in HTTP/2. */

const echo = (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders): void => {
  stream.respond({ ':status': 200, 'x-authority': String(headers[':authority']) });
  stream.pipe(stream);
};

t.test('requests and answers of all kinds pass on streams of one session', async (t) => {
  const big = Buffer.alloc(3_000_000, 'postern ');
  const upstream = await startHttp2Upstream(t, (stream, headers) => {
    const path = headers[':path'];
    if (path === '/big') {
      stream.respond({ ':status': 200 });
      stream.end(big);
    } else if (path === '/trailers') {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '42' }));
      stream.end('summed');
    } else if (path === '/hinted') {
      stream.additionalHeaders({ ':status': 103, link: '</a>; rel=preload' });
      stream.respond({ ':status': 200, 'set-cookie': ['a=1', 'b=2'] });
      stream.end('hinted');
    } else if (path?.startsWith('/status/')) {
      stream.respond({ ':status': Number(path.slice(8)), 'x-kept': '1' }, { endStream: true });
    } else echo(stream, headers);
  });
  const front = await openFront(t, { h2: 'always' });
  const { origin } = upstream;
  const posted = await front.ask(`${origin}/echo`, {
    method: 'POST',
    body: 'hello',
    headers: { 'X-One': '1' },
  });
  t.match(posted, { status: 200, body: 'hello', headers: { 'x-authority': `localhost:${upstream.port}` } });
  const upload = 'x'.repeat(2_000_000);
  t.equal((await front.ask(`${origin}/echo`, { method: 'PUT', body: upload })).body, upload);
  t.equal((await front.ask(`${origin}/big`)).body, big.toString());
  t.match(await front.ask(`${origin}/trailers`), { body: 'summed', trailers: { 'x-sum': '42' } });
  t.match(await front.ask(`${origin}/hinted`), { body: 'hinted', headers: { 'set-cookie': ['a=1', 'b=2'] } });
  for (const status of [204, 304, 404])
    t.match(await front.ask(`${origin}/status/${status}`), { status, headers: { 'x-kept': '1' }, body: '' });
  t.match(await front.ask(`${origin}/status/200`, { method: 'HEAD' }), { status: 200, body: '' });
  const many = await Promise.all(
    Array.from({ length: 60 }, (_, i) => front.ask(`${origin}/echo`, { method: 'POST', body: `body ${i}` })),
  );
  t.same(
    many.map(({ body }) => body),
    many.map((_, i) => `body ${i}`),
  );
  t.equal(upstream.connections(), 1, 'all of them on one connection');
  t.same(front.errors, []);
});

t.test('no more streams are opened than the upstream takes', async (t) => {
  let open = 0;
  let most = 0;
  const upstream = await startHttp2Upstream(
    t,
    (stream, headers) => {
      most = Math.max(most, ++open);
      stream.once('close', () => open--);
      setImmediate(() => echo(stream, headers));
    },
    { settings: { maxConcurrentStreams: 3 } },
  );
  const front = await openFront(t, { h2: 'always', connectionsMax: 1 });
  await front.ask(`${upstream.origin}/first`);
  const replies = await Promise.all(
    Array.from({ length: 30 }, () => front.ask(`${upstream.origin}/x`, { method: 'POST', body: '1' })),
  );
  t.ok(replies.every(({ status }) => status === 200));
  t.ok(most <= 3, `${most} at once`);
});

t.test('an upstream that takes no streams for now is waited for, on one connection', async (t) => {
  let session: http2.ServerHttp2Session | undefined;
  const upstream = await startHttp2Upstream(t, (stream, headers) => {
    session = stream.session as http2.ServerHttp2Session;
    echo(stream, headers);
  });
  const front = await openFront(t, { h2: 'always' });
  await front.ask(`${upstream.origin}/first`);
  await new Promise<void>((resolve) => session?.settings({ maxConcurrentStreams: 0 }, () => resolve()));
  const waiting = Array.from({ length: 10 }, () => front.ask(`${upstream.origin}/x`));
  while (front.forwardings.length < 11) await once(front.events, 'forwarded');
  await new Promise<void>((resolve) => session?.settings({ maxHeaderListSize: 60_000 }, () => resolve()));
  t.equal(upstream.requests.length, 1);
  session?.settings({ maxConcurrentStreams: 20 });
  const replies = await Promise.all(waiting);
  t.ok(replies.every(({ status }) => status === 200));
  t.equal(upstream.connections(), 1);
});

t.test('an upstream that takes no stream is asked once for WebSocket', async (t) => {
  // SETTINGS_MAX_CONCURRENT_STREAMS is 0.
  const none = Buffer.from([0, 3, 0, 0, 0, 0]);
  const cases: Record<string, (socket: net.Socket) => void> = {
    UPSTREAM_TIMEOUT: (socket) => void socket.resume(),
    UPSTREAM_UNREACHABLE: (socket) => void socket.resume().end(frameOf('settings', 0, 0, none)),
  };
  for (const [code, onConnection] of Object.entries(cases)) {
    const upstream = await startRawUpstream(t, onConnection, { tls: false });
    const front = await openFront(t, { h2: 'always', responseTimeoutMs: 300 });
    const target = parseTarget(`${upstream.origin}/x`);
    const of = { tenantId: 'acme', agentId: 'bot', target, method: 'GET', headers: ['Host', 'x'] };
    const failed = Promise.withResolvers<GatewayError>();
    front.upstream.forward(
      { ...of, body: undefined, isWebSocket: true },
      { response: new TestAnswer(), extraHeaders: [], onError: failed.resolve },
    );
    t.match(await failed.promise, { code });
    t.equal(upstream.connections(), 1, code);
  }
});

t.test('an upstream that never takes a stream again is an error in time', async (t) => {
  let session: http2.ServerHttp2Session | undefined;
  const upstream = await startHttp2Upstream(t, (stream, headers) => {
    session = stream.session as http2.ServerHttp2Session;
    echo(stream, headers);
  });
  const front = await openFront(t, { h2: 'always', responseTimeoutMs: 100 });
  await front.ask(`${upstream.origin}/first`);
  await new Promise<void>((resolve) => session?.settings({ maxConcurrentStreams: 0 }, () => resolve()));
  const replies = await Promise.all([1, 2, 3].map(() => front.ask(`${upstream.origin}/x`)));
  t.same(
    replies.map(({ code }) => code),
    Array(3).fill('UPSTREAM_TIMEOUT'),
  );
  t.equal(upstream.connections(), 1);
});

t.test(
  'of `auto`, gRPC goes over HTTP/2, and so does all to an origin that speaks nothing else',
  async (t) => {
    const only = await startHttp2Upstream(t, echo);
    const front = await openFront(t);
    for (let round = 0; round < 2; round++)
      t.match(await front.ask(`${only.origin}/x`, { method: 'POST', body: 'a' }), { status: 200, body: 'a' });
    const both = await startUpstream(t);
    t.match(await front.ask(`${both.origin}/x`), { status: 200 });
    t.equal(both.requests.length, 1, 'what speaks HTTP/1.1 is spoken to in that');
    const headers = { 'Content-Type': 'application/grpc+proto', TE: 'trailers' };
    t.match(await front.ask(`${both.origin}/pkg.Service/Call`, { method: 'POST', headers, body: 'x' }), {
      code: 'UPSTREAM_TLS',
    });
    const plain = await startHttp2Upstream(t, echo, { tls: false });
    t.match(await front.ask(`${plain.origin}/pkg.Service/Call`, { method: 'POST', headers, body: 'x' }), {
      status: 200,
      body: 'x',
    });
    t.same(plain.requests, ['POST /pkg.Service/Call']);
    const never = await openFront(t, { h2: 'never' });
    t.match(await never.ask(`${only.origin}/x`), { code: 'UPSTREAM_TLS' });
  },
);

t.test('a reset ends one request and no other; one that was refused is sent again', async (t) => {
  let refused = 0;
  const halved = Promise.withResolvers<void>();
  const upstream = await startHttp2Upstream(t, (stream, headers) => {
    const path = headers[':path'];
    if (path === '/refused' && ++refused === 1) stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    else if (path === '/cut') {
      stream.respond({ ':status': 200 });
      stream.write('half');
      halved.promise.then(() => stream.destroy(new Error('broken')));
    } else if (path === '/reset') stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
    else if (path === '/goodbye') {
      stream.respond({ ':status': 200 });
      stream.end('bye', () => stream.session?.goaway());
    } else echo(stream, headers);
  });
  const front = await openFront(t, { h2: 'always' });
  const { origin } = upstream;
  t.match(await front.ask(`${origin}/refused`), { status: 200 });
  t.equal(refused, 2);
  t.match(await front.ask(`${origin}/reset`), { status: 502 });
  const cut = await front.open(`${origin}/cut`);
  t.equal(String((await once(cut, 'data'))[0]), 'half');
  halved.resolve();
  await t.rejects(once(cut, 'end'), 'half an answer does not look whole');
  t.match(await front.ask(`${origin}/goodbye`), { status: 200, body: 'bye' });
  t.match(await front.ask(`${origin}/after`), { status: 200 });
});

t.test('an agent whose session the upstream ends ends no call of another agent', async (t) => {
  const upstream = await startHttp2Upstream(t, (stream, headers) => {
    stream.respond({ ':status': 200 });
    stream.write('hello ');
    if (headers[':path'] === '/stay') stream.resume().on('end', () => stream.end('bye'));
    else stream.once('close', () => stream.session?.destroy());
  });
  const front = await openFront(t, { h2: 'always' });
  const body = new TestBody();
  const answer = new TestAnswer();
  const ended = Promise.withResolvers<RelayOutcome>();
  front.upstream.forward(
    {
      ...{ tenantId: 'acme', agentId: 'other', target: parseTarget(`${upstream.origin}/stay`) },
      ...{ method: 'POST', headers: ['Host', 'x'], body: undefined, messages: body },
    },
    { response: answer, extraHeaders: [], onError: ended.reject, onEnd: ended.resolve },
  );
  await once(answer, 'text');
  for (let round = 0; round < 3; round++) {
    const cancelled = await front.open(`${upstream.origin}/x`, { headers: { 'X-Agent': 'hasty' } });
    const over = once(front.events, 'end');
    cancelled.destroy();
    await over;
  }
  body.end();
  t.match(await ended.promise, { status: 200, aborted: false });
  t.equal(answer.text, 'hello bye');
  t.ok(upstream.connections() > 1);
});

t.test('more agents than there may be sessions have their turns', async (t) => {
  let open = 0;
  let most = 0;
  const sessions = new WeakSet<object>();
  const upstream = await startHttp2Upstream(t, (stream, headers) => {
    const session = stream.session as http2.ServerHttp2Session;
    if (!sessions.has(session)) {
      sessions.add(session);
      most = Math.max(most, ++open);
      session.once('close', () => open--);
    }
    setImmediate(() => echo(stream, headers));
  });
  const front = await openFront(t, { h2: 'always', connectionsMax: 2 });
  const ask = (agent: number) =>
    front.ask(`${upstream.origin}/x`, {
      method: 'POST',
      body: `of ${agent}`,
      headers: { 'X-Agent': `agent ${agent}` },
    });
  const agents = Array.from({ length: 12 }, (_, agent) => agent % 6);
  for (const turns of [agents, agents.toReversed()]) {
    const replies = await Promise.all(turns.map(ask));
    t.same(
      replies.map(({ body }) => body),
      turns.map((agent) => `of ${agent}`),
    );
  }
  t.ok(most <= 2, `${most} at once`);
  t.ok(upstream.connections() >= 6, 'none is shared');
  const before = upstream.connections();
  t.match(await ask(5), { status: 200 });
  t.match(await ask(5), { status: 200 });
  t.ok(upstream.connections() <= before + 1, 'an agent keeps its own');
});

t.test('a client that leaves ends its stream', async (t) => {
  const ended = Promise.withResolvers<number>();
  const upstream = await startHttp2Upstream(t, (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    stream.write('data: 1\n\n');
    stream.once('close', () => ended.resolve(stream.rstCode));
  });
  const front = await openFront(t, { h2: 'always' });
  const response = await front.open(`${upstream.origin}/events`);
  const [chunk] = (await once(response, 'data')) as [Buffer];
  t.equal(chunk.toString(), 'data: 1\n\n');
  response.destroy();
  t.equal(await ended.promise, http2.constants.NGHTTP2_CANCEL);
});

t.test('an upstream without the protocol, or that goes away, is an error that says so', async (t) => {
  const plain = await startUpstream(t, undefined, { tls: false });
  const front = await openFront(t, { h2: 'always' });
  t.match(await front.ask(`${plain.origin}/x`), { status: 502 });
  const gone = await startHttp2Upstream(t, (stream) => stream.session?.destroy());
  t.match(await front.ask(`${gone.origin}/x`), { status: 502 });
});

const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4 } as const;
const endStream = 1;
const endHeaders = 4;
const prefaceBytes = 24;
const frameHeadBytes = 9;

/** RFC 9113, 4.1. */
function frameOf(type: keyof typeof frameTypes, flags: number, id: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(frameTypes[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

/** Literals without indexing (RFC 7541, 6.2.2), each of less than 127 bytes. */
const fieldsOf = (fields: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(fields).map(([name, value]) =>
      Buffer.concat([
        Buffer.from([0, name.length]),
        Buffer.from(name),
        Buffer.from([value.length]),
        Buffer.from(value),
      ]),
    ),
  );

/** An upstream that writes frames as no library would; `onRequest` hears of each head of a request. */
const startFrameUpstream = (t: Test, onRequest: (socket: net.Socket, id: number) => void) =>
  startRawUpstream(
    t,
    (socket) => {
      let unread = Buffer.alloc(0);
      let skippedBytes = prefaceBytes;
      socket.write(frameOf('settings', 0, 0, Buffer.alloc(0)));
      socket.on('data', (bytes: Buffer) => {
        unread = Buffer.concat([unread, bytes]);
        while (unread.length >= skippedBytes + frameHeadBytes) {
          const frame = unread.subarray(skippedBytes);
          const length = frame.readUIntBE(0, 3);
          if (frame.length < frameHeadBytes + length) return;
          unread = frame.subarray(frameHeadBytes + length);
          skippedBytes = 0;
          if (frame[3] === frameTypes.headers) onRequest(socket, frame.readUInt32BE(5));
        }
      });
    },
    { tls: false },
  );

const okHead = (id: number, flags = endHeaders) =>
  frameOf('headers', flags, id, fieldsOf({ ':status': '200' }));

t.test('a doubled field is sent as it came', async (t) => {
  const upstream = await startHttp2Upstream(t, echo);
  const front = await openFront(t, { h2: 'always' });
  const headers = { 'If-Match': ['"a"', '"b"'] as unknown as string, 'User-Agent': ['a', 'b'] as never };
  t.match(await front.ask(`${upstream.origin}/x`, { headers }), { status: 200 });
});

t.test('a request that cannot be sent is an error, and no other one waits for it', async (t) => {
  const upstream = await startHttp2Upstream(t, echo, { settings: { maxConcurrentStreams: 1 } });
  const front = await openFront(t, { h2: 'always', connectionsMax: 1 });
  for (let round = 0; round < 2; round++) {
    const error = await new Promise((resolve) => {
      front.upstream.forward(
        {
          tenantId: 'acme',
          agentId: 'bot',
          target: parseTarget(`${upstream.origin}/x`),
          method: 'CONNECT',
          headers: ['Host', 'localhost'],
          body: undefined,
        },
        {
          response: new http.ServerResponse(new http.IncomingMessage(new net.Socket())),
          extraHeaders: [],
          onError: resolve,
        },
      );
    });
    t.ok(error instanceof GatewayError);
    t.match(error, { code: 'UPSTREAM_PROTOCOL' });
    t.match(await front.ask(`${upstream.origin}/x`), { status: 200 });
  }
});

t.test('half an answer does not look whole where it is reset without an error', async (t) => {
  const halved = Promise.withResolvers<void>();
  const noError = Buffer.alloc(4);
  const upstream = await startFrameUpstream(t, (socket, id) => {
    socket.write(Buffer.concat([okHead(id), frameOf('data', 0, id, Buffer.from('half'))]));
    halved.promise.then(() => socket.write(frameOf('reset', 0, id, noError)));
  });
  const front = await openFront(t, { h2: 'always' });
  const cut = await front.open(`${upstream.origin}/x`);
  t.equal(String((await once(cut, 'data'))[0]), 'half');
  halved.resolve();
  await t.rejects(once(cut, 'end'));
  t.match(front.outcomes, [{ aborted: true }]);
  const whole = await startFrameUpstream(t, (socket, id) => {
    const body = frameOf('data', endStream, id, Buffer.from('whole'));
    socket.write(Buffer.concat([okHead(id), body, frameOf('reset', 0, id, noError)]));
  });
  t.match(await front.ask(`${whole.origin}/x`), { status: 200, body: 'whole' });
});

t.test('an upstream that sends interim answers without end is an error', async (t) => {
  const upstream = await startFrameUpstream(t, (socket, id) => {
    const hint = frameOf('headers', endHeaders, id, fieldsOf({ ':status': '103', link: '</a>' }));
    socket.write(Buffer.concat([...Array<Buffer>(17).fill(hint), okHead(id, endHeaders | endStream)]));
  });
  const front = await openFront(t, { h2: 'always' });
  t.match(await front.ask(`${upstream.origin}/x`), {
    code: 'UPSTREAM_PROTOCOL',
    detail: 'The upstream broke HTTP/2. There are too many interim answers.',
  });
});

t.test(
  'a session that is kept no longer is closed, whether or not the upstream closes its side',
  async (t) => {
    const sockets: net.Socket[] = [];
    const upstream = await startFrameUpstream(t, (socket, id) => {
      sockets.push(socket);
      // It reads nothing any more: an end of ours goes unseen, and only a reset is noticed, in writing.
      socket.pause();
      socket.write(okHead(id, endHeaders | endStream));
    });
    const front = await openFront(t, { h2: 'always', keptMs: 50 });
    t.match(await front.ask(`${upstream.origin}/x`), { status: 200 });
    const [socket] = sockets as [net.Socket];
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const writing = setInterval(() => socket.write(frameOf('settings', 0, 0, Buffer.alloc(0))), 20);
    t.teardown(() => clearInterval(writing));
    await closed;
    t.pass('it is closed');
  },
);

/** A body that goes as the test wants. */
class TestBody implements StreamedBody {
  moves = 0;
  isEnded = false;
  readonly begun = Promise.withResolvers<void>();
  #sink: BodySink | undefined;
  #onDrain: (() => void) | undefined;

  start(sink: BodySink): void {
    this.#sink = sink;
    this.begun.resolve();
  }

  drained(): void {
    this.#onDrain?.();
  }

  write(text: string): boolean {
    this.moves++;
    return this.#sink?.write(Buffer.from(text)) ?? false;
  }

  end(): void {
    this.isEnded = true;
    this.moves++;
    this.#sink?.end();
  }

  whenDrained(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrain = resolve;
    });
  }
}

/** Keeps an answer, and tells of it. */
class TestAnswer extends EventEmitter implements Answer {
  headersSent = false;
  writableEnded = false;
  destroyed = false;
  readonly chunkedEncoding = true;
  text = '';

  writeHead(): void {
    this.headersSent = true;
  }

  flushHeaders(): void {}

  write(chunk: Buffer): boolean {
    this.text += chunk;
    this.emit('text');
    return true;
  }

  end(chunk?: Buffer): void {
    if (chunk) this.write(chunk);
    this.writableEnded = true;
  }

  addTrailers(): void {}

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function stream(front: Front, url: string, method = 'POST') {
  const body = new TestBody();
  const answer = new TestAnswer();
  const { promise: over, resolve } = Promise.withResolvers<RelayOutcome | GatewayError>();
  const forwarding = front.upstream.forward(
    {
      ...{
        tenantId: 'acme',
        agentId: 'bot',
        target: parseTarget(url),
        method,
        body: undefined,
        messages: body,
      },
      headers: ['Content-Type', 'application/grpc', 'Host', 'localhost'],
    },
    { response: answer, extraHeaders: [], onError: resolve, onEnd: resolve },
  );
  return { body, answer, forwarding, over };
}

t.test('a body is sent as it is let through, and answered meanwhile', async (t) => {
  const upstream = await startHttp2Upstream(t, echo);
  const front = await openFront(t);
  const { body, answer, over } = stream(front, `${upstream.origin}/chat`);
  await body.begun.promise;
  for (let n = 1; n <= 10; n++) {
    body.write(`${n} `);
    await once(answer, 'text');
  }
  body.end();
  t.match(await over, { status: 200, aborted: false });
  t.equal(answer.text, '1 2 3 4 5 6 7 8 9 10 ');
});

t.test('an upstream that does not read holds the body back', async (t) => {
  const held = Promise.withResolvers<http2.ServerHttp2Stream>();
  const upstream = await startHttp2Upstream(t, (it) => {
    it.respond({ ':status': 200 });
    held.resolve(it);
  });
  const front = await openFront(t);
  const { body, over } = stream(front, `${upstream.origin}/slow`);
  await body.begun.promise;
  const chunk = 'x'.repeat(16_384);
  let written = 1;
  while (body.write(chunk)) written++;
  const drained = body.whenDrained();
  const reader = await held.promise;
  let readBytes = 0;
  reader.on('data', (it: Buffer) => {
    readBytes += it.length;
  });
  reader.on('end', () => reader.end());
  await drained;
  body.end();
  await over;
  t.equal(readBytes, written * chunk.length);
});

t.test('an answer that is whole before its request ends that, and frees its stream', async (t) => {
  const codes: number[] = [];
  const upstream = await startHttp2Upstream(
    t,
    (it) => {
      it.once('close', () => codes.push(it.rstCode));
      it.respond({ ':status': 200 });
      it.end('enough');
    },
    { settings: { maxConcurrentStreams: 1 } },
  );
  const front = await openFront(t, { connectionsMax: 1 });
  for (let round = 1; round <= 3; round++) {
    const { body, answer, over } = stream(front, `${upstream.origin}/early`);
    await body.begun.promise;
    body.write('one');
    t.match(await over, { status: 200, aborted: false });
    t.equal(answer.text, 'enough');
    t.notOk(body.write('two'), 'nothing more is taken');
    body.end();
  }
  t.ok(codes.every((it) => it !== http2.constants.NGHTTP2_INTERNAL_ERROR));
});

t.test('a body that was begun is never sent again, nor over HTTP/1.1', async (t) => {
  const upstream = await startHttp2Upstream(t, (it) => it.close(http2.constants.NGHTTP2_REFUSED_STREAM));
  const front = await openFront(t);
  const { over } = stream(front, `${upstream.origin}/refused`, 'PUT');
  t.match(await over, { code: 'UPSTREAM_PROTOCOL' });
  t.same(upstream.requests, ['PUT /refused']);
  const never = await openFront(t, { h2: 'never' });
  t.match(await stream(never, `${upstream.origin}/x`).over, { code: 'UPSTREAM_PROTOCOL' });
  t.equal(upstream.requests.length, 1);
});

t.test('an upstream may wait for the end of the body; what stands still is ended', async (t) => {
  const upstream = await startHttp2Upstream(t, (it, headers) => {
    it.resume();
    if (headers[':path'] === '/gather')
      it.on('end', () => it.respond({ ':status': 200 }, { endStream: true }));
  });
  const front = await openFront(t, { responseTimeoutMs: 60, idleTimeoutMs: 400 });
  const gathering = stream(front, `${upstream.origin}/gather`);
  await gathering.body.begun.promise;
  for (let n = 0; n < 12; n++) {
    gathering.body.write('x');
    await wait(40);
  }
  gathering.body.end();
  t.match(await gathering.over, { status: 200 });
  const silent = stream(front, `${upstream.origin}/silent`);
  await silent.body.begun.promise;
  silent.body.write('x');
  t.match(await silent.over, { code: 'UPSTREAM_TIMEOUT', message: /was sent nothing more/ });
  const ended = stream(front, `${upstream.origin}/silent`);
  await ended.body.begun.promise;
  ended.body.end();
  t.match(await ended.over, { code: 'UPSTREAM_TIMEOUT', message: /did not begin to answer/ });
});
