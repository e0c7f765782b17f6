import { signsAt, textAt } from './memory';
import { addTo, groupsList, markupList } from './places';
import {
  byteAt,
  endsQuoted,
  furtherTraitsOf,
  isHexDigitByte,
  isLetterByte,
  ofEncoded,
  ofMarkup,
  traitsOf,
} from './traits';

/*
 * Finds rare things that begin at single signs, such as quoted-printable and the heads of keys. A decoder
 * runs only where its sign stands in such a place. These tests may report too many places, but never miss
 * one.
 */

// These are flags of the whole text, as in src/inspect/kernel/outline.ts.
const hasCdata: u32 = 1 << 17;
const hasEncodedWords: u32 = 1 << 18;
const hasParameterPieces: u32 = 1 << 19;
const hasAscii85: u32 = 1 << 20;
const hasEncrypted: u32 = 1 << 21;
const hasArmour: u32 = 1 << 22;
const hasTransferField: u32 = 1 << 23;
const hasCell: u32 = 1 << 24;
const hasValues: u32 = 1 << 25;
const hasQuotedWord: u32 = 1 << 26;
const hasGrid: u32 = 1 << 27;

const tab: i32 = 0x09;
const newline: i32 = 0x0a;
const carriageReturn: i32 = 0x0d;
const space: i32 = 0x20;
const bracket: i32 = 0x5b;

/** Bound on the blanks before a line end, and on the distance between two escapes of one word, in bytes. */
const gapMax: i32 = 32;
/** Bound on the spaces before a parenthesis. */
const spaceMax: i32 = 64;
const signBytes: i32 = 6;
/** The number of dots in a JWE. */
const jweDots: i32 = 4;
/** Bounds on the names of phrase tags, and on the markup between two parts of a token, in bytes. */
const inlineNameMax: i32 = 7;
const markupBytesMax: i32 = 256;
/** Bounds on the distance between the signs of a token's groups, in bytes. Longer groups are list items. */
const periodMin: i32 = 4;
const periodMax: i32 = 48;
/** The bits in which the signs of groups differ. */
const signMask: i32 = 0x1f;

let escapeEnd: i32 = 0;
/** The end of the first part of the last thing that began like a JWE. */
let jweHeadEnd: i32 = 0;
let lastSpace: i32 = 0;
let spacePeriod: i32 = 0;
let spaceAgain: i32 = 0;

/** Forgets the signs of the text before. */
export function beginSigns(): void {
  escapeEnd = -gapMax - 1;
  jweHeadEnd = 0;
  lastSpace = -periodMax - 1;
  // The value makes the first distance longer than any group, at any place.
  memory.fill(signsAt, 0x80, (signMask + 1) << 4);
}

/**
 * Returns the flag of a compact JWE, or 0. It is told by four dots behind `eyJ`, with which JSON objects
 * begin in base64.
 */
export function takeJ(at: i32, length: i32): u32 {
  if (byteAt(at - 1) !== 0x79 || byteAt(at - 2) !== 0x65 || at < jweHeadEnd) return 0;
  let end = at + 1;
  for (let dots = 0; dots < jweDots; dots += 1) {
    while ((traitsOf(end) & ofEncoded) !== 0) end += 1;
    if (dots === 0) jweHeadEnd = end;
    if (end >= length) return hasEncrypted;
    if (byteAt(end) !== 0x2e) return 0;
    end += 1;
  }
  return hasEncrypted;
}

/**
 * Returns the flag of `<td`, `<th`, `<~` or a CDATA section, or 0. Lists phrase tags, comments, processing
 * instructions and CDATA sections with token bytes before and behind them.
 */
export function takeLess(at: i32, length: i32): u32 {
  const next = byteAt(at + 1);
  if (next === 0x7e) return hasAscii85;
  const isCdata = next === 0x21 && load<u32>(textAt + at + 2) === 0x4144435b;
  if (isCdata || ((traitsOf(at - 1) & ofMarkup) !== 0 && mayBeMarkup(at, next, length)))
    addTo(markupList, at);
  if (isCdata) return hasCdata;
  const letters: i32 = load<u16>(textAt + at + 1) | 0x2020;
  return letters === 0x6474 || letters === 0x6874 ? hasCell : 0;
}

function mayBeMarkup(at: i32, next: i32, length: i32): bool {
  if (next === 0x21 || next === 0x3f) return true;
  const name = next === 0x2f ? at + 2 : at + 1;
  let end = name;
  while (end - name <= inlineNameMax && isLetterByte(byteAt(end))) end += 1;
  if (end === name || end - name > inlineNameMax) return false;
  while (end - at < markupBytesMax && byteAt(end) !== 0x3e) end += 1;
  if (end >= length - 1) return true;
  return byteAt(end) === 0x3e && (byteAt(end + 1) === 0x3c || (traitsOf(end + 1) & ofMarkup) !== 0);
}

/** Returns the flag of `VALUES (`, in either case, or 0. */
export function takeParenthesis(at: i32): u32 {
  let end = at;
  while (end > 0 && at - end < spaceMax && (byteAt(end - 1) <= space || byteAt(end - 1) === 0xa0)) end -= 1;
  if (end < signBytes || (byteAt(end - 1) | 0x20) !== 0x73) return 0;
  return (load<u32>(textAt + end - 5) | 0x20202020) === 0x65756c61 ? hasValues : 0;
}

