import { byteSet, digits, lowerCase, upperCase } from '../kernel/bytes.ts';
import { type Outline, runKindBits } from '../kernel/outline.ts';
import type { DecodeBudget } from './budget.ts';
import type { EncodedRun } from './packed/block-decoder.ts';

/** The least number of characters of a run. Shorter ones are words; 20 characters of base64 are 15 bytes. */
export const runLengthMin = 20;

/** The characters of base64 and base64url, and so of base32 and hexadecimal. */
export const encodedAlphabet = byteSet(`${digits}${lowerCase}${upperCase}+/-_`);
const newline = 0x0a;
const carriageReturn = 0x0d;
const equalsSign = 0x3d;
const space = 0x20;
const tab = 0x09;

/**
 * Returns the start of the first run of an alphabet at or behind `from`; -1 where there is none. At least
 * `lengthMin` of its bytes must stand before `to`. It looks at the place where a run would have to end and
 * skips backwards. So it reads about a fifth of prose, and no byte twice.
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

/** Returns the end of the run that begins at `start`, or the place `lengthMax` bytes behind it. */
export function runEnd(bytes: Buffer, start: number, alphabet: Uint8Array, lengthMax = bytes.length): number {
  const limit = Math.min(bytes.length, start + lengthMax);
  let end = start;
  while (end < limit && alphabet[bytes[end] ?? 0] === 1) end += 1;
  return end;
}

const noRuns: readonly EncodedRun[] = Object.freeze([]);

/**
 * Returns all runs that may be base64, base64url, base32 or hex, with padding, and with all lines of a
 * wrapped one. A run of one repeated character is left out: it is a rule or a filler, which is text in no
 * code.
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
    // Where the kernel begins another piece of the text, it may report a run twice, or the rest of a reported
    // run.
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
 * Returns the end of the last line that continues a run, indented or not. A word at the start of the line
 * behind it counts too. Cutting a word too much is better than leaving the end of a value.
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

/** Returns the end of the line break at `at` and of the next line's indentation; `at` where no line ends. */
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
