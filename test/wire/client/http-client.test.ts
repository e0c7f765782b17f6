import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { inspect } from 'node:util';
import t, { type Test } from 'tap';
import { GatewayError } from '../../../src/core/errors.ts';
import { toLogged } from '../../../src/core/log.ts';
import { createHttpClient, type HttpRequest, readAnswerBody } from '../../../src/wire/client/http-client.ts';
import { startUpstream } from '../../support/upstream.ts';

const secret = 'hunter2-of-acme';

/** Sends a request to a port on loopback, whatever host its URL names. */
function clientTo(port: number, idleTimeoutMs = 10_000) {
  const client = createHttpClient({
    idleTimeoutMs,
    async connect() {
      const socket = net.connect({ host: '127.0.0.1', port });
      await once(socket, 'connect');
      return socket;
    },
  });
  return (more: Partial<HttpRequest> = {}) =>
    client({ url: `http://api.test/${secret}`, method: 'GET', headers: { 'x-key': secret }, ...more });
}

/** A server that says what `answer` writes, byte for byte. Ends with the test. */
async function serve(t: Test, answer: (socket: Socket) => void): Promise<number> {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  const open = new Set<Socket>();
  server.on('connection', (socket) => open.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

t.test('a request is sent as it is asked for, and its answer is read whole', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => void response.end('hello'), {
    tls: false,
  });
  const answer = await clientTo(upstream.port)({
    url: `http://me%3A:p%40ss@${'api.test'}/a%20b?c=d`,
    method: 'POST',
    headers: { 'X-Key': 'one', 'x-key': 'two' },
    body: 'äöü',
  });
  t.equal(answer.status, 200);
  t.equal((await readAnswerBody(answer.body, 5)).toString(), 'hello');
  const [request] = upstream.requests;
  t.match(request, { method: 'POST', url: '/a%20b?c=d' });
  t.equal(request?.body.toString(), 'äöü');
  t.match(request?.headers, { host: 'api.test', 'content-length': '6', connection: 'close' });
  t.equal(request?.headers['x-key'], 'two', 'of names in another case the last one counts');
  t.equal(request?.headers.authorization, `Basic ${Buffer.from('me::p@ss').toString('base64')}`);
});

