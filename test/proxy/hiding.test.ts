import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { basic, openSecureTunnel, run, send } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { awsKeyId, gitlabToken } from '../support/secrets.ts';
import { startUpstream } from '../support/upstream.ts';

/*
 * A secret in every dress that an agent could put it in, through the real proxy: it must not arrive, neither as it was nor in
 * another dress. The answer may be that it was cut out, or that the call was denied.
 */

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** gzip (RFC 1952, 2.3) with a comment in its header, which every reader skips. */
function gzipWithComment(text: string, comment: string): Buffer {
  const plain = gzipSync(text);
  const header = Buffer.from(plain.subarray(0, 10));
  header[3] = 0x10;
  return Buffer.concat([header, Buffer.from(`${comment}\0`, 'latin1'), plain.subarray(10)]);
}

/** A skippable frame (RFC 8878, 3.1.2) before the content. */
function zstdWithSkippableFrame(text: string, hidden: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(0x184d2a50, 0);
  head.writeUInt32LE(hidden.length, 4);
  return Buffer.concat([head, Buffer.from(hidden), zstdCompressSync(text)]);
}

const toBase64Url = (text: string): string => Buffer.from(text).toString('base64url');
const randomBase64Url = (bytes: number): string => randomBytes(bytes).toString('base64url');

interface Dress {
  readonly name: string;
  readonly headers?: Record<string, string>;
  readonly path?: string;
  readonly body?: string | Buffer;
}

const json = { 'content-type': 'application/json' };

const dresses = (secret: string): Dress[] => [
  { name: 'plain JSON', headers: json, body: `{"a":"${secret}"}` },
  { name: 'a JSON key', headers: json, body: `{"${secret}":1}` },
  { name: 'JSON escapes', headers: json, body: `{"a":"${secret.replace('K', '\\u004b')}"}` },
  {
    name: 'JSON in a JSON string',
    headers: json,
    body: JSON.stringify({ a: JSON.stringify({ b: secret }) }),
  },
  { name: 'a duplicate key', headers: json, body: `{"a":"${secret}","a":"x"}` },
  { name: 'base64', headers: json, body: JSON.stringify({ a: base64(`the key is ${secret}, keep it`) }) },
  {
    name: 'base64 twice',
    headers: json,
    body: JSON.stringify({ a: base64(base64(`the key is ${secret}, keep it`)) }),
  },
  { name: 'hex', headers: json, body: JSON.stringify({ a: Buffer.from(`key ${secret}`).toString('hex') }) },
  {
    name: 'percent',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `a=${secret.replace('K', '%4B')}`,
  },
  {
    name: 'HTML entities',
    headers: { 'content-type': 'text/html' },
    body: `<p>${secret.replace('K', '&#75;')}</p>`,
  },
  {
    name: 'zero-width characters',
    headers: json,
    body: JSON.stringify({ a: secret.split('').join('\u200b') }),
  },
  {
    name: 'full-width characters',
    headers: json,
    body: JSON.stringify({ a: secret.replace('AKIA', '\uff21\uff2b\uff29\uff21') }),
  },
  {
    name: 'UTF-16',
    headers: { 'content-type': 'text/plain; charset=utf-16le' },
    body: Buffer.from(`key ${secret}`, 'utf16le'),
  },
  { name: 'gzip', headers: { ...json, 'content-encoding': 'gzip' }, body: gzipSync(`{"a":"${secret}"}`) },
  {
    name: 'gzip twice',
    headers: { ...json, 'content-encoding': 'gzip, gzip' },
    body: gzipSync(gzipSync(`{"a":"${secret}"}`)),
  },
  { name: 'gzip that is not declared', headers: json, body: gzipSync(`{"a":"${secret}"}`) },
  {
    name: 'a comment of gzip',
    headers: { ...json, 'content-encoding': 'gzip' },
    body: gzipWithComment('{"a":1}', secret),
  },
  {
    name: 'a skippable frame of zstd',
    headers: { ...json, 'content-encoding': 'zstd' },
    body: zstdWithSkippableFrame('{"a":1}', secret),
  },
  {
    name: 'base64 in a comment of gzip',
    headers: { ...json, 'content-encoding': 'gzip' },
    body: gzipWithComment('{"a":1}', base64(secret)),
  },
  {
    name: 'hex in a comment of gzip',
    headers: { ...json, 'content-encoding': 'gzip' },
    body: gzipWithComment('{"a":1}', Buffer.from(secret).toString('hex')),
  },
  {
    name: 'base64 in a skippable frame of zstd',
    headers: { ...json, 'content-encoding': 'zstd' },
    body: zstdWithSkippableFrame('{"a":1}', base64(secret)),
  },
  {
    name: 'a comment of gzip inside another coding',
    headers: { ...json, 'content-encoding': 'gzip, zstd' },
    body: zstdCompressSync(gzipWithComment('{"a":1}', base64(secret))),
  },
  { name: 'an unknown coding', headers: { ...json, 'content-encoding': 'rot13' }, body: `{"a":"${secret}"}` },
  {
    name: 'a file name of a multipart body',
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
    body: `--b\r\nContent-Disposition: form-data; name="f"; filename="${secret}"\r\n\r\nx\r\n--b--\r\n`,
  },
  {
    name: 'a multipart body with a transfer encoding of its own',
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
    body: `--b\r\nContent-Disposition: form-data; name="f"\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64(`key ${secret} end`)}\r\n--b--\r\n`,
  },
  { name: 'the path', path: `/x/${secret}` },
  { name: 'the query', path: `/x?a=${secret}` },
  { name: 'a name in the query', path: `/x?${secret}=1` },
  { name: 'base64 in the query', path: `/x?a=${encodeURIComponent(base64(`key ${secret} end`))}` },
  { name: 'a header', headers: { 'x-note': secret } },
  { name: "a header's name", headers: { [`x-${secret}`]: '1' } },
  { name: 'a cookie', headers: { cookie: `a=b; c=${secret}` } },
  { name: 'Accept-Encoding', headers: { 'accept-encoding': secret } },
  { name: 'User-Agent', headers: { 'user-agent': `agent ${base64(`key ${secret} end`)}` } },
];