/** Returns the flag of `-----BEGIN` or of `Transfer-Encoding`, or 0. */
export function takeHyphen(at: i32): u32 {
  const next = load<u32>(textAt + at + 1);
  if (next === 0x49474542) return load<u32>(textAt + at - 4) === 0x2d2d2d2d ? hasArmour : 0;
  if ((next | 0x20202020) !== 0x6f636e65) return 0;
  const isSecondHalf = (load<u32>(textAt + at - 4) | 0x20202020) === 0x72656673;
  return isSecondHalf && (load<u32>(textAt + at - 8) | 0x20202020) === 0x6e617274 ? hasTransferField : 0;
}

/**
 * Returns the flag of what an equals sign belongs to, or 0. That may be the second of two escapes in one
 * word: `=41`, or `=` at the end of a line. It may also be the second of two encoded words (`?= =?`), or the
 * first piece of a parameter (`*0=` or `*0*=`).
 */
export function takeEquals(at: i32): u32 {
  const length = escapeLength(at);
  if (length === 0) {
    const isPiece = byteAt(at - 1) === 0x30 ? byteAt(at - 2) === 0x2a : load<u16>(textAt + at - 2) === 0x2a30;
    if (isPiece) return hasParameterPieces;
    return byteAt(at + 1) === 0x3f && isBehindEncodedWord(at) ? hasEncodedWords : 0;
  }
  const before = escapeEnd;
  escapeEnd = at + length;
  if (at - before > gapMax) return 0;
  for (let one = before; one < at; one += 1) if ((furtherTraitsOf(one) & endsQuoted) !== 0) return 0;
  return hasQuotedWord;
}

function isBehindEncodedWord(start: i32): bool {
  let at = start - 1;
  while (at > 0 && start - at <= gapMax && byteAt(at) <= space) at -= 1;
  return at > 0 && at < start - 1 && load<u16>(textAt + at - 1) === 0x3d3f;
}

function escapeLength(at: i32): i32 {
  let end = at + 1;
  if (isHexDigitByte(byteAt(end))) return isHexDigitByte(byteAt(end + 1)) ? 3 : 0;
  while (end - at < gapMax && (byteAt(end) === space || byteAt(end) === tab)) end += 1;
  if (byteAt(end) === carriageReturn) end += 1;
  return byteAt(end) === newline ? end + 1 - at : 0;
}

/**
 * Returns the flag of an array of arrays, or 0. Where the piece of the text ends before that is known, it
 * returns the flag.
 */
export function takeBracket(at: i32, length: i32): u32 {
  let next = at + 1;
  while (next < length && byteAt(next) <= space) next += 1;
  return next === length || byteAt(next) === bracket ? hasGrid : 0;
}

/**
 * Lists each sign that repeats at one distance, with token bytes between, often enough for sixteen
 * characters. The slot of a sign holds its last place, its distance from the one before, and how often that
 * distance was repeated.
 */
export function takeGroupSigns(block: i32, signs: u64): void {
  for (let rest = signs; rest !== 0; rest &= rest - 1) {
    const at = block + <i32>ctz(rest);
    const slot = signsAt + ((byteAt(at) & signMask) << 4);
    const period = at - load<i32>(slot);
    const again = period === load<i32>(slot, 4) ? load<i32>(slot, 8) + 1 : 0;
    store<i32>(slot, at);
    store<i32>(slot, period, 4);
    store<i32>(slot, again, 8);
    if (again > 0 && areTokenGroups(at, period, again)) addTo(groupsList, at);
  }
}

/**
 * Lists spaces that repeat at one distance, as `takeGroupSigns` lists other signs. Spaces are more frequent
 * than all other signs together.
 */
export function takeSpaces(block: i32, spaces: u64): void {
  let last = lastSpace;
  let before = spacePeriod;
  let again = spaceAgain;
  for (let rest = spaces; rest !== 0; rest &= rest - 1) {
    const at = block + <i32>ctz(rest);
    const period = at - last;
    again = period === before ? again + 1 : 0;
    last = at;
    before = period;
    if (again > 0 && areTokenGroups(at, period, again)) addTo(groupsList, at);
  }
  lastSpace = last;
  spacePeriod = before;
  spaceAgain = again;
}

/** Tells whether the groups are those of a token; `again` is how often the distance was repeated. */
function areTokenGroups(at: i32, period: i32, again: i32): bool {
  if (period < periodMin || period > periodMax || (period === periodMin && again < 3)) return false;
  return areGroups(at - 2 * period, period) && hasTokenBytes(at, period);
}

/**
 * Tells whether two neighbouring groups are alike. A byte that stands at the same place in both may belong to
 * the sign.
 */
function areGroups(at: i32, period: i32): bool {
  for (let one = at + 1; one < at + period; one += 1) {
    const byte = byteAt(one);
    const other = byteAt(one + period);
    if (byte !== other && !(isOfGroup(byte) && isOfGroup(other))) return false;
  }
  return true;
}

/**
 * Tells whether the groups around the last three signs have a letter and a digit. Groups of three need no
 * digit.
 */
function hasTokenBytes(at: i32, period: i32): bool {
  let hasLetter: bool = false;
  let hasDigit: bool = period === periodMin;
  for (let one = max(at - 3 * period, 0); one < at + period; one += 1) {
    const byte = byteAt(one);
    if (byte >= 0x30 && byte <= 0x39) hasDigit = true;
    else if (isLetterByte(byte)) hasLetter = true;
    if (hasLetter && hasDigit) return true;
  }
  return false;
}

/** Tells whether a byte is a letter, a digit or one of `+/=-_.:@`. */
function isOfGroup(byte: i32): bool {
  if (isLetterByte(byte)) return true;
  return (byte >= 0x2d && byte <= 0x3a) || byte === 0x2b || byte === 0x3d || byte === 0x5f || byte === 0x40;
}
