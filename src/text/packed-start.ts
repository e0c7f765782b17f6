/*
 * How Brotli (RFC 7932) and deflate without a frame (RFC 1951) begin. Neither has a sign, and nearly every value in a text is
 * packed by nobody: to try it costs thirty microseconds, to look at the first bytes a tenth of one.
 */

/** As much as is looked at. */
export const probeBytes = 36;

/** Bits from the least significant on, as both formats store them; behind the end stand zeros. */
class Bits {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isOver(): boolean {
    return this.#at > 8 * this.#bytes.length;
  }

  /** Up to 16 of them, as a number. */
  take(count: number): number {
    const byte = this.#at >> 3;
    const [first = 0, second = 0, third = 0] = [
      this.#bytes[byte],
      this.#bytes[byte + 1],
      this.#bytes[byte + 2],
    ];
    const value = ((first | (second << 8) | (third << 16)) >> (this.#at & 7)) & ((1 << count) - 1);
    this.#at += count;
    return value;
  }

  /** Goes to the next whole byte; tells whether what it passed was zero, as both formats want it. */
  align(): boolean {
    return this.take((8 - (this.#at & 7)) & 7) === 0;
  }

  skip(bytes: number): void {
    this.#at += 8 * bytes;
  }
}

/** What a length may say of a short content: most are identifiers, and of them one in twenty says less. A long one may be of any length. */
const shortBytes = 64;
const expansionMax = 64;
/** Blocks of metadata that may stand before the first of content. */
const skippedMax = 8;

/** Whether a stream of Brotli of so many bytes may begin so: by its window (9.1) and the head of its first block (9.2). */
export function mayBeBrotli(start: Buffer, length: number): boolean {
  const bits = new Bits(start);
  // A window of 2^16 has one bit. Of the others 0010001 alone is none.
  if (bits.take(1) === 1 && bits.take(3) === 0 && bits.take(3) === 1) return false;
  for (let skipped = 0; skipped < skippedMax; skipped += 1) {
    const isLast = bits.take(1) === 1;
    if (isLast && bits.take(1) === 1) return false;
    const nibbles = bits.take(2) + 4;
    if (nibbles < 7) {
      const size = sizeOf(bits, nibbles, 4) + 1;
      // The length is written as short as it can be.
      if (nibbles > 4 && (size - 1) >>> (4 * (nibbles - 1)) === 0) return false;
      if (!isLast && bits.take(1) === 1) return bits.align() && size <= length;
      return !bits.isOver && (length > shortBytes || size <= expansionMax * length);
    }
    // Metadata: a reserved bit, then how many bytes are passed over.
    if (isLast || bits.take(1) === 1) return false;
    const sizeBytes = bits.take(2);
    const size = sizeBytes === 0 ? 0 : sizeOf(bits, sizeBytes, 8) + 1;
    if (!bits.align() || size > length) return false;
    bits.skip(size);
    if (bits.isOver) return true;
  }
  return true;
}

function sizeOf(bits: Bits, digits: number, bitsOfDigit: number): number {
  let size = 0;
  for (let digit = 0; digit < digits; digit += 1) size |= bits.take(bitsOfDigit) << (bitsOfDigit * digit);
  return size;
}

/** Whether deflate may begin so and goes on to text: by the head of its first block (3.2.3). */
export function mayBeDeflate(start: Buffer): boolean {
  const bits = new Bits(start);
  bits.take(1);
  switch (bits.take(2)) {
    case 0:
      bits.align();
      return bits.take(16) === (bits.take(16) ^ 0xffff);
    case 1:
      return isFixedText(bits);
    case 2:
      return isTreeHead(bits);
    default:
      return false;
  }
}

/** Symbols of the first block that have to be text, or repeat some. */
const symbolsMax = 20;
const endOfBlock = 256;

/** The fixed codes (3.2.6): those of literals are 8 or 9 bits, the others 7 or 8, and the most significant bit of a code comes first. */
function isFixedText(bits: Bits): boolean {
  let length = 0;
  for (let symbols = 0; symbols < symbolsMax && !bits.isOver; symbols += 1) {
    const symbol = fixedSymbol(bits);
    if (symbol === endOfBlock) return true;
    if (symbol < endOfBlock) {
      // Control characters other than white space.
      if (symbol < 0x09 || (symbol > 0x0d && symbol < 0x20)) return false;
      length += 1;
      continue;
    }
    const repeated = repeatOf(bits, symbol);
    if (repeated === undefined || repeated.distance > length) return false;
    length += repeated.length;
  }
  return true;
}

function fixedSymbol(bits: Bits): number {
  let code = mirrored(bits, 7, 0);
  if (code <= 0x17) return endOfBlock + code;
  code = mirrored(bits, 1, code);
  if (code <= 0xbf) return code - 0x30;
  if (code <= 0xc7) return 280 + code - 0xc0;
  return 144 + mirrored(bits, 1, code) - 0x190;
}

function mirrored(bits: Bits, count: number, begun: number): number {
  let code = begun;
  for (let bit = 0; bit < count; bit += 1) code = (code << 1) | bits.take(1);
  return code;
}

/** A length and a distance (3.2.5), or undefined where there is no such symbol. */
function repeatOf(bits: Bits, symbol: number): { length: number; distance: number } | undefined {
  const at = symbol - 257;
  if (at > 28) return undefined;
  const lengthBits = at < 8 || at === 28 ? 0 : (at >> 2) - 1;
  const length =
    (at < 8 ? at + 3 : at === 28 ? 258 : ((4 + (at & 3)) << lengthBits) + 3) + bits.take(lengthBits);
  const code = mirrored(bits, 5, 0);
  if (code > 29) return undefined;
  const distanceBits = code < 4 ? 0 : (code >> 1) - 1;
  const distance = (code < 4 ? code + 1 : ((2 + (code & 1)) << distanceBits) + 1) + bits.take(distanceBits);
  return { length, distance };
}

/** A block with codes of its own (3.2.7): the code of their lengths leaves no room, which hardly any other bytes do. */
function isTreeHead(bits: Bits): boolean {
  if (bits.take(5) > 29 || bits.take(5) > 29) return false;
  const count = bits.take(4) + 4;
  let room = 0;
  for (let index = 0; index < count; index += 1) {
    const length = bits.take(3);
    if (length > 0) room += 0x80 >> length;
  }
  return !bits.isOver && room === 0x80;
}
