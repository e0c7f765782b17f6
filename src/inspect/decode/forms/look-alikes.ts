import { isAlphanumeric, isDigit } from '../../kernel/bytes.ts';
import { readCodePoint, sequenceLength } from '../code-points.ts';
import type { EscapeDecoder, Output } from '../unescape.ts';

/** Letters of other scripts, and the ASCII letters that look the same. */
const homoglyphs = pair(
  'АВЕЅІЈКМНОРСТУХԌԚԜаеѕіјорсухһӏԁԛԝвкмтΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναεικρτυωօոսհցզՍՏՕ',
  'ABESIJKMHOPCTYXGQWaesijopcyxhldqwvkmtABEZHIKMNOPTYXovaeikptuwonuhgqUSO',
);
const letters = new Map(homoglyphs);
/** Small capitals, which generators of fancy text write. */
const smallCapitals = new Map(pair('ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢ', 'abcdeghijklmnoprtuvwyz'));

function pair(from: string, to: string): [number, number][] {
  return Array.from(from, (letter, index) => [letter.codePointAt(0) ?? 0, to.charCodeAt(index)]);
}

/**
 * Code points of zero in Arabic, Persian, Thai and Lao. Each Indian script has 128 code points, with the
 * digits in the same place.
 */
const zeros = [0x660, 0x6f0, 0xe50, 0xed0];
/** Bound on a run of look-alikes; longer words of one script are left alone. */
const runLengthMax = 16;
const space = 0x20;
const wordBytesMax = 64;
/** Bytes of words: lead bytes of Greek, Cyrillic and Armenian, and continuation bytes. */
const isOfWord = Uint8Array.from({ length: 256 }, (_, byte) =>
  (byte >= 0xce && byte <= 0xd6) || (byte >= 0x80 && byte <= 0xbf) ? 1 : 0,
);

/**
 * Decodes full-width, mathematical and circled letters and digits, digits of other scripts, small capitals and
 * homoglyphs inside words, hyphens inside words, and dashes and spaces between digits.
 */
export const lookAlikes: EscapeDecoder = {
  name: 'look-alike',
  leads: [
    ...[0xc2, 0xc9, 0xca, 0xce, 0xcf, 0xd0, 0xd1, 0xd3, 0xd4, 0xd5, 0xd6, 0xd9, 0xdb],
    ...[0xe0, 0xe1, 0xe2, 0xe3, 0xef, 0xf0],
  ],
  read(bytes: Buffer, at: number, out: Output): number {
    const lead = bytes[at] ?? 0;
    if (lead >= 0xce && lead <= 0xd6) return readHomoglyphs(bytes, at, out);
    const codePoint = readCodePoint(bytes, at);
    const length = sequenceLength(lead);
    const byte =
      toAscii(codePoint) ||
      toDigit(codePoint) ||
      toSmallLetter(codePoint, bytes[at - 1], bytes[at + length]) ||
      toSeparator(codePoint, bytes[at - 1], bytes[at + length]);
    if (byte === 0) return 0;
    out.push(byte);
    return length;
  },
};

/** Returns the ASCII character of a full-width or decorated form; 0 for all others. */
function toAscii(codePoint: number): number {
  if (codePoint >= 0xff01 && codePoint <= 0xff5e) return codePoint - 0xfee0;
  const isDecorated =
    (codePoint >= 0x1_d400 && codePoint <= 0x1_d7ff) || (codePoint >= 0x2460 && codePoint <= 0x24ff);
  if (!isDecorated) return 0;
  const plain = String.fromCodePoint(codePoint).normalize('NFKC');
  return plain.length === 1 && plain.charCodeAt(0) < 0x80 ? plain.charCodeAt(0) : 0;
}

/**
 * Returns the ASCII digit for a digit in Arabic, Persian, Thai, Lao or an Indian script; 0 for all others.
 */
function toDigit(codePoint: number): number {
  const zero =
    codePoint >= 0x900 && codePoint < 0xe00
      ? (codePoint & ~0x7f) | 0x66
      : zeros.findLast((it) => it <= codePoint);
  return zero !== undefined && codePoint >= zero && codePoint < zero + 10 ? 0x30 + codePoint - zero : 0;
}

/** Returns the ASCII letter for a small capital beside another letter; 0 for all others. */
function toSmallLetter(codePoint: number, before = 0, after = 0): number {
  const letter = smallCapitals.get(codePoint);
  const isBeside = isAlphanumeric(before) || isAlphanumeric(after) || before >= 0x80 || after >= 0x80;
  return letter !== undefined && isBeside ? letter : 0;
}

/**
 * Returns an ASCII separator, or 0. It is for a hyphen in a word, or any space or dash between a digit and
 * another letter or digit.
 */
function toSeparator(codePoint: number, before: number | undefined, after: number | undefined): number {
  if (!isAlphanumeric(before) || !isAlphanumeric(after)) return 0;
  if (codePoint === 0x2010 || codePoint === 0x2011) return 0x2d;
  if (!isDigit(before)) return 0;
  const isSpace =
    codePoint === 0xa0 ||
    codePoint === 0x202f ||
    codePoint === 0x3000 ||
    (codePoint >= 0x2000 && codePoint <= 0x200a);
  if (isSpace) return 0x20;
  return (codePoint >= 0x2010 && codePoint <= 0x2015) || codePoint === 0x2212 ? 0x2d : 0;
}

/**
 * Reads a short run of homoglyphs between ASCII, with a letter or digit on a side. For any other run it
 * returns the length to skip, as a negative number.
 */
function readHomoglyphs(bytes: Buffer, at: number, out: Output): number {
  const before = bytes[at - 1] ?? 0;
  let end = at;
  for (let count = 0; before < 0x80 && count < runLengthMax; count += 1) {
    const letter = letters.get(readCodePoint(bytes, end));
    if (letter === undefined) break;
    out.push(letter);
    end += 2;
  }
  const after = bytes[end] ?? 0;
  const isInside = isAlphanumeric(before) || isAlphanumeric(after) || isBeforeMixedWord(bytes, end);
  if (after < 0x80 && isInside) return end - at;
  return at - wordEnd(bytes, end, at + wordBytesMax);
}

/** Tells whether a word of homoglyphs stands before a word that mixes scripts: `ЕС` in ` ЕС РRIVАТЕ КЕY`. */
function isBeforeMixedWord(bytes: Buffer, end: number): boolean {
  if (bytes[end] !== space) return false;
  let next = end + 1;
  for (let count = 0; count < runLengthMax && letters.has(readCodePoint(bytes, next)); count += 1) next += 2;
  return next > end + 1 && isAlphanumeric(bytes[next]);
}

function wordEnd(bytes: Buffer, from: number, limit: number): number {
  let end = from;
  while (end < limit && isOfWord[bytes[end] ?? 0] === 1) end += 1;
  return end;
}
