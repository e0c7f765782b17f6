import type { Span } from './span-map.ts';

/** A region of random bytes, or of a program or other file without text. Patterns match in it by accident. */
export interface HighEntropyRegion extends Span {
  /** Tells whether the bytes stand there themselves, not encoded. */
  readonly isLiteral: boolean;
  /**
   * The kind of file with structure that it is, if it is one. Bytes of a binary file are not random, so that
   * probabilities prove nothing.
   */
  readonly file?: 'binary' | 'packed';
}

/** Bound on the share of text in random bytes, which contain some pieces by accident. */
const textShareMax = 1 / 32;
const regionBytesMin = 4096;
/** Bound on the share of one byte in random content. Tables of numbers and pages with empty space pass it. */
const byteShareMax = 1 / 16;
/** The number of bytes that are counted: the first ones of a longer content. */
const sampleBytes = 65_536;

/** Tells whether bytes are random: the text in them is so little that it may be there by accident. */
export function isHighEntropy(text: Buffer, bytes: Buffer): boolean {
  if (bytes.length < regionBytesMin || text.length >= bytes.length * textShareMax) return false;
  const sample = bytes.subarray(0, sampleBytes);
  return countBytes(sample).every((count) => count < sample.length * byteShareMax);
}

/** Counts how often each byte occurs. */
export function countBytes(bytes: Buffer): Uint32Array {
  const counts = new Uint32Array(256);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    counts[byte] = (counts[byte] as number) + 1;
  }
  return counts;
}

/** Lengths of text pieces in random content, by its size, that a mail address by accident hardly ever has. */
const pieceLengths: readonly (readonly [bytesMax: number, lengthMin: number])[] = [
  [32_768, 0],
  [262_144, 12],
];
const longestPieceMin = 16;

/** Returns the least length of a piece of text in so many random bytes. */
export const textPieceMin = (bytes: number): number =>
  pieceLengths.find(([bytesMax]) => bytes <= bytesMax)?.[1] ?? longestPieceMin;

const newline = 0x0a;
const space = 0x20;
/** The least number of bytes of a line of base64. A line has whole groups of four characters. */
const lineLengthMin = 60;
const groupLength = 4;

/**
 * Returns the parts of a base64 value that are one long line, or many lines of one length. List items are
 * shorter lines, and a token between lines of base64 has another length.
 */
export function evenLines(bytes: Buffer, { start, end }: Span): readonly Span[] {
  const parts: Span[] = [];
  let [partStart, lineLength] = [start, 0];
  const close = (partEnd: number): void => {
    const isWrapped = lineLength >= lineLengthMin && lineLength % groupLength === 0;
    const isLong = partEnd - partStart >= regionBytesMin;
    if (isLong && (isWrapped || partEnd - partStart === lineLength))
      parts.push({ start: partStart, end: partEnd });
  };
  let from = start;
  while (from < end) {
    const found = bytes.indexOf(newline, from);
    const to = found < 0 || found > end ? end : found;
    const length = lettersIn(bytes, from, to);
    if (length !== lineLength) {
      close(from - 1);
      [partStart, lineLength] = [from, length];
    }
    from = to + 1;
  }
  close(Math.min(from - 1, end));
  return parts;
}

/** Returns the length of a line without indentation and without its line end. */
function lettersIn(bytes: Buffer, from: number, to: number): number {
  let [start, end] = [from, to];
  while (start < end && (bytes[start] as number) <= space) start += 1;
  while (end > start && (bytes[end - 1] as number) <= space) end -= 1;
  return end - start;
}
