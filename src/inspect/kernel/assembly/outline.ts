import { beginCodes, takeDigits } from './codes';
import { takeEscapes } from './escapes';
import { beginLines, endLines, takeLineEnd } from './lines';
import { mask, placesOf } from './masks';
import { blocksAt, textAt } from './memory';
import { clearLists, lastOf, seamsList } from './places';
import { beginRuns, takeRun } from './runs';
import { takeSeams } from './seams';
import {
  beginSigns,
  takeBracket,
  takeEquals,
  takeGroupSigns,
  takeHyphen,
  takeJ,
  takeLess,
  takeParenthesis,
  takeSpaces,
} from './signs';
import { ofEncoded, traitsOf, writeTraits } from './traits';

/*
 * Outlines a text in blocks of 64 bytes. A class of bytes is a mask of 64 bits, one for each byte of the
 * block. A mask shifted by n against itself shows where two bytes of the class stand n apart. So a run of
 * twenty takes five steps.
 */

// Flags of a block, as in src/inspect/kernel/outline.ts.
const hasDigit: u32 = 1;
const hasNumber: u32 = 2;
const hasEncoded: u32 = 8;
const hasRhythm: u32 = 16;

// Flags of the whole text: those of blocks, these from the ninth bit on, and those of signs.
const hasSeams: u32 = 1 << 8;
const signBits: u32 = 8;
const hasNonAscii: u32 = 1 << 15;
const hasValueName: u32 = 1 << 28;
// Bits of signs, as `signsOf` and `furtherSignsOf` return them.
const beginEscapes: i8 = -113;
const parentheses: i8 = 0x40;
const newlines: i8 = 1;
const escapeCharacters: i8 = 2;
const lesses: i8 = 4;
const equals: i8 = 8;
const brackets: i8 = 0x10;
const capitalJs: i8 = 0x20;
const hyphens: i8 = 0x40;
/** The signs whose presence is enough: `+`, `@` and `(`. */
const plainSigns: u32 = 0x70;

/*
 * Classes of bytes, one bit each. A byte belongs to a class where both of its halves do. Both halves are
 * looked up for sixteen bytes at once.
 */
const word: i8 = 7;
const encoded: i8 = 0x1f;

/**
 * Returns the classes of sixteen bytes, in this order: digits, letters to `o`, letters from `p`, `+-/`, `_`.
 * The highest bit stands for a space and `-.`.
 */
function classesOf(high: v128, low: v128): v128 {
  return v128.and(
    i8x16.relaxed_swizzle(i8x16(0, 0, -120, 1, 2, 20, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0), high),
    i8x16.relaxed_swizzle(i8x16(-123, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 10, 2, -118, -126, 26), low),
  );
}

/** Returns nonzero for the bytes that `signsOf` and `furtherSignsOf` tell apart. */
function areSigns(high: v128, low: v128): v128 {
  return v128.and(
    i8x16.relaxed_swizzle(i8x16(33, 34, 6, 24, 1, 10, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0), high),
    i8x16.relaxed_swizzle(i8x16(33, 32, 32, 32, 32, 36, 36, 32, 36, 0, 1, 34, 40, 20, 32, 96), low),
  );
}

/**
 * Returns one bit for each of backslash, `%`, `&`, control characters, `+`, `@`, `(` and the delete character.
 * White space is no control character here, nor are 0x19, 0x1a and 0x1d, which share halves with it.
 */
function signsOf(high: v128, low: v128): v128 {
  return v128.and(
    i8x16.relaxed_swizzle(i8x16(8, 8, 86, 0, 32, 1, 0, -128, 0, 0, 0, 0, 0, 0, 0, 0), high),
    i8x16.relaxed_swizzle(i8x16(40, 8, 8, 8, 8, 10, 12, 8, 72, 0, 0, 24, 9, 0, 8, -120), low),
  );
}

