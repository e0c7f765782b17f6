import { createHash, randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import tls from 'node:tls';
import t from 'tap';
import { Connection } from '../../../src/wire/client/connection.ts';
import { createTurnEnd } from '../../../src/wire/http1/turn-end.ts';
import { testAuthority } from '../../support/certificates.ts';
import { startRawUpstream, startUpstream } from '../../support/upstream.ts';
import { openFront, outgoing } from './front.ts';

const ok = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
const chunkedHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

t.test('sends head and body of a small request in one piece, and large ones whole', async (t) => {
  const pieces: string[] = [];
  const upstream = await startRawUpstream(t, (socket) => {
    socket.on('data', (data) => {
      pieces.push(data.toString('latin1'));
      socket.write(ok(''));
    });
  });
  const front = await openFront(t);
  const body = 'x'.repeat(2048);
  await front.ask(`${upstream.origin}/a?b`, { method: 'POST', headers: { 'X-Cased': 'y' }, body });
  t.equal(pieces.length, 1);
  t.match(pieces[0], /^POST \/a\?b HTTP\/1\.1\r\nX-Cased: y\r\n/);
  t.ok(pieces[0]?.endsWith(`\r\nContent-Length: 2048\r\n\r\n${body}`));

  const reading = await startUpstream(t, (_request, response, received) => {
    response.end(sha256(received));
  });
  for (const size of [65_536, 65_538, 3_000_000]) {
    const large = randomBytes(size / 2).toString('hex');
    const answer = await front.ask(`${reading.origin}/`, { method: 'PUT', body: large });
    t.equal(answer.body, sha256(large));
  }
});

t.test('uses a connection again where the answer ended in order, and only there', async (t) => {
  const cases = [
    { name: 'a length', answer: ok('first'), again: true },
    { name: 'no body', answer: ok(''), again: true },
    { name: 'chunks with a trailer', answer: `${chunkedHead}2\r\nab\r\n0\r\nX: y\r\n\r\n`, again: true },
    { name: '204', answer: 'HTTP/1.1 204 No Content\r\n\r\n', again: true },
    { name: '304', answer: 'HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n', again: true },
    { name: 'HEAD', method: 'HEAD', answer: 'HTTP/1.1 200\r\nContent-Length: 9\r\n\r\n', again: true },
    { name: 'interim answers before', answer: `HTTP/1.1 100 Continue\r\n\r\n${ok('')}`, again: true },
    { name: 'a long hint', answer: `${hinted(60)}`, again: true },
    { name: 'a hint that leaves no time', answer: `${hinted(1)}`, again: false },
    {
      name: 'close',
      answer: 'HTTP/1.1 200 OK\r\nConnection: X, Close\r\nContent-Length: 0\r\n\r\n',
      again: false,
    },
    { name: 'HTTP/1.0', answer: 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', again: false },
    {
      name: 'HTTP/1.0 that promises to stay',
      answer: 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n',
      again: false,
    },
    { name: 'a body until the end', answer: 'HTTP/1.1 200 OK\r\n\r\nbody', ends: true, again: false },
    { name: 'a half-closed connection', answer: ok('first'), ends: true, again: false },
    { name: 'a line break too many', answer: `${ok('first')}\r\n`, again: false },
    { name: 'a body of a HEAD', method: 'HEAD', answer: ok('first'), again: false },
    { name: 'a body of a 304', answer: 'HTTP/1.1 304 X\r\nContent-Length: 1\r\n\r\na', again: false },
  ];
  for (const { name, answer, method = 'GET', ends = false, again } of cases) {
    let asked = 0;
    const upstream = await startRawUpstream(t, (socket, number) => {
      socket.on('data', () => {
        socket.write(asked++ === 0 ? answer : ok(`connection ${number}`));
        if (ends && number === 1) socket.end();
      });
    });
    const front = await openFront(t);
    const first = await front.ask(`${upstream.origin}/`, { method });
    t.ok(first.status < 400, name);
    // A POST, which would not be repeated.
    const second = await front.ask(`${upstream.origin}/`, { method: 'POST' });
    t.equal(second.body, `connection ${again ? 1 : 2}`, name);
  }
});

const hinted = (seconds: number) =>
  `HTTP/1.1 200 OK\r\nKeep-Alive: timeout=${seconds}, max=100\r\nContent-Length: 0\r\n\r\n`;

t.test('never takes bytes that nobody asked for as the answer to a later request', async (t) => {
  t.test('behind an answer', async (t) => {
    const upstream = await startRawUpstream(t, (socket, number) => {
      socket.once('data', () => socket.write(number === 1 ? ok('first') + ok('stolen') : ok('fresh')));
    });
    const front = await openFront(t);
    t.match(await front.ask(`${upstream.origin}/`), { body: 'first' });
    t.match(await front.ask(`${upstream.origin}/`), { body: 'fresh' });
  });

  t.test('in a further TLS record of the same turn, with a request that waits', async (t) => {
    // A record takes 16384 bytes: the second answer begins with the second record, and is a piece of data of its own.
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 16342\r\n\r\n';
    const first = head + 'x'.repeat(16_342);
    t.equal(first.length, 16_384);
    let answer = () => {};
    const events = new EventEmitter();
    const upstream = await startRawUpstream(t, (socket, number) => {
      socket.once('data', () => {
        if (number > 1) return socket.write(ok('fresh'));
        answer = () => socket.write(first + ok('stolen'));
        return events.emit('asked');
      });
    });
    const front = await openFront(t, { connectionsMax: 1 });
    const asked = once(events, 'asked');
    const running = front.ask(`${upstream.origin}/`);
    await asked;
    const queued = once(front.events, 'forwarded');
    const waiting = front.ask(`${upstream.origin}/`);
    await queued;
    answer();
    t.equal((await running).body.length, 16_342);
    t.match(await waiting, { body: 'fresh' });
  });

  t.test('while it is idle', async (t) => {
    const sockets: Socket[] = [];
    const upstream = await startRawUpstream(t, (socket, number) => {
      sockets.push(socket);
      socket.on('data', () => socket.write(ok(`connection ${number}`)));
    });
    const front = await openFront(t);
    for (const [i, speak] of [
      (socket: Socket) => socket.write(ok('stolen')),
      (socket: Socket) => socket.write('\r\n'),
      (socket: Socket) => socket.end(),
    ].entries()) {
      t.match(await front.ask(`${upstream.origin}/`, { method: 'POST' }), { body: `connection ${i + 1}` });
      const socket = sockets[i] as Socket;
      speak(socket);
      await once(socket, 'close');
    }
    t.match(await front.ask(`${upstream.origin}/`, { method: 'POST' }), { body: 'connection 4' });
  });

  t.test('before the first request', async (t) => {
    const cases = [
      { name: 'an answer', act: (socket: Socket) => socket.write(ok('stolen')), reason: 'nobody asked' },
      { name: 'its end', act: (socket: Socket) => socket.end(), reason: '' },
      { name: 'a reset', act: (socket: Socket) => socket.resetAndDestroy(), reason: '' },
    ];
    for (const { name, act, reason } of cases) {
      const accepted = new EventEmitter();
      const onConnection = (socket: Socket) => void accepted.emit('socket', socket);
      const upstream = await startRawUpstream(t, onConnection, { tls: false });
      const socket = net.connect(upstream.port, '127.0.0.1');
      socket.on('error', () => {});
      const [[theirs]] = await Promise.all([once(accepted, 'socket'), once(socket, 'connect')]);
      act(theirs);
      while (socket.readableLength === 0 && !socket.closed) await nextTurn();
      const gone = await new Promise((resolve, reject) => {
        const home = {
          onReady: () => reject(new Error('It was ready.')),
          onGone: (_connection: Connection, error: unknown) => resolve(error),
        };
        new Connection(socket, home, createTurnEnd(), 30_000);
      });
      t.match(gone, { message: reason }, name);
      t.ok(socket.destroyed);
    }
  });
});

t.test('reads on after an answer that ended while it was paused', async (t) => {
  const upstream = await startRawUpstream(
    t,
    (socket) => socket.on('data', () => socket.write(`${chunkedHead}2\r\nab\r\n0\r\n\r\n`)),
    { tls: false },
  );
  const socket = net.connect(upstream.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  const ready = new EventEmitter();
  const home = { onReady: () => void ready.emit('ready'), onGone() {} };
  const becameReady = once(ready, 'ready');
  const connection = new Connection(socket, home, createTurnEnd(), 30_000);
  await becameReady;
  for (let i = 0; i < 2; i++) {
    const readyAgain = once(ready, 'ready');
    const chunks: string[] = [];
    connection.ask(outgoing, {
      onSwitch: () => {},
      onHead: ({ status }) => t.equal(status, 200),
      onData(chunk) {
        chunks.push(chunk.toString());
        connection.pause();
      },
      onEnd: () => t.same(chunks, ['ab']),
      onFailure: () => t.fail('It failed.'),
    });
    await readyAgain;
  }
});

t.test('does not use a connection again whose request was answered before it was sent', async (t) => {
  const upstream = await startRawUpstream(t, (socket, number) => {
    socket.once('data', () => {
      socket.pause();
      socket.write(ok(`connection ${number}`));
    });
  });
  const front = await openFront(t);
  const body = 'x'.repeat(32 * 2 ** 20);
  t.match(await front.ask(`${upstream.origin}/`, { method: 'PUT', body }), { body: 'connection 1' });
  t.match(await front.ask(`${upstream.origin}/`), { body: 'connection 2' });
});

t.test('closes a connection that waited for too long, unless the upstream says for how long', async (t) => {
  const events = new EventEmitter();
  const upstream = await startRawUpstream(t, (socket, number) => {
    socket.on('data', (data) => socket.write(data.includes('/hinted') ? hinted(60) : ok('')));
    socket.once('close', () => events.emit('close', number));
  });
  const front = await openFront(t, { keptMs: 40 });
  const other = `https://other.test.example:${upstream.port}/hinted`;
  await front.ask(other);
  const closed = once(events, 'close');
  await front.ask(`${upstream.origin}/`);
  t.same(await closed, [2]);
  await front.ask(other);
  t.equal(upstream.connections(), 2, 'the first is still in use');
});

t.test('reads answers in whatever pieces they come', async (t) => {
  const trailers = 'X-Checksum: abc\r\nX-Other: d\r\n';
  const answer = `HTTP/1.1 103 Early\r\nLink: x\r\n\r\n${chunkedHead}5;ext="1"\r\nhello\r\n1\r\n!\r\n0\r\n${trailers}\r\n`;
  for (const size of [1, 2, 3, 7, 50]) {
    const upstream = await startRawUpstream(t, (socket) => {
      socket.on('data', async () => {
        for (let at = 0; at < answer.length; at += size) {
          socket.write(answer.slice(at, at + size));
          await nextTurn();
        }
      });
    });
    const front = await openFront(t);
    for (let i = 0; i < 2; i++) {
      const { body, trailers } = await front.ask(`${upstream.origin}/`);
      t.same({ body, trailers }, { body: 'hello!', trailers: { 'x-checksum': 'abc', 'x-other': 'd' } });
    }
    t.equal(upstream.connections(), 1, `in pieces of ${size}`);
  }
});

t.test('drops sixteen interim answers, and no more', async (t) => {
  for (const { count, want } of [
    { count: 16, want: { status: 200, body: 'final' } },
    { count: 17, want: { status: 502, code: 'UPSTREAM_PROTOCOL', detail: 'interim' } },
  ]) {
    const interim = 'HTTP/1.1 102 Processing\r\nX: y\r\nContent-Length: 3\r\n\r\n'.repeat(count);
    const upstream = await startRawUpstream(t, (socket) => {
      socket.once('data', () => socket.write(interim + ok('final')));
    });
    const front = await openFront(t);
    t.match(await front.ask(`${upstream.origin}/`), want);
  }
});

t.test('refuses answers that break HTTP', async (t) => {
  const front = await openFront(t);
  const head = 'HTTP/1.1 200 OK\r\n';
  const cases = {
    'no HTTP at all': 'SSH-2.0-OpenSSH_9.2\r\n',
    'not even a line': 'HTTP/2',
    'an empty line first': `\r\n${ok('')}`,
    'another version': 'HTTP/2.0 200 OK\r\n\r\n',
    'a status that is none': 'HTTP/1.1 099 Low\r\n\r\n',
    'a status with four digits': 'HTTP/1.1 2000 OK\r\n\r\n',
    'lines that end in LF': 'HTTP/1.1 200 OK\nContent-Length: 0\n\n\r\n\r\n',
    'nothing but lines that end in LF': 'HTTP/1.1 200 OK\nContent-Length: 0\n\n',
    'a folded line': `${head}X: a\r\n b\r\n\r\n`,
    'two lengths': `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    'two lengths in one': `${head}Content-Length: 1, 1\r\n\r\na`,
    'a length beside chunks': `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'chunks in HTTP/1.0': 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'another transfer coding': `${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    'a transfer coding with a tail': `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    'a length that is no number': `${head}Content-Length: 0x5\r\n\r\nhello`,
    'a negative length': `${head}Content-Length: -1\r\n\r\n`,
    'a length beyond all numbers': `${head}Content-Length: 99999999999999999999\r\n\r\n`,
    'a NUL in a header': `${head}X: a\0b\r\n\r\n`,
    'a bare CR in a header': `${head}X: a\rSet-Cookie: b\r\n\r\n`,
    'a header without a name': `${head}: x\r\n\r\n`,
    'a space before the colon': `${head}X : y\r\n\r\n`,
    'an upgrade that nobody asked for':
      'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n',
    'a 101 without an upgrade': 'HTTP/1.1 101 Switching\r\n\r\n',
    'a head that is too large': `${head}X: ${'a'.repeat(70_000)}\r\n\r\n`,
    'a head without an end': `${head}${'X: y\r\n'.repeat(20_000)}`,
    'too many headers': `${head}${'a: b\r\n'.repeat(201)}\r\n`,
    'a chunk size that is none, behind the head': `${chunkedHead}xyz\r\n`,
    'a chunk size beyond all numbers': `${chunkedHead}FFFFFFFFFFFFFFFFF\r\n`,
    'a negative chunk size': `${chunkedHead}-1\r\n`,
    'giant extensions of a chunk': `${chunkedHead}1;${'a'.repeat(300)}`,
  };
  for (const [name, bytes] of Object.entries(cases)) {
    const upstream = await startRawUpstream(t, (socket) => socket.once('data', () => socket.write(bytes)));
    const answer = await front.ask(`${upstream.origin}/`, { method: 'POST' });
    t.match(answer, { status: 502, code: 'UPSTREAM_PROTOCOL', detail: 'broke HTTP/1.1' }, name);
  }
  const upstream = await startRawUpstream(t, (socket) =>
    socket.once('data', () => socket.write(`${head}${'a: b\r\n'.repeat(199)}Content-Length: 0\r\n\r\n`)),
  );
  t.match(await front.ask(`${upstream.origin}/`), { status: 200 }, 'two hundred are not too many');
});

t.test('cuts the client off when the upstream breaks off', async (t) => {
  const chunked = `${chunkedHead}9\r\nonly this\r\n`;
  const sized = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this';
  const cases = [
    { name: 'in a body with a length', beginning: sized, end: '' },
    { name: 'in a body with a length, with a reset', beginning: sized, end: undefined },
    {
      name: 'in a body without one, with a reset',
      beginning: 'HTTP/1.1 200 OK\r\n\r\nonly this',
      end: undefined,
    },
    { name: 'between chunks', beginning: chunked, end: '' },
    { name: 'in a chunk', beginning: chunked, end: '5\r\nhal' },
    { name: 'before the last empty line', beginning: chunked, end: '0\r\n' },
    { name: 'with a chunk size that is none', beginning: chunked, end: 'xyz\r\n' },
    { name: 'with a chunk size that ends in LF', beginning: chunked, end: '0\n\n' },
    { name: 'with bytes behind a chunk', beginning: chunked, end: '1\r\nabc\r\n' },
    { name: 'with a trailer that is none', beginning: chunked, end: '0\r\nno trailer\r\n\r\n' },
    { name: 'with endless trailers', beginning: chunked, end: `0\r\n${'X: y\r\n'.repeat(5000)}` },
    { name: 'with too many trailers', beginning: chunked, end: `0\r\n${'X: y\r\n'.repeat(101)}\r\n` },
  ];
  for (const { name, beginning, end } of cases) {
    const sockets: Socket[] = [];
    const upstream = await startRawUpstream(
      t,
      (socket) => {
        sockets.push(socket);
        socket.once('data', () => socket.write(beginning));
      },
      { tls: false },
    );
    const front = await openFront(t);
    const response = await front.open(`${upstream.origin}/`);
    const [data] = await once(response, 'data');
    t.equal(String(data), 'only this');
    const failed = once(response, 'error');
    if (end === undefined) sockets[0]?.resetAndDestroy();
    else sockets[0]?.end(end);
    t.match(await failed, [{ code: 'ECONNRESET' }], name);
    t.notOk(response.complete);
    t.match(front.outcomes, [{ status: 200, aborted: true }]);
  }
});

t.test('gives no time for answers that only seem to come', async (t) => {
  t.test('interim answers', async (t) => {
    const upstream = await startRawUpstream(t, (socket) => {
      socket.once('data', () => {
        let left = 16;
        const timer = setInterval(() => {
          if (left-- > 0) socket.write('HTTP/1.1 102 Processing\r\n\r\n');
        }, 20);
        socket.once('close', () => clearInterval(timer));
      });
    });
    const front = await openFront(t, { responseTimeoutMs: 100 });
    t.match(await front.ask(`${upstream.origin}/`), { status: 504, code: 'UPSTREAM_TIMEOUT' });
  });

  t.test('a head that trickles', async (t) => {
    const upstream = await startRawUpstream(t, (socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nX: ');
        const timer = setInterval(() => socket.write('y'), 10);
        socket.once('close', () => clearInterval(timer));
      });
    });
    const front = await openFront(t, { responseTimeoutMs: 100 });
    t.match(await front.ask(`${upstream.origin}/`), { status: 504, code: 'UPSTREAM_TIMEOUT' });
  });

  t.test('trailers that trickle', async (t) => {
    const upstream = await startRawUpstream(t, (socket) => {
      socket.once('data', () => {
        socket.write(`${chunkedHead}5\r\nhello\r\n0\r\n`);
        const timer = setInterval(() => socket.write('X: y\r\n'), 10);
        socket.once('close', () => clearInterval(timer));
      });
    });
    const front = await openFront(t, { idleTimeoutMs: 100 });
    const response = await front.open(`${upstream.origin}/`);
    await t.rejects(response.toArray(), { code: 'ECONNRESET' });
    t.match(front.outcomes, [{ receivedBytes: 5, aborted: true }]);
  });
});

t.test('tells a broken TLS connection from a broken answer', async (t) => {
  for (const isBegun of [false, true]) {
    let breakIn = () => {};
    const upstream = await startRawUpstream(t, (socket) => {
      socket.once('data', () => {
        if (isBegun) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello');
        else breakIn();
      });
    });
    const between = await startRawUpstream(
      t,
      (client) => {
        const server = net.connect(upstream.port, '127.0.0.1');
        server.on('error', () => client.destroy());
        client.on('close', () => server.destroy());
        client.on('data', (data) => server.write(data));
        server.on('data', (data) => client.write(data));
        breakIn = () => client.write(Buffer.alloc(64, 'x'));
      },
      { tls: false },
    );
    const front = await openFront(t);
    const url = `https://localhost:${between.port}/`;
    if (isBegun) {
      const response = await front.open(url);
      await once(response, 'data');
      const failed = once(response, 'error');
      breakIn();
      t.match(await failed, [{ code: 'ECONNRESET' }]);
    } else t.match(await front.ask(url), { status: 502, code: 'UPSTREAM_TLS' });
  }
});

t.test('says of an upstream that wants a certificate what can be done', async (t) => {
  const { certPem: cert, keyPem: key } = testAuthority().issue();
  const server = tls.createServer({ cert, key, requestCert: true });
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const front = await openFront(t);
  const answer = await front.ask(`https://localhost:${(server.address() as AddressInfo).port}/`);
  t.match(answer, { status: 502, code: 'UPSTREAM_TLS', detail: 'intercept.passthrough' });
});

async function startCounting(t: Parameters<typeof startRawUpstream>[0]) {
  let connections = 0;
  const upstream = await startRawUpstream(t, (socket) => {
    connections++;
    socket.on('data', () => socket.write(ok('ok')));
  });
  return { origin: upstream.origin, count: () => connections };
}

t.test('a connection is not kept where the upstream may not have read the body', async (t) => {
  const upstream = await startCounting(t);
  const front = await openFront(t);
  const smuggled = 'GET /smuggled HTTP/1.1\r\n\r\n';
  for (const [method, body, isKept] of [
    ['POST', 'x', true],
    ['GET', undefined, true],
    ['GET', smuggled, false],
    ['DELETE', 'x', false],
  ] as const) {
    await front.ask(`${upstream.origin}/`, { method, ...(body ? { body } : {}) });
    const before = upstream.count();
    await front.ask(`${upstream.origin}/`, { method: 'POST' });
    t.equal(upstream.count() === before, isKept, `${method} with ${body ? 'a' : 'no'} body`);
  }
});

t.test('tenants do not meet on a connection', async (t) => {
  const upstream = await startCounting(t);
  const front = await openFront(t);
  for (const [tenant, connections] of [
    ['acme', 1],
    ['globex', 2],
    ['acme', 2],
  ] as const) {
    await front.ask(`${upstream.origin}/`, { method: 'POST', headers: { 'X-Tenant': tenant } });
    t.equal(upstream.count(), connections);
  }
});
