import { textAt } from './memory';
import { addTo, cutsList, headersList } from './places';
import {
  beginsHeader,
  byteAt,
  endsHeader,
  furtherTraitsOf,
  isDigitByte,
  isLetterByte,
  isLowerByte,
  isUpperByte,
  ofSpacedToken,
  ofToken,
  traitsOf,
} from './traits';

/*
 * Finds line ends at which a token may go on (src/inspect/decode/forms/split-lines.ts), or which may end a
 * table header (src/inspect/decode/tables/delimited.ts). It may report too many, never too few.
 */

// The flag of uuencoded content in the text, as in src/inspect/kernel/outline.ts.
const hasUuencode: u32 = 1 << 29;

const tab: i32 = 0x09;
const newline: i32 = 0x0a;
const carriageReturn: i32 = 0x0d;
const space: i32 = 0x20;
const quote: i32 = 0x22;
const pipe: i32 = 0x7c;

/** Bounds on the length of lines of one length, and on the parts of a token that goes on behind its line. */
const lengthMin: i32 = 3;
const lengthMax: i32 = 40;
const leftLengthMin: i32 = 8;
const partLengthMax: i32 = 512;
const rightLengthMin: i32 = 3;
/** Bounds on the names in a table header. */
const nameBytesMax: i32 = 64;
const namesMax: i32 = 128;
const wordsMax: i32 = 6;
/** The width of a header that begins before the piece. */
const anyWidth: i32 = -1;

/**
 * The state of the last line: its line end before it, its first byte behind the indentation, and whether a
 * token is cut there.
 */
let lineBreak: i32 = -1;
let lineStart: i32 = 0;
let isCut: bool = false;
/** The state of the line before it, with the end of that line. */
let breakBefore: i32 = -1;
let startBefore: i32 = 0;
let endBefore: i32 = 0;
let wasCut: bool = false;

export function beginLines(): void {
  lineBreak = -1;
  lineStart = 0;
  isCut = false;
  breakBefore = -1;
  startBefore = 0;
  endBefore = 0;
  wasCut = false;
}

/**
 * Takes the line end at `at`. Returns the flag of the end of uuencoded content, or 0. Nearly all line ends
 * are passed over without a branch, because the processor cannot predict where lines end.
 */
export function takeLineEnd(at: i32, length: i32): u32 {
  const end = byteAt(at - 1) === carriageReturn ? at - 1 : at;
  const lineLength = end - lineStart;
  const isEqual = <i32>(lineLength === endBefore - startBefore) & <i32>(breakBefore >= 0);
  const first = endBefore - lineLength;
  const isOfString = <i32>(load<u8>(textAt + max(first, 0) - 1) === quote) & <i32>(lineBreak >= 0);
  if ((isEqual | isOfString) !== 0 && lineLength >= lengthMin && lineLength <= lengthMax) {
    if (isEqual !== 0 && areEqualLines(lineLength)) wasCut = true;
    if (isOfString !== 0 && isMadeOf(ofSpacedToken, lineStart, lineLength)) isCut = true;
  }
  if (wasCut) addTo(cutsList, breakBefore);
  const next = behindIndentation(at + 1);
  breakBefore = lineBreak;
  startBefore = lineStart;
  endBefore = end;
  wasCut = isCut;
  lineBreak = at;
  lineStart = next;
  isCut = false;
  if (endsInToken(end)) isCut = goesOn(end, next, length);
  const delimiters = delimitersBefore(at);
  if (
    (<i32>(delimiters !== 0) & furtherTraitsOf(end - 1) & endsHeader) !== 0 &&
    isHeader(at, delimiters, length)
  )
    addTo(headersList, at);
  // The end of uuencoded content has a line without content before it.
  return lineLength <= 1 && (load<u32>(textAt + next) & 0xffffff) === 0x646e65 ? hasUuencode : 0;
}

/** Returns the place behind spaces and tabs. */
function behindIndentation(start: i32): i32 {
  let at = start;
  let blanks = blanksAt(at);
  for (; blanks === 0xffff; blanks = blanksAt(at)) at += 16;
  return at + ctz(~blanks);
}

function blanksAt(at: i32): i32 {
  const bytes = v128.load(textAt + at);
  return i8x16.bitmask(
    v128.or(i8x16.eq(bytes, i8x16.splat(<i8>space)), i8x16.eq(bytes, i8x16.splat(<i8>tab))),
  );
}

/** Tells whether eight bytes of a token stand before `end`, or a space, before which they may stand. */
function endsInToken(end: i32): bool {
  if (byteAt(end - 1) === space) return true;
  const bytes = v128.load(textAt + end - 16);
  const classes = v128.and(
    i8x16.relaxed_swizzle(
      i8x16(0, 0, 4, 9, 2, 48, 2, 16, 0, 0, 0, 0, 0, 0, 0, 0),
      v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(0x0f)),
    ),
    i8x16.relaxed_swizzle(
      i8x16(17, 19, 19, 19, 19, 19, 19, 19, 19, 19, 18, 6, 2, 14, 6, 38),
      v128.and(bytes, i8x16.splat(0x0f)),
    ),
  );
  return (<u32>i8x16.bitmask(i8x16.eq(classes, i8x16.splat(0))) & 0xff00) === 0;
}

