import type { Span } from './span-map.ts';

/** What stands for bytes as good as random, or for a program or another file without text. Patterns are met in it by chance. */
export interface Noise extends Span {
  /** The bytes themselves stand there, and not a code of them. */
  readonly isLiteral: boolean;
  /** It is a file of a known or structured binary format, of which the bytes are not random: chance does not tell what they show. */
  readonly file?: 'binary' | 'packed';
}

/** What is as good as random shows pieces of text by chance, which make up so much of it at most. */
const noiseShareMax = 1 / 32;
const noiseBytesMin = 4096;
/** No byte of it is more frequent, other than in tables of numbers and pages with room in them. */
const byteShareMax = 1 / 16;
/** As many bytes tell; of a long content the first. */
const sampleBytes = 65_536;

/** Whether so little text among so many bytes stands there by chance. */
export function isNoise(text: Buffer, bytes: Buffer): boolean {
  if (bytes.length < noiseBytesMin || text.length >= bytes.length * noiseShareMax) return false;
  const sample = bytes.subarray(0, sampleBytes);
  return countBytes(sample).every((count) => count < sample.length * byteShareMax);
}

/** How often each byte stands there. */
export function countBytes(bytes: Buffer): Uint32Array {
  const counts = new Uint32Array(256);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    counts[byte] = (counts[byte] as number) + 1;
  }
  return counts;
}

/** So long are pieces of text that hardly any mail address is among by chance, in so many bytes of noise. */
const pieceLengths: readonly (readonly [bytesMax: number, lengthMin: number])[] = [
  [32_768, 0],
  [262_144, 12],
];
const longestPieceMin = 16;

/** Of text among so many bytes of noise. */
export const noisePieceMin = (bytes: number): number =>
  pieceLengths.find(([bytesMax]) => bytes <= bytesMax)?.[1] ?? longestPieceMin;

const newline = 0x0a;
const space = 0x20;
/** Lines of base64 are as long as this or longer, and whole groups of four characters. */
const lineLengthMin = 60;
const groupLength = 4;

/**
 * The parts of a value in base64 that are one long line, or many of one length. The items of a list are shorter lines, and a token between
 * lines of base64 has another length than they.
 */
export function evenLines(bytes: Buffer, { start, end }: Span): readonly Span[] {
  const parts: Span[] = [];
  let [partStart, lineLength] = [start, 0];
  const close = (partEnd: number): void => {
    const isWrapped = lineLength >= lineLengthMin && lineLength % groupLength === 0;
    const isLong = partEnd - partStart >= noiseBytesMin;
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

/** Of a line, without what it is indented by and the first byte of its end. */
function lettersIn(bytes: Buffer, from: number, to: number): number {
  let [start, end] = [from, to];
  while (start < end && (bytes[start] as number) <= space) start += 1;
  while (end > start && (bytes[end - 1] as number) <= space) end -= 1;
  return end - start;
}