/** Returns one bit for each of newline, escape character, `<`, `=`, `[`, `J` and `-`. */
function furtherSignsOf(high: v128, low: v128): v128 {
  return v128.and(
    i8x16.relaxed_swizzle(i8x16(1, 2, 64, 12, 32, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), high),
    i8x16.relaxed_swizzle(i8x16(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33, 18, 4, 72, 0, 0), low),
  );
}

function highHalf(bytes: v128): v128 {
  return v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(0x0f));
}

function lowHalf(bytes: v128): v128 {
  return v128.and(bytes, i8x16.splat(0x0f));
}

function isNoneOf(classes: v128, some: i8): v128 {
  return i8x16.eq(v128.and(classes, i8x16.splat(some)), i8x16.splat(0));
}

function hasAnyOf(signs: v128, some: i8): bool {
  return v128.any_true(v128.and(signs, i8x16.splat(some)));
}

/** Returns the mask moved by `count` bytes; `before` is the mask of the block before. */
function moved(mask: u64, before: u64, count: u64): u64 {
  return (mask << count) | (before >> (64 - count));
}

/**
 * Takes the runs that end in the block at `at`. `twenty` marks where twenty encoded bytes end, and `before`
 * is the mask of the block before.
 */
function takeRuns(at: i32, twenty: u64, encodeds: u64, before: u64, length: i32): void {
  const next: u64 = (traitsOf(at + 64) & ofEncoded) !== 0 ? 1 : 0;
  for (let ends = twenty & ~((encodeds >> 1) | (next << 63)); ends !== 0; ends &= ends - 1) {
    const last = ctz(ends);
    // This counts the bytes of the run in both blocks.
    const here = clz(~(encodeds << (63 - last)));
    const count = here > last ? last + 1 + clz(~before) : here;
    takeRun(at + <i32>last + 1, <i32>count, length);
  }
}

/** Returns the flags of things that begin at a rare sign of the block at `at`. */
function furtherFlags(signs: v128, at: i32, length: i32): u32 {
  let flags: u32 = 0;
  if (hasAnyOf(signs, hyphens))
    for (let rest = placesOf(0x2d, at); rest !== 0; rest &= rest - 1)
      flags |= takeHyphen(at + <i32>ctz(rest));
  if (hasAnyOf(signs, equals))
    for (let rest = placesOf(0x3d, at); rest !== 0; rest &= rest - 1)
      flags |= takeEquals(at + <i32>ctz(rest));
  if (hasAnyOf(signs, brackets))
    for (let rest = placesOf(0x5b, at); rest !== 0; rest &= rest - 1)
      flags |= takeBracket(at + <i32>ctz(rest), length);
  if (hasAnyOf(signs, capitalJs))
    for (let rest = placesOf(0x4a, at); rest !== 0; rest &= rest - 1)
      flags |= takeJ(at + <i32>ctz(rest), length);
  if (hasAnyOf(signs, lesses))
    for (let rest = placesOf(0x3c, at); rest !== 0; rest &= rest - 1)
      flags |= takeLess(at + <i32>ctz(rest), length);
  if (hasAnyOf(signs, newlines))
    for (let rest = placesOf(0x0a, at); rest !== 0; rest &= rest - 1)
      flags |= takeLineEnd(at + <i32>ctz(rest), length);
  return flags;
}

/** Takes groups of a token that end in the block. All signs are walked, because later ones depend on them. */
function takeGroups(at: i32): void {
  takeGroupSigns(
    at,
    mask(areGroupSigns(at), areGroupSigns(at + 16), areGroupSigns(at + 32), areGroupSigns(at + 48)),
  );
  const spaces = placesOf(0x20, at);
  // In a row of spaces, as at the start of lines, the first and the last suffice.
  takeSpaces(at, spaces & ~((spaces >> 1) & (spaces << 1)));
}

