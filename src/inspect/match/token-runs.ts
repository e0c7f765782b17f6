import { isAlphanumeric } from '../kernel/bytes.ts';
import { blockFlags, type Outline, stretchesOf } from '../kernel/outline.ts';

/*
 * Finds where long runs of letters and digits begin. Words of two letters that begin such runs are searched
 * only there, since they stand everywhere else too.
 */

export const tokenRunLengthMin = 20;
const margin = { before: tokenRunLengthMin - 1, after: 0 };

const backslash = 0x5c;
const percent = 0x25;
/** How many bytes an escape may have behind its first character: `\n`, `%3D`, `\u003d`. */
const escapeLengths = { [backslash]: [1, 5], [percent]: [2] } as const;
const noEscape: readonly number[] = [];

/** Calls `onStart` wherever such a run begins, or may begin behind an escape, in the order of the text. */
export function findTokenStarts(bytes: Uint8Array, outline: Outline, onStart: (start: number) => void): void {
  let done = 0;
  for (const { from, to } of stretchesOf(outline, blockFlags.encoded, bytes.length, margin)) {
    // A run of this length contains one of these places.
    for (let at = Math.max(from, done) + tokenRunLengthMin - 1; at < to; at += tokenRunLengthMin) {
      if (!isAlphanumeric(bytes[at])) continue;
      let start = at;
      while (start > done && isAlphanumeric(bytes[start - 1])) start -= 1;
      let end = at + 1;
      while (isAlphanumeric(bytes[end])) end += 1;
      done = end;
      at = end;
      if (end - start < tokenRunLengthMin) continue;
      onStart(start);
      const sign = bytes[start - 1];
      const lengths = sign === backslash || sign === percent ? escapeLengths[sign] : noEscape;
      for (const length of lengths) onStart(start + length);
    }
  }
}
