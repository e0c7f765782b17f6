import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { inflateBody } from '../../../../src/inspect/decode/packed/inflate.ts';

const text = 'the quick brown fox jumps over the lazy dog '.repeat(20);
const plain = Buffer.from(text);
const maxBytes = 1 << 16;

const codings = [
  { coding: '', body: plain },
  { coding: 'identity', body: plain },
  { coding: 'gzip', body: gzipSync(plain) },
  { coding: 'x-gzip', body: gzipSync(plain) },
  { coding: ' GZip ', body: gzipSync(plain) },
  { coding: 'deflate', body: deflateSync(plain) },
  { coding: 'deflate', body: deflateRawSync(plain) },
  { coding: 'br', body: brotliCompressSync(plain) },
  { coding: 'zstd', body: zstdCompressSync(plain) },
  { coding: 'gzip, br', body: brotliCompressSync(gzipSync(plain)) },
  { coding: 'identity, deflate,, zstd,gzip', body: gzipSync(zstdCompressSync(deflateSync(plain))) },
  { coding: 'gzip', body: Buffer.concat([gzipSync(text.slice(0, 100)), gzipSync(text.slice(100))]) },
];

t.test('content codings are taken off, the last first', async (t) => {
  for (const { coding, body } of codings)
    t.same(inflateBody(body, coding, maxBytes), { body: plain }, coding);
});

t.test('a body that nobody encoded is not copied', async (t) => {
  t.equal((inflateBody(plain, 'identity', 1) as { body: Buffer }).body, plain);
});

const zeros = Buffer.alloc(maxBytes + 1);
const unreadable = [
  { name: 'an unknown coding', coding: 'compress', body: plain, says: /does not know/ },
  { name: 'a name that objects have', coding: '__proto__', body: plain, says: /does not know/ },
  { name: 'another one', coding: 'constructor', body: plain, says: /does not know/ },
  { name: 'four codings', coding: 'gzip, gzip, gzip, gzip', body: plain, says: /more than 3/ },
  { name: 'plain text called gzip', coding: 'gzip', body: plain, says: /not what/ },
  { name: 'plain text called zstd', coding: 'zstd', body: plain, says: /not what/ },
  { name: 'gzip cut short', coding: 'gzip', body: gzipSync(plain).subarray(0, -4), says: /not what/ },
  {
    name: 'brotli cut short',
    coding: 'br',
    body: brotliCompressSync(plain).subarray(0, -2),
    says: /not what/,
  },
  { name: 'an empty body', coding: 'deflate', body: Buffer.alloc(0), says: /not what/ },
  {
    name: 'bytes behind deflate',
    coding: 'deflate',
    body: Buffer.concat([deflateSync(plain), plain]),
    says: /followed/,
  },
  {
    name: 'bytes behind brotli',
    coding: 'br',
    body: Buffer.concat([brotliCompressSync(plain), plain]),
    says: /followed/,
  },
  {
    name: 'bytes behind gzip',
    coding: 'gzip',
    body: Buffer.concat([gzipSync(plain), plain]),
    says: /not what|followed/,
  },
  { name: 'a gzip bomb', coding: 'gzip', body: gzipSync(zeros), says: /more than the limit of 65536/ },
  { name: 'a deflate bomb', coding: 'deflate', body: deflateRawSync(zeros), says: /more than the limit/ },
  { name: 'a brotli bomb', coding: 'br', body: brotliCompressSync(zeros), says: /more than the limit/ },
  { name: 'a zstd bomb', coding: 'zstd', body: zstdCompressSync(zeros), says: /more than the limit/ },
  {
    name: 'a bomb in a bomb',
    coding: 'gzip, gzip',
    body: gzipSync(gzipSync(zeros)),
    says: /more than the limit/,
  },
];

t.test('what cannot be decoded within the limit is unreadable', async (t) => {
  for (const { name, coding, body, says } of unreadable) {
    t.match(inflateBody(body, coding, maxBytes), { unreadable: says }, name);
  }
});

t.test('a body may have exactly as many bytes as the limit', async (t) => {
  for (const { coding, body } of codings.slice(2))
    t.match(inflateBody(body, coding, plain.length), { body: plain }, coding);
});