/** Returns all ones for the bytes that are `ofCodes`. */
function areCodes(high: v128, low: v128): v128 {
  const classes = v128.and(
    i8x16.relaxed_swizzle(i8x16(1, 0, 2, 4, 8, 0, 8, 16, 0, 0, 0, 0, 0, 0, 0, 0), high),
    i8x16.relaxed_swizzle(i8x16(6, 12, 12, 12, 12, 12, 12, 4, 20, 5, 5, 4, 2, 3, 2, 0), low),
  );
  return i8x16.ne(classes, i8x16.splat(0));
}

/** Returns the highest bit for the bytes that begin a character beyond ASCII. */
function areLeads(bytes: v128): v128 {
  return v128.and(bytes, i16x8.shl(bytes, 1));
}

/** Returns all ones for the bytes behind an `e` or `s`. */
function areBehindNames(at: i32): v128 {
  const before = v128.load(textAt + at - 1);
  return v128.or(i8x16.eq(before, i8x16.splat(0x65)), i8x16.eq(before, i8x16.splat(0x73)));
}

/** Tells whether `value"` or `values"` ends in the block, whose quotes are given. */
function holdsValueName(at: i32, quotes: u64): bool {
  let rest =
    quotes &
    mask(areBehindNames(at), areBehindNames(at + 16), areBehindNames(at + 32), areBehindNames(at + 48));
  for (; rest !== 0; rest &= rest - 1) {
    const quote = textAt + at + <i32>ctz(rest);
    const end = load<u8>(quote - 1) === 0x73 ? quote - 1 : quote;
    if (load<u32>(end - 4) === 0x65756c61 && load<u8>(end - 5) === 0x76) return true;
  }
  return false;
}

/* The next two look up, by the lower half of a byte, the only byte of the class that has this half. */

/** Returns all ones for the bytes that are quotes. */
function areQuotes(bytes: v128, low: v128): v128 {
  return i8x16.eq(
    bytes,
    i8x16.relaxed_swizzle(i8x16(-1, 0, 0x22, 0, 0, 0, 0, 0x27, 0, 0, 0, 0, 0, 0, 0, 0), low),
  );
}

/** Returns all ones for the bytes that are white space or one of `+.&|`. */
function areBetween(bytes: v128, low: v128): v128 {
  return i8x16.eq(
    bytes,
    i8x16.relaxed_swizzle(i8x16(0x20, 0, 0, 0, 0, 0, 0x26, 0, 0, 0x09, 0x0a, 0x2b, 0x7c, 0x0d, 0x2e, 0), low),
  );
}

/** Returns all ones for the bytes that are one of `-./:` or a newline. */
function areGroupSigns(at: i32): v128 {
  const bytes = v128.load(textAt + at);
  const classes = v128.and(
    i8x16.relaxed_swizzle(i8x16(1, 0, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), highHalf(bytes)),
    i8x16.relaxed_swizzle(i8x16(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 2, 2, 2), lowHalf(bytes)),
  );
  return i8x16.ne(classes, i8x16.splat(0));
}

/**
 * Returns the last of four signs that are 5 or 9 bytes apart. `before` and `earlier` are the signs of the two
 * blocks before.
 */
function longRhythms(signs: u64, before: u64, earlier: u64): u64 {
  const by5 = signs & moved(signs, before, 5);
  const by5Before = before & moved(before, earlier, 5);
  const by9 = signs & moved(signs, before, 9);
  const by9Before = before & moved(before, earlier, 9);
  return (by5 & moved(by5, by5Before, 10)) | (by9 & moved(by9, by9Before, 18));
}

/** Tells whether the block has the last of some signs that repeat after 2 to 4 bytes and are all the same. */
function isShortRhythm(at: i32, signs: u64): bool {
  return (signs & (comeEvery(at, 2, 8) | comeEvery(at, 3, 7) | comeEvery(at, 4, 5))) !== 0;
}

function isLongRhythm(at: i32, signs: u64): bool {
  return (signs & (comeEvery(at, 5, 4) | comeEvery(at, 9, 4))) !== 0;
}