/** Reports what is known about the last lines. */
export function endLines(): void {
  if (wasCut) addTo(cutsList, breakBefore);
  if (isCut) addTo(cutsList, lineBreak);
}

function areEqualLines(lineLength: i32): bool {
  return (
    isMadeOf(ofSpacedToken, startBefore, lineLength) &&
    isMadeOf(ofSpacedToken, lineStart, lineLength) &&
    !beginsAlike(startBefore, lineStart)
  );
}

function beginsAlike(one: i32, two: i32): bool {
  return ((load<u32>(textAt + one) ^ load<u32>(textAt + two)) & 0xffffff) === 0;
}

function isMadeOf(trait: i32, start: i32, count: i32): bool {
  for (let at = start; at < start + count; at += 1) if ((traitsOf(at) & trait) === 0) return false;
  return true;
}

/** Tells whether a token that ends at `lineEnd`, perhaps before spaces, may go on at `next`. */
function goesOn(lineEnd: i32, next: i32, length: i32): bool {
  if ((traitsOf(next) & ofToken) === 0 && next < length) return false;
  let end = lineEnd;
  while (byteAt(end - 1) === space) end -= 1;
  for (let at = end - 1; at >= end - leftLengthMin; at -= 1) if ((traitsOf(at) & ofToken) === 0) return false;
  return (end === lineEnd && isLinePair(end, next, length)) || isBroken(end, next, length);
}

/** Tells whether both lines belong to one string. */
function isLinePair(end: i32, next: i32, length: i32): bool {
  let start = end;
  while (end - start <= lengthMax && (traitsOf(start - 1) & ofToken) !== 0) start -= 1;
  if (byteAt(start - 1) !== quote) return false;
  let last = next;
  while (last - next <= end - start && (traitsOf(last) & ofToken) !== 0) last += 1;
  return byteAt(last) === quote || last >= length;
}

// Kinds of characters that a token may have.
const digit: i32 = 1;
const lower: i32 = 2;
const upper: i32 = 4;
const underscore: i32 = 8;
const base64Sign: i32 = 16;
const sign: i32 = 32;

function kindAt(at: i32): i32 {
  const byte = byteAt(at);
  if (isLowerByte(byte)) return lower;
  if (isDigitByte(byte)) return digit;
  if (isUpperByte(byte)) return upper;
  if (byte === 0x5f) return underscore;
  if (byte === 0x2b || byte === 0x2f) return base64Sign;
  return byte === 0x2d || byte === 0x2e ? sign : 0;
}

/**
 * Tells whether both sides look random or like an identifier, as src/inspect/decode/broken-token.ts defines
 * it.
 */
function isBroken(end: i32, next: i32, length: i32): bool {
  if (byteAt(next) === 0x2e || byteAt(end - 1) === 0x2e) return false;
  let start = end;
  while (end - start <= partLengthMax && kindAt(start - 1) !== 0) start -= 1;
  if (end - start < leftLengthMin || end - start > partLengthMax) return false;
  let last = next;
  while (last - next < partLengthMax && kindAt(last) !== 0) last += 1;
  if (last >= length) return true;
  if (last - next < rightLengthMin) return false;
  const left = kindsOf(start, end);
  const right = kindsOf(next, last);
  if (((left | right) & lower) === 0)
    return (right & (sign | base64Sign)) === 0 && ((left | right) & upper) !== 0;
  return (isRandom(left) || (left & underscore) !== 0) && isRandom(right);
}

function isRandom(some: i32): bool {
  if ((some & lower) !== 0 && (some & upper) !== 0) return true;
  return (some & (lower | upper)) !== 0 && (some & digit) !== 0;
}

/** Returns all kinds of bytes in the span, but not that of a capital at the beginning of a word. */
function kindsOf(start: i32, end: i32): i32 {
  let some: i32 = 0;
  let isInWord: bool = false;
  for (let at = start; at < end; at += 1) {
    const kind = kindAt(at);
    if (kind !== upper || isInWord) some |= kind;
    isInWord = kind < underscore;
  }
  return some;
}

/** Tells whether the line that ends at `at` may be a header with a row of the same width below it. */
function isHeader(at: i32, delimiters: u64, length: i32): bool {
  const back = 1 + <i32>clz(delimiters);
  const delimiter = byteAt(at - back);
  if (at < back || delimiter === newline) return false;
  const width = headerWidth(at, delimiter);
  return width === anyWidth || (width > 1 && mayBeRow(behindRule(at + 1), width, delimiter, length));
}

/**
 * Returns which of the 64 bytes before the line end are newlines or delimiters, as bits; the last byte is the
 * highest.
 */
function delimitersBefore(at: i32): u64 {
  const place = textAt + at - nameBytesMax;
  return (
    <u64>delimitersIn(place) |
    ((<u64>delimitersIn(place + 16)) << 16) |
    ((<u64>delimitersIn(place + 32)) << 32) |
    ((<u64>delimitersIn(place + 48)) << 48)
  );
}

