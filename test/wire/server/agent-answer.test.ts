import { once } from 'node:events';
import t from 'tap';
import type { Exchange } from '../../../src/wire/server/exchange.ts';
import { readAnswers, startLab } from './lab.ts';

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

t.test('an answer is framed by its length, or in chunks', async (t) => {
  const cases: { name: string; method?: string; write(exchange: Exchange): void; want: RegExp }[] = [
    {
      name: 'a length',
      write({ answer }) {
        answer.writeHead(200, ['X-A', '1', 'Content-Length', '5']);
        t.equal(answer.chunkedEncoding, false);
        answer.write(Buffer.from('ab'));
        answer.end(Buffer.from('cde'));
      },
      want: /^HTTP\/1\.1 200 OK\r\nX-A: 1\r\nContent-Length: 5\r\nDate: .* GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\nabcde$/,
    },
    {
      name: 'chunks, none of them empty',
      write({ answer }) {
        answer.writeHead(200, ['Date', 'then']);
        t.equal(answer.chunkedEncoding, true);
        answer.write(Buffer.from('ab'));
        answer.write(Buffer.alloc(0));
        answer.write(Buffer.alloc(16, 'c'));
        answer.end();
      },
      want: /^HTTP\/1\.1 200 OK\r\nDate: then\r\nTransfer-Encoding: chunked\r\n.*\r\n\r\n2\r\nab\r\n10\r\nc{16}\r\n0\r\n\r\n$/s,
    },
    {
      name: 'trailers',
      write({ answer }) {
        answer.writeHead(200, []);
        answer.addTrailers([
          ['X-Sum', '1'],
          ['X-More', '2'],
        ]);
        answer.end(Buffer.from('ab'));
      },
      want: /\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n$/,
    },
    {
      name: 'no trailers behind a length',
      write({ answer }) {
        answer.writeHead(200, ['Content-Length', '2']);
        answer.addTrailers([['X-Sum', '1']]);
        answer.end(Buffer.from('ab'));
      },
      want: /\r\n\r\nab$/,
    },
    {
      name: 'a head that is sent by itself',
      write({ answer }) {
        answer.writeHead(200, []);
        answer.flushHeaders();
        answer.flushHeaders();
        answer.end();
      },
      want: /^HTTP\/1\.1 200 OK\r\nDate.*\r\n\r\n0\r\n\r\n$/s,
    },
    {
      name: 'HEAD',
      method: 'HEAD',
      write({ answer }) {
        answer.writeHead(200, ['Content-Length', '5']);
        answer.write(Buffer.from('ab'));
        answer.end(Buffer.from('cde'));
      },
      want: /\r\nContent-Length: 5\r\n.*\r\n\r\n$/s,
    },
    {
      name: 'HEAD without a length',
      method: 'HEAD',
      write({ answer }) {
        answer.writeHead(200, []);
        answer.end(Buffer.from('ab'));
      },
      want: /^(?!.*transfer-encoding).*\r\n\r\n$/is,
    },
    {
      name: '204, which has no length either',
      write({ answer }) {
        answer.writeHead(204, ['Content-Length', '5']);
        answer.end(Buffer.from('ab'));
      },
      want: /^HTTP\/1\.1 204 No Content\r\nDate: [^\r]*\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\n$/,
    },
    {
      name: '304',
      write({ answer }) {
        answer.writeHead(304, ['Content-Length', '5']);
        answer.end();
      },
      want: /^HTTP\/1\.1 304 Not Modified\r\nContent-Length: 5\r\n.*\r\n\r\n$/s,
    },
    {
      name: 'an unknown status',
      write({ answer }) {
        answer.writeHead(299, ['Content-Length', '0', 'X', 'caf\xe9\t']);
        answer.end();
      },
      want: /^HTTP\/1\.1 299 \r\nContent-Length: 0\r\nX: caf\xe9\t\r\n/,
    },
    {
      name: 'fields about the connection, which are ours',
      write({ answer }) {
        answer.writeHead(200, ['Connection', 'X-A', 'Keep-Alive', 'timeout=9', 'Content-Length', '0']);
        answer.end();
      },
      want: /^HTTP\/1\.1 200 OK\r\nContent-Length: 0\r\nDate: [^\r]*\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\n$/,
    },
  ];
  for (const { name, method = 'GET', write, want } of cases) {
    const lab = await startLab(t, { onRequest: write });
    // The next answer shows that this one ended where the client thinks it does.
    const client = lab.connect().write(`${method} / HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:1 HTTP/1.1\r\n\r\n`);
    const text = await client.all();
    const next = text.lastIndexOf('HTTP/1.1 400 ');
    t.match(text.slice(0, next), want, name);
    t.match(readAnswers(text.slice(next)), [{ status: 400 }], `${name}: the next one`);
  }
});