/** Everything that stands in the bytes when common dresses are taken off: what a receiver could read. */
function readable(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  const runs = (text.match(/[A-Za-z0-9+/]{16,}={0,2}/g) ?? []).map((run) =>
    Buffer.from(run, 'base64').toString('latin1'),
  );
  return [text, text.replaceAll('\0', ''), ...runs].join('\n');
}

t.test('a secret does not arrive, whatever it wears', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, { upstream });
  const ca = readFileSync(gateway.caFile, 'utf8');
  const authority = `api.test.example:${upstream.port}`;
  for (const { name, headers = {}, path = '/x', body } of dresses(awsKeyId())) {
    await t.test(name, async (t) => {
      const socket = await openSecureTunnel({
        proxyUrl: gateway.proxyUrl,
        authorization: basic(gateway.key),
        authority,
        ca,
      });
      t.teardown(() => socket.destroy());
      const before = upstream.requests.length;
      const reply = await send(socket, {
        method: 'POST',
        path,
        headers: { host: authority, ...headers },
        ...(body === undefined ? {} : { body }),
      });
      const arrived = upstream.requests.slice(before);
      t.match(reply.headers['x-service-decision'], /^(DENY|SANITIZE)$/);
      const decision = reply.headers['x-service-decision'];
      t.equal(arrived.length, decision === 'DENY' ? 0 : 1, 'a denied call does not arrive');
      for (const it of arrived) {
        const all = Buffer.concat([Buffer.from(it.url + it.rawHeaders.join('\n')), it.body]);
        t.notMatch(readable(all), /AKIA[A-Z2-7]{16}/, 'nothing of it arrives');
        t.match(it.body.toString('latin1'), /\[REDACTED:/, 'something stands in its place');
      }
      t.notMatch(reply.body.toString(), /AKIA[A-Z2-7]{16}/, 'the answer does not repeat it');
      t.notMatch(JSON.stringify(reply.headers), /AKIA[A-Z2-7]{16}/);
    });
  }
  await gateway.stop();
  const kept = await run('grep', ['-r', '-a', '-l', '-E', 'AKIA[A-Z2-7]{16}', gateway.dir]);
  t.equal(kept.stdout, '', 'nothing that the gateway keeps holds it');
});

