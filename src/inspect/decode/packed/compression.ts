import { isUtf8 } from 'node:buffer';
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { byteSet, isDigit, isUpper } from '../../kernel/bytes.ts';
import { type BitCode, decodeBits, firstByte } from '../bits.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Span } from '../span-map.ts';
import { mayBeBrotli, mayBeDeflate, probeBytes } from './packed-start.ts';

const gzipMagic = 0x1f;
const zlibWindow = 0x78;
const zstdFrame = 0xfd2fb528;
/** The first bits of frames that decoders skip, of which there are sixteen kinds. */
const zstdSkippable = 0x184d2a5;
const zipEntry = 0x04034b50;
/** The first bytes of frames of all kinds. */
const firstBytes = new Set([
  gzipMagic,
  zlibWindow,
  zstdFrame & 0xff,
  ...Array.from({ length: 16 }, (_, kind) => 0x50 + kind),
]);
/** The number of characters that give four bytes in any code. */
const headerCharacters = 8;

export type Compression = 'gzip' | 'deflate' | 'zstd';

/** Tells whether `compressionOf` could know the format by the first byte. */
export const beginsLikeCompressed = (bytes: Buffer): boolean => firstBytes.has(bytes[0] ?? 0);

/**
 * Returns the format by the first bytes: gzip (RFC 1952, 2.3.1), zlib with its usual window (RFC 1950, 2.2),
 * or zstd (RFC 8878, 3.1). Returns undefined for all others.
 */
export function compressionOf(bytes: Buffer): Compression | undefined {
  const first = bytes[0];
  const second = bytes[1] ?? 0;
  if (first === gzipMagic && second === 0x8b && bytes[2] === 0x08) return 'gzip';
  if (bytes.length >= 4) {
    const word = bytes.readUInt32LE(0);
    if (word === zstdFrame || word >>> 4 === zstdSkippable) return 'zstd';
  }
  return first === zlibWindow && ((first << 8) | second) % 31 === 0 && (second & 0x20) === 0
    ? 'deflate'
    : undefined;
}

/** Tells whether the first bytes are an entry of a ZIP file (APPNOTE 4.3.7). */
export const isZip = (bytes: Buffer): boolean => bytes.length >= 4 && bytes.readUInt32LE(0) === zipEntry;

/**
 * Tells whether `run` decodes to bytes that begin like compressed ones. The first byte rules out nearly all
 * runs.
 */
export function isCompressedStart(bytes: Buffer, { start, end }: Span, code: BitCode): boolean {
  const first = firstByte(bytes, start, code);
  if (!firstBytes.has(first) && first !== (zipEntry & 0xff)) return false;
  const header = decodeBits(bytes.subarray(start, Math.min(end, start + headerCharacters)), code);
  return compressionOf(header) !== undefined || isZip(header);
}

/** The number of bytes that suffice to decide whether decompressing is tried. */
const secondLookBytes = 1024;
/** Shared memory for the head of a run, since most runs end there and need no allocation. */
const headRoom = Buffer.allocUnsafe(secondLookBytes + headerCharacters);

/**
 * Tells by its beginning whether `run` may decode to bytes that `inflateUnmarked` can unpack. One in five
 * hundred passes.
 */
export function mayInflateUnmarked(bytes: Buffer, { start, end }: Span, code: BitCode): boolean {
  if (code.isMixedCase && isOfWords(bytes, start, end)) return false;
  const { bitsPerCharacter } = code;
  const length = Math.floor(((end - start) * bitsPerCharacter) / 8);
  const mayBe = (count: number): boolean => {
    const to = Math.min(end, start + Math.ceil((8 * count) / bitsPerCharacter));
    const head = decodeBits(bytes.subarray(start, to), code, undefined, headRoom);
    return mayBeBrotli(head, length) || mayBeDeflate(head, length);
  };
  return mayBe(probeBytes) && (length <= probeBytes || mayBe(secondLookBytes));
}

/** The number of characters of a run that show whether it is made of words. */
const wordsSample = 64;
/**
 * The least share of changes between small letters, capitals and digits. In packed bytes three in five
 * characters change.
 */
