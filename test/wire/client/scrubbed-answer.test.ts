import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { makeScrub } from '../../../src/wire/client/scrub/scrub.ts';
import { takeSteps } from '../../support/steps.ts';
import { startRawUpstream, startUpstream } from '../../support/upstream.ts';
import { openFront } from './front.ts';

const label = '[REDACTED:credential]';
const secret = randomBytes(20).toString('hex');
const scrub = takeSteps(makeScrub([secret])).result;

t.test('takes the secret out of head, body and trailers', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'X-Echo': `Bearer ${secret}`, Trailer: 'X-Sum' });
    response.addTrailers({ 'X-Sum': secret });
    response.end(`<${secret}>`);
  });
  const heard: Buffer[] = [];
  const front = await openFront(t, { scrub, onData: (chunk) => heard.push(chunk) });
  const answer = await front.ask(`${upstream.origin}/`);
  t.match(answer, { status: 200, body: `<${label}>`, headers: { 'x-echo': `Bearer ${label}` } });
  t.same(answer.trailers, { 'x-sum': label });
  t.equal(Buffer.concat(heard).toString(), answer.body, 'who listens hears all that was sent');
  t.match(front.outcomes, [{ status: 200, receivedBytes: secret.length + 2, aborted: false }]);
});

t.test('refuses an answer in which the secret cannot be looked for', async (t) => {
  const cases = [
    { name: 'a part', head: '206 Partial Content', fields: [], detail: 'part' },
    {
      name: 'a part of so many',
      head: '206 Partial Content',
      fields: ['content-range: bytes 0-5/9'],
      detail: 'part',
    },
    { name: 'a part, as it says', head: '200 OK', fields: ['content-range: bytes 0-5/9'], detail: 'part' },
    {
      name: 'parts',
      head: '200 OK',
      fields: ['Content-Type: Multipart/ByteRanges; boundary=x'],
      detail: 'part',
    },
    { name: 'a difference', head: '226 IM Used', fields: ['IM: vcdiff'], detail: 'part' },
    {
      name: 'messages of gRPC that are compressed',
      head: '200 OK',
      fields: ['Content-Type: application/grpc', 'grpc-encoding: gzip'],
      detail: 'compressed',
    },
    {
      name: 'messages of Connect that are compressed',
      head: '200 OK',
      fields: ['Content-Type: application/connect+json', 'connect-content-encoding: gzip'],
      detail: 'compressed',
    },
    {
      name: 'one that is compressed as nobody knows',
      head: '200 OK',
      fields: ['Content-Encoding: x-none'],
      detail: 'compressed',
    },
    {
      name: 'one that is not compressed as it says',
      head: '200 OK',
      fields: ['Content-Encoding: gzip'],
      detail: 'not what its content coding says',
    },
    {
      name: 'one that is so in the second field',
      head: '200 OK',
      fields: ['Content-Encoding: gzip', 'Content-Encoding: x-none'],
      detail: 'compressed',
    },
  ];
  for (const { name, head, fields, detail } of cases) {
    const upstream = await startRawUpstream(t, (socket) => {
      const lines = [`HTTP/1.1 ${head}`, ...fields, 'Content-Length: 6', '', secret.slice(0, 6)];
      socket.once('data', () => socket.write(lines.join('\r\n')));
    });
    const front = await openFront(t, { scrub });
    const answer = await front.ask(`${upstream.origin}/`);
    t.match(answer, { status: 502, code: 'UPSTREAM_PROTOCOL', detail }, name);
    t.notMatch(answer.body, secret.slice(0, 6), name);
  }
});

t.test('refuses a message that is compressed, wherever the answer says so', async (t) => {
  const envelope = (flag: number, content: Buffer | string): Buffer => {
    const message = Buffer.from(content);
    const prefix = Buffer.from([flag, 0, 0, 0, 0]);
    prefix.writeUInt32BE(message.length, 1);
    return Buffer.concat([prefix, message]);
  };
  const plain = envelope(0, 'not compressed');
  const coded = envelope(1, gzipSync(secret));
  const base64 = (bytes: Buffer): string => bytes.toString('base64');
  const refused: readonly [string, Buffer | string][] = [
    ['application/connect+json', coded],
    ['application/Connect+Proto', Buffer.concat([plain, coded])],
    ['application/connect+json', Buffer.concat([plain, envelope(3, gzipSync(secret))])],
    ['application/grpc-web', coded],
    ['application/grpc-web+proto', Buffer.concat([plain, envelope(0x81, gzipSync(secret))])],
    ['application/grpc-web-text', base64(plain) + base64(coded)],
    ['application/grpc', coded],
  ];
  const passed: readonly [string, Buffer | string][] = [
    ['application/connect+json', Buffer.concat([plain, plain, envelope(2, '{}')])],
    ['application/grpc-web', Buffer.concat([plain, envelope(1, ''), envelope(0x80, 'grpc-status: 0')])],
    ['application/grpc-web-text', base64(plain) + base64(plain)],
    ['application/json', coded],
  ];
  const cases = [...refused, ...passed];
  const upstream = await startUpstream(t, (request, response) => {
    const [type, body] = cases[Number(request.url?.slice(1))] ?? ['', ''];
    response.writeHead(200, { 'Content-Type': type }).end(body);
  });
  const front = await openFront(t, { scrub });
  for (const [nth, [type, body]] of cases.entries()) {
    const answer = await front.ask(`${upstream.origin}/${nth}`);
    if (nth < refused.length)
      t.match(answer, { status: 502, code: 'UPSTREAM_PROTOCOL', detail: 'compressed' }, type);
    else t.match(answer, { status: 200, body: body.toString('latin1') }, type);
  }
});