/**
 * Returns the last of so many equal bytes. Each stands `step` behind the one before, and none between two
 * bytes that equal it.
 */
function comeEvery(at: i32, step: i32, times: i32): u64 {
  const equals = equalsBehind(at, step);
  const before = at > 0 ? equalsBehind(at - 64, step) : 0;
  let all = equals;
  for (let n = 1; n < times - 1; n += 1) all &= moved(equals, before, <u64>(n * step));
  if (all === 0) return 0;
  const ends = endsOfRows(at);
  const endsBefore = at > 0 ? endsOfRows(at - 64) : 0;
  all &= ends;
  for (let n = 1; n < times; n += 1) all &= moved(ends, endsBefore, <u64>(n * step));
  return all;
}

/** Returns the bytes that do not stand between two equal to them. */
function endsOfRows(at: i32): u64 {
  return ~(equalsBehind(at, 1) & equalsBehind(at + 1, 1));
}

/** Returns the bytes of the block at `at` that equal the byte `step` before. */
function equalsBehind(at: i32, step: i32): u64 {
  const place = textAt + at;
  const other = place - step;
  return mask(
    i8x16.eq(v128.load(place), v128.load(other)),
    i8x16.eq(v128.load(place, 16), v128.load(other, 16)),
    i8x16.eq(v128.load(place, 32), v128.load(other, 32)),
    i8x16.eq(v128.load(place, 48), v128.load(other, 48)),
  );
}

/**
 * Writes a byte of flags for each block of the text, and returns the flags of the whole. At least 63 bytes of
 * no class must follow the text. Blocks are not searched for what most of them cannot have.
 */
