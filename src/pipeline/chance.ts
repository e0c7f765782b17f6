import { proofs } from '../detectors/confidence.ts';
import type { CutToken, Match } from '../detectors/engine.ts';
import { isTextByte } from '../text/bits.ts';
import { grouped } from '../text/grouped.ts';
import { type Noise, noiseTextMin } from '../text/noise.ts';
import { encodedAlphabet, runEnd } from '../text/runs.ts';
import type { Span } from '../text/span-map.ts';
import type { View } from '../text/views.ts';

/** One content as good as random in a thousand may show something: two to the power of ten. */
const marginBits = 10;

/** Of 64 characters each is an eighth as frequent at least. */
const usualShareMin = 1 / 512;

/**
 * Tells what of a source is found by chance: what lies inside of noise, and is either so short that it comes up in so much of it, or, where
 * the bytes themselves stand there, no part of a longer text. What is proven by a checksum of its own is never found by chance, nor what has a
 * character that the rest has not: a hyphen in base64, a letter in hex.
 */
export function chanceIn(
  source: Buffer,
  noise: readonly Noise[],
): ((match: Match | CutToken, span: Span) => boolean) | undefined {
  if (noise.length === 0) return undefined;
  const sorted = noise.toSorted((a, b) => a.start - b.start);
  const counts = new Map<Noise, Uint32Array>();
  const isUnusual = (around: Noise, { start, end }: Span): boolean => {
    const count = counts.get(around) ?? countBytes(source.subarray(around.start, around.end));
    counts.set(around, count);
    const least = (around.end - around.start) * usualShareMin + (end - start);
    return source.subarray(start, end).some((byte) => (count[byte] as number) < least);
  };
  return (match, span) => {
    if (isProven(match) || isLine(match, source, span)) return false;
    const around = lastBefore(sorted, span.start);
    if (!around || span.end >= around.end) return false;
    if (around.isLiteral) return islandBytes(source, span) < noiseTextMin;
    const bits = Math.log2(around.end - around.start) + marginBits;
    return match.detector.chanceBits < bits && !isUnusual(around, span);
  };
}

/** What fills a line from its first character to its last was put there, if its own characters tell what it is. */
const isLine = ({ detector }: Match | CutToken, source: Buffer, { start, end }: Span): boolean =>
  detector.group === 0 && isLineEnd(source[start - 1]) && isLineEnd(source[end]);

const isLineEnd = (byte: number | undefined): boolean => byte === 0x0a || byte === 0x0d;

const isProven = (match: Match | CutToken): boolean =>
  'confidence' in match &&
  proofs.has(match.detector.check) &&
  match.confidence !== match.detector.failedCheck;

function countBytes(bytes: Buffer): Uint32Array {
  const counts = new Uint32Array(256);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    counts[byte] = (counts[byte] as number) + 1;
  }
  return counts;
}

/** What is put together of groups has so many ways to go on that fewer bits say nothing: the mappings of a program are groups of letters. */
const groupedBits = 48;
/** Groups of fewer characters, with a comma behind each, take up more room: nobody but who hides something writes such. */
const groupedRoomMax = 1.4;
const comma = 0x2c;

/** Whether a match stands amid groups that were put together, and goes on on both sides. `whole` is all of them, as they stand in the source. */
export function isAmidGroups({ encodings, bytes }: View, match: Match | CutToken, whole: Buffer): boolean {
  const { detector, start, end } = match;
  if (!encodings.includes(grouped.name) || detector.chanceBits >= groupedBits) return false;
  const from = runStart(bytes, start);
  const to = runEnd(bytes, end, encodedAlphabet);
  return from < start && end < to && whole.length < (to - from) * groupedRoomMax && whole.includes(comma);
}

function runStart(bytes: Buffer, end: number): number {
  let start = end;
  while (start > 0 && encodedAlphabet[bytes[start - 1] as number] === 1) start -= 1;
  return start;
}

/** The last that begins before `at`. */
function lastBefore(sorted: readonly Noise[], at: number): Noise | undefined {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as Noise).start < at) low = middle + 1;
    else high = middle;
  }
  return sorted[low - 1];
}

/** Bytes of text without a break around a span; no more than is asked for. */
function islandBytes(source: Buffer, { start, end }: Span): number {
  let from = start;
  let to = end;
  while (from > 0 && to - from < noiseTextMin && isTextByte[source[from - 1] as number] === 1) from -= 1;
  while (to < source.length && to - from < noiseTextMin && isTextByte[source[to] as number] === 1) to += 1;
  return to - from;
}
