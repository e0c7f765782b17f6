import { isFrom } from './masks';
import { textAt, valueBlockAt } from './memory';
import { beginsCompressed, mayBePacked } from './packed';
import { addTo, lastOf, runsList, setLastOf } from './places';
import { byteAt, ofEncoded, ofHex, ofLower, ofUpper, traitsOf } from './traits';

/*
 * Finds runs of base64, or of codes with some of its characters, that may stand for something. Nearly all
 * runs are names and digests, which are ruled out on the spot.
 */

// Kinds of a run, as in src/inspect/kernel/outline.ts.
const mayBeText: i32 = 1;
const mayBePackedText: i32 = 2;
const mayBeHex: i32 = 4;
const mayBeBase32: i32 = 8;
const mayBeAny: i32 = 15;
const kindBits: i32 = 4;

/** The number of bytes of a run beyond which it is always reported. */
const runBytesMax: i32 = 512;
const runBytesMin: i32 = 20;
const base32BytesMin: i32 = 24;
/**
 * The least numbers of characters of text in a row: from the first character of a run on, and from later
 * ones.
 */
const textMin: i32 = 8;
const guessedTextMin: i32 = 12;
const lastPhase: i32 = 3;
/** Bound on the segments of a path; packed content stands in one of the first. */
const segmentsMax: i32 = 8;
/** The least number of changes between kinds in ten characters of a run that is not made of words. */
const changesOfTen: i32 = 3;
/**
 * The numbers of characters that are looked at together, and from one look to the next. The second step is
 * for text, parts of which stand in two looks.
 */
const windowBytes: i32 = 64;
const windowStep: i32 = 40;
const textStep: i32 = 48;
/** The value of bytes that are no character of base64. */
const none: i32 = 0xff;
const slash: i32 = 0x2f;
const stroke: i32 = 0x2d;
/** Bound on the gap between two hexadecimal values that are joined. */
const gapBytesMax: i32 = 8;

const hexValuesAt: i32 = valueBlockAt + 256;
const base32ValuesAt: i32 = hexValuesAt + 256;
const base32HexValuesAt: i32 = base32ValuesAt + 256;

const lastTwo: u64 = (<u64>3) << 62;
/** A bit for each fourth of 64 characters. */
const everyFourth: u64 = ((<u64>0x11111111) << 32) | 0x11111111;

let hasTables: bool = false;
/** The start of the run with the last hexadecimal value, and the end of that value. */
let hexStart: i32 = 0;
let hexEnd: i32 = 0;

export function beginRuns(): void {
  hexStart = 0;
  hexEnd = -gapBytesMax - 1;
  if (!hasTables) writeTables();
}

/**
 * Adds the run of at least `count` bytes that ends at `end`, if it may stand for something. A run at the end
 * of a piece may go on.
 */
export function takeRun(end: i32, count: i32, length: i32): void {
  let start = end - count;
  while ((traitsOf(start - 1) & ofEncoded) !== 0) start -= 1;
  const isOpen = end === length || end - start > runBytesMax || goesOn(end);
  addRun(start, isOpen ? mayBeAny : kindsOf(start, end));
}

/** Adds a run, or adds its kinds to the last one if that is the same. */
function addRun(start: i32, kinds: i32): void {
  if (kinds === 0) return;
  const last = lastOf(runsList);
  if (last >= 0 && last >> kindBits === start) setLastOf(runsList, last | kinds);
  else addTo(runsList, (start << kindBits) | kinds);
}

/** Tells whether the next line continues the run that ends at a place. */
function goesOn(end: i32): bool {
  let at = byteAt(end) === 0x0d ? end + 1 : end;
  if (byteAt(at) !== 0x0a) return false;
  at += 1;
  while (byteAt(at) === 0x20 || byteAt(at) === 0x09) at += 1;
  return (traitsOf(at) & ofEncoded) !== 0;
}

// Masks of up to 64 bytes, with one bit for each byte that is of a class.
let digits: u64 = 0;
let lowers: u64 = 0;
let uppers: u64 = 0;
let hexDigits: u64 = 0;
let strokes: u64 = 0;
let slashes: u64 = 0;
let underscores: u64 = 0;
let valid: u64 = 0;