const changesShareMin = 0.3;

/**
 * The least number of hexadecimal digits of a digest. Random characters have so many in one of a billion runs
 * of 64.
 */
const digestLengthMin = 20;
const isHexDigitOf = byteSet('0123456789abcdefABCDEF');

/**
 * Tells whether a run looks like an identifier or a path, or contains a digest. In these, kinds of characters
 * change between words; in packed bytes they change all the time.
 */
function isOfWords(bytes: Buffer, start: number, end: number): boolean {
  const to = Math.min(end, start + wordsSample);
  let changes = 0;
  let hexDigits = 0;
  let last = kindOf[bytes[start] as number];
  for (let at = start; at < to; at += 1) {
    const byte = bytes[at] as number;
    const kind = kindOf[byte];
    if (kind !== last) changes += 1;
    last = kind;
    hexDigits = isHexDigitOf[byte] === 1 ? hexDigits + 1 : 0;
    if (hexDigits === digestLengthMin) return true;
  }
  return changes < (to - start) * changesShareMin;
}

/** The kind of each character. Signs count as small letters, because they stand between words. */
const kindOf = Uint8Array.from({ length: 256 }, (_, byte) => (isDigit(byte) ? 1 : isUpper(byte) ? 2 : 0));

/**
 * Returns the content of compressed bytes, as far as it can be inflated; undefined where the bytes only began
 * like compressed ones. Content larger than the rest of the budget is unreadable.
 */
export function inflateBlock(
  bytes: Buffer,
  compression: Compression,
  budget: DecodeBudget,
): Buffer | undefined {
  for (const inflate of inflaters[compression]) {
    const inflated = attempt(bytes, inflate, budget);
    if (inflated && inflated.length > 0) return inflated;
  }
  return undefined;
}

/** Returns the content of a ZIP entry, which may be empty; undefined where it is broken. */
export const inflateEntry = (bytes: Buffer, budget: DecodeBudget): Buffer | undefined =>
  attempt(bytes, inflateRaw, budget);

type Inflate = (bytes: Buffer, maxOutputLength: number) => Buffer;

/**
 * Bounds on the first piece of output, which a decoder keeps until the next full collection. Most decoders
 * are made for a few bytes that are no stream.
 */
const chunkBytesMin = 256;
const chunkBytesMax = 16_384;

/** Returns options for a stream that may be cut short; the receiver may be as lenient. */
const optionsFor = ({ length }: Buffer, maxOutputLength: number, finishFlush: number) => ({
  ...{ maxOutputLength, finishFlush },
  chunkSize: Math.min(chunkBytesMax, Math.max(chunkBytesMin, 4 * length)),
});
const inZlib = (bytes: Buffer, max: number) => optionsFor(bytes, max, constants.Z_SYNC_FLUSH);
const unzstd: Inflate = (bytes, max) =>
  zstdDecompressSync(bytes, optionsFor(bytes, max, constants.ZSTD_e_flush));
const unbrotli: Inflate = (bytes, max) =>
  brotliDecompressSync(bytes, optionsFor(bytes, max, constants.BROTLI_OPERATION_FLUSH));
const inflateRaw: Inflate = (bytes, max) => inflateRawSync(bytes, inZlib(bytes, max));

/**
 * Decoders in the order in which they are tried: first that of the format, then that of the data without its
 * frame. A wrong checksum or bytes behind the end must hide nothing.
 */
const inflaters: Readonly<Record<Compression, readonly Inflate[]>> = {
  gzip: [
    (bytes, max) => gunzipSync(bytes, inZlib(bytes, max)),
    (bytes, max) => inflateRaw(bytes.subarray(gzipHeaderLength(bytes)), max),
  ],
  deflate: [
    (bytes, max) => inflateSync(bytes, inZlib(bytes, max)),
    (bytes, max) => inflateRaw(bytes.subarray(zlibHeaderLength), max),
  ],
  zstd: [unzstd],
};