t.test('a wish to close is heard', async (t) => {
  const lab = await startLab(t, {
    onRequest({ answer }) {
      answer.writeHead(200, ['Connection', 'x, Close', 'Content-Length', '0']);
      answer.end();
    },
  });
  t.match(readAnswers(await lab.connect().write(get).all()), [{ headers: { connection: 'close' } }]);
});

t.test('large answers pass byte for byte', async (t) => {
  const body = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) & 0xff));
  for (const fields of [[], ['Content-Length', String(body.length)]]) {
    const lab = await startLab(t, {
      onRequest({ answer }) {
        answer.writeHead(200, ['Connection', 'close', ...fields]);
        answer.write(body.subarray(0, 1));
        answer.write(body.subarray(1, 200_000));
        answer.end(body.subarray(200_000));
      },
    });
    const [answer] = readAnswers(await lab.connect().write(get).all());
    t.ok(Buffer.from(answer?.body ?? '', 'latin1').equals(body));
  }
});

t.test('no field can split an answer', async (t) => {
  const bad: [string, string][] = [
    ['X', 'a\r\nSet-Cookie: b=c'],
    ['X', 'a\nb'],
    ['X', 'a\rb'],
    ['X', 'a\0b'],
    ['X', '\x7f'],
    ['X', '\u010a'],
    ['X', '\u{1f600}'],
    ['X\r\nY', 'a'],
    ['X Y', 'a'],
    ['X:', 'a'],
    ['', 'a'],
    ['\xe9', 'a'],
    ['Transfer-Encoding', 'chunked'],
    ['Content-Length', '1x'],
    ['Content-Length', '-1'],
  ];
  const thrown: unknown[] = [];
  const lab = await startLab(t, {
    onRequest({ answer }) {
      for (const pair of bad) {
        try {
          answer.writeHead(200, ['X-First', '1', ...pair]);
        } catch (error) {
          thrown.push(error);
        }
        try {
          answer.addTrailers([pair]);
        } catch (error) {
          thrown.push(error);
        }
      }
      for (const status of [0, 99, 100, 101, 199, 1000, 200.5, Number.NaN]) {
        try {
          answer.writeHead(status, []);
        } catch (error) {
          thrown.push(error);
        }
      }
      try {
        answer.writeHead(200, ['Content-Length', '1', 'content-length', '1']);
      } catch (error) {
        thrown.push(error);
      }
      t.equal(answer.headersSent, false, 'nothing counts as sent');
      answer.writeHead(200, ['Content-Length', '2']);
      answer.end(Buffer.from('ok'));
    },
  });
  const client = lab.connect().write(get);
  const text = await client.until('\r\n\r\nok');
  // Framing fields are no harm in a trailer's syntax.
  t.equal(thrown.length, bad.length + (bad.length - 3) + 8 + 1, 'each of them is refused');
  t.match(readAnswers(text), [{ status: 200, body: 'ok' }], 'and none of them is seen');
  t.notMatch(text, /X-First|Set-Cookie/);
});

