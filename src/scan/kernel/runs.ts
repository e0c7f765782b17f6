import { textAt, valuesAt } from './memory';
import { beginsCompressed, mayBePacked } from './packed';
import { addTo, lastOf, runsList, setLastOf } from './places';
import { byteAt, isDigit, isUpper, ofEncoded, ofHex, ofLower, ofUpper, ofWord, traitsOf } from './traits';

/*
 * Runs of base64 that may stand for something, in that or in what has some of its characters. Nearly all runs are names and digests, and this
 * sends them away where they stand. It counts bytes where `holdsText` of src/text/bits.ts counts characters, and tells of a byte of UTF-8
 * only by the one before it, so it says yes more often. Tables instead of questions: what comes next is as good as random.
 */

// What a run may be; src/scan/outline.ts has the same.
const mayBeText: i32 = 1;
const mayBePackedText: i32 = 2;
const mayBeHex: i32 = 4;
const mayBeBase32: i32 = 8;
const mayBeAny: i32 = 15;
const kindBits: i32 = 4;

/** What is longer is looked at in any case. */
const runBytesMax: i32 = 512;
const runBytesMin: i32 = 20;
const base32BytesMin: i32 = 24;
/** Characters of text in a row, from the first character on and from the others. */
const textMin: i32 = 8;
const guessedTextMin: i32 = 12;
const lastPhase: i32 = 3;
/** Of a path; what is packed stands in one of the first. */
const segmentsMax: i32 = 8;
/** As many characters tell whether a run is made of words, and how many of ten then change their kind. */
const wordsSample: i32 = 64;
const changesOfTen: i32 = 3;
/** Of bytes that are no character of base64. */
const none: i32 = 0xff;
const slash: i32 = 0x2f;
/** Between two values in hexadecimal digits that are read as one. */
const gapBytesMax: i32 = 8;

// Classes of bytes that are decoded.
const other: i32 = 0;
const ascii: i32 = 1;
const continuation: i32 = 2;
const lead: i32 = 3;
/** It counts for nothing, as in UTF-16. */
const zero: i32 = 4;

const classesAt: i32 = valuesAt + 256;
/** For each two classes, by the first of them, whether such bytes may follow each other in a text. */
const followsAt: i32 = classesAt + 256;
const classBits: i32 = 3;

const hexValuesAt: i32 = followsAt + 64;
const base32ValuesAt: i32 = hexValuesAt + 256;
const base32HexValuesAt: i32 = base32ValuesAt + 256;

let hasTables: bool = false;
/** The last value in hexadecimal digits, and what its run may be. */
let hexStart: i32 = 0;
let hexEnd: i32 = 0;

export function beginRuns(): void {
  hexStart = 0;
  hexEnd = -gapBytesMax - 1;
  if (!hasTables) writeTables();
}

/** Adds the run that ends there where it may stand for something; what stands at the end of a piece may go on. */
export function takeRun(end: i32, length: i32): void {
  let start = end;
  while ((traitsOf(start - 1) & ofEncoded) !== 0) start -= 1;
  const isOpen = end === length || end - start > runBytesMax || goesOn(end);
  addRun(start, isOpen ? mayBeAny : kindsOf(start, end));
}

/** What is told of the run that was added last is told with it. */
function addRun(start: i32, kinds: i32): void {
  if (kinds === 0) return;
  const last = lastOf(runsList);
  if (last >= 0 && last >> kindBits === start) setLastOf(runsList, last | kinds);
  else addTo(runsList, (start << kindBits) | kinds);
}

/** Whether the next line goes on with the run that ends there. */
function goesOn(end: i32): bool {
  let at = byteAt(end) === 0x0d ? end + 1 : end;
  if (byteAt(at) !== 0x0a) return false;
  at += 1;
  while (byteAt(at) === 0x20 || byteAt(at) === 0x09) at += 1;
  return (traitsOf(at) & ofEncoded) !== 0;
}

function kindsOf(start: i32, end: i32): i32 {
  let every = ofHex | ofWord;
  let hexes: i32 = 0;
  let lowers: i32 = 0;
  let uppers: i32 = 0;
  let hasSlash: bool = false;
  let hasLong: bool = false;
  let kinds: i32 = 0;
  for (let at = start; at < end; at += 1) {
    const traits = traitsOf(at);
    every &= traits;
    lowers = (traits & ofLower) !== 0 ? lowers + 1 : 0;
    uppers = (traits & ofUpper) !== 0 ? uppers + 1 : 0;
    if (lowers >= base32BytesMin || uppers >= base32BytesMin) hasLong = true;
    if (byteAt(at) === slash) hasSlash = true;
    if ((traits & ofHex) !== 0) {
      hexes += 1;
      continue;
    }
    if (hexes >= runBytesMin) kinds |= takeHex(start, at - hexes, at);
    hexes = 0;
  }
  if (hexes >= runBytesMin) kinds |= takeHex(start, end - hexes, end);
  if (hasLong && holdsBase32(start, end)) kinds |= mayBeBase32;
  if (every !== 0) return kinds;
  if (holdsAnyText(start, end)) kinds |= mayBeText;
  if (holdsPacked(start, end, hasSlash)) kinds |= mayBePackedText;
  return kinds;
}

