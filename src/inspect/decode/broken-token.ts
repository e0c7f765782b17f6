import { byteSet, digits, lowerCase, upperCase } from '../kernel/bytes.ts';
import { lineBreakEnd } from './runs.ts';
import type { Span } from './span-map.ts';

const kinds = { digit: 1, lower: 2, upper: 4, underscore: 8, base64Sign: 16, sign: 32 } as const;
/** Of each byte that a token may have its kind, 0 of all others. */
const kindOf = kindTable();
/** Of what stands before the first gap. */
const leftLengthMin = 8;
/** Of what stands behind one. */
const partLengthMin = 3;
const partLengthMax = 512;
/** Of all parts together. */
const lengthMin = 16;
const wrappedLengthMin = 60;
/** Of one token; what is longer is read in several. */
const partsMax = 16;
/** What names the value stands before it in its line. */
const contextBytesMax = 64;
const newline = 0x0a;
const fullStop = 0x2e;
const space = 0x20;
const equalsSign = 0x3d;
const colon = 0x3a;
/** Right behind a word these say that it is a name. */
const followsName = byteSet(':(@|\t');
/** And these, where no space follows, that it is the first cell of a row. */
const followsCell = byteSet(',;');
/** With which a value is filled up at its end. */
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
 * The parts of a token that goes on behind the line end at `leftEnd`, the first with what stands before it in its line; undefined where none
 * does. Both sides of a gap must look random, or like an identifier: prose and names of members do not.
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

/** Behind the line end there and the indentation of the next line; a sender may leave the space at which it breaks a line. */
function gapEnd(bytes: Buffer, at: number): number {
  let end = at;
  while (bytes[end] === space) end += 1;
  const next = lineBreakEnd(bytes, end);
  return next === end ? at : next;
}

/** A token has letters, and a digit or underscore among small ones. */
function isToken(some: number): boolean {
  if ((some & (kinds.lower | kinds.upper)) === 0) return false;
  return (some & (kinds.digit | kinds.underscore)) !== 0 || (some & kinds.lower) === 0;
}

/** What begins like the token before it is another one of its kind. */
export const beginsAlike = (bytes: Buffer, one: number, other: number): boolean =>
  bytes[one] === bytes[other] && bytes[one + 1] === bytes[other + 1] && bytes[one + 2] === bytes[other + 2];

/** A line of base64 as it is usually wrapped, or of a list of hashes. */
const isWrapped = (some: number, length: number): boolean =>
  length >= wrappedLengthMin && length % 4 === 0 && (some & (kinds.underscore | kinds.sign)) === 0;

/** Words have letters of one kind, apart from their first; where both sides have no small ones they may be the halves of a key of capitals. */
function belongs(left: number, right: number): boolean {
  if (((left | right) & kinds.lower) === 0) return (right & (kinds.sign | kinds.base64Sign)) === 0;
  return (isRandom(left) || (left & kinds.underscore) !== 0) && isRandom(right);
}

function isRandom(some: number): boolean {
  const hasLetters = (some & (kinds.lower | kinds.upper)) !== 0;
  const isMixed = (some & kinds.lower) !== 0 && (some & kinds.upper) !== 0;
  return isMixed || (hasLetters && (some & kinds.digit) !== 0);
}

/** All kinds that it has, but not that of a capital at the beginning of a word. */
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

/** Where it begins, as far as it need be known. */
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

/** Whether what ends there is the name of what follows: `name: …`, `name = …`, `name(…)`. */
export function isNameBefore(bytes: Buffer, end: number): boolean {
  const next = bytes[end] ?? newline;
  const after = bytes[end + 1] ?? newline;
  if (next === equalsSign) return followsPadding[after] === 0;
  if (next === space) return after === equalsSign || after === colon;
  return followsName[next] === 1 || (followsCell[next] === 1 && after > space);
}

/** Where the line begins, or whole characters of it near the token. */
function contextStart(bytes: Buffer, tokenStart: number): number {
  const limit = Math.max(0, tokenStart - contextBytesMax);
  let start = tokenStart;
  while (start > limit && bytes[start - 1] !== newline) start -= 1;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return start;
}