/** The least number of characters of unpacked text. Random bytes unpack to shorter texts now and then. */
const guessedTextMin = 12;
/** The cost of a decoder: making it takes as long as reading so many bytes. */
const decoderBytes = 4096;

/**
 * Unpacks text without a signature: Brotli (RFC 7932) and raw deflate (RFC 1951) have none. Returns undefined
 * for other bytes, and where the result is no text.
 */
export function inflateUnmarked(
  bytes: Buffer,
  budget: DecodeBudget,
): { text: Buffer; compression: 'brotli' | 'deflate' } | undefined {
  if (bytes.length < packedBytesMin) return undefined;
  const beginning = bytes.readUIntBE(0, beginningBytes);
  if (!budget.mayTry(beginning, bytes)) return undefined;
  const brotli = mayBeBrotli(bytes, bytes.length) ? textOf(bytes, unbrotli, budget) : undefined;
  if (brotli) return { text: brotli, compression: 'brotli' };
  const deflated = mayBeDeflate(bytes, bytes.length) ? textOf(bytes, inflateRaw, budget) : undefined;
  if (deflated) return { text: deflated, compression: 'deflate' };
  budget.noteFailedTry(beginning, bytes);
  return undefined;
}

/** The least number of bytes of packed content. Fewer contain no secret. */
const packedBytesMin = 12;
/** The number of bytes at the beginning in which identifiers of one kind are alike. */
const beginningBytes = 3;

function textOf(bytes: Buffer, inflate: Inflate, budget: DecodeBudget): Buffer | undefined {
  budget.work(decoderBytes);
  const inflated = attempt(bytes, inflate, budget);
  return inflated && inflated.length >= guessedTextMin && isUtf8(inflated) ? inflated : undefined;
}

/** The usual growth: most decompressed content is at most so many times larger. */
const usualExpansion = 64;
/**
 * The share of the limit that a broken stream costs if it expands beyond its usual size: it was made to be
 * read often.
 */
const brokenShare = 1 / 16;

/**
 * Inflates bytes; undefined where they are not compressed. It tries the usual size first, because a broken
 * stream does not report how much was made of it. Throws where the content is too large.
 */
function attempt(bytes: Buffer, inflate: Inflate, budget: DecodeBudget): Buffer | undefined {
  budget.check();
  const room = Math.max(1, budget.remainingBytes);
  const usual = Math.min(room, Math.max(chunkBytesMax, decoderBytes + usualExpansion * bytes.length));
  let inflated = outcomeOf(budget, () => inflate(bytes, usual));
  if (inflated === tooLarge && usual === room) throw budget.tooLarge();
  if (inflated === tooLarge) {
    inflated = outcomeOf(budget, () => inflate(bytes, room));
    if (inflated === tooLarge) throw budget.tooLarge();
    if (inflated === undefined) budget.spend(Math.ceil(budget.maxDecodedBytes * brokenShare));
  }
  if (inflated) budget.spend(inflated.length);
  return inflated;
}

const tooLarge = Symbol('more than there is room for');

function outcomeOf(budget: DecodeBudget, inflate: () => Buffer): Buffer | typeof tooLarge | undefined {
  try {
    return budget.run(inflate);
  } catch (error) {
    // The bytes are not compressed after all, and are searched as they are.
    return isTooLarge(error) ? tooLarge : undefined;
  }
}

/** The length of a zlib header (RFC 1950, 2.2). */
const zlibHeaderLength = 2;

/** Returns the length of a gzip header (RFC 1952, 2.3): ten bytes, then what its flags announce. */
export function gzipHeaderLength(bytes: Buffer): number {
  const flags = bytes[3] ?? 0;
  let length = 10;
  if (flags & 0x04) length += 2 + (bytes[length] ?? 0) + 256 * (bytes[length + 1] ?? 0);
  for (const flag of [0x08, 0x10]) {
    if (flags & flag) length = bytes.indexOf(0, length) + 1 || bytes.length;
  }
  return flags & 0x02 ? length + 2 : length;
}

/** Tells whether zlib stopped at `maxOutputLength`. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
