import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { StreamedAnswer } from '../../src/api/route.ts';
import { sendStream } from '../../src/api/send-stream.ts';

interface Served {
  readonly url: string;
  /** Of the answer that was sent last. */
  readonly sent: () => Promise<unknown>;
}

async function serve(
  t: Test,
  pieces: (signal: AbortSignal) => AsyncIterable<string>,
  stallMs?: number,
): Promise<Served> {
  let sending: Promise<unknown> = Promise.resolve();
  const server = http.createServer((_, response) => {
    const leaving = new AbortController();
    response.once('close', () => leaving.abort());
    const answer = new StreamedAnswer('text/plain', pieces(leaving.signal), ['X-Own', 'yes']);
    sending = sendStream(response, answer, leaving.signal, stallMs).catch((error: unknown) => {
      response.destroy();
      return error;
    });
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, sent: () => sending };
}

const large = 'x'.repeat(256 * 1024);

t.test('writes all pieces, and ends', async (t) => {
  const { url } = await serve(t, async function* () {
    yield 'a';
    yield large;
    yield 'b';
  });
  const response = await fetch(url);
  t.equal(response.headers.get('x-own'), 'yes');
  t.equal(response.headers.get('x-content-type-options'), 'nosniff');
  t.equal(await response.text(), `a${large}b`);
});

t.test('a failure midway breaks the answer off, so that it does not look whole', async (t) => {
  const failure = new Error('the state is away');
  const { url, sent } = await serve(t, async function* () {
    yield 'a line\n';
    await new Promise((resolve) => setTimeout(resolve, 100));
    throw failure;
  });
  const response = await fetch(url);
  t.equal(response.status, 200);
  await t.rejects(response.text());
  t.equal(await sent(), failure);
});

t.test('a failure before the first piece leaves the head to whoever answers it', async (t) => {
  const failure = new Error('not even begun');
  // biome-ignore lint/correctness/useYield: it fails before it could
  const { url, sent } = await serve(t, async function* () {
    throw failure;
  });
  await t.rejects(fetch(url));
  t.equal(await sent(), failure);
});

t.test('no more is made than the client reads, and a client that leaves ends the work', async (t) => {
  let made = 0;
  const ended = Promise.withResolvers<void>();
  const { url, sent } = await serve(t, async function* () {
    try {
      for (; made < 10_000; made += 1) yield large;
    } finally {
      ended.resolve();
    }
  });
  const request = http.get(url);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.pause();
  let before = -1;
  while (made !== before) {
    before = made;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  t.ok(made < 200, `${made} pieces of 10,000 were made for a client that reads none`);
  request.destroy();
  await ended.promise;
  t.equal(await sent(), undefined);
});

t.test('a client that does not read is left after a while', async (t) => {
  const { url, sent } = await serve(
    t,
    async function* () {
      for (;;) yield large;
    },
    50,
  );
  const request = http.get(url);
  request.on('error', () => undefined);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.on('error', () => undefined);
  response.pause();
  t.match(await sent(), { code: 'GATEWAY_BUSY' });
});
