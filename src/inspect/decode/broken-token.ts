import { byteSet, digits, isContinuation, lowerCase, upperCase } from '../kernel/bytes.ts';
import { lineBreakEnd } from './runs.ts';
import type { Span } from './span-map.ts';

const kinds = { digit: 1, lower: 2, upper: 4, underscore: 8, base64Sign: 16, sign: 32 } as const;
/** The kind of each byte that a token may have; 0 for all others. */
const kindOf = kindTable();
/** The least number of bytes of the part before the first gap. */
const leftLengthMin = 8;
/** The least number of bytes of a part behind a gap. */
const partLengthMin = 3;
const partLengthMax = 512;
/** The least number of bytes of all parts together. */
const lengthMin = 16;
const wrappedLengthMin = 60;
/** Bound on the parts of one token; a longer token is read as several. */
const partsMax = 16;
/** Bound on the bytes of the line before the token, which name the value. */
const contextBytesMax = 64;
const newline = 0x0a;
const fullStop = 0x2e;
const space = 0x20;
const equalsSign = 0x3d;
const colon = 0x3a;
/** Characters right behind a word that make it a name. */
const followsName = byteSet(':(@|\t');
/** Characters that make a word the first cell of a row, where no space follows. */
const followsCell = byteSet(',;');
/** Characters that pad a value, or stand behind the padding. */
const followsPadding = byteSet('=\r\n "\'');

function kindTable(): Uint8Array {
  const table = new Uint8Array(256);
  const characters = {
    ...{ digit: digits, lower: lowerCase, upper: upperCase },
    ...{ underscore: '_', base64Sign: '+/', sign: '-.' },
  };
  for (const [kind, alphabet] of Object.entries(characters))
    for (const byte of Buffer.from(alphabet)) table[byte] = kinds[kind as keyof typeof kinds];
  return table;
}

/**
 * Returns the parts of a token that goes on behind the line end at `leftEnd`; undefined where there is none.
 * The first part includes the text before it in its line. Both sides of a gap must look random or like an
 * identifier, unlike prose and member names.
 */
export function brokenToken(bytes: Buffer, leftEnd: number): Span[] | undefined {
  if (!isInside(bytes[leftEnd - 1])) return undefined;
  let start = gapEnd(bytes, leftEnd);
  if (!isInside(bytes[start])) return undefined;
  const leftStart = tokenStart(bytes, leftEnd);
  let length = leftEnd - leftStart;
  if (length < leftLengthMin || length > partLengthMax) return undefined;
  let left = kindsOf(bytes, leftStart, leftEnd);
  if (isWrapped(left, length)) return undefined;
  const parts: Span[] = [];
  for (let all = left; parts.length < partsMax - 1; ) {
    const end = tokenEnd(bytes, start);
    const right = kindsOf(bytes, start, end);
    all |= right;
    if (end - start < partLengthMin || !belongs(left, right) || !isToken(all)) break;
    if (isNameBefore(bytes, end) || beginsAlike(bytes, leftStart, start)) break;
    parts.push({ start, end });
    length += end - start;
    left = right;
    start = gapEnd(bytes, end);
    if (start === end) break;
  }
  if (parts.length === 0 || length < lengthMin) return undefined;
  return [{ start: contextStart(bytes, leftStart), end: leftEnd }, ...parts];
}

/**
 * Returns the end of the line break at a place and of the next line's indentation; the place itself where no
 * line ends. A sender may leave a space before the break.
 */
function gapEnd(bytes: Buffer, at: number): number {
  let end = at;
  while (bytes[end] === space) end += 1;
  const next = lineBreakEnd(bytes, end);
  return next === end ? at : next;
}

/**
 * Tells whether the kinds can be those of a token. It has letters, and with small letters a digit or
 * underscore.
 */
function isToken(some: number): boolean {
  if ((some & (kinds.lower | kinds.upper)) === 0) return false;
  return (some & (kinds.digit | kinds.underscore)) !== 0 || (some & kinds.lower) === 0;
}

/** Tells whether two texts begin alike, as two tokens of one kind in a list do. */
export const beginsAlike = (bytes: Buffer, one: number, other: number): boolean =>
  bytes[one] === bytes[other] && bytes[one + 1] === bytes[other + 1] && bytes[one + 2] === bytes[other + 2];

/** Tells whether a line is base64 as it is usually wrapped, or one of a list of hashes. */
const isWrapped = (some: number, length: number): boolean =>
  length >= wrappedLengthMin && length % 4 === 0 && (some & (kinds.underscore | kinds.sign)) === 0;

/**
 * Tells whether two sides of a gap may belong together. Words have letters of one case, apart from their
 * first. Sides without small letters may be halves of a key in capitals.
 */
function belongs(left: number, right: number): boolean {
  if (((left | right) & kinds.lower) === 0) return (right & (kinds.sign | kinds.base64Sign)) === 0;
  return (isRandom(left) || (left & kinds.underscore) !== 0) && isRandom(right);
}

function isRandom(some: number): boolean {
  const hasLetters = (some & (kinds.lower | kinds.upper)) !== 0;
  const isMixed = (some & kinds.lower) !== 0 && (some & kinds.upper) !== 0;
  return isMixed || (hasLetters && (some & kinds.digit) !== 0);
}

/** Returns all kinds of bytes in the span, but not that of a capital at the beginning of a word. */
function kindsOf(bytes: Buffer, start: number, end: number): number {
  let some = 0;
  let isInWord = false;
  for (let at = start; at < end; at += 1) {
    const kind = kindOf[bytes[at] ?? 0] ?? 0;
    if (kind !== kinds.upper || isInWord) some |= kind;
    isInWord = kind < kinds.underscore;
  }
  return some;
}

const isInside = (byte: number | undefined): boolean =>
  byte !== undefined && kindOf[byte] !== 0 && byte !== fullStop;

/** Returns the start of the token, or a place that is so far before that the token is too long. */
function tokenStart(bytes: Buffer, end: number): number {
  const limit = Math.max(0, end - partLengthMax - 1);
  let at = end;
  while (at > limit && kindOf[bytes[at - 1] ?? 0] !== 0) at -= 1;
  return at;
}

function tokenEnd(bytes: Buffer, start: number): number {
  const limit = start + partLengthMax;
  let at = start;
  while (at < limit && kindOf[bytes[at] ?? 0] !== 0) at += 1;
  return at;
}

/** Tells whether a name of the following value ends at a place: `name: …`, `name = …`, `name(…)`. */
export function isNameBefore(bytes: Buffer, end: number): boolean {
  const next = bytes[end] ?? newline;
  const after = bytes[end + 1] ?? newline;
  if (next === equalsSign) return followsPadding[after] === 0;
  if (next === space) return after === equalsSign || after === colon;
  return followsName[next] === 1 || (followsCell[next] === 1 && after > space);
}

/** Returns the start of the line, or of whole characters near the token. */
function contextStart(bytes: Buffer, tokenStart: number): number {
  const limit = Math.max(0, tokenStart - contextBytesMax);
  let start = tokenStart;
  while (start > limit && bytes[start - 1] !== newline) start -= 1;
  while (isContinuation(bytes[start])) start += 1;
  return start;
}