/** Hexadecimal digits in the run at `runStart`. Values near each other are also read as one. */
function takeHex(runStart: i32, start: i32, end: i32): i32 {
  const isNear = start - hexEnd <= gapBytesMax;
  if (isNear && hexStart !== runStart) addRun(hexStart, mayBeHex);
  hexStart = runStart;
  hexEnd = end;
  return isNear || continues(end) || holdsHex(start, end) || holdsHex(start + 1, end) ? mayBeHex : 0;
}

/** Dots and line ends may stand inside of values. */
function continues(end: i32): bool {
  const byte = byteAt(end);
  return byte === 0x2e || byte === 0x0d || byte === 0x0a;
}

function holdsHex(start: i32, end: i32): bool {
  return (
    holdsTextIn(start, end, hexValuesAt, 4, textMin) ||
    beginsCompressed(start, end, hexValuesAt, 4) ||
    mayBePacked(start, end, hexValuesAt, 4)
  );
}

function holdsBase32(start: i32, end: i32): bool {
  if (continues(end)) return true;
  return (
    holdsBase32In(start, end, ofLower, base32ValuesAt) ||
    holdsBase32In(start, end, ofUpper, base32ValuesAt) ||
    holdsBase32In(start, end, ofLower, base32HexValuesAt) ||
    holdsBase32In(start, end, ofUpper, base32HexValuesAt)
  );
}

/** In one case throughout. */
function holdsBase32In(start: i32, end: i32, trait: i32, values: i32): bool {
  let from = start;
  for (let at = start; at <= end; at += 1) {
    if (at < end && (traitsOf(at) & trait) !== 0 && load<u8>(values + byteAt(at)) !== none) continue;
    const isLong = at - from >= base32BytesMin;
    if (
      isLong &&
      (holdsTextIn(from, at, values, 5, guessedTextMin) ||
        beginsCompressed(from, at, values, 5) ||
        mayBePacked(from, at, values, 5))
    )
      return true;
    from = at + 1;
  }
  return false;
}

function holdsAnyText(start: i32, end: i32): bool {
  if (holdsText(start, end, textMin)) return true;
  for (let phase = 1; phase <= lastPhase; phase += 1)
    if (holdsText(start + phase, end, guessedTextMin)) return true;
  return false;
}

/** A look at bytes alone sends most away. */
function holdsText(start: i32, end: i32, min: i32): bool {
  return mayHoldText(start, end, min) && holdsTextIn(start, end, valuesAt, 6, min);
}

/** Whether compressed bytes may begin there, or behind a slash. */
function holdsPacked(start: i32, end: i32, hasSlash: bool): bool {
  for (let phase = 0; phase <= lastPhase; phase += 1)
    if (beginsCompressed(start + phase, end, valuesAt, 6)) return true;
  if (isPackedAt(start, end)) return true;
  if (!hasSlash) return false;
  let segments: i32 = 0;
  for (let at = start; end - at > runBytesMin && segments < segmentsMax; at += 1) {
    if (byteAt(at) !== slash) continue;
    segments += 1;
    if (beginsCompressed(at + 1, end, valuesAt, 6) || isPackedAt(at + 1, end)) return true;
  }
  return false;
}

function isPackedAt(start: i32, end: i32): bool {
  return !isOfWords(start, end) && mayBePacked(start, end, valuesAt, 6);
}

/** The same as in src/text/compression.ts: kinds of characters change in packed bytes all the time, and in names with their words. */
function isOfWords(start: i32, end: i32): bool {
  const to = min(end, start + wordsSample);
  let changes: i32 = 0;
  let hexDigits: i32 = 0;
  let last = kindAt(start);
  for (let at = start; at < to; at += 1) {
    const kind = kindAt(at);
    if (kind !== last) changes += 1;
    last = kind;
    hexDigits = (traitsOf(at) & ofHex) !== 0 && byteAt(at) !== 0x2d ? hexDigits + 1 : 0;
    if (hexDigits === runBytesMin) return true;
  }
  return changes * 10 < (to - start) * changesOfTen;
}

function kindAt(at: i32): i32 {
  const byte = byteAt(at);
  return isDigit(byte) ? 1 : isUpper(byte) ? 2 : 0;
}

function valueAt(at: i32): i32 {
  return load<u8>(valuesAt + <i32>load<u8>(textAt + at));
}