function lookAt(start: i32, count: i32): void {
  valid = count < 64 ? ((<u64>1) << (<u64>count)) - 1 : -1;
  digits = 0;
  lowers = 0;
  uppers = 0;
  hexDigits = 0;
  strokes = 0;
  slashes = 0;
  underscores = 0;
  for (let at: u64 = 0; at < <u64>count; at += 16) {
    const bytes = v128.load(textAt + start + <i32>at);
    digits |= bitsOf(isFrom(bytes, 0x30, 10)) << at;
    lowers |= bitsOf(isFrom(bytes, 0x61, 26)) << at;
    uppers |= bitsOf(isFrom(bytes, 0x41, 26)) << at;
    hexDigits |= bitsOf(isHexLetter(bytes)) << at;
    strokes |= bitsOf(isFrom(bytes, 0x2d, 1)) << at;
    slashes |= bitsOf(isFrom(bytes, 0x2f, 1)) << at;
    underscores |= bitsOf(isFrom(bytes, 0x5f, 1)) << at;
  }
  digits &= valid;
  lowers &= valid;
  uppers &= valid;
  hexDigits = (hexDigits & valid) | digits;
  strokes &= valid;
  slashes &= valid;
  underscores &= valid;
}

function isHexLetter(bytes: v128): v128 {
  return isFrom(v128.or(bytes, i8x16.splat(0x20)), 0x61, 6);
}

/** Returns a bit at the first of each sixteen set bits in a row. */
function sixteen(bits: u64): u64 {
  const two = bits & (bits >> 1);
  const four = two & (two >> 2);
  const eight = four & (four >> 4);
  return eight & (eight >> 8);
}

function holdsTwenty(bits: u64): bool {
  const all = sixteen(bits);
  return (all & (all >> 4)) !== 0;
}

function holdsTwentyFour(bits: u64): bool {
  const all = sixteen(bits);
  return (all & (all >> 8)) !== 0;
}

/**
 * Tells whether characters are those of names: their kinds change seldom, unlike in packed bytes.
 * src/inspect/decode/packed/compression.ts does the same.
 */
function areOfWords(count: i32): bool {
  if (holdsTwenty(hexDigits)) return true;
  const changes = ((digits ^ (digits << 1)) | (uppers ^ (uppers << 1))) & valid & -2;
  return <i32>popcnt(changes) * 10 < count * changesOfTen;
}

function kindsOf(start: i32, end: i32): i32 {
  let isHexOnly: bool = true;
  let isWordOnly: bool = true;
  let hasHex: bool = false;
  let hasLongLower: bool = false;
  let hasLongUpper: bool = false;
  let hasSlash: bool = false;
  let isOfWords: bool = false;
  for (let at = start; ; at += windowStep) {
    const count = min(windowBytes, end - at);
    lookAt(at, count);
    if (at === start) isOfWords = areOfWords(count);
    const hex = hexDigits | strokes;
    if (hex !== valid) isHexOnly = false;
    if ((lowers | strokes | slashes | underscores) !== valid) isWordOnly = false;
    if (holdsTwenty(hex)) hasHex = true;
    if (holdsTwentyFour(digits | lowers)) hasLongLower = true;
    if (holdsTwentyFour(digits | uppers)) hasLongUpper = true;
    if (slashes !== 0) hasSlash = true;
    if (end - at <= windowBytes) break;
  }
  let kinds = hasHex ? hexKinds(start, end) : 0;
  if (hasLongLower && holdsBase32(start, end, ofLower)) kinds |= mayBeBase32;
  if (hasLongUpper && holdsBase32(start, end, ofUpper)) kinds |= mayBeBase32;
  if (isHexOnly || isWordOnly) return kinds;
  if (holdsAnyText(start, end)) kinds |= mayBeText;
  if (holdsPacked(start, end, isOfWords, hasSlash)) kinds |= mayBePackedText;
  return kinds;
}

function hexKinds(start: i32, end: i32): i32 {
  let kinds: i32 = 0;
  let count: i32 = 0;
  let strokesIn: i32 = 0;
  for (let at = start; at <= end; at += 1) {
    if (at < end && (traitsOf(at) & ofHex) !== 0) {
      count += 1;
      if (byteAt(at) === stroke) strokesIn += 1;
      continue;
    }
    if (count >= runBytesMin) kinds |= takeHex(start, at - count, at, ((count - strokesIn) & 1) !== 0);
    count = 0;
    strokesIn = 0;
  }
  return kinds;
}

/**
 * Takes hexadecimal digits in the run at `runStart`, and returns their kind or 0. Values near each other are
 * also joined.
 */
function takeHex(runStart: i32, start: i32, end: i32, isOdd: bool): i32 {
  const isNear = start - hexEnd <= gapBytesMax;
  if (isNear && hexStart !== runStart) addRun(hexStart, mayBeHex);
  hexStart = runStart;
  hexEnd = end;
  if (isNear || continues(end) || holdsHex(start, end)) return mayBeHex;
  return isOdd && holdsHex(byteAt(start) === stroke ? start + 2 : start + 1, end) ? mayBeHex : 0;
}

/** Tells whether a dot or a line end stands at a place: these may stand inside values. */
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

function holdsBase32(start: i32, end: i32, trait: i32): bool {
  return (
    continues(end) ||
    holdsBase32In(start, end, trait, base32ValuesAt) ||
    holdsBase32In(start, end, trait, base32HexValuesAt)
  );
}

