import { byteSet, isDigit } from '../kernel/bytes.ts';
import { blockFlags, type Outline, stretchesOf } from '../kernel/outline.ts';

/*
 * Finds numbers that may be a card, an identifier or a phone number. They are eight digits in a row, or
 * groups of digits with single separators between them (`4111 1111 1111 1111`, `078-05-1120`).
 */

const isSeparator = byteSet(' -.');

/** Receives a run's first byte, the byte behind it, and its number of digits. */
export type OnRun = (start: number, end: number, digitCount: number) => void;

/** The margin before a marked block, since the kernel marks a stretch by the eighth byte of a run. */
const margin = { before: 7, after: 0 };

/**
 * Calls `onRun` for every run of eight digits, which may have separators between them, and for some shorter
 * ones. It does so in the order of the text, and reads each byte a few times at most.
 */
export function findDigitRuns(bytes: Uint8Array, outline: Outline, onRun: OnRun): void {
  let done = 0;
  for (const { from, to } of stretchesOf(outline, blockFlags.number, bytes.length, margin))
    done = lookAt(bytes, from, to, done, onRun);
}

/** Reports the runs that have a digit in the stretch, and returns the end of the last one. */
function lookAt(bytes: Uint8Array, from: number, to: number, doneBefore: number, onRun: OnRun): number {
  let done = doneBefore;
  for (let at = Math.max(from, done); at < to; at++) {
    if (!isDigit(bytes[at])) continue;
    done = reportRun(bytes, at, done, onRun);
    at = Math.max(at, done - 1);
  }
  return done;
}

/**
 * Reports the run around a digit unless it is too short, and returns its end. The run begins at `from` or
 * later.
 */
function reportRun(bytes: Uint8Array, at: number, from: number, onRun: OnRun): number {
  let start = at;
  while (start > from && isDigit(bytes[start - 1])) start--;
  let end = at + 1;
  while (isDigit(bytes[end])) end++;
  const goesOn = isLink(bytes, end, end + 1) || (start > from && isLink(bytes, start - 1, start - 2));
  if (end - start < 4 && !goesOn) return end;
  while (start > from && (isDigit(bytes[start - 1]) || isLink(bytes, start - 1, start - 2))) start--;
  while (isDigit(bytes[end]) || isLink(bytes, end, end + 1)) end++;
  let digitCount = 0;
  for (let index = start; index < end; index++) if (isDigit(bytes[index])) digitCount++;
  onRun(start, end, digitCount);
  return end;
}

/** Tells whether a separator stands at `at` and a digit at `beyond`. */
const isLink = (bytes: Uint8Array, at: number, beyond: number): boolean =>
  isSeparator[bytes[at] ?? 0] === 1 && isDigit(bytes[beyond]);