t.test('does not take parts for messages of gRPC where none were asked for', async (t) => {
  // None of its bytes is the flag of a message that is compressed.
  const echoed = secret.replace(/[13579ace]/g, 'b');
  const before = Buffer.from('\0\0\0\0\x10what came: <');
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/grpc' });
    response.end(Buffer.concat([before, Buffer.from(echoed)]));
  });
  const front = await openFront(t, { scrub: takeSteps(makeScrub([echoed])).result });
  const { body } = await front.ask(`${upstream.origin}/`);
  t.equal(body, `${before}${label}`);
});

t.test('says of an answer without a body what the one with it would say', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    const coding = request.url === '/coded' ? { 'Content-Encoding': 'gzip', ETag: '"a"' } : {};
    response.writeHead(200, { 'Content-Length': 5, 'X-Echo': secret, ...coding }).end();
  });
  const front = await openFront(t, { scrub });
  const plain = await front.ask(`${upstream.origin}/`, { method: 'HEAD' });
  t.match(plain, { status: 200, body: '', headers: { 'content-length': '5', 'x-echo': label } });
  const coded = await front.ask(`${upstream.origin}/coded`, { method: 'HEAD' });
  t.match(coded, { status: 200, body: '' });
  for (const name of ['content-length', 'content-encoding', 'etag']) t.notOk(name in coded.headers, name);
});

const gzip = (text: string | Buffer): Buffer => gzipSync(text);
const codings: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip,
  'X-GZIP': gzip,
  br: (text) => brotliCompressSync(text),
  deflate: (text) => deflateSync(text),
  'deflate ': (text) => deflateRawSync(text),
  zstd: (text) => zstdCompressSync(text),
  'br, gzip': (text) => gzip(brotliCompressSync(text)),
  'gzip, identity, gzip': (text) => gzip(gzip(text)),
};

t.test('takes the secret out of an answer that is compressed though that was not asked for', async (t) => {
  const text = `${'words '.repeat(30_000)}<${secret}>${'and more '.repeat(30_000)}`;
  const upstream = await startUpstream(t, (request, response) => {
    const coding = decodeURIComponent(request.url?.slice(1) ?? '');
    const bytes = codings[coding]?.(request.headers['x-line'] ? `data: ${secret}\n\n` : text) ?? '';
    const type = request.headers['x-line'] ? 'text/event-stream' : 'text/plain';
    response.writeHead(200, {
      ...{ 'Content-Type': type, 'Content-Encoding': coding, 'Content-Length': bytes.length },
      ...{ ETag: '"a"', 'Content-Digest': 'sha-256=:x:' },
    });
    response.end(bytes);
  });
  const front = await openFront(t, { scrub });
  for (const coding of Object.keys(codings)) {
    const url = `${upstream.origin}/${encodeURIComponent(coding)}`;
    const answer = await front.ask(url);
    t.equal(answer.status, 200, coding);
    t.ok(answer.body === text.replace(secret, label), coding);
    for (const name of ['content-encoding', 'content-length', 'etag', 'content-digest'])
      t.notOk(name in answer.headers, name);
    t.equal(
      (await front.ask(url, { headers: { 'x-line': '1' } })).body,
      `data: ${label}\n\n`,
      `${coding}, by line`,
    );
  }
});

t.test('decodes no faster than the client reads, and hands on all of it', async (t) => {
  const large = Buffer.alloc(12_000_000, `${'.'.repeat(997)}\\u0`);
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzip(large));
  });
  const front = await openFront(t, { scrub });
  const response = await front.open(`${upstream.origin}/`);
  await new Promise((done) => setImmediate(done));
  t.ok((front.responses[0]?.writableLength ?? large.length) < large.length / 4, 'little of it waits');
  const chunks: Buffer[] = [];
  for await (const chunk of response) {
    chunks.push(chunk);
    await new Promise(setImmediate);
  }
  t.ok(Buffer.concat(chunks).equals(large));
});

