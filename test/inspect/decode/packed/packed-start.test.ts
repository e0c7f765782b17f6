import { brotliCompressSync, brotliDecompressSync, constants, deflateRawSync } from 'node:zlib';
import t from 'tap';
import { mayBeBrotli, mayBeDeflate, probeBytes } from '../../../../src/inspect/decode/packed/packed-start.ts';
import { createNoise } from '../../../support/noise.ts';

const noise = createNoise();

function textOf(seed: number): string {
  const words = noise(16 + ((seed * 37) % 1500)).toString(seed % 2 === 0 ? 'hex' : 'base64');
  return words.replace(/.{9}/g, (word) => `${word}${[' ', '\n', '","k":"', 'é', 'a'.repeat(40)][seed % 5]}`);
}

const texts = Array.from({ length: 200 }, (_, seed) => textOf(seed));

/** At a glance, and when all of it is looked at. */
const begins = (mayBe: typeof mayBeDeflate, packed: Buffer): boolean =>
  mayBe(packed.subarray(0, probeBytes), packed.length) && mayBe(packed, packed.length);

t.test('every quality and window of Brotli begins as such', async (t) => {
  const { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_LGWIN: window } = constants;
  for (const [seed, text] of texts.entries())
    for (const level of [0, 1, 2, 4, 6, 9, 11]) {
      const packed = brotliCompressSync(text, { params: { [quality]: level, [window]: 10 + (seed % 15) } });
      if (!begins(mayBeBrotli, packed)) t.fail(`text ${seed}, quality ${level}`);
    }
});

t.test('every level of deflate begins as such', async (t) => {
  for (const [seed, text] of texts.entries())
    for (const level of [0, 1, 3, 6, 9])
      for (const strategy of [constants.Z_DEFAULT_STRATEGY, constants.Z_FIXED, constants.Z_HUFFMAN_ONLY]) {
        const packed = deflateRawSync(text, { level, strategy, memLevel: 1 + (seed % 9) });
        if (!begins(mayBeDeflate, packed)) t.fail(`text ${seed}, level ${level}`);
      }
});

/** RFC 7932, 9.2: a window of 2^16, blocks of metadata of five bytes each, then the content. */
function withMetadata(text: string, blocks: number): Buffer {
  const params = { [constants.BROTLI_PARAM_LGWIN]: 16 };
  const content = [...brotliCompressSync(text, { params })].flatMap((byte) => bitsOf(byte, 8));
  // Not the last, no length of content, a reserved bit, one byte of length, the length, and zeros up to the next byte.
  const head = [0, 1, 1, 0, 1, 0, ...bitsOf(4, 8)];
  const bits = content.slice(0, 1);
  for (let block = 0; block < blocks; block += 1) {
    bits.push(...head);
    while (bits.length % 8 > 0) bits.push(0);
    for (let byte = 0; byte < 5; byte += 1) bits.push(...bitsOf(byte, 8));
  }
  bits.push(...content.slice(1));
  const bytes = Buffer.alloc(Math.ceil(bits.length / 8));
  for (const [at, bit] of bits.entries()) bytes[at >> 3] = (bytes[at >> 3] as number) | (bit << (at & 7));
  return bytes;
}

const bitsOf = (value: number, count: number): number[] =>
  Array.from({ length: count }, (_, bit) => (value >> bit) & 1);

t.test('metadata in front of the content is passed over', async (t) => {
  for (const blocks of [0, 1, 2, 4, 8, 12])
    for (const text of texts.slice(0, 40)) {
      const packed = withMetadata(text, blocks);
      if (brotliDecompressSync(packed).toString() !== text) t.fail(`${blocks} blocks are no Brotli`);
      if (!begins(mayBeBrotli, packed)) t.fail(`${blocks} blocks hide a text`);
    }
});

t.test(
  'identifiers that nobody packed are told by their first bytes, save one in three hundred',
  async (t) => {
    const count = 20_000;
    let taken = 0;
    for (let seed = 0; seed < count; seed += 1) {
      const bytes = noise(16 + (seed % 48));
      if (mayBeBrotli(bytes, bytes.length) || mayBeDeflate(bytes, bytes.length)) taken += 1;
    }
    t.ok(taken < count / 300, `${taken} of ${count}`);
  },
);

t.test('no beginning, however short, is read past its end', async (t) => {
  for (let length = 0; length < 2 * probeBytes; length += 1)
    t.doesNotThrow(() => {
      for (let first = 0; first < 256; first += 1) {
        const bytes = Buffer.alloc(length, first);
        mayBeBrotli(bytes, length);
        mayBeDeflate(bytes, length);
      }
    });
});
