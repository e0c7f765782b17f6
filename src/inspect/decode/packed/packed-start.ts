/*
 * Recognises how Brotli (RFC 7932) and raw deflate (RFC 1951) begin. Neither has a signature, and hardly any
 * value is packed. Trying to unpack costs thirty microseconds, looking at the first bytes a tenth of one.
 */

/** The number of bytes that are looked at first. */
export const probeBytes = 36;

/** Reads bits from the least significant on, as both formats store them; zeros follow the end. */
class Bits {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isOver(): boolean {
    return this.#at > 8 * this.#bytes.length;
  }

  /** Takes up to 16 bits as a number. */
  take(count: number): number {
    const byte = this.#at >> 3;
    const bytes = this.#bytes;
    const first = bytes[byte] ?? 0;
    const second = bytes[byte + 1] ?? 0;
    const third = bytes[byte + 2] ?? 0;
    const value = ((first | (second << 8) | (third << 16)) >> (this.#at & 7)) & ((1 << count) - 1);
    this.#at += count;
    return value;
  }

  /** Moves to the next whole byte. Returns whether the skipped bits were zero, as both formats require. */
  align(): boolean {
    return this.take((8 - (this.#at & 7)) & 7) === 0;
  }

  skip(bytes: number): void {
    this.#at += 8 * bytes;
  }
}

/**
 * Bound on the growth that the first block may declare. One in twenty identifiers, which most values are,
 * declares less.
 */
const expansionMax = 16;
/**
 * The least number of bytes of a first block. No encoder makes a smaller block of text, and no secret is
 * shorter.
 */
const sizeMin = 8;
/**
 * The number of bytes of content to which the smaller bound on growth applies: longer content may repeat
 * itself more.
 */
const shortBytes = 4096;
const longExpansionMax = 1024;
/** Bound on the metadata blocks before the first content. */
const skippedMax = 8;

/**
 * Tells whether Brotli of so many bytes may begin with these bytes, by its window (9.1) and the head of its
 * first block (9.2).
 */
export function mayBeBrotli(start: Buffer, length: number): boolean {
  const bits = new Bits(start);
  // A window of 2^16 has one bit; among the others only 0010001 is invalid.
  if (bits.take(1) === 1 && bits.take(3) === 0 && bits.take(3) === 1) return false;
  for (let skipped = 0; skipped < skippedMax; skipped += 1) {
    const isLast = bits.take(1) === 1;
    if (isLast && bits.take(1) === 1) return false;
    const nibbles = bits.take(2) + 4;
    if (nibbles < 7) {
      const size = sizeOf(bits, nibbles, 4) + 1;
      // The length must be written as short as possible.
      if (nibbles > 4 && (size - 1) >>> (4 * (nibbles - 1)) === 0) return false;
      if (!isLast && bits.take(1) === 1) return bits.align() && size <= length;
      // Zeros would be a block of one byte.
      if (size < sizeMin) return false;
      return !bits.isOver && size <= length * (length > shortBytes ? longExpansionMax : expansionMax);
    }
    // Metadata has a reserved bit, then the number of bytes to skip.
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

/**
 * Tells whether deflate of so many bytes may begin with these bytes and go on to text, by its first blocks
 * (3.2.3).
 */
export function mayBeDeflate(start: Buffer, length: number): boolean {
  const bits = new Bits(start);
  const goesOn = start.length < length;
  const told = { symbols: 0, length: 0 };
  for (let block = 0; block < blocksMax; block += 1) {
    const isLast = bits.take(1) === 1;
    const type = bits.take(2);
    if (type === 3) return false;
    if (type === 0) {
      bits.align();
      const isStored = bits.take(16) === (bits.take(16) ^ 0xffff);
      return bits.isOver ? goesOn : isStored;
    }
    const codes = type === 1 ? fixedCodes : ownCodesOf(bits);
    if (bits.isOver) return goesOn;
    if (!codes || !isText(bits, codes, told)) return false;
    if (told.symbols === symbolsMax || (bits.isOver && goesOn)) return true;
    if (bits.isOver || isLast) return told.length >= textMin;
  }
  return true;
}

/** Bound on the blocks that are read; no encoder makes blocks of a few characters. */
const blocksMax = 4;
/** The number of symbols that must be text or repetitions, and the least length of a text with fewer. */
const symbolsMax = 20;
const textMin = 12;
const endOfBlock = 256;
/**
 * The least number of symbols for literals and lengths, and the number of those with a meaning; then the
 * latter for distances.
 */
const literalsMin = 257;
const literalsMax = 286;
const distancesMax = 30;
const codeBitsMax = 15;

/** A Huffman code (3.2.2): the number of codes of each length, and their symbols from the shortest on. */
interface Code {
  readonly counts: readonly number[];
  readonly symbols: readonly number[];
}

interface Codes {
  readonly literals: Code;
  readonly distances: Code;
}

function codeOf(lengths: readonly number[]): Code {
  const counts = new Array<number>(codeBitsMax + 1).fill(0);
  for (const length of lengths) if (length > 0) counts[length] = (counts[length] as number) + 1;
  const used = [...lengths.keys()].filter((symbol) => (lengths[symbol] as number) > 0);
  return { counts, symbols: used.sort((a, b) => (lengths[a] as number) - (lengths[b] as number) || a - b) };
}

/**
 * Tells whether each sequence of bits has exactly one meaning. A single code of one bit may leave the other
 * unused.
 */
function isComplete(lengths: readonly number[]): boolean {
  let room = 0;
  let codes = 0;
  for (const length of lengths) {
    if (length === 0) continue;
    room += 2 ** -length;
    codes += 1;
  }
  return room === 1 || (codes === 1 && room === 1 / 2);
}

/** Returns the next symbol; -1 where the bits are no code. The most significant bit of a code comes first. */
function symbolOf(bits: Bits, { counts, symbols }: Code): number {
  let code = 0;
  let first = 0;
  let index = 0;
  for (let length = 1; length <= codeBitsMax; length += 1) {
    code = (code << 1) | bits.take(1);
    const count = counts[length] as number;
    if (code - first < count) return symbols[index + code - first] as number;
    index += count;
    first = (first + count) << 1;
  }
  return -1;
}

/** The fixed codes of 3.2.6. */
const fixedCodes: Codes = {
  literals: codeOf(Array.from({ length: 288 }, (_, at) => (at < 144 ? 8 : at < 256 ? 9 : at < 280 ? 7 : 8))),
  distances: codeOf(new Array<number>(32).fill(5)),
};

/** Order in which the lengths of the length codes stand (3.2.7). */
const lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/** The least count of each symbol that repeats a length, and the bits that add to it. */
const repeats: Readonly<Record<number, { readonly least: number; readonly bits: number }>> = {
  16: { least: 3, bits: 2 },
  17: { least: 3, bits: 3 },
  18: { least: 11, bits: 7 },
};

/**
 * Returns the codes at the start of a block (3.2.7); undefined where they are invalid. The first of them
 * nearly always shows that.
 */
function ownCodesOf(bits: Bits): Codes | undefined {
  const literals = bits.take(5) + literalsMin;
  const distances = bits.take(5) + 1;
  if (literals > literalsMax || distances > distancesMax) return undefined;
  const lengthsOfLengths = new Array<number>(lengthOrder.length).fill(0);
  const count = bits.take(4) + 4;
  for (let at = 0; at < count; at += 1) lengthsOfLengths[lengthOrder[at] as number] = bits.take(3);
  if (!isComplete(lengthsOfLengths)) return undefined;
  const lengthCode = codeOf(lengthsOfLengths);
  const lengths: number[] = [];
  while (lengths.length < literals + distances && !bits.isOver) {
    const symbol = symbolOf(bits, lengthCode);
    const repeat = repeats[symbol];
    if (symbol === -1 || (symbol === 16 && lengths.length === 0)) return undefined;
    const times = repeat ? repeat.least + bits.take(repeat.bits) : 1;
    const length = repeat ? (symbol === 16 ? (lengths.at(-1) as number) : 0) : symbol;
    for (let time = 0; time < times; time += 1) lengths.push(length);
  }
  const ofLiterals = lengths.slice(0, literals);
  if (lengths.length > literals + distances || !isComplete(ofLiterals)) return undefined;
  return { literals: codeOf(ofLiterals), distances: codeOf(lengths.slice(literals)) };
}

/** Tells whether the codes stand for text up to the end of the block, or for as many symbols as needed. */
function isText(
  bits: Bits,
  { literals, distances }: Codes,
  told: { symbols: number; length: number },
): boolean {
  for (; told.symbols < symbolsMax; told.symbols += 1) {
    const symbol = symbolOf(bits, literals);
    if (bits.isOver || symbol === endOfBlock) return true;
    if (symbol < endOfBlock) {
      // No text has control characters other than white space, or bits that are no symbol.
      if (symbol < 0x09 || (symbol > 0x0d && symbol < 0x20)) return false;
      told.length += 1;
      continue;
    }
    const repeated = repeatOf(bits, symbol, distances);
    if (bits.isOver) return true;
    if (repeated === undefined || repeated.distance > told.length) return false;
    told.length += repeated.length;
  }
  return true;
}

/** Returns a length and a distance (3.2.5); undefined for invalid symbols. */
function repeatOf(
  bits: Bits,
  symbol: number,
  distances: Code,
): { length: number; distance: number } | undefined {
  const at = symbol - literalsMin;
  if (symbol >= literalsMax) return undefined;
  const lengthBits = at < 8 || at === 28 ? 0 : (at >> 2) - 1;
  const length =
    (at < 8 ? at + 3 : at === 28 ? 258 : ((4 + (at & 3)) << lengthBits) + 3) + bits.take(lengthBits);
  const code = symbolOf(bits, distances);
  if (code < 0 || code >= distancesMax) return undefined;
  const distanceBits = code < 4 ? 0 : (code >> 1) - 1;
  const distance = (code < 4 ? code + 1 : ((2 + (code & 1)) << distanceBits) + 1) + bits.take(distanceBits);
  return { length, distance };
}