t.test('cuts off what is compressed and ends early, or grows beyond measure', async (t) => {
  const bomb = gzip(Buffer.alloc(40 * 1024 * 1024));
  const bodies = {
    '/early': gzip('words '.repeat(50_000)).subarray(0, -9),
    '/bomb': bomb,
  };
  const upstream = await startUpstream(t, (request, response) => {
    const bytes = bodies[request.url as keyof typeof bodies];
    response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': bytes.length }).end(bytes);
  });
  const front = await openFront(t, { scrub });
  for (const path of Object.keys(bodies)) {
    const answered = front.ask(`${upstream.origin}${path}`).then(({ status }) => status);
    const outcome = await answered.catch(() => 'cut off');
    t.ok(outcome === 'cut off' || outcome === 502, `${path}: ${outcome}`);
  }
});

t.test('a part that is all there is goes on as the whole', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    const length = secret.length + 2;
    response.writeHead(206, { 'Content-Range': `bytes 0-${length - 1}/${length}`, 'Content-Length': length });
    response.end(`<${secret}>`);
  });
  const front = await openFront(t, { scrub });
  const answer = await front.ask(`${upstream.origin}/`);
  t.match(answer, { status: 200, body: `<${label}>` });
  t.notOk('content-range' in answer.headers);
});

t.test('writes a small answer at once, head and body together', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': secret.length }).end(secret);
  });
  const front = await openFront(t, { scrub });
  const request = http.request({ port: front.port, path: `${upstream.origin}/`, agent: false });
  const received: Buffer[] = [];
  request.on('socket', (socket) => socket.on('data', (data: Buffer) => received.push(data)));
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  await response.toArray();
  t.match(received[0]?.toString('latin1'), label);
});

const linewise = [
  ...['text/event-stream', 'text/event-stream; charset=utf-8', 'Text/Event-Stream'],
  ...['application/x-ndjson', 'application/jsonl', 'application/json-seq', 'application/stream+json'],
];

for (const type of linewise) {
  t.test(`hands on each line before the next is made: ${type}`, async (t) => {
    let send = (_line: string) => {};
    const upstream = await startUpstream(t, (_request, response) => {
      response.writeHead(200, { 'Content-Type': type }).flushHeaders();
      send = (line) => (line === '' ? response.end() : response.write(line));
    });
    const front = await openFront(t, { scrub });
    const response = await front.open(`${upstream.origin}/`);
    for (const text of ['one', secret, secret.slice(0, -1)]) {
      send(`data: ${text}\n\n`);
      const [line] = await once(response, 'data');
      t.equal(String(line), `data: ${text === secret ? label : text}\n\n`);
    }
    send('');
    await once(response, 'end');
  });
}

t.test('sends at once as much of a body, whatever stands at its end so far', async (t) => {
  let body = '';
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    response.write(body);
  });
  const front = await openFront(t, { scrub });
  const lengths: number[] = [];
  for (const guess of ['.', secret.slice(0, 1), secret.slice(0, 20), secret.slice(0, -1)]) {
    body = guess.padStart(2000, '.');
    const response = await front.open(`${upstream.origin}/`);
    const [chunk] = (await once(response, 'data')) as [Buffer];
    lengths.push(chunk.length);
    response.destroy();
  }
  t.ok((lengths[0] as number) > 1000);
  t.same(
    lengths,
    lengths.map(() => lengths[0]),
  );
});

t.test('looks through small chunks together, and hands on all of them', async (t) => {
  const text = `${'.'.repeat(3000)}${secret}${'.'.repeat(3000)}`;
  const chunks = [...text].map((it) => `1\r\n${it}\r\n`).join('');
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () =>
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`),
    );
  });
  let pieces = 0;
  const front = await openFront(t, { scrub, onData: () => pieces++ });
  const { body } = await front.ask(`${upstream.origin}/`);
  t.equal(body, text.replace(secret, label));
  t.ok(pieces < text.length / 10, 'not one by one');
});

t.test('hands on a large body to a client that reads slowly', async (t) => {
  const large = Buffer.alloc(8_000_000, `${'.'.repeat(997)}\\u0`);
  const upstream = await startUpstream(t, (_request, response) => void response.end(large));
  const front = await openFront(t, { scrub });
  const response = await front.open(`${upstream.origin}/`);
  const chunks: Buffer[] = [];
  for await (const chunk of response) {
    chunks.push(chunk);
    await new Promise(setImmediate);
  }
  t.ok(Buffer.concat(chunks).equals(large));
});

t.test('sends nothing of what is held back when the upstream breaks off', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n${secret.slice(0, -1)}`);
    });
  });
  const front = await openFront(t, { scrub });
  const request = http.request({ port: front.port, path: `${upstream.origin}/`, agent: false });
  const received: Buffer[] = [];
  request.on('socket', (socket) => socket.on('data', (data: Buffer) => received.push(data)));
  request.on('error', () => {});
  request.end();
  await once(request, 'close');
  t.notMatch(Buffer.concat(received).toString('latin1'), secret.slice(0, 12));
});
