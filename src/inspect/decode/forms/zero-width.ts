import { byteSet, digits, lowerCase, upperCase } from '../../kernel/bytes.ts';
import { readCodePoint, sequenceLength } from '../code-points.ts';
import type { EscapeDecoder, Output } from '../unescape.ts';

/**
 * Ranges of code points that are invisible or only change the character before them:
 * Default_Ignorable_Code_Point (Unicode 17, DerivedCoreProperties.txt), and combining marks.
 */
const ranges: readonly (readonly [number, number])[] = [
  [0x0000, 0x0000], // every other byte of ASCII written as UTF-16, and three in four as UTF-32
  [0x00ad, 0x00ad], // soft hyphen
  [0x0300, 0x036f], // combining marks
  [0x061c, 0x061c],
  [0x115f, 0x1160], // Hangul fillers
  [0x17b4, 0x17b5], // Khmer inherent vowels
  [0x180b, 0x180f],
  [0x200a, 0x200f], // hair space and zero-width space, joiners, direction marks
  [0x202a, 0x202d], // embeddings; the override to the left reverses text and has a decoder of its own
  [0x2060, 0x206f], // word joiner, isolates
  [0x20e3, 0x20e3], // keycap around the digit before it
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f], // variation selectors
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb], // not assigned and not to be shown, and marks of annotations
  [0x1_bca0, 0x1_bca3], // controls of shorthand
  [0x1_d173, 0x1_d17a], // controls of musical notation
  [0xe_0000, 0xe_0008],
  [0xe_007f, 0xe_0fff], // the last tag, more variation selectors, and what is not assigned
];
const invisible = new Set(
  ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index)),
);
/** Tells whether a character is invisible, or only changes the one before it. */
export const isInvisible = (codePoint: number): boolean => invisible.has(codePoint);

const rightToLeftOverride = 0x202e;
const isOfWord = byteSet(`${digits}${lowerCase}${upperCase}-_`);

/**
 * Drops invisible characters. Tags (U+E0009..E007E) are invisible, too; they become the ASCII that they copy.
 * Each of several variation selectors in a row is read as a byte, since a character takes only one.
 */
export const zeroWidth: EscapeDecoder = {
  name: 'zero-width',
  leads: [0x00, 0xc2, 0xcc, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3],
  read(bytes: Buffer, at: number, out: Output): number {
    const codePoint = readCodePoint(bytes, at);
    const length = sequenceLength(bytes[at] ?? 0);
    if (codePoint >= 0xe_0009 && codePoint <= 0xe_007e) {
      out.push(codePoint - 0xe_0000);
      return length;
    }
    if (codePoint === rightToLeftOverride) {
      return isOfWord[bytes[at - 1] ?? 0] === 1 && isOfWord[bytes[at + length] ?? 0] === 1 ? length : 0;
    }
    if (!invisible.has(codePoint)) return 0;
    const byte = selectedByte(codePoint);
    if (byte >= 0 && (isSelectorBefore(bytes, at) || selectedByte(readCodePoint(bytes, at + length)) >= 0))
      out.push(byte);
    return length;
  },
};

/** Returns the byte that one of the 256 variation selectors may stand for; -1 for all others. */
function selectedByte(codePoint: number): number {
  if (codePoint >= 0xfe00 && codePoint <= 0xfe0f) return codePoint - 0xfe00;
  return codePoint >= 0xe_0100 && codePoint <= 0xe_01ef ? codePoint - 0xe_0100 + 16 : -1;
}

/** Tells whether a variation selector of three or four bytes ends at `at`. */
const isSelectorBefore = (bytes: Buffer, at: number): boolean =>
  [3, 4].some(
    (length) =>
      sequenceLength(bytes[at - length] ?? 0) === length &&
      selectedByte(readCodePoint(bytes, at - length)) >= 0,
  );
