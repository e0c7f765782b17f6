import { isUtf8 } from 'node:buffer';
import { isTextByte } from './bits.ts';
import type { Budget } from './budget.ts';
import { compressionOf, inflateBlock } from './compression.ts';
import { findRun, runEnd } from './runs.ts';

/** A shorter piece of text among binary bytes is noise. */
const textMin = 8;
const compressionsMax = 3;
const newline = 0x0a;
const utf16Sample = 256;
const utf16le = new TextDecoder('utf-16le');
const utf16be = new TextDecoder('utf-16be');

export interface Readable {
  readonly bytes: Buffer;
  /** Compressions taken off. */
  readonly names: readonly string[];
}

/**
 * Decoded bytes as text to be searched: inflated where they are compressed, UTF-16 made UTF-8, and of binary bytes the pieces
 * that are text, one a line. Undefined where nothing remains.
 */
export function toReadable(decoded: Buffer, budget: Budget): Readable | undefined {
  const names: string[] = [];
  let bytes = decoded;
  for (let count = 0; count < compressionsMax; count += 1) {
    const compression = compressionOf(bytes);
    const inflated = compression && inflateBlock(bytes, compression, budget);
    if (!compression || !inflated) break;
    names.push(compression);
    bytes = inflated;
  }
  const text = toText(bytes, budget);
  return text.length > 0 ? { bytes: text, names } : undefined;
}

function toText(bytes: Buffer, budget: Budget): Buffer {
  const utf16 = utf16Decoder(bytes);
  if (utf16) return Buffer.from(utf16.decode(bytes));
  // Valid UTF-8 with control characters in it passes: better one text too many than one too few.
  return isUtf8(bytes) ? bytes : textPieces(bytes, budget);
}

/** By its mark, or by every other byte of a sample being zero (which Latin text has). */
function utf16Decoder(bytes: Buffer): TextDecoder | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return utf16le;
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return utf16be;
  const zeros = [0, 0];
  const length = Math.min(utf16Sample, bytes.length);
  for (let at = 0; at < length; at += 1) {
    if (bytes[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  }
  const [even = 0, odd = 0] = zeros;
  if (Math.max(even, odd) * 4 < length || Math.min(even, odd) * 8 > length) return undefined;
  return odd > even ? utf16le : utf16be;
}

function textPieces(bytes: Buffer, budget: Budget): Buffer {
  // Something that is no text stands between two pieces, so a line end for each of them is room enough.
  const pieces = Buffer.allocUnsafe(bytes.length + 1);
  let length = 0;
  let start = findRun(bytes, 0, isTextByte, textMin);
  while (start >= 0) {
    const end = runEnd(bytes, start, isTextByte);
    budget.work(end - start);
    length += bytes.copy(pieces, length, start, end);
    pieces[length] = newline;
    length += 1;
    start = findRun(bytes, end, isTextByte, textMin);
  }
  return pieces.subarray(0, length);
}
