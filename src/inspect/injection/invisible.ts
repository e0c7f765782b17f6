import { readCodePoint, sequenceLength } from '../decode/code-points.ts';
import type { Evidence } from './evidence.ts';

/*
 * Finds text that people do not see and models read: characters without a glyph, in longer rows than any
 * script needs. All are three or four bytes of UTF-8 with a lead byte that plain text lacks, so searching for
 * that byte suffices.
 */

interface Invisible {
  readonly weight: number;
  /** The number of characters from which on a row is no accident. */
  readonly countMin: number;
  /** Tells whether a code point belongs to such a row. */
  includes(codePoint: number): boolean;
}

const rows: readonly Invisible[] = [
  // Tags repeat ASCII without a glyph. They are used only in flags of regions, which begin with a black flag
  // and have 6 of them.
  { weight: 0.6, countMin: 8, includes: (it) => it >= 0xe0020 && it <= 0xe007f },
  // Variation selectors choose a glyph for the character before them, so one is usual. A row of them encodes
  // bytes.
  {
    weight: 0.6,
    countMin: 8,
    includes: (it) => (it >= 0xfe00 && it <= 0xfe0f) || (it >= 0xe0100 && it <= 0xe01ef),
  },
  // Senders of mail pad previews with these, hence the long row and the low weight.
  {
    weight: 0.3,
    countMin: 40,
    includes: (it) => (it >= 0x200b && it <= 0x200f) || (it >= 0x2060 && it <= 0x2064) || it === 0xfeff,
  },
];

const kind = 'hidden-text';
const blackFlag = 0x1f3f4;

/** Finds rows of invisible characters. Only the lead bytes 0xe2, 0xef and 0xf3 can begin one. */
export function findInvisible(bytes: Buffer, onEvidence: (evidence: Evidence) => void): void {
  for (const lead of [0xe2, 0xef, 0xf3]) {
    let at = bytes.indexOf(lead);
    while (at >= 0) {
      const row = rows.find((it) => it.includes(readCodePoint(bytes, at)));
      const end = row ? endOfRow(bytes, at, row, onEvidence) : at + 1;
      at = bytes.indexOf(lead, end);
    }
  }
}

/** Follows a row to its end; it is evidence if it is long enough. */
function endOfRow(bytes: Buffer, start: number, row: Invisible, onEvidence: (it: Evidence) => void): number {
  let count = 0;
  let at = start;
  while (at < bytes.length && row.includes(readCodePoint(bytes, at))) {
    at += sequenceLength(bytes[at] as number);
    count++;
  }
  const isFlag = start >= 4 && readCodePoint(bytes, start - 4) === blackFlag;
  if (count >= row.countMin && !isFlag) onEvidence({ kind, weight: row.weight, start, end: at });
  return at;
}
