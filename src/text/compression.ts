import { isUtf8 } from 'node:buffer';
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  type ZlibOptions,
} from 'node:zlib';
import { type BitCode, decodeBits, firstByte } from './bits.ts';
import type { Budget } from './budget.ts';

const gzipMagic = 0x1f;
const zlibWindow = 0x78;
const zipEntry = 0x04034b50;
/** Enough for four bytes in any code. */
const headerCharacters = 8;

export type Compression = 'gzip' | 'deflate';

/** Whether the first byte is one of those that `compressionOf` asks for. */
export const beginsLikeCompressed = (bytes: Buffer): boolean =>
  bytes[0] === gzipMagic || bytes[0] === zlibWindow;

/** What the first bytes say: gzip (RFC 1952, 2.3.1), or zlib with its usual window (RFC 1950, 2.2). */
export function compressionOf(bytes: Buffer): Compression | undefined {
  const first = bytes[0];
  const second = bytes[1] ?? 0;
  if (first === gzipMagic && second === 0x8b && bytes[2] === 0x08) return 'gzip';
  return first === zlibWindow && ((first << 8) | second) % 31 === 0 && (second & 0x20) === 0
    ? 'deflate'
    : undefined;
}

/** Whether the first bytes are those of an entry of a ZIP file (APPNOTE 4.3.7). */
export const isZip = (bytes: Buffer): boolean => bytes.length >= 4 && bytes.readUInt32LE(0) === zipEntry;

/** Whether a run decodes to something that begins like compressed bytes; nearly all do not by their first byte. */
export function beginsCompressed(run: Buffer, code: BitCode): boolean {
  const first = firstByte(run, code);
  if (first !== gzipMagic && first !== zlibWindow && first !== (zipEntry & 0xff)) return false;
  const header = decodeBits(run.subarray(0, headerCharacters), code);
  return compressionOf(header) !== undefined || isZip(header);
}

/**
 * What compressed bytes hold, as far as they can be inflated, or undefined where they only began like it. More than the budget
 * has left is unreadable.
 */
export function inflateBlock(bytes: Buffer, compression: Compression, budget: Budget): Buffer | undefined {
  const whole = compression === 'gzip' ? gunzipSync : inflateSync;
  return (
    attempt(() => whole(bytes, lenient(budget)), budget) ??
    // Bytes behind the end, which gunzip refuses, are no way to hide what stands before them.
    (compression === 'gzip'
      ? attempt(() => inflateRawSync(bytes.subarray(gzipHeaderLength(bytes)), lenient(budget)), budget)
      : undefined)
  );
}

/** A shorter text comes out of arbitrary bytes now and then. */
const guessedTextMin = 12;

/**
 * The text that bytes without a sign of it are the compressed form of: Brotli (RFC 7932) and deflate without a frame (RFC 1951) have
 * none. Undefined for bytes which are neither, and where what comes out is no text.
 */
export function inflateUnmarked(bytes: Buffer, budget: Budget): Buffer | undefined {
  const options = { maxOutputLength: Math.max(1, budget.remainingBytes) };
  for (const inflate of [brotliDecompressSync, inflateRawSync]) {
    const inflated = attempt(() => inflate(bytes, options), budget);
    if (inflated && inflated.length >= guessedTextMin && isUtf8(inflated)) return inflated;
  }
  return undefined;
}

/** A stream cut short still gives what it has: the receiver may be as forgiving. */
function lenient(budget: Budget): ZlibOptions {
  return { maxOutputLength: Math.max(1, budget.remainingBytes), finishFlush: constants.Z_SYNC_FLUSH };
}

function attempt(inflate: () => Buffer, budget: Budget): Buffer | undefined {
  budget.check();
  let inflated: Buffer;
  try {
    inflated = inflate();
  } catch (error) {
    if (isTooLarge(error)) throw budget.tooLarge();
    // Not compressed after all: the bytes are then searched as they are.
    return undefined;
  }
  budget.spend(inflated.length);
  return inflated.length > 0 ? inflated : undefined;
}

/** RFC 1952, 2.3: ten bytes, then what the flags announce. */
export function gzipHeaderLength(bytes: Buffer): number {
  const flags = bytes[3] ?? 0;
  let length = 10;
  if (flags & 0x04) length += 2 + (bytes[length] ?? 0) + 256 * (bytes[length + 1] ?? 0);
  for (const flag of [0x08, 0x10]) {
    if (flags & flag) length = bytes.indexOf(0, length) + 1 || bytes.length;
  }
  return flags & 0x02 ? length + 2 : length;
}

/** Whether zlib stopped at `maxOutputLength`. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