/** Tells whether base32 in one case throughout stands for something. */
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
  let phases: i32 = 0;
  for (let at = start; ; at += textStep) {
    phases |= phasesOfText(at, min(windowBytes, end - at));
    if (end - at <= windowBytes) break;
  }
  for (let phase = 0; phases !== 0; phase += 1, phases >>= 1)
    if (
      (phases & 1) !== 0 &&
      holdsTextIn(start + phase, end, valueBlockAt, 6, phase === 0 ? textMin : guessedTextMin)
    )
      return true;
  return false;
}

// Masks of characters whose byte is of a kind, if the character is the first, second or third of four. The
// byte is an ASCII character or a zero, continues a longer character, begins one, or is a zero.
let alone0: u64 = 0;
let alone1: u64 = 0;
let alone2: u64 = 0;
let follows0: u64 = 0;
let follows1: u64 = 0;
let follows2: u64 = 0;
let leads0: u64 = 0;
let leads1: u64 = 0;
let leads2: u64 = 0;
let zeros0: u64 = 0;
let zeros1: u64 = 0;
let zeros2: u64 = 0;

/**
 * Returns a bit for each of the first four characters from which on enough bytes in a row may be text. All
 * bytes of 64 characters are looked at at once, because the processor cannot predict the next one. It counts
 * bytes, where `holdsTextIn` counts characters.
 */
function phasesOfText(start: i32, count: i32): i32 {
  alone0 = 0;
  alone1 = 0;
  alone2 = 0;
  follows0 = 0;
  follows1 = 0;
  follows2 = 0;
  leads0 = 0;
  leads1 = 0;
  leads2 = 0;
  zeros0 = 0;
  zeros1 = 0;
  zeros2 = 0;
  let values = valuesOf(start);
  for (let at: i32 = 0; at < count; at += 16) {
    const next = valuesOf(start + at + 16);
    takeBytes(
      values,
      i8x16.shuffle(values, next, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
      <u64>at,
    );
    values = next;
  }
  const some = ((<u64>1) << (<u64>(count - 1))) - 1;
  const inside0 = follows0 | zeros0;
  const inside1 = follows1 | zeros1;
  const inside2 = follows2 | zeros2;
  // The bytes before and behind these characters may be anything.
  const first =
    (alone0 | (leads0 & ((inside1 >> 1) | lastTwo)) | (follows0 & (((leads2 | inside2) << 2) | 3))) & some;
  const second =
    (alone1 | (leads1 & ((inside2 >> 1) | lastTwo)) | (follows1 & (((leads0 | inside0) << 1) | 1))) & some;
  const third =
    (alone2 | (leads2 & ((inside0 >> 2) | lastTwo)) | (follows2 & (((leads1 | inside1) << 1) | 1))) & some;
  let phases: i32 = 0;
  for (let phase: u64 = 0; phase < 4; phase += 1) {
    const at = everyFourth << phase;
    const text = (first & at) | (second & (at << 1)) | (third & (at << 2)) | (at << 3);
    const two = text & (text >> 1);
    const four = two & (two >> 2);
    const eight = four & (four >> 4);
    // Eight bytes are ten characters or more, and twelve bytes fifteen.
    const enough = phase === 0 ? eight & (two >> 8) : eight & (eight >> 7);
    if (enough !== 0) phases |= 1 << (<i32>phase);
  }
  return phases;
}

/** Returns the values of sixteen characters; those of other bytes mean nothing. */
function valuesOf(at: i32): v128 {
  const bytes = v128.load(textAt + at);
  const delta = i8x16.relaxed_swizzle(
    i8x16(0, 0, 16, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0),
    v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(0x0f)),
  );
  const signs = v128.or(
    v128.and(i8x16.eq(bytes, i8x16.splat(0x5f)), i8x16.splat(33)),
    v128.or(
      v128.and(i8x16.eq(bytes, i8x16.splat(0x2d)), i8x16.splat(1)),
      v128.and(i8x16.eq(bytes, i8x16.splat(0x2b)), i8x16.splat(3)),
    ),
  );
  return i8x16.add(i8x16.add(bytes, delta), signs);
}

