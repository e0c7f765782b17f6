import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type http from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { basic, openHttp2Tunnel, sendOnStream } from '../support/clients.ts';
import { apiHost, startCredentialLab } from '../support/credential-lab.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startHttp2Upstream } from '../support/upstream.ts';

/*
 * Upstreams that send a credential back, in all the ways in which they may write it: whoever reads the answer, in whichever encoding,
 * must not find it.
 */

/** With characters that every escaping touches. */
const secret = `tok/${randomBytes(8).toString('hex')}+"&<%=${randomBytes(8).toString('hex')}`;
const bytes = Buffer.from(secret);
const codes = (write: (code: number) => string): string => [...bytes].map(write).join('');
const hex2 = (code: number): string => code.toString(16).padStart(2, '0');
const hex4 = (code: number): string => code.toString(16).padStart(4, '0');
const inLines = (text: string, length: number, lineBreak: string): string =>
  text.replace(new RegExp(`.{${length}}`, 'g'), `$&${lineBreak}`);
const base64 = (before: string, after = ''): string =>
  Buffer.from(before + secret + after).toString('base64');

const bodies: Record<string, string | Buffer> = {
  'as it is': secret,
  'several times over': `${secret}${secret} ${secret}`,
  JSON: JSON.stringify({ token: secret }),
  'JSON with every character escaped': codes((it) => `\\u${hex4(it)}`),
  'JSON escaped in capitals': codes((it) => `\\u${hex4(it).toUpperCase()}`),
  'JSON in JSON': JSON.stringify(JSON.stringify({ token: secret })),
  'JSON with escaped slashes': JSON.stringify(secret).replaceAll('/', '\\/'),
  percent: encodeURIComponent(secret),
  'percent of everything': codes((it) => `%${hex2(it)}`),
  'percent in capitals': codes((it) => `%${hex2(it).toUpperCase()}`),
  'percent twice': encodeURIComponent(encodeURIComponent(secret)),
  'percent of everything, twice': codes((it) => `%25${hex2(it)}`),
  'a form': new URLSearchParams({ token: secret }).toString(),
  hex: bytes.toString('hex'),
  'hex in capitals': bytes.toString('hex').toUpperCase(),
  'hex with colons': inLines(bytes.toString('hex'), 2, ':'),
  'hex with spaces': inLines(bytes.toString('hex'), 2, ' '),
  'hex with escapes': codes((it) => `\\x${hex2(it)}`),
  'base64 at each place of a group': [base64(''), base64('a'), base64('ab'), base64('abc', 'd')].join(' '),
  'base64 for URLs': Buffer.from(`user:${secret}`).toString('base64url'),
  'base64 in lines': inLines(base64('x'.repeat(50)), 76, '\r\n'),
  'base64 in JSON': JSON.stringify({ basic: base64('user:') }),
  'base64 with escaped slashes': base64('user:').replaceAll('/', '\\/').replaceAll('+', '\\u002b'),
  'HTML by numbers': codes((it) => `&#${it};`),
  'HTML by hex numbers': codes((it) => `&#x${it.toString(16)};`),
  'HTML by names': secret.replace(/[&<"]/g, (it) => ({ '&': '&amp;', '<': '&lt;', '"': '&quot;' })[it] ?? it),
  'UTF-16': Buffer.from(secret, 'utf16le'),
  'a page of an error': `<html><body><pre>Error: Bearer ${secret} is not valid</pre></body></html>`,
  'a trace of an error': `at send (Authorization: Bearer ${secret})\n    at main`,
};

/** What somebody would find who undoes all that these do. */
const readings: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.replaceAll('\0', ''),
  (text) =>
    text.replace(/\\+u([0-9a-f]{4})/gi, (_, it: string) => String.fromCharCode(Number.parseInt(it, 16))),
  (text) =>
    text.replace(/\\x([0-9a-f]{2})/gi, (_, it: string) => String.fromCharCode(Number.parseInt(it, 16))),
  (text) => text.replace(/%([0-9a-f]{2})/gi, (_, it: string) => String.fromCharCode(Number.parseInt(it, 16))),
  (text) =>
    text.replace(/&#x([0-9a-f]+);/gi, (_, it: string) => String.fromCharCode(Number.parseInt(it, 16))),
  (text) => text.replace(/&#(\d+);/g, (_, it: string) => String.fromCharCode(Number(it))),
  (text) => text.replaceAll('&amp;', '&').replaceAll('&lt;', '<').replaceAll('&quot;', '"'),
  (text) => text.replaceAll('\\', ''),
  (text) => Buffer.from(text.replace(/[^0-9a-f]/gi, ''), 'hex').toString('latin1'),
  (text) => Buffer.from(text, 'base64').toString('latin1'),
  (text) =>
    text
      .split(/[^A-Za-z0-9+/_=-]+/)
      .map((it) => Buffer.from(it, 'base64').toString('latin1'))
      .join(' '),
];

/** Half of the random part is enough: nobody else has written it. */
const pieces = [secret.slice(4, 20), secret.slice(-16)];

function isShown(answer: string): boolean {
  const once = readings.map((read) => read(answer));
  const twice = once.flatMap((it) => readings.map((read) => read(it)));
  return [...once, ...twice].some((text) => pieces.some((it) => text.toLowerCase().includes(it)));
}

const shownIn = (reply: { headers: http.IncomingHttpHeaders; body: Buffer }): boolean =>
  isShown(reply.body.toString('latin1')) || isShown(JSON.stringify(reply.headers));

const credential = { name: 'bot', tenant: 'acme', type: 'bearer', value: secret, hosts: [apiHost] };
const names = Object.keys(bodies);
const bodyOf = (url: string | undefined): Buffer =>
  Buffer.from(bodies[names[Number(/\d+/.exec(url ?? '')?.[0])] ?? ''] ?? '');

t.test('what is looked for is found where nobody takes it out', async (t) => {
  for (const [name, body] of Object.entries(bodies))
    t.ok(isShown(Buffer.from(body).toString('latin1')), name);
});

/** By the letter that the path begins with. */
const ways: Record<string, (body: Buffer, response: http.ServerResponse) => void> = {
  whole: (body, response) => void response.end(body),
  error: (body, response) => void response.writeHead(500, { 'Content-Type': 'text/html' }).end(body),
  bytes(body, response) {
    response.writeHead(200);
    response.socket?.setNoDelay(true);
    for (const byte of body) response.write(Buffer.from([byte]));
    response.end();
  },
  events(body, response) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(`id: 1\ndata: ${body.toString('latin1').replace(/[\r\n]+/g, '')}\n\n`, 'latin1');
    response.end('data: end\n\n');
  },
};

for (const way of Object.keys(ways))
  t.test(`shows nothing of a credential in a body, however it is written: ${way}`, async (t) => {
    const lab = await startCredentialLab(t, {
      credentials: [credential],
      handler: (request, response) => ways[way]?.(bodyOf(request.url), response),
    });
    for (const [nth, name] of names.entries()) {
      const reply = await lab.call(`/${nth}`);
      t.notOk(shownIn(reply), name);
      t.ok(reply.body.includes('[REDACTED:credential]'), `${name}: and says that there was something`);
    }
  });

const heads: Record<string, (response: http.ServerResponse) => void> = {
  'a field': (response) => response.setHeader('X-Echo', `Bearer ${secret}`),
  'a field in base64': (response) => response.setHeader('X-Echo', base64('user:')),
  Location: (response) =>
    void response.writeHead(302, { Location: `https://x.example/?t=${encodeURIComponent(secret)}` }),
  'Set-Cookie': (response) =>
    response.setHeader('Set-Cookie', ['a=b', `token=${encodeURIComponent(secret)}; Path=/`]),
  'WWW-Authenticate': (response) =>
    void response.writeHead(401, {
      'WWW-Authenticate': `Bearer error_description="${secret.replaceAll('"', '\\"')}"`,
    }),
  'the text of the status': (response) => void response.writeHead(400, `no ${secret}`),
  'a trailer': (response) => {
    response.writeHead(200, { Trailer: 'X-Echo' });
    response.write('x');
    response.addTrailers({ 'X-Echo': secret });
  },
  ETag: (response) => response.setHeader('ETag', `"${bytes.toString('hex')}"`),
};

t.test('shows nothing of a credential in a head, nor behind a body', async (t) => {
  const kinds = Object.keys(heads);
  const lab = await startCredentialLab(t, {
    credentials: [{ ...credential, hosts: ['*.test.example'] }],
    handler(request, response) {
      heads[kinds[Number(request.url?.slice(1))] ?? '']?.(response);
      response.end();
    },
  });
  for (const [nth, name] of kinds.entries()) {
    for (const method of ['GET', 'HEAD']) {
      const socket = await lab.tunnel();
      let text = '';
      socket.setEncoding('latin1');
      socket.on('data', (chunk: string) => {
        text += chunk;
      });
      socket.write(
        `${method} /${nth} HTTP/1.1\r\nHost: ${apiHost}:${lab.upstream.port}\r\nTE: trailers\r\nConnection: close\r\n\r\n`,
      );
      await new Promise((resolve) => socket.once('close', resolve));
      t.match(text, /^HTTP\/1\.1 \d{3}/, `${name}, ${method}`);
      t.notOk(isShown(text), `${name}, ${method}`);
    }
  }
});

t.test(
  'shows nothing of a credential that was compressed, and passes on none that cannot be looked into',
  async (t) => {
    const coded: Record<string, (body: Buffer) => Buffer> = {
      gzip: gzipSync,
      br: brotliCompressSync,
      deflate: deflateSync,
      'gzip, gzip': (body) => gzipSync(gzipSync(body)),
      zstd: (body) => zstdCompressSync(body),
      'x-none': (body) => body,
      'br, zstd': (body) => body,
    };
    const readable = ['gzip', 'br', 'deflate', 'gzip, gzip', 'zstd'];
    const lab = await startCredentialLab(t, {
      credentials: [credential],
      handler(request, response) {
        const coding = decodeURIComponent(request.url?.slice(1) ?? '');
        response.writeHead(200, { 'Content-Encoding': coding });
        response.end(coded[coding]?.(Buffer.from(`Bearer ${secret}`)));
      },
    });
    for (const coding of Object.keys(coded)) {
      const reply = await lab.call(`/${encodeURIComponent(coding)}`);
      t.equal(lab.upstream.requests.at(-1)?.headers['accept-encoding'], 'identity', 'it was asked for none');
      if (readable.includes(coding)) {
        t.match(reply, { status: 200 }, coding);
        t.equal(String(reply.body), '[REDACTED:credential]');
        t.notOk('content-encoding' in reply.headers);
      } else {
        t.equal(reply.status, 502, coding);
        t.equal(JSON.parse(reply.body.toString()).code, 'UPSTREAM_PROTOCOL');
      }
    }
  },
);

t.test('nobody is asked for messages that are compressed', async (t) => {
  const lab = await startCredentialLab(t, { credentials: [credential] });
  const fields = ['accept-encoding', 'grpc-accept-encoding', 'connect-accept-encoding'];
  await lab.call('/', { headers: Object.fromEntries(fields.map((it) => [it, 'gzip'])) });
  const { headers = {} } = lab.upstream.requests.at(-1) ?? {};
  t.match(headers, { authorization: `Bearer ${secret}`, 'accept-encoding': 'identity' });
  for (const name of fields.slice(1)) t.notOk(name in headers, name);
});

t.test('who asks for a part gets the whole without the credential', async (t) => {
  const lab = await startCredentialLab(t, {
    credentials: [credential],
    handler(request, response) {
      const body = `Bearer ${secret}, `.repeat(3);
      const { range } = request.headers;
      // Some servers call the whole a part, too.
      const whole = { 'Content-Range': `bytes 0-${body.length - 1}/${body.length}` };
      if (range)
        response.writeHead(206, { 'Content-Range': `bytes 0-9/${body.length}` }).end(body.slice(0, 10));
      else if (request.url === '/always') response.writeHead(206, whole).end(body);
      else response.end(body);
    },
  });
  for (const path of ['/', '/always'])
    for (const range of ['Range', 'Request-Range', 'X-MS-Range']) {
      const reply = await lab.call(path, { headers: { [range]: 'bytes=0-9' } });
      t.equal(reply.status, 200, `${path} ${range}`);
      t.equal(String(reply.body), '[REDACTED:credential], '.repeat(3));
      t.notOk('content-range' in reply.headers);
    }
});

t.test('shows nothing of a credential over HTTP/2, on either side', async (t) => {
  const upstream = await startHttp2Upstream(t, (stream, headers) => {
    const echo = String(headers.authorization);
    stream.respond({ ':status': 200, 'x-echo': echo }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': echo }));
    const body = bodyOf(headers[':path']);
    for (let at = 0; at < body.length; at += 7) stream.write(body.subarray(at, at + 7));
    stream.end();
  });
  const gateway = await startTestGateway(t, {
    upstream,
    config: { upstream: { h2: 'always' }, credentials: [credential] },
  });
  const authority = `${apiHost}:${upstream.port}`;
  const session = await openHttp2Tunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority,
    ca: readFileSync(gateway.caFile, 'utf8'),
  });
  t.teardown(() => session.destroy());
  for (const [nth, name] of names.entries()) {
    const reply = await sendOnStream(session, {
      ':path': `/${nth}`,
      ':authority': authority,
      ':scheme': 'https',
    });
    t.equal(reply.status, 200);
    t.notOk(shownIn(reply), name);
    t.notOk(isShown(JSON.stringify(reply.trailers)), `${name}: nor its trailers`);
  }
});

t.test('a placeholder that stands in place of a credential is replaced, or goes nowhere', async (t) => {
  const placeholder = 'POSTERN_PLACEHOLDER';
  const hosts = (name: string) => [`${name}.test.example`];
  const lab = await startCredentialLab(t, {
    credentials: [
      { ...credential, name: 'bearer', hosts: hosts('bearer') },
      { name: 'headers', type: 'headers', values: { 'X-Api-Key': secret }, hosts: hosts('headers') },
      { name: 'query', type: 'query', parameter: 'key', value: secret, hosts: hosts('query') },
      { name: 'gone', type: 'bearer', vault: true, hosts: hosts('gone') },
    ],
  });
  const headers = { authorization: `Bearer ${placeholder}`, 'x-api-key': placeholder };
  const sent = async (name: string) => {
    const { status } = await lab.call(`/x?key=${placeholder}`, { host: `${name}.test.example`, headers });
    const got = lab.upstream.requests.at(-1);
    return {
      status,
      authorization: got?.headers.authorization,
      key: got?.headers['x-api-key'],
      url: got?.url,
    };
  };
  t.match(await sent('bearer'), { status: 200, authorization: `Bearer ${secret}` });
  t.match(await sent('headers'), { status: 200, authorization: undefined, key: secret });
  t.match(await sent('query'), {
    status: 200,
    authorization: undefined,
    url: `/x?key=${encodeURIComponent(secret)}`,
  });
  const before = lab.upstream.requests.length;
  t.equal((await sent('gone')).status, 502);
  t.equal(lab.upstream.requests.length, before, 'what has no credential is not sent with what stands for it');
});
