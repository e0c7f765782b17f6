import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { GatewayError } from '../../../src/core/errors.ts';
import type { Exchange } from '../../../src/wire/server/exchange.ts';
import { answerProblem } from '../../../src/wire/server/problem.ts';
import { answerText, createHeld, readAnswers, startLab } from './lab.ts';

/** What a client hopes that somebody takes for a request of its own. */
const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
const post = 'POST / HTTP/1.1\r\nHost: a\r\n';

t.test('what can be read in two ways is refused, and nothing behind it is read', async (t) => {
  const cases: { name: string; bytes: string; status?: number; isAll?: boolean }[] = [
    {
      name: 'a length and chunks',
      bytes: `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    },
    {
      name: 'chunks and a length',
      bytes: `${post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    },
    { name: 'two lengths that differ', bytes: `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\na` },
    { name: 'two lengths that agree', bytes: `${post}Content-Length: 1\r\nContent-Length: 1\r\n\r\na` },
    { name: 'a list of lengths', bytes: `${post}Content-Length: 1, 1\r\n\r\na` },
    { name: 'a length with a sign', bytes: `${post}Content-Length: +1\r\n\r\na` },
    { name: 'a negative length', bytes: `${post}Content-Length: -1\r\n\r\n` },
    { name: 'a length with a space in it', bytes: `${post}Content-Length: 1 0\r\n\r\na` },
    { name: 'a hexadecimal length', bytes: `${post}Content-Length: 0x1\r\n\r\na` },
    { name: 'an empty length', bytes: `${post}Content-Length:\r\n\r\n` },
    { name: 'a length that no number holds', bytes: `${post}Content-Length: 99999999999999999999\r\n\r\n` },
    { name: 'chunked twice', bytes: `${post}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n` },
    {
      name: 'chunked in two fields',
      bytes: `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    },
    { name: 'chunked and not last', bytes: `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n` },
    { name: 'another transfer coding', bytes: `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n` },
    { name: 'a misspelt transfer coding', bytes: `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n` },
    { name: 'chunks in HTTP/1.0', bytes: 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' },
    { name: 'a folded field', bytes: `${post}X: a\r\n b\r\n\r\n` },
    { name: 'a space before the colon', bytes: `${post}Content-Length : 5\r\n\r\n` },
    { name: 'a field without a name', bytes: `${post}: x\r\n\r\n` },
    { name: 'a field without a colon', bytes: `${post}x\r\n\r\n` },
    { name: 'lines that end in LF', bytes: 'GET / HTTP/1.1\nHost: a\n\n' },
    { name: 'one line that ends in LF', bytes: 'GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n' },
    { name: 'a bare CR in a value', bytes: `${post}X: a\rb\r\n\r\n` },
    { name: 'NUL in a value', bytes: `${post}X: a\0b\r\n\r\n` },
    { name: 'NUL in a name', bytes: `${post}X\0: a\r\n\r\n` },
    { name: 'a space in the target', bytes: 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n' },
    { name: 'no Host', bytes: 'GET / HTTP/1.1\r\nX: a\r\n\r\n' },
    { name: 'two Hosts', bytes: 'GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n' },
    { name: 'a tab in the request line', bytes: 'GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n' },
    { name: 'a space before the first field', bytes: 'GET / HTTP/1.1\r\n Host: a\r\n\r\n' },
    { name: 'two empty lines before it', bytes: '\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n' },
    { name: 'another version', bytes: 'GET / HTTP/1.2\r\nHost: a\r\n\r\n' },
    { name: 'no version', bytes: 'GET /\r\n\r\n' },
    { name: 'the beginning of TLS, and no more', bytes: '\x16\x03\x01', isAll: true },
    { name: 'a word that begins no request, and no more', bytes: 'hello', isAll: true },
    { name: 'the preface of HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
    { name: 'a tunnel in the tunnel', bytes: 'CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n' },
    { name: 'a method in lower case', bytes: 'delete / HTTP/1.1\r\nHost: a\r\n\r\n' },
    { name: 'a method that nobody knows', bytes: 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n' },
    { name: 'a chunk size that is none', bytes: `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n` },
    {
      name: 'a chunk size with a sign',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n`,
    },
    { name: 'a chunk size with 0x', bytes: `${post}Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n` },
    {
      name: 'a chunk size that overflows',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(17)}\r\n`,
    },
    {
      name: 'a chunk size that ends in LF',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n`,
    },
    {
      name: 'a chunk longer than its size',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n`,
    },
    { name: 'a chunk that ends in LF', bytes: `${post}Transfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n` },
    {
      name: 'an extension with a bare CR',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n1;a\rb\r\na\r\n0\r\n\r\n`,
    },
    {
      name: 'an extension without end',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(300)}\r\na\r\n0\r\n\r\n`,
      status: 431,
    },
    { name: 'a trailer that is none', bytes: `${post}Transfer-Encoding: chunked\r\n\r\n0\r\nx y: a\r\n\r\n` },
    {
      name: 'trailers without end',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n0\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
      status: 431,
    },
  ];
  for (const { name, bytes, status = 400, isAll } of cases) {
    const lab = await startLab(t);
    const client = lab.connect().write(isAll ? bytes : bytes + smuggled);
    const answers = readAnswers(await client.all());
    t.equal(answers.length, 1, `${name}: one answer`);
    t.equal(answers[0]?.status, status, name);
    t.equal(answers[0]?.headers['content-type'], 'application/problem+json', name);
    t.equal(answers[0]?.headers['connection'], 'close', name);
    t.equal(lab.requests.length, 0, `${name}: nobody sees a request`);
  }
});

t.test('what is well-formed arrives as it was sent, whole or byte by byte', async (t) => {
  const cases: { name: string; bytes: string; body?: string; fields?: string[] }[] = [
    { name: 'no body', bytes: 'GET /a?b HTTP/1.1\r\nHost: a\r\n\r\n' },
    { name: 'a method of Vault', bytes: 'LIST /v1/secret/metadata HTTP/1.1\r\nHost: a\r\n\r\n' },
    { name: 'a body of a known length', bytes: `${post}Content-Length: 3\r\n\r\nabc`, body: 'abc' },
    { name: 'a length of nothing', bytes: `${post}Content-Length: 0\r\n\r\n` },
    {
      name: 'chunks',
      bytes: `${post}Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0A;x=y\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n`,
      body: 'a0123456789',
    },
    { name: 'an empty line before it', bytes: `\r\n${post}Content-Length: 1\r\n\r\na`, body: 'a' },
    {
      name: 'white space around a value, and bytes beyond ASCII',
      bytes: 'GET / HTTP/1.1\r\nHost: a\r\nX:  \t\xe9 \t\r\nx:\r\n\r\n',
      fields: ['Host', 'a', 'X', '\xe9', 'x', ''],
    },
    {
      name: 'a request to switch protocols',
      bytes: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n',
    },
  ];
  for (const { name, bytes, body = '', fields } of cases) {
    const lab = await startLab(t);
    const whole = lab.connect().write(bytes);
    await whole.until('\r\n\r\n');
    const pieces = lab.connect();
    await pieces.trickle(bytes);
    await pieces.until('\r\n\r\n');
    t.equal(lab.requests.length, 2, name);
    for (const seen of lab.requests) {
      t.equal(seen.body.toString(), body, `${name}: the body`);
      if (fields) t.same(seen.fields, fields, `${name}: the fields`);
    }
  }
});

t.test('one connection serves a thousand requests', async (t) => {
  const lab = await startLab(t);
  const client = lab.connect();
  for (let i = 0; i < 1000; i++) {
    client.write(`POST /${i} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab`);
    await client.until(`POST /${i} 2`);
  }
  const answers = readAnswers(client.received);
  t.equal(answers.length, 1000);
  t.match(answers[999], { status: 200, headers: { connection: 'keep-alive', 'keep-alive': 'timeout=60' } });
});

t.test('pipelined requests are answered one after the other, in their order', async (t) => {
  const held = createHeld();
  const lab = await startLab(t, { onRequest: held.hold });
  const client = lab.connect();
  client.write(
    `${post}Content-Length: 3\r\n\r\none\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n${post}Transfer-Encoding: chunked\r\n\r\n`,
  );
  client.write(
    '1\r\nx\r\n0\r\n\r\nGET /4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /5 HTTP/1.1\r\nHost: a\r\n\r\n',
  );
  for (let number = 1; number <= 4; number++) {
    const exchange = await held.next();
    t.equal(lab.requests.length, number, 'none is handed on before the one before it is answered');
    answerText(exchange, `answer ${number}`);
  }
  const answers = readAnswers(await client.all());
  t.same(
    answers.map((it) => it.body),
    ['answer 1', 'answer 2', 'answer 3', 'answer 4'],
  );
  t.equal(answers[3]?.headers['connection'], 'close');
  t.equal(lab.requests.length, 4, 'what follows a close is not read');
});

t.test('what a client sends ahead is bounded, and not lost', async (t) => {
  const held = createHeld();
  const lab = await startLab(t, { onRequest: held.hold });
  const client = lab.connect().write('GET /first HTTP/1.1\r\nHost: a\r\n\r\n');
  const first = await held.next();
  const paused = once(lab.serverSocket(), 'pause');
  const ahead = `GET /ahead HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(10_000)}\r\n\r\n`;
  const count = 100;
  client.write(ahead.repeat(count));
  await paused;
  t.ok(lab.serverSocket().bytesRead < 4 * 65_536, 'it is not read further');
  answerText(first, 'first');
  for (let i = 0; i < count; i++) answerText(await held.next(), 'ahead');
  await client.until('ahead');
  while (client.received.split('\r\n\r\nahead').length <= count) await once(client.socket, 'data');
  t.equal(readAnswers(client.received).length, count + 1);
});

t.test('HTTP/1.0 is answered once, and without chunks', async (t) => {
  const lab = await startLab(t, {
    onRequest({ answer }) {
      answer.writeHead(200, []);
      answer.write(Buffer.from('one '));
      answer.end(Buffer.from('two'));
    },
  });
  const client = lab.connect().write(`GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n${smuggled}`);
  const text = await client.all();
  t.match(text, /\r\nConnection: close\r\n/);
  t.notMatch(text, /transfer-encoding|content-length/i);
  t.match(text, /\r\n\r\none two$/, 'the end of the connection is the end of the body');
  t.equal(lab.requests.length, 1);
});

t.test('a body that is held back is asked for when it is wanted', async (t) => {
  const lab = await startLab(t, { bodyBytesMax: 10 });
  const expecting = `${post}Expect: 100-Continue\r\n`;
  const client = lab.connect().write(`${expecting}Content-Length: 2\r\n\r\n`);
  t.equal(await client.until('\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n');
  client.write('ab');
  t.match(await client.until('POST / 2'), /\r\n\r\nHTTP\/1\.1 200 OK\r\n/);

  const refused = lab.connect().write(`${expecting}Content-Length: 11\r\n\r\n`);
  t.match(await refused.all(), /^HTTP\/1\.1 413 /, 'never where it is refused');
  const hasty = lab.connect().write(`${expecting}Content-Length: 2\r\n\r\nab`);
  t.match(await hasty.until('POST / 2'), /^HTTP\/1\.1 200 /, 'nor where it is there');
  const old = lab.connect().write('POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
  old.write('ab');
  t.match(await old.all(), /^HTTP\/1\.1 200 /, 'nor by HTTP/1.0');
  const other = lab.connect().write(`${post}Expect: magic\r\nContent-Length: 2\r\n\r\n`);
  t.match(await other.all(), /^HTTP\/1\.1 417 .*"code":"EXPECTATION_FAILED"/s);
});

t.test('heads are bounded in bytes and in fields, however they come', async (t) => {
  const max = 2000;
  const lab = await startLab(t, { limits: { maxHeaderBytes: max, maxHeaders: 20 } });
  /** The whole head with its last CRLF but one has `size` bytes. */
  const ofSize = (size: number): string => {
    const start = 'GET / HTTP/1.1\r\nHost: a\r\nX: ';
    return `${start}${'a'.repeat(size - start.length)}\r\n\r\n`;
  };
  t.match(await lab.connect().write(ofSize(max)).until('GET / 0'), /^HTTP\/1\.1 200 /, 'at the bound');
  t.match(
    await lab
      .connect()
      .write(ofSize(max + 1))
      .all(),
    /^HTTP\/1\.1 431 .*HEADERS_TOO_LARGE/s,
  );
  const endless = lab.connect();
  await endless.trickle(ofSize(max + 10).slice(0, -4));
  t.match(await endless.all(), /^HTTP\/1\.1 431 /, 'without an end');
  const fields = (count: number): string =>
    `GET / HTTP/1.1\r\nHost: a\r\n${'X: 1\r\n'.repeat(count - 1)}\r\n`;
  t.match(await lab.connect().write(fields(20)).until('GET / 0'), /^HTTP\/1\.1 200 /);
  t.match(await lab.connect().write(fields(21)).all(), /^HTTP\/1\.1 431 /);
});

t.test('bodies are bounded, declared or counted', async (t) => {
  const lab = await startLab(t, { bodyBytesMax: 1000 });
  const chunk = `64\r\n${'a'.repeat(100)}\r\n`;
  const cases: { name: string; bytes: string; status: number }[] = [
    {
      name: 'declared at the bound',
      bytes: `${post}Content-Length: 1000\r\n\r\n${'a'.repeat(1000)}`,
      status: 200,
    },
    { name: 'declared past it', bytes: `${post}Content-Length: 1001\r\n\r\n`, status: 413 },
    {
      name: 'counted to the bound',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(10)}0\r\n\r\n`,
      status: 200,
    },
    {
      name: 'counted past it',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(10)}1\r\na`,
      status: 413,
    },
  ];
  for (const { name, bytes, status } of cases) {
    const client = lab.connect().write(bytes);
    t.match(await client.until('\r\n\r\n'), new RegExp(`^HTTP/1\\.1 ${status} `), name);
  }
});

t.test('whoever is slow is told so, and closed', async (t) => {
  const lab = await startLab(t, { limits: { headerTimeoutMs: 100, bodyTimeoutMs: 100, idleTimeoutMs: 100 } });
  const inTime = /^HTTP\/1\.1 400 .*did not arrive in time/s;
  t.match(await lab.connect().all(), inTime, 'nothing comes');
  t.match(await lab.connect().write('GET / HTTP/1.1\r\nHost').all(), inTime, 'half a head');
  t.match(await lab.connect().write(`${post}Content-Length: 9\r\n\r\nab`).all(), inTime, 'half a body');
  t.match(await lab.connect().write(`${post}Transfer-Encoding: chunked\r\n\r\n1\r\na`).all(), inTime);
  const second = lab.connect().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await second.until('GET / 0');
  t.match(readAnswers(await second.write('GET /2').all())[1], { status: 400 }, 'half of a second head');
  const idle = lab.connect().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  t.equal(readAnswers(await idle.all()).length, 1, 'an idle one is closed without a word');
});

t.test('a slow head cannot be stretched by sending on', async (t) => {
  const lab = await startLab(t, { limits: { headerTimeoutMs: 100 } });
  const client = lab.connect().write('GET / HTTP/1.1\r\nHost: a\r\nX: ');
  const drip = setInterval(() => client.write('a'), 10);
  t.teardown(() => clearInterval(drip));
  t.match(await client.all(), /^HTTP\/1\.1 400 /);
});

t.test('empty lines do not keep an idle connection', async (t) => {
  const lab = await startLab(t, { limits: { headerTimeoutMs: 100, idleTimeoutMs: 100 } });
  const client = lab.connect().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const drip = setInterval(() => client.write('\r\n'), 10);
  t.teardown(() => clearInterval(drip));
  t.equal(readAnswers(await client.all()).length, 1);
});

t.test('a cut answer to an HTTP/1.0 client does not look whole', async (t) => {
  const held = createHeld();
  const lab = await startLab(t, { onRequest: held.hold });
  const client = lab.connect().write('GET / HTTP/1.0\r\n\r\n');
  const { answer } = await held.next();
  answer.writeHead(200, []);
  answer.write(Buffer.from('begun'));
  await client.until('begun');
  const failed = once(client.socket, 'error');
  answer.destroy();
  t.match((await failed)[0], { code: 'ECONNRESET' });
});

t.test('a client that never closes its side is not waited for', async (t) => {
  const lab = await startLab(t, { limits: { headerTimeoutMs: 100 } });
  const client = lab.connect().write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await client.until('GET / 0');
  await once(lab.serverSocket(), 'close');
  t.pass('the socket is gone');
});

const refuse = (exchange: Exchange): void =>
  answerProblem(exchange, new GatewayError('POLICY_DENIED', 'no'), ['X-Long', 'x'.repeat(3000)]);

t.test('an early refusal arrives whole, though its client still sends', async (t) => {
  const lab = await startLab(t, { onHead: refuse });
  const size = 64 * 1024 * 1024;
  const client = lab.connect();
  client.socket.pause();
  client.write(`${post}Content-Length: ${size}\r\n\r\n`);
  // All of the body is written before the first byte of the answer is read.
  await new Promise((resolve) => client.socket.write(Buffer.alloc(size), resolve));
  client.socket.resume();
  const [answer] = readAnswers(await client.all());
  t.match(answer, { status: 403, headers: { connection: 'close' } });
  t.match(answer?.body, /POLICY_DENIED/);
});

t.test('a refused body is not swallowed for ever', async (t) => {
  const lab = await startLab(t, { onHead: refuse, limits: { headerTimeoutMs: 100 } });
  const client = lab.connect().write(`${post}Transfer-Encoding: chunked\r\n\r\n`);
  while (!client.socket.destroyed) {
    await new Promise((resolve) => client.socket.write('a', resolve));
    await nextTurn();
  }
  t.match(client.received, /POLICY_DENIED/);
});

t.test('a client that leaves ends its exchange', async (t) => {
  const held = createHeld();
  const lab = await startLab(t, { onRequest: held.hold });
  const client = lab.connect().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const { answer } = await held.next();
  const closed = new Promise<void>((resolve) => answer.once('close', resolve));
  client.socket.resetAndDestroy();
  await closed;
  t.equal(answer.destroyed, true);
  answer.writeHead(200, []);
  t.equal(answer.write(Buffer.from('x')), false, 'and what comes too late is dropped');
});

t.test('a client that closes its side before its answer is whole has left', async (t) => {
  for (const isBegun of [false, true]) {
    const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
    const lab = await startLab(t, {
      onRequest({ answer }) {
        answer.once('close', onClosed);
        if (!isBegun) return;
        answer.writeHead(200, []);
        answer.write(Buffer.from('begun'));
      },
    });
    const client = lab.connect().write('GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
    if (isBegun) await client.until('begun');
    client.socket.end();
    await closed;
    t.same(
      lab.requests.map((it) => it.target),
      ['/'],
      `the exchange is over, and no other begins, ${isBegun ? 'during' : 'before'} the answer`,
    );
  }
});

t.test('half a request and no more is told so', async (t) => {
  const lab = await startLab(t);
  for (const bytes of [
    'GET / HT',
    `${post}Content-Length: 9\r\n\r\nab`,
    `${post}Transfer-Encoding: chunked\r\n\r\n1\r\n`,
  ]) {
    const client = lab.connect().write(bytes);
    client.socket.end();
    t.match(await client.all(), /^HTTP\/1\.1 400 .*ended before it was whole/s, JSON.stringify(bytes));
  }
  t.equal(lab.requests.length, 0);
});

t.test('draining closes the idle at once and the others with their answers', async (t) => {
  const held = createHeld();
  const lab = await startLab(t, { onRequest: held.hold });
  const idle = lab.connect().write('GET /idle HTTP/1.1\r\nHost: a\r\n\r\n');
  answerText(await held.next(), 'idle');
  await idle.until('idle');
  const running = lab.connect().write('GET /running HTTP/1.1\r\nHost: a\r\n\r\n');
  const exchange = await held.next();
  const arriving = await lab.connected();
  const read = once(lab.serverSocket(), 'data');
  arriving.write('GET /arriving HT');
  await read;
  const fresh = await lab.connected();
  lab.connections.drain();
  t.equal(await fresh.all(), '');
  await idle.ended;
  answerText(exchange, 'running');
  t.match(readAnswers(await running.all()), [{ body: 'running', headers: { connection: 'close' } }]);
  arriving.write('TP/1.1\r\nHost: a\r\n\r\n');
  answerText(await held.next(), 'arriving');
  t.match(readAnswers(await arriving.all()), [{ body: 'arriving', headers: { connection: 'close' } }]);
  t.equal(await lab.connect().all(), '', 'a new one is not served');
});

t.test('a whole request is not late, however long its answer takes', async (t) => {
  const limits = { headerTimeoutMs: 100, bodyTimeoutMs: 100, idleTimeoutMs: 100 };
  const { promise: later, resolve: onLater } = Promise.withResolvers<void>();
  const lab = await startLab(t, {
    limits,
    onRequest(exchange) {
      if (exchange.target === '/slow') later.then(() => answerText(exchange, 'slow'));
      else answerText(exchange, 'fast');
    },
  });
  const slow = lab.connect().write('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na');
  // Others come and go meanwhile, each until it is closed for idling.
  for (let i = 0; i < 4; i++) await lab.connect().write('GET /fast HTTP/1.1\r\nHost: a\r\n\r\n').all();
  onLater();
  t.match(readAnswers(await slow.all()), [{ status: 200, body: 'slow' }]);
});
