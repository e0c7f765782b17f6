import { isUtf8 } from 'node:buffer';
import { isTextByte } from '../bits.ts';
import type { DecodeBudget } from '../budget.ts';
import { isHighEntropy, textPieceMin } from '../high-entropy.ts';
import { findRun, runEnd } from '../runs.ts';
import { separator } from '../separator.ts';
import { hasUtf16Mark, isBinaryFile } from './binary-format.ts';
import { compressionOf, inflateBlock, inflateUnmarked, isZip } from './compression.ts';
import { shownTexts } from './office-text.ts';
import { type OpaqueKind, opaqueKindOf } from './opaque.ts';
import { isTar, tarEntries } from './tar.ts';
import { unzip } from './zip.ts';

/** The least number of bytes of a piece of text among binary bytes. A shorter one is accidental. */
export const textMin = 8;
const compressionsMax = 3;
const lineEnd = Buffer.from('\n');
const utf16Sample = 256;
const utf16le = new TextDecoder('utf-16le');
const utf16be = new TextDecoder('utf-16be');

export interface Readable {
  /** The text; empty where nothing remains. */
  readonly bytes: Buffer;
  /** The names of the compressions that were removed, the outermost first. */
  readonly names: readonly string[];
  /** The kind of content that could not be read; undefined where all was read. */
  readonly opaque: OpaqueKind | undefined;
}

/**
 * Returns decoded bytes as text to search. Compressed bytes are inflated, and UTF-16 becomes UTF-8. An
 * archive becomes its files in a row, and binary bytes become their pieces of text, one a line.
 */
export function toReadable(decoded: Buffer, budget: DecodeBudget): Readable {
  return unpacked(decoded, compressionsMax, budget);
}

function unpacked(bytes: Buffer, depth: number, budget: DecodeBudget): Readable {
  if (depth > 0 && isZip(bytes)) {
    const zip = unzip(bytes, budget);
    if (zip) {
      const files = zip.entries.map(({ content }) => unpacked(content, depth - 1, budget));
      const texts = [...files.map((file) => file.bytes), ...shownTexts(zip.entries, budget), zip.names];
      // What was inflated is counted already, and whoever takes the text counts it.
      const text = Buffer.concat(texts.flatMap((it) => [it, separator]));
      const opaque = zip.isWhole ? files.find((file) => file.opaque)?.opaque : 'archive';
      return { bytes: text, names: ['zip', ...new Set(files.flatMap((file) => file.names))], opaque };
    }
  }
  // The text of an archive without packed files is read as it stands.
  if (depth > 0 && isTar(bytes) && !isUtf8(bytes)) {
    const files = tarEntries(bytes).map(({ start, end }) =>
      unpacked(bytes.subarray(start, end), depth - 1, budget),
    );
    const text = Buffer.concat(files.flatMap((file) => [file.bytes, separator]));
    budget.spend(text.length);
    const opaque = files.find((file) => file.opaque)?.opaque;
    return { bytes: text, names: ['tar', ...new Set(files.flatMap((file) => file.names))], opaque };
  }
  const compression = depth > 0 ? compressionOf(bytes) : undefined;
  const inflated = compression && inflateBlock(bytes, compression, budget);
  if (compression && inflated) {
    const inner = unpacked(inflated, depth - 1, budget);
    return { ...inner, names: [compression, ...inner.names] };
  }
  const opaque = opaqueKindOf(bytes);
  const isPacked = depth > 0 && opaque === undefined && !isUtf8(bytes);
  const packed = isPacked ? inflateUnmarked(bytes, budget) : undefined;
  if (packed) {
    const inner = unpacked(packed.text, depth - 1, budget);
    return { ...inner, names: [packed.compression, ...inner.names] };
  }
  return { bytes: toText(bytes, budget), names: [], opaque };
}

function toText(bytes: Buffer, budget: DecodeBudget): Buffer {
  const utf16 = utf16Decoder(bytes);
  if (utf16) return Buffer.from(utf16.decode(bytes));
  // UTF-8 with control characters counts as text, since a text too many is better than one too few.
  if (isUtf8(bytes)) return bytes;
  // In a program names stand side by side and say nothing about each other.
  const pieces = textAmong(bytes, textMin, budget, isBinaryFile(bytes) ? separator : lineEnd);
  const converted = mayBeForeign(bytes) && !isHighEntropy(pieces, bytes) ? budget.fromCharset(bytes) : [];
  return converted.length > 0 ? Buffer.concat(converted.flatMap((text) => [text, lineEnd])) : pieces;
}

/** Shorter texts order nothing, and short bytes without control characters are frequent. */
const foreignBytesMin = 16;

/**
 * Tells whether bytes may be text in the character set of a language: they have none of the control characters that
 * other bytes have by chance.
 */
function mayBeForeign(bytes: Buffer): boolean {
  return bytes.length >= foreignBytesMin && !bytes.some(isControl);
}

const isControl = (byte: number): boolean =>
  (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) || byte === 0x7f;

/** Returns pieces of text in binary bytes, with `end` behind each. In random bytes only long pieces count. */
export function textAmong(bytes: Buffer, lengthMin: number, budget: DecodeBudget, end = lineEnd): Buffer {
  const pieces = textPieces(bytes, lengthMin, budget, end);
  const pieceMin = textPieceMin(bytes.length);
  return pieceMin > lengthMin && isHighEntropy(pieces, bytes)
    ? textPieces(bytes, pieceMin, budget, end)
    : pieces;
}

/**
 * Returns the decoder of UTF-16, which is told by its mark, or by zeros in every other byte of a sample, as
 * in Latin text. Returns undefined for other bytes.
 */
function utf16Decoder(bytes: Buffer): TextDecoder | undefined {
  if (hasUtf16Mark(bytes)) return bytes[0] === 0xff ? utf16le : utf16be;
  const zeros = [0, 0];
  const length = Math.min(utf16Sample, bytes.length);
  for (let at = 0; at < length; at += 1) {
    if (bytes[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  }
  const [even = 0, odd = 0] = zeros;
  if (Math.max(even, odd) * 4 < length || Math.min(even, odd) * 8 > length) return undefined;
  return odd > even ? utf16le : utf16be;
}

/** Returns the runs of at least `lengthMin` bytes of ASCII text among others, with `behind` after each. */
export function textPieces(bytes: Buffer, lengthMin: number, budget: DecodeBudget, behind = lineEnd): Buffer {
  // At least one other byte stands between two pieces.
  const countMax = Math.ceil((bytes.length + 1) / (lengthMin + 1));
  const pieces = Buffer.allocUnsafe(bytes.length + countMax * behind.length);
  let length = 0;
  let start = findRun(bytes, 0, isTextByte, lengthMin);
  while (start >= 0) {
    const end = runEnd(bytes, start, isTextByte);
    budget.work(end - start);
    length += bytes.copy(pieces, length, start, end);
    length += behind.copy(pieces, length);
    start = findRun(bytes, end, isTextByte, lengthMin);
  }
  return pieces.subarray(0, length);
}