function takeBytes(values: v128, next: v128, at: u64): void {
  const one = v128.or(i8x16.shl(values, 2), i8x16.shr_u(next, 4));
  const two = v128.or(i8x16.shl(values, 4), i8x16.shr_u(next, 2));
  const three = v128.or(i8x16.shl(values, 6), next);
  alone0 |= bitsOf(mayStandAlone(one)) << at;
  alone1 |= bitsOf(mayStandAlone(two)) << at;
  alone2 |= bitsOf(mayStandAlone(three)) << at;
  follows0 |= bitsOf(isFrom(one, 0x80, 0x40)) << at;
  follows1 |= bitsOf(isFrom(two, 0x80, 0x40)) << at;
  follows2 |= bitsOf(isFrom(three, 0x80, 0x40)) << at;
  leads0 |= bitsOf(isFrom(one, 0xc2, 0x33)) << at;
  leads1 |= bitsOf(isFrom(two, 0xc2, 0x33)) << at;
  leads2 |= bitsOf(isFrom(three, 0xc2, 0x33)) << at;
  zeros0 |= bitsOf(isFrom(one, 0, 1)) << at;
  zeros1 |= bitsOf(isFrom(two, 0, 1)) << at;
  zeros2 |= bitsOf(isFrom(three, 0, 1)) << at;
}

function bitsOf(some: v128): u64 {
  return <u64>(<u32>i8x16.bitmask(some));
}

/** Returns all ones for the bytes that are an ASCII character of text, or zero. */
function mayStandAlone(bytes: v128): v128 {
  return v128.or(v128.or(isFrom(bytes, 0x20, 0x5f), isFrom(bytes, 0x09, 5)), isFrom(bytes, 0, 1));
}

/** Tells whether compressed bytes may begin with the run, a few characters later, or behind a slash. */
function holdsPacked(start: i32, end: i32, isOfWords: bool, hasSlash: bool): bool {
  for (let phase = 0; phase <= lastPhase; phase += 1)
    if (beginsCompressed(start + phase, end, valueBlockAt, 6)) return true;
  if (!isOfWords && mayBePacked(start, end, valueBlockAt, 6)) return true;
  if (!hasSlash) return false;
  let segments: i32 = 0;
  for (let at = start; end - at > runBytesMin && segments < segmentsMax; at += 1) {
    if (byteAt(at) !== slash) continue;
    segments += 1;
    if (beginsCompressed(at + 1, end, valueBlockAt, 6) || isPackedAt(at + 1, end)) return true;
  }
  return false;
}

function isPackedAt(start: i32, end: i32): bool {
  const count = min(windowBytes, end - start);
  lookAt(start, count);
  return !areOfWords(count) && mayBePacked(start, end, valueBlockAt, 6);
}

/**
 * Tells whether so many characters of text stand in a row, as in src/inspect/decode/bits.ts: ASCII or UTF-8,
 * with or without zero bytes between them.
 */
function holdsTextIn(start: i32, end: i32, values: i32, bits: i32, min: i32): bool {
  let held: i32 = 0;
  let all: i32 = 0;
  let streak: i32 = 0;
  let pending: i32 = 0;
  // A text that has not begun by this place would be too short.
  const lastStart = end - (8 * (min - 1)) / bits;
  for (let at = start; at < end; at += 1) {
    if (at > lastStart && streak === 0 && pending === 0) return false;
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
      streak = !isText(byte) ? 0 : pending > 0 ? 1 : streak + 1;
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

/** Returns the number of bytes that follow a UTF-8 lead byte; 0 for all others. */
function continuationsOf(byte: i32): i32 {
  if (byte < 0xc2 || byte > 0xf4) return 0;
  return byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
}

function isText(byte: i32): bool {
  return (byte >= 0x20 && byte !== 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function writeTables(): void {
  memory.fill(valueBlockAt, <u8>none, 256);
  memory.fill(hexValuesAt, <u8>none, 768);
  for (let letter: i32 = 0; letter < 26; letter += 1) {
    store<u8>(valueBlockAt + 0x41 + letter, <u8>letter);
    store<u8>(valueBlockAt + 0x61 + letter, <u8>(26 + letter));
    writeBothCases(base32ValuesAt, letter, letter);
    if (letter < 6) writeBothCases(hexValuesAt, letter, 10 + letter);
    if (letter < 22) writeBothCases(base32HexValuesAt, letter, 10 + letter);
  }
  for (let digit: i32 = 0; digit < 10; digit += 1) {
    store<u8>(valueBlockAt + 0x30 + digit, <u8>(52 + digit));
    store<u8>(hexValuesAt + 0x30 + digit, <u8>digit);
    store<u8>(base32HexValuesAt + 0x30 + digit, <u8>digit);
    if (digit >= 2 && digit < 8) store<u8>(base32ValuesAt + 0x30 + digit, <u8>(24 + digit));
  }
  store<u8>(valueBlockAt + 0x2b, 62);
  store<u8>(valueBlockAt + 0x2d, 62);
  store<u8>(valueBlockAt + 0x2f, 63);
  store<u8>(valueBlockAt + 0x5f, 63);
  hasTables = true;
}

function writeBothCases(values: i32, letter: i32, value: i32): void {
  store<u8>(values + 0x41 + letter, <u8>value);
  store<u8>(values + 0x61 + letter, <u8>value);
}
