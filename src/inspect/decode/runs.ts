import { byteSet, digits, lowerCase, upperCase } from '../kernel/bytes.ts';
import { type Outline, runKindBits } from '../kernel/outline.ts';
import type { DecodeBudget } from './budget.ts';
import type { EncodedRun } from './packed/block-decoder.ts';

/** Shorter runs are words; 20 characters of base64 are 15 bytes. */
export const runLengthMin = 20;

/** Of base64 and base64url, hence of base32 and hexadecimal digits. */
export const encodedAlphabet = byteSet(`${digits}${lowerCase}${upperCase}+/-_`);
const newline = 0x0a;
const carriageReturn = 0x0d;
const equalsSign = 0x3d;
const space = 0x20;
const tab = 0x09;

/**
 * Finds the first run of at least `lengthMin` bytes of an alphabet from `from` on, and answers its start, or -1; so many bytes of it must
 * stand before `to`. It looks at the end of where a run would have to be and skips back, so it reads about a fifth of a prose text; no byte
 * is read twice.
 */
export function findRun(
  bytes: Buffer,
  from: number,
  alphabet: Uint8Array,
  lengthMin: number,
  to = bytes.length,
): number {
  let start = from;
  let known = from;
  let last = start + lengthMin - 1;
  while (last < to) {
    let at = last;
    while (at >= known && alphabet[bytes[at] ?? 0] === 1) at -= 1;
    if (at < known) return start;
    start = at + 1;
    known = last + 1;
    last = start + lengthMin - 1;
  }
  return -1;
}

/** Where the run that begins at `start` ends. */
export function runEnd(bytes: Buffer, start: number, alphabet: Uint8Array): number {
  const { length } = bytes;
  let end = start;
  while (end < length && alphabet[bytes[end] ?? 0] === 1) end += 1;
  return end;
}

const noRuns: readonly EncodedRun[] = Object.freeze([]);

/**
 * All runs that may be base64, base64url, base32 or hex: padding included, and the lines of a wrapped one together. One character over and
 * over again is a rule under a heading, or what fills a field: in no code it stands for text.
 */
export function findEncodedRuns(
  bytes: Buffer,
  { places }: Outline,
  budget: DecodeBudget,
): readonly EncodedRun[] {
  if (places.runs.length === 0) return noRuns;
  const runs: EncodedRun[] = [];
  let end = 0;
  let kinds = 0;
  for (let index = 0; index < places.runs.length; index += 1) {
    const place = places.runs[index] as number;
    const start = place >>> runKindBits;
    // Where the kernel begins with another piece, it tells of a run twice, or of what goes on there with one that it has told of before.
    kinds |= place & ((1 << runKindBits) - 1);
    if ((places.runs[index + 1] ?? -1) >>> runKindBits === start) continue;
    const all = kinds;
    kinds = 0;
    if (start < end || (start > 0 && encodedAlphabet[bytes[start - 1] as number] === 1)) continue;
    end = padded(bytes, joinedLinesEnd(bytes, runEnd(bytes, start, encodedAlphabet)));
    budget.work(end - start);
    if (!isRule(bytes, start, end)) runs.push({ start, end, kinds: all });
  }
  return runs;
}

function isRule(bytes: Buffer, start: number, end: number): boolean {
  const first = bytes[start];
  let at = start + 1;
  while (at < end && bytes[at] === first) at += 1;
  return at === end;
}

/**
 * The end of the last of the lines that continue a run which ends at `end`, indented or not. A word that begins the line behind it
 * counts too: cutting a word too much is better than leaving the end of a value unread.
 */
function joinedLinesEnd(bytes: Buffer, end: number): number {
  let joined = end;
  for (;;) {
    const next = lineBreakEnd(bytes, joined);
    const lineEnd = runEnd(bytes, next, encodedAlphabet);
    if (next === joined || lineEnd === next) return joined;
    joined = lineEnd;
  }
}

/** Behind the line end at `at` and the indentation of the next line; `at` itself where no line ends. */
export function lineBreakEnd(bytes: Buffer, at: number): number {
  let end = bytes[at] === carriageReturn ? at + 1 : at;
  if (bytes[end] !== newline) return at;
  end += 1;
  while (bytes[end] === space || bytes[end] === tab) end += 1;
  return end;
}

function padded(bytes: Buffer, end: number): number {
  let at = end;
  while (at < end + 6 && bytes[at] === equalsSign) at += 1;
  return at;
}
