import {
  brotliCompressSync,
  constants,
  crc32,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import t from 'tap';
import { besideContent, fieldBytesMax } from '../../../../src/inspect/decode/packed/coding-room.ts';
import { inflateBody } from '../../../../src/inspect/decode/packed/inflate.ts';

const maxBytes = 1 << 20;
const content = Buffer.from(JSON.stringify(Array.from({ length: 80 }, (_, at) => ({ at, is: 'a list' }))));
const hidden = 'what nobody is to see';
const textOf = (body: Buffer, coding: string): string | undefined => {
  t.match(inflateBody(body, coding, maxBytes), { body: Buffer }, 'receivers can read it');
  return besideContent(body, coding, maxBytes)?.toString('latin1');
};

/** RFC 1952, 2.3.1; `fields` are those that the flags announce. */
function gzipMember(plain: Buffer, flags: number, fields: Buffer | string): Buffer {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(plain), 0);
  trailer.writeUInt32LE(plain.length, 4);
  const head = Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3]);
  return Buffer.concat([head, Buffer.from(fields), deflateRawSync(plain), trailer]);
}

const extra = (text: string): Buffer =>
  Buffer.concat([Buffer.from([text.length & 0xff, text.length >> 8]), Buffer.from(text)]);

/** RFC 8878, 3.1.2 */
function skippable(text: string, number = 0): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(0x184d2a50 + number, 0);
  head.writeUInt32LE(text.length, 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** RFC 7932, 9.2: a window of 16 bits (0), a last block (0), no nibbles (11), reserved (0), one byte of length (01), the length, padding. */
function brotliWithMetadata(text: string): Buffer {
  const bits = [
    0,
    0,
    1,
    1,
    0,
    1,
    0,
    ...Array.from({ length: 8 }, (_, at) => ((text.length - 1) >> at) & 1),
    0,
  ];
  const head = Buffer.alloc(2);
  for (const [at, bit] of bits.entries()) head[at >> 3] = (head[at >> 3] as number) | (bit << (at & 7));
  // An empty last block ends it: the content is empty.
  return Buffer.concat([head, Buffer.from(text), Buffer.from([0x03])]);
}

const empty = gzipMember(Buffer.alloc(0), 0, '');
const name = (text: string): Buffer => gzipMember(content, 0x08, `${text}\0`);

t.test('what stands beside the content is told', async (t) => {
  const bodies: readonly (readonly [name: string, coding: string, body: Buffer])[] = [
    ['a name in gzip', 'gzip', name(hidden)],
    ['a comment', 'x-gzip', gzipMember(content, 0x10, `${hidden}\0`)],
    ['an extra field', 'gzip', gzipMember(content, 0x04, extra(hidden))],
    [
      'all of them',
      'gzip',
      gzipMember(content, 0x1c, Buffer.concat([extra('a'), Buffer.from(`b\0${hidden}\0`)])),
    ],
    ['a name in a later member', 'gzip', Buffer.concat([empty, name(hidden), empty])],
    ['a frame of zstd', 'zstd', Buffer.concat([skippable(hidden), zstdCompressSync(content)])],
    ['one behind the content', 'zstd', Buffer.concat([zstdCompressSync(content), skippable(hidden, 15)])],
    ['metadata in brotli', 'br', brotliWithMetadata(hidden)],
    ['a name in an inner coding', 'gzip, br', brotliCompressSync(name(hidden))],
    ['metadata in an inner coding', 'br, gzip', gzipSync(brotliWithMetadata(hidden))],
    ['a stored block', 'deflate', deflateSync(Buffer.from(hidden), { level: 0 })],
  ];
  for (const [name, coding, body] of bodies) t.match(textOf(body, coding), hidden, name);
});

t.test('what compressors write has nothing beside the content', async (t) => {
  const checked = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
  const noise = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * at * 7 + (at >> 5)) % 256));
  for (const plain of [content, noise, Buffer.alloc(0)])
    for (const [coding, body] of [
      ['gzip', gzipSync(plain)],
      ['gzip', Buffer.concat([gzipSync(plain), gzipSync(plain)])],
      ['deflate', deflateSync(plain)],
      ['br', brotliCompressSync(plain)],
      ['zstd', zstdCompressSync(plain, checked)],
      ['zstd', Buffer.concat([zstdCompressSync(plain), zstdCompressSync(plain)])],
      ['gzip, zstd', zstdCompressSync(gzipSync(plain))],
    ] as const)
      t.ok((textOf(body, coding)?.length ?? maxBytes) < body.length / 50 + 20, coding);
});

t.test('more than a name has no place there', async (t) => {
  const most = 'n'.repeat(fieldBytesMax - 1);
  t.equal(textOf(name(most), 'gzip')?.startsWith(most), true);
  const frame = (length: number): Buffer =>
    Buffer.concat([skippable('n'.repeat(length)), zstdCompressSync(content)]);
  t.type(textOf(frame(fieldBytesMax - 8), 'zstd'), 'string');
  const bodies: readonly (readonly [coding: string, body: Buffer])[] = [
    ['gzip', name(`${most}n`)],
    ['gzip', gzipMember(content, 0x04, extra(most))],
    ['gzip', Buffer.concat([name(most), name('a')])],
    ['gzip', Buffer.concat([...Array.from({ length: 16 }, () => empty), gzipSync(content)])],
    ['zstd', frame(fieldBytesMax - 7)],
    ['zstd', Buffer.concat([zstdCompressSync(content), ...Array.from({ length: 9 }, () => skippable(''))])],
    ['zstd, gzip', gzipSync(frame(fieldBytesMax))],
  ];
  for (const [coding, body] of bodies) t.equal(textOf(body, coding), undefined, coding);
});