/** Four characters are three bytes. What stands behind the end may count as one more. */
function mayHoldText(start: i32, end: i32, min: i32): bool {
  let streak: i32 = 0;
  let before: i32 = other;
  for (let at = start; at < end; at += 4) {
    const three = (valueAt(at) << 18) | (valueAt(at + 1) << 12) | (valueAt(at + 2) << 6) | valueAt(at + 3);
    const first = classOf(three >> 16);
    const second = classOf(three >> 8);
    const third = classOf(three);
    streak = (streak + 1) & follows(before, first);
    if (streak >= min) return true;
    streak = (streak + 1) & follows(first, second);
    if (streak >= min) return true;
    streak = (streak + 1) & follows(second, third);
    if (streak >= min) return true;
    before = third;
  }
  return false;
}

/** So many characters of text in a row, as in src/text/bits.ts: ASCII or UTF-8, with zero bytes between them or without. */
function holdsTextIn(start: i32, end: i32, values: i32, bits: i32, min: i32): bool {
  let held: i32 = 0;
  let all: i32 = 0;
  let streak: i32 = 0;
  let pending: i32 = 0;
  for (let at = start; at < end; at += 1) {
    const value: i32 = load<u8>(values + byteAt(at));
    if (value === none) continue;
    all = ((all << bits) | value) & 0xffff;
    held += bits;
    if (held < 8) continue;
    held -= 8;
    const byte = (all >> held) & 0xff;
    if (byte === 0) continue;
    if (byte >= 0x80 && byte < 0xc0 && pending > 0) {
      pending -= 1;
      if (pending === 0) streak += 1;
    } else if (byte < 0x80) {
      streak = classOf(byte) !== ascii ? 0 : pending > 0 ? 1 : streak + 1;
      pending = 0;
    } else {
      const follow = continuationsOf(byte);
      if (pending > 0 || follow === 0) streak = 0;
      pending = follow;
    }
    if (streak >= min) return true;
  }
  return false;
}

/** How many bytes follow a lead byte of UTF-8; 0 for all others. */
function continuationsOf(byte: i32): i32 {
  if (byte < 0xc2 || byte > 0xf4) return 0;
  return byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
}

function classOf(byte: i32): i32 {
  return load<u8>(classesAt + (byte & 0xff));
}

/** All bits where they may, and none where they may not. */
function follows(before: i32, byte: i32): i32 {
  return load<i8>(followsAt + ((before << classBits) | byte));
}

function writeTables(): void {
  memory.fill(valuesAt, <u8>none, 256);
  memory.fill(hexValuesAt, <u8>none, 768);
  for (let letter: i32 = 0; letter < 26; letter += 1) {
    store<u8>(valuesAt + 0x41 + letter, <u8>letter);
    store<u8>(valuesAt + 0x61 + letter, <u8>(26 + letter));
    writeBothCases(base32ValuesAt, letter, letter);
    if (letter < 6) writeBothCases(hexValuesAt, letter, 10 + letter);
    if (letter < 22) writeBothCases(base32HexValuesAt, letter, 10 + letter);
  }
  for (let digit: i32 = 0; digit < 10; digit += 1) {
    store<u8>(valuesAt + 0x30 + digit, <u8>(52 + digit));
    store<u8>(hexValuesAt + 0x30 + digit, <u8>digit);
    store<u8>(base32HexValuesAt + 0x30 + digit, <u8>digit);
    if (digit >= 2 && digit < 8) store<u8>(base32ValuesAt + 0x30 + digit, <u8>(24 + digit));
  }
  store<u8>(valuesAt + 0x2b, 62);
  store<u8>(valuesAt + 0x2d, 62);
  store<u8>(valuesAt + 0x2f, 63);
  store<u8>(valuesAt + 0x5f, 63);
  for (let byte: i32 = 0; byte < 256; byte += 1) store<u8>(classesAt + byte, <u8>classFor(byte));
  for (let before: i32 = 0; before < 1 << classBits; before += 1)
    for (let byte: i32 = 0; byte < 1 << classBits; byte += 1)
      store<i8>(followsAt + ((before << classBits) | byte), mayFollow(before, byte) ? -1 : 0);
  hasTables = true;
}

function writeBothCases(values: i32, letter: i32, value: i32): void {
  store<u8>(values + 0x41 + letter, <u8>value);
  store<u8>(values + 0x61 + letter, <u8>value);
}

function classFor(byte: i32): i32 {
  if (byte >= 0x80) return byte < 0xc0 ? continuation : byte >= 0xc2 && byte <= 0xf4 ? lead : other;
  if (byte === 0) return zero;
  const isText = byte >= 0x20 && byte !== 0x7f;
  return isText || byte === 0x09 || byte === 0x0a || byte === 0x0d ? ascii : other;
}

/** A character may begin a text, and only a byte of one that is not over goes on in the middle of it. */
function mayFollow(before: i32, byte: i32): bool {
  if (byte === continuation) return before === lead || before === continuation || before === zero;
  return byte !== other;
}