t.test('each request has a connection of its own, and redirects are answers like others', async (t) => {
  const upstream = await startUpstream(
    t,
    (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
    { tls: false },
  );
  const send = clientTo(upstream.port);
  for (let nth = 0; nth < 2; nth += 1) {
    const { status, headers, body } = await send();
    t.equal(status, 302);
    t.equal(headers['location'], '/elsewhere');
    await readAnswerBody(body, 0);
  }
  t.same(
    upstream.requests.map((it) => it.connection),
    [1, 2],
  );
});

const head = (...fields: string[]): string => `HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\n\r\n`;
const failures: Record<string, { write: string; ends?: boolean; code: string; message: RegExp }> = {
  'is closed before an answer': { write: '', code: 'UPSTREAM_UNREACHABLE', message: /before it answered/ },
  'is closed within the head': {
    write: `HTTP/1.1 200 OK\r\nX-Echo: ${secret}`,
    code: 'UPSTREAM_UNREACHABLE',
    message: /before it answered/,
  },
  'is shorter than it says': {
    write: `${head('Content-Length: 100')}${secret}`,
    code: 'UPSTREAM_PROTOCOL',
    message: /in the middle of its answer/,
  },
  'is shorter than it says and keeps its connection': {
    write: `${head('Content-Length: 100', 'Connection: keep-alive')}${secret}`,
    code: 'UPSTREAM_PROTOCOL',
    message: /in the middle of its answer/,
  },
  'ends within its chunks': {
    write: `${head('Transfer-Encoding: chunked', 'Connection: close')}40\r\n${secret}`,
    code: 'UPSTREAM_PROTOCOL',
    message: /in the middle of its answer/,
  },
  'is no HTTP': { write: `${secret}\r\n\r\n`, code: 'UPSTREAM_PROTOCOL', message: /not well-formed/ },
  'has two lengths': {
    write: head('Content-Length: 1', 'Content-Length: 2', `X-Echo: ${secret}`),
    code: 'UPSTREAM_UNREACHABLE',
    message: /before it answered/,
  },
  'has a head without an end': {
    write: head(...Array.from({ length: 2000 }, (_, nth) => `X-${nth}: ${secret}`)),
    code: 'UPSTREAM_PROTOCOL',
    message: /too long/,
  },
  'says nothing': { write: '', ends: false, code: 'UPSTREAM_TIMEOUT', message: /did not answer in time/ },
  'stops within its body': {
    write: `${head('Content-Length: 100')}${secret}`,
    ends: false,
    code: 'UPSTREAM_TIMEOUT',
    message: /in the middle of its answer/,
  },
  'is longer than what is taken': {
    write: `${head('Content-Length: 9')}123456789`,
    code: 'UPSTREAM_PROTOCOL',
    message: /more than 8 bytes/,
  },
};
for (const [name, { write, ends = true, code, message }] of Object.entries(failures))
  t.test(`an answer that ${name} is a failure that quotes nothing`, async (t) => {
    const port = await serve(t, (socket) => {
      if (ends) socket.end(write);
      else socket.write(write);
    });
    const read = async () => readAnswerBody((await clientTo(port, 300)()).body, 8);
    const longer = async () => readAnswerBody((await clientTo(port, 300)()).body, 100);
    const error: unknown = await (name.startsWith('is longer') ? read() : longer()).then(
      () => undefined,
      (thrown) => thrown,
    );
    t.ok(error instanceof GatewayError);
    t.match(error, { code, message });
    const told = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(toLogged(error));
    t.notMatch(told, secret);
  });

t.test('a failure to connect is the one that the connection had', async (t) => {
  const refusal = new GatewayError('EGRESS_BLOCKED', 'The upstream address is loopback.');
  const client = createHttpClient({ connect: () => Promise.reject(refusal), idleTimeoutMs: 1000 });
  await t.rejects(client({ url: 'http://a.test/', method: 'GET', headers: {} }), refusal);
});

t.test('what is no request is refused and not quoted', async (t) => {
  const send = clientTo(1);
  for (const request of [
    { url: `ftp://a.test/${secret}` },
    { url: `${secret}` },
    { url: `http://%zz${secret}@a.test/` },
    { headers: { 'x-key': `${secret}\r\nx: y` } },
    { headers: { [`${secret} x`]: 'a' } },
  ]) {
    const error: unknown = await send(request).then(
      () => undefined,
      (thrown) => thrown,
    );
    t.ok(error instanceof GatewayError);
    t.notMatch(inspect(error, { depth: 9, showHidden: true }), secret);
  }
});

t.test('a signal ends the exchange wherever it is', async (t) => {
  const closed: Promise<unknown>[] = [];
  const port = await serve(t, (socket) => {
    closed.push(once(socket, 'close'));
    socket.write(head('Content-Length: 100'));
  });
  const reason = new Error('given up');

  const early = AbortSignal.abort(reason);
  await t.rejects(clientTo(port)({ signal: early }), reason, 'before it begins');

  const connecting = new AbortController();
  const opened = Promise.withResolvers<Socket>();
  const asked = Promise.withResolvers<void>();
  const connect = (): Promise<Socket> => {
    asked.resolve();
    return opened.promise;
  };
  const slow = createHttpClient({ connect, idleTimeoutMs: 10_000 });
  const waiting = slow({ url: 'http://a.test/', method: 'GET', headers: {}, signal: connecting.signal });
  await asked.promise;
  connecting.abort(reason);
  await t.rejects(waiting, reason, 'while the connection is opened');
  const late = net.connect({ host: '127.0.0.1', port });
  await once(late, 'connect');
  const lateClosed = Promise.withResolvers<void>();
  late.on('error', () => {}).on('close', () => lateClosed.resolve());
  opened.resolve(late);
  await lateClosed.promise;
  t.pass('a connection that comes too late is closed');

  const reading = new AbortController();
  const { body } = await clientTo(port)({ signal: reading.signal });
  reading.abort(reason);
  await t.rejects(readAnswerBody(body, 100), reason, 'while the body is read');
  await Promise.all(closed);
});

t.test('a body that nobody wants closes its connection', async (t) => {
  const closed = Promise.withResolvers<void>();
  const port = await serve(t, (socket) => {
    socket.on('close', () => closed.resolve());
    socket.write(head('Content-Length: 100'));
  });
  const { body } = await clientTo(port)();
  body.destroy();
  await closed.promise;
});

t.test('a body that is read slowly holds its server back', async (t) => {
  const chunk = Buffer.alloc(65_536, 'x');
  let sent = 0;
  const port = await serve(t, (socket) => {
    socket.write(head('Connection: close'));
    const more = (): void => {
      while (socket.write(chunk)) sent += chunk.length;
      sent += chunk.length;
    };
    socket.on('drain', more);
    more();
  });
  const { body } = await clientTo(port, 300)();
  let before = -1;
  while (before !== sent) {
    before = sent;
    // Longer than the silence that ends an exchange: who reads slowly is not cut off.
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  t.ok(body.readableLength <= 262_144, `${body.readableLength} bytes wait`);
  body.once('data', () => {});
  await once(body, 'data');
  body.destroy();
});