export function outline(length: i32): u32 {
  let all: u32 = 0;
  let seen = i8x16.splat(0);
  writeTraits();
  clearLists();
  beginSigns();
  beginRuns();
  beginLines();
  beginCodes();
  let signSeen = i8x16.splat(0);
  let digitsBefore: u64 = 0;
  let digitsEarlier: u64 = 0;
  let numbers1Before: u64 = 0;
  let numbers2Before: u64 = 0;
  let numbers4Before: u64 = 0;
  let encodeds1Before: u64 = 0;
  let encodeds2Before: u64 = 0;
  let encodeds4Before: u64 = 0;
  let encodeds8Before: u64 = 0;
  let signsBefore: u64 = 0;
  let signsEarlier: u64 = 0;
  let signsEarliest: u64 = 0;
  let by2Before: u64 = 0;
  let by2twiceBefore: u64 = 0;
  let by3Before: u64 = 0;
  let by3twiceBefore: u64 = 0;
  let by4Before: u64 = 0;
  // The bits of the block before that go on here: a quote, or bytes behind it that may stand between two
  // literals.
  let seamBefore: u64 = 0;
  for (let at = 0, block = blocksAt; at < length; at += 64, block += 1) {
    const a = v128.load(textAt + at);
    const b = v128.load(textAt + at, 16);
    const c = v128.load(textAt + at, 32);
    const d = v128.load(textAt + at, 48);
    const highA = highHalf(a);
    const highB = highHalf(b);
    const highC = highHalf(c);
    const highD = highHalf(d);
    const lowA = lowHalf(a);
    const lowB = lowHalf(b);
    const lowC = lowHalf(c);
    const lowD = lowHalf(d);
    const haveSigns = v128.or(
      v128.or(areSigns(highA, lowA), areSigns(highB, lowB)),
      v128.or(areSigns(highC, lowC), areSigns(highD, lowD)),
    );
    let flags: u32 = 0;
    let escapes: u64 = 0;
    if (v128.any_true(haveSigns)) {
      const someA = signsOf(highA, lowA);
      const someB = signsOf(highB, lowB);
      const someC = signsOf(highC, lowC);
      const someD = signsOf(highD, lowD);
      const some = v128.or(v128.or(someA, someB), v128.or(someC, someD));
      const further = v128.or(
        v128.or(furtherSignsOf(highA, lowA), furtherSignsOf(highB, lowB)),
        v128.or(furtherSignsOf(highC, lowC), furtherSignsOf(highD, lowD)),
      );
      signSeen = v128.or(signSeen, some);
      if (hasAnyOf(some, beginEscapes))
        escapes = ~mask(
          isNoneOf(someA, beginEscapes),
          isNoneOf(someB, beginEscapes),
          isNoneOf(someC, beginEscapes),
          isNoneOf(someD, beginEscapes),
        );
      if (hasAnyOf(further, escapeCharacters)) escapes |= placesOf(0x1b, at);
      if (hasAnyOf(some, parentheses))
        for (let rest = placesOf(0x28, at); rest !== 0; rest &= rest - 1)
          all |= takeParenthesis(at + <i32>ctz(rest));
      all |= furtherFlags(further, at, length);
    }
    const bytes = v128.or(v128.or(a, b), v128.or(c, d));
    if (i8x16.bitmask(bytes) !== 0) escapes |= mask(areLeads(a), areLeads(b), areLeads(c), areLeads(d));
    if (escapes !== 0) all |= takeEscapes(at, escapes);
    seen = v128.or(seen, bytes);
    const quotes = mask(areQuotes(a, lowA), areQuotes(b, lowB), areQuotes(c, lowC), areQuotes(d, lowD));
    if ((quotes | seamBefore) !== 0) {
      if ((all & hasValueName) === 0 && holdsValueName(at, quotes)) all |= hasValueName;
      const between = mask(
        areBetween(a, lowA),
        areBetween(b, lowB),
        areBetween(c, lowC),
        areBetween(d, lowD),
      );
      const behind = (quotes << 1) | seamBefore;
      // The carry of the sum goes through a run of such bytes that begins behind a quote.
      const sum = (behind & between) + between;
      const ends = ((sum & ~between) | behind) & quotes;
      if (ends !== 0) takeSeams(at, ends);
      seamBefore = <u64>(sum < between) | (quotes >> 63);
    }
    const classesA = classesOf(highA, lowA);
    const classesB = classesOf(highB, lowB);
    const classesC = classesOf(highC, lowC);
    const classesD = classesOf(highD, lowD);
    let signs = mask(
      isNoneOf(classesA, word),
      isNoneOf(classesB, word),
      isNoneOf(classesC, word),
      isNoneOf(classesD, word),
    );
    // Bytes behind the text look like signs, but do not belong to it.
    if (length - at < 64) signs &= (1 << (<u64>(length - at))) - 1;
    const spaces = placesOf(0x20, at);
    // The spaces between the first and the last of a row are left out, since lines begin with them.
    signs &= ~(spaces & (spaces << 1) & (spaces >> 1));
    const classes = v128.or(v128.or(classesA, classesB), v128.or(classesC, classesD));
    let digits: u64 = 0;
    if (v128.any_true(v128.and(classes, i8x16.splat(1)))) {
      flags |= hasDigit;
      digits = mask(
        i16x8.shl(classesA, 7),
        i16x8.shl(classesB, 7),
        i16x8.shl(classesC, 7),
        i16x8.shl(classesD, 7),
      );
    }

    if (digits !== 0)
      takeDigits(
        at,
        digits,
        mask(areCodes(highA, lowA), areCodes(highB, lowB), areCodes(highC, lowC), areCodes(highD, lowD)),
        length,
      );
    // Groups count near digits, also in the blocks before and behind one.
    if (digits !== 0 && (digitsBefore | digitsEarlier) === 0 && at > 0) takeGroups(at - 64);
    if ((digits | digitsBefore) !== 0) {
      takeGroups(at);
      // These are eight bytes of digits, or of separators behind a digit.
      const separators = mask(classesA, classesB, classesC, classesD);
      const numbers1 = digits | (separators & moved(digits, digitsBefore, 1));
      const numbers2 = numbers1 & moved(numbers1, numbers1Before, 1);
      const numbers4 = numbers2 & moved(numbers2, numbers2Before, 2);
      if ((numbers4 & moved(numbers4, numbers4Before, 4)) !== 0) flags |= hasNumber;
      numbers1Before = numbers1;
      numbers2Before = numbers2;
      numbers4Before = numbers4;
      // Without a digit near, groups of four or eight are words. The digit may stand in the last of them.
      if (longRhythms(signs, signsBefore, signsEarlier) !== 0 && isLongRhythm(at, signs)) flags |= hasRhythm;
      const isBefore = digitsBefore === 0 && longRhythms(signsBefore, signsEarlier, signsEarliest) !== 0;
      if (isBefore && isLongRhythm(at - 64, signsBefore)) {
        store<u8>(block - 1, load<u8>(block - 1) | <u8>hasRhythm);
        all |= hasRhythm;
      }
    } else {
      numbers1Before = 0;
      numbers2Before = 0;
      numbers4Before = 0;
    }
    digitsEarlier = digitsBefore;
    digitsBefore = digits;

    const encodeds = ~mask(
      isNoneOf(classesA, encoded),
      isNoneOf(classesB, encoded),
      isNoneOf(classesC, encoded),
      isNoneOf(classesD, encoded),
    );
    const encodeds2 = encodeds & moved(encodeds, encodeds1Before, 1);
    const encodeds4 = encodeds2 & moved(encodeds2, encodeds2Before, 2);
    const encodeds8 = encodeds4 & moved(encodeds4, encodeds4Before, 4);
    const twenty = encodeds8 & moved(encodeds4, encodeds4Before, 8) & moved(encodeds8, encodeds8Before, 12);
    if (twenty !== 0) {
      flags |= hasEncoded;
      takeRuns(at, twenty, encodeds, encodeds1Before, length);
    }
    encodeds1Before = encodeds;
    encodeds2Before = encodeds2;
    encodeds4Before = encodeds4;
    encodeds8Before = encodeds8;

    // The shortest token that is written so has this many signs.
    const by2 = signs & moved(signs, signsBefore, 2);
    const by2twice = by2 & moved(by2, by2Before, 4);
    const by3 = signs & moved(signs, signsBefore, 3);
    const by3twice = by3 & moved(by3, by3Before, 6);
    const by4 = signs & moved(signs, signsBefore, 4);
    const by4twice = by4 & moved(by4, by4Before, 4);
    if ((by2twice | by3twice | by4twice) !== 0) {
      const short =
        (by2twice & moved(by2twice, by2twiceBefore, 8)) |
        (by3twice & moved(by3twice, by3twiceBefore, 9)) |
        (by4twice & moved(by4, by4Before, 12));
      if (short !== 0 && isShortRhythm(at, signs)) flags |= hasRhythm;
    }
    by2Before = by2;
    by2twiceBefore = by2twice;
    by3Before = by3;
    by3twiceBefore = by3twice;
    by4Before = by4;
    signsEarliest = signsEarlier;
    signsEarlier = signsBefore;
    signsBefore = signs;

    store<u8>(block, <u8>flags);
    all |= flags;
  }
  endLines();
  all |= (joined(signSeen) & plainSigns) << signBits;
  if (lastOf(seamsList) >= 0) all |= hasSeams;
  if (i8x16.bitmask(seen) !== 0) all |= hasNonAscii;
  return all;
}

/** Returns the bits of all sixteen bytes joined. */
function joined(bytes: v128): u32 {
  const two = i64x2.extract_lane(bytes, 0) | i64x2.extract_lane(bytes, 1);
  const four = <u32>two | <u32>(<u64>two >> 32);
  const eight = four | (four >> 16);
  return (eight | (eight >> 8)) & 0xff;
}