t.test('a body that is not as long as declared cuts the connection', async (t) => {
  const cases: { name: string; write(exchange: Exchange): void; seen: RegExp }[] = [
    {
      name: 'shorter',
      write({ answer }) {
        answer.writeHead(200, ['Content-Length', '5']);
        answer.write(Buffer.from('ab'));
        answer.end(Buffer.from('c'));
      },
      seen: /^(|.*\r\n\r\n(ab)?)$/s,
    },
    {
      name: 'longer at once',
      write({ answer }) {
        answer.writeHead(200, ['Content-Length', '1']);
        answer.end(Buffer.from('ab'));
      },
      seen: /^$/,
    },
    {
      name: 'longer later',
      write({ answer }) {
        answer.writeHead(200, ['Content-Length', '2']);
        answer.write(Buffer.from('ab'));
        t.equal(answer.write(Buffer.from('c')), false);
      },
      seen: /^(|.*\r\n\r\nab)$/s,
    },
    {
      name: 'destroyed',
      write({ answer }) {
        answer.writeHead(200, []);
        answer.write(Buffer.from('ab'));
        answer.destroy();
        t.equal(answer.destroyed, true);
        t.equal(answer.write(Buffer.from('c')), false, 'nothing more is taken');
        answer.end();
      },
      // What came before the cut is not lost, such as the last event of a stream.
      seen: /\r\n\r\n2\r\nab\r\n$/,
    },
  ];
  for (const { name, write, seen } of cases) {
    const closed = Promise.withResolvers<void>();
    const lab = await startLab(t, {
      onRequest(exchange) {
        exchange.answer.once('close', closed.resolve);
        write(exchange);
      },
    });
    const client = lab.connect().write(get + get);
    t.match(await client.all(), seen, name);
    await closed.promise;
    t.equal(lab.requests.length, 1, `${name}: the next request is not answered`);
  }
});

t.test('close comes once, and never from within a call', async (t) => {
  const events: string[] = [];
  const lab = await startLab(t, {
    onRequest({ target, answer }) {
      answer.once('close', () => events.push(`close ${target}`));
      answer.writeHead(200, ['Content-Length', '2']);
      answer.end(Buffer.from('ok'));
      events.push(`ended ${target}`);
      t.equal(answer.writableEnded, true);
      answer.end();
    },
  });
  const client = lab
    .connect()
    .write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await client.all();
  client.socket.destroy();
  await once(lab.serverSocket(), 'close');
  t.same(events, ['ended /1', 'close /1', 'ended /2', 'close /2']);
});

t.test('an answer that is over has no power over the next', async (t) => {
  const first = Promise.withResolvers<Exchange>();
  const lab = await startLab(t, {
    onRequest(exchange) {
      const { target, answer } = exchange;
      answer.writeHead(200, ['Content-Length', '2']);
      answer.end(Buffer.from(target));
      if (target === '/1') answer.once('close', () => first.resolve(exchange));
    },
  });
  const client = lab.connect().write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until('\r\n\r\n/1');
  const old = await first.promise;
  old.answer.destroy();
  t.equal(old.answer.write(Buffer.from('x')), false);
  old.answer.end(Buffer.from('x'));
  old.answer.flushHeaders();
  old.collect(
    { bytesMax: 10 },
    {
      done: () => t.fail('there is nothing to collect'),
      failed: () => t.fail('and nothing to fail'),
    },
  );
  client.write('GET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
  t.match(readAnswers(await client.until('\r\n\r\n/2')), [{ body: '/1' }, { body: '/2' }]);
});

t.test('a slow reader holds its writer back', async (t) => {
  const chunk = Buffer.alloc(65_536, 'a');
  const chunks = 800;
  const stalled = Promise.withResolvers<void>();
  const lab = await startLab(t, {
    onRequest({ answer }) {
      answer.writeHead(200, ['Connection', 'close', 'Content-Length', String(chunk.length * chunks)]);
      let left = chunks;
      const pump = (): void => {
        while (left > 0) {
          left--;
          if (left === 0) {
            answer.off('drain', pump);
            answer.end(chunk);
          } else if (!answer.write(chunk)) {
            stalled.resolve();
            return;
          }
        }
      };
      answer.on('drain', pump);
      pump();
    },
  });
  const client = lab.connect();
  client.socket.pause();
  client.write(get);
  await stalled.promise;
  t.ok(lab.serverSocket().writableLength < 1 << 20, 'what waits is bounded');
  client.socket.resume();
  const [answer] = readAnswers(await client.all());
  t.equal(answer?.body.length, chunk.length * chunks);
});

t.test('a client that does not take the end of its answer is cut in the end', async (t) => {
  const size = 64 * 1024 * 1024;
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
  const lab = await startLab(t, {
    limits: { idleTimeoutMs: 100 },
    onRequest({ answer }) {
      answer.once('close', onClosed);
      answer.writeHead(200, ['Content-Length', String(size)]);
      answer.end(Buffer.alloc(size));
    },
  });
  const client = lab.connect();
  client.socket.pause();
  client.write(get);
  await closed;
  t.pass('its exchange is over');
});