/** Returns one bit for each of sixteen bytes: 1 for a tab, a newline or one of `|;,`. */
function delimitersIn(place: i32): u32 {
  const bytes = v128.load(place);
  const classes = v128.and(
    i8x16.relaxed_swizzle(
      i8x16(1, 0, 2, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0),
      v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(0x0f)),
    ),
    i8x16.relaxed_swizzle(
      i8x16(0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 4, 10, 0, 0, 0),
      v128.and(bytes, i8x16.splat(0x0f)),
    ),
  );
  return <u32>i8x16.bitmask(i8x16.ne(classes, i8x16.splat(0)));
}

/**
 * Returns the number of names in the line that ends at a place, read from its end. Returns 0 where one is no
 * name, and `anyWidth` where the line begins before the piece.
 */
function headerWidth(lineEnd: i32, delimiter: i32): i32 {
  let end = withoutSpaces(lineEnd);
  if (delimiter === pipe && byteAt(end - 1) === pipe) end -= 1;
  for (let names = 1; names <= namesMax; names += 1) {
    const last = withoutSpaces(end);
    const isQuoted = delimiter !== pipe && byteAt(last - 1) === quote;
    const nameEnd = isQuoted ? last - 1 : last;
    let start = nameEnd;
    while (start > 0 && byteAt(start - 1) !== delimiter && !isHeaderStart(start - 1, delimiter)) {
      start -= 1;
      if (nameEnd - start > nameBytesMax) return 0;
    }
    if (start <= 1) return anyWidth;
    const before = isQuoted ? start - 2 : start - 1;
    const isFirst = byteAt(before) !== delimiter;
    const isEmpty = isBlank(start, nameEnd);
    if (isEmpty ? !isFirst : !isName(start, nameEnd)) return 0;
    if (isFirst) return isEmpty && delimiter === pipe ? names - 1 : names;
    end = before;
  }
  return 0;
}

function isHeaderStart(at: i32, delimiter: i32): bool {
  if (delimiter !== pipe) return (furtherTraitsOf(at) & beginsHeader) !== 0;
  const byte = byteAt(at);
  return byte === quote || byte === newline || byte === 0x1e;
}

function withoutSpaces(end: i32): i32 {
  let at = end;
  while (byteAt(at - 1) === space || byteAt(at - 1) === carriageReturn) at -= 1;
  return at;
}

function isBlankByte(byte: i32): bool {
  return byte === space || byte === tab || byte === carriageReturn || byte === newline;
}

function isBlank(start: i32, end: i32): bool {
  for (let at = start; at < end; at += 1) if (!isBlankByte(byteAt(at))) return false;
  return true;
}

/** Tells whether a text can be a name: short, with few words, and no number. */
function isName(from: i32, to: i32): bool {
  let start = from;
  let end = to;
  while (isBlankByte(byteAt(start))) start += 1;
  while (isBlankByte(byteAt(end - 1))) end -= 1;
  let first = start;
  while (first < end - 1 && isOrnament(byteAt(first))) first += 1;
  const byte = byteAt(first);
  if (byte < 0x80 && !isLetterByte(byte)) return false;
  let words: i32 = 1;
  let open: i32 = 0;
  for (let at = first; at < end; at += 1) {
    const byte = byteAt(at);
    if (byte === space) words += 1;
    else if (byte === 0x28) open += 1;
    else if (byte === 0x29) open -= 1;
  }
  return words <= wordsMax && open === 0;
}

/** Tells whether a byte is one of `*_#`, a backtick, `$` or `@`. */
function isOrnament(byte: i32): bool {
  return byte === 0x2a || byte === 0x5f || byte === 0x23 || byte === 0x60 || byte === 0x24 || byte === 0x40;
}

/**
 * Returns the place behind the rule that a Markdown table has below its header; `start` where there is no
 * rule.
 */
function behindRule(start: i32): i32 {
  let at = start;
  let hasStroke: bool = false;
  for (; isOfRule(byteAt(at)); at += 1) if (byteAt(at) === 0x2d) hasStroke = true;
  return hasStroke && byteAt(at) === newline ? at + 1 : start;
}

/** Tells whether a byte is one of `-:|+=` or a blank within a line. */
function isOfRule(byte: i32): bool {
  if (byte === 0x2d || byte === 0x3a || byte === pipe || byte === 0x2b || byte === 0x3d) return true;
  return byte === space || byte === tab || byte === carriageReturn;
}

/** Tells whether the line may be a row of so many cells. A row with quotes may go on in the next line. */
function mayBeRow(start: i32, width: i32, delimiter: i32, length: i32): bool {
  let delimiters: i32 = 0;
  let at = start;
  for (; at < length; at += 1) {
    const byte = byteAt(at);
    if (byte === newline) break;
    if (byte === delimiter) delimiters += 1;
    else if (byte === quote || byte === 0x27 || byte === 0x60 || byte === 0x3c) return true;
  }
  if (at === length) return true;
  return delimiter === pipe ? delimiters >= width - 1 : delimiters === width - 1;
}