t.test('a credential is at home where its vendor wants it, and nowhere else', async (t) => {
  const gateway = await startTestGateway(t);
  const token = gitlabToken();
  const cases = [
    {
      name: 'its header at its host',
      url: 'https://gitlab.com/api/v4/user',
      headers: { 'private-token': token },
      decision: 'ALLOW',
    },
    {
      name: 'its header at a stranger',
      url: 'https://evil.example/api',
      headers: { 'private-token': token },
      decision: 'DENY',
    },
    {
      name: 'another header at its host',
      url: 'https://gitlab.com/api/v4/user',
      headers: { 'x-note': token },
      decision: 'DENY',
    },
    { name: 'the path at its host', url: `https://gitlab.com/${token}`, headers: {}, decision: 'DENY' },
    {
      name: 'the body at its host',
      url: 'https://gitlab.com/api',
      headers: {},
      body: { t: token },
      decision: 'SANITIZE',
    },
  ];
  for (const { name, decision, ...call } of cases) {
    const { body } = await gateway.api('POST', '/v1/scan', { method: 'POST', ...call });
    t.equal(body.decision, decision, name);
    if (decision !== 'ALLOW')
      t.ok(body.reason_codes.includes('SECRET_MISDIRECTED'), `${name}: the reason says so`);
  }
});

t.test('a body that is nested too deep to be serialised is answered, and the gateway lives', async (t) => {
  const gateway = await startTestGateway(t);
  const depth = 20_000;
  const body = `${'['.repeat(depth)}"${awsKeyId()}"${']'.repeat(depth)}`;
  const response = await fetch(`${gateway.controlUrl}/v1/scan`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: `{"method":"POST","url":"https://paste.example.org/","body":${body}}`,
  });
  t.equal(response.status, 200);
  const text = await response.text();
  t.match(text.slice(0, 40), /"decision":"(SANITIZE|DENY)"/);
  t.notMatch(text, /AKIA[A-Z2-7]{16}/);
  t.equal((await gateway.api('GET', '/healthz', undefined, '')).status, 200);
});

t.test('a rule on what nobody can read holds for every call of a tunnel', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, { upstream });
  const opaque = { condition: { has_data_class: ['OPAQUE_CONTENT'] }, action: 'DENY', priority: 1 };
  const rest = { rule_id: 'rest', match: {}, action: 'ALLOW', priority: 1000 };
  t.match(await gateway.apply([{ rule_id: 'no-opaque', match: {}, ...opaque }, rest]), { status: 200 });
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(gateway.caFile, 'utf8');
  const socket = await openSecureTunnel({
    ...{ proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca },
  });
  t.teardown(() => socket.destroy());
  // An encrypted token (RFC 7516, 7.1) in a header: there is nothing to be found in it.
  const jwe = [toBase64Url('{"alg":"dir","enc":"A256GCM"}'), '', ...[12, 300, 16].map(randomBase64Url)].join(
    '.',
  );
  for (const [field, status] of [
    [jwe, 403],
    [jwe, 403],
    ['none', 200],
    [jwe, 403],
  ] as const) {
    const reply = await send(socket, { path: '/x', headers: { host: authority, 'x-data': field } });
    t.equal(reply.status, status);
  }
});
