import { is, mask, placesOf } from './masks';
import { placesAt, textAt } from './memory';

/* Finds the strings of a JSON text. The state is kept from one piece of the text to the next. */

const quote: i32 = 0x22;
const backslash: i32 = 0x5c;
const openingBracket: i32 = 0x5b;
const colon: i32 = 0x3a;
const space: i32 = 0x20;

let farBytes: i32 = 0;
let longBytes: i32 = 0;
let isInString: bool = false;
/**
 * 1 where the next character of the string belongs to an escape, because a backslash stands before it; else
 * 0.
 */
let escapedNext: u64 = 0;
/** The start of the last string, and the end of the last one that was listed. */
let stringAt: i32 = 0;
let lastEnd: i32 = 0;
/** The last character outside strings. */
let before: i32 = 0;
/** What is missing of an escape that the next piece ends: its letter, or digits of its code unit. */
let awaitsLetter: bool = false;
let digitsLeft: i32 = 0;
/** Tells whether the string has something in it that JSON does not allow. */
let isBroken: bool = false;

/**
 * Begins a text. Lists ends that are `far` bytes from the last one, and the ends of strings of `long` bytes.
 */
export function beginStrings(far: i32, long: i32): void {
  farBytes = far;
  longBytes = long;
  isInString = false;
  escapedNext = 0;
  lastEnd = 0;
  before = 0;
  awaitsLetter = false;
  digitsLeft = 0;
}

/**
 * Returns the place behind the end of the string that `from` lies in, or -1 where the piece ends before. With
 * `checks` it notes what JSON does not allow in a string.
 */
function stringEnd(from: i32, length: i32, checks: bool): i32 {
  for (let at = from; at < length; at += 64) {
    const backslashes = placesOf(backslash, at);
    // Every other backslash of a row begins an escape. Subtracting those that may begin one from all odd
    // places carries through each row, and so tells where it ends.
    const first = backslashes & ~escapedNext;
    const ends = (((first << 1) | oddPlaces) - first) ^ oddPlaces;
    const escaped = ends ^ (backslashes | escapedNext);
    const closing = placesOf(quote, at) & ~escaped;
    if (checks) {
      const toEnd = closing === 0 ? ~(<u64>0) : closing ^ (closing - 1);
      check(at, length, backslashes & ~escaped & toEnd, toEnd);
    }
    const left = length - at;
    escapedNext = closing !== 0 ? 0 : left < 64 ? (escaped >> left) & 1 : (ends & backslashes) >> 63;
    if (closing !== 0) return at + <i32>ctz(closing) + 1;
  }
  return -1;
}

const oddPlaces: u64 = ((<u64>0xaaaaaaaa) << 32) | 0xaaaaaaaa;

/**
 * Lists the ends of strings at `placesAt`, except those of names, and returns how many they are. Behind the
 * start of an array of arrays it lists none and returns the complement of the number.
 */
export function stringEnds(length: i32, base: i32): i32 {
  let put = placesAt;
  let at: i32 = 0;
  while (at < length) {
    if (!isInString) {
      const byte: i32 = load<u8>(textAt + at);
      at += 1;
      if (byte <= space) continue;
      if (byte === openingBracket && before === openingBracket) return ~((put - placesAt) >> 2);
      before = byte;
      isInString = byte === quote;
      stringAt = base + at - 1;
      continue;
    }
    at = stringEnd(at, length, false);
    if (at < 0) break;
    isInString = false;
    const end = base + at;
    const isLong = end - stringAt >= longBytes && end - lastEnd >= longBytes;
    if ((end - lastEnd < farBytes && !isLong) || isName(at, length)) continue;
    store<i32>(put, end);
    put += 4;
    lastEnd = end;
  }
  return (put - placesAt) >> 2;
}

/**
 * Tells whether a string that ends there may be the name of a member. At the end of a piece nobody knows, so
 * any may be.
 */
function isName(end: i32, length: i32): bool {
  let at = end;
  while (at < length && <i32>load<u8>(textAt + at) <= space) at += 1;
  return at >= length || <i32>load<u8>(textAt + at) === colon;
}

/**
 * Lists start and end of each string of at least `longBytes`, and returns how many numbers that is. With
 * `isChecked` it lists only strings that JSON allows.
 */
export function longStrings(length: i32, base: i32, isChecked: bool): i32 {
  let put = placesAt;
  let at: i32 = 0;
  if (isChecked) checkRest(length);
  while (at < length) {
    if (!isInString) {
      const found = i8x16.bitmask(is(v128.load(textAt + at), quote));
      at += found === 0 ? 16 : ctz(found) + 1;
      if (found === 0) continue;
      isInString = true;
      isBroken = false;
      stringAt = base + at - 1;
      continue;
    }
    at = stringEnd(at, length, isChecked);
    if (at < 0) break;
    isInString = false;
    if (isBroken || base + at - stringAt < longBytes) continue;
    store<i32>(put, stringAt);
    store<i32>(put, base + at, 4);
    put += 8;
  }
  return (put - placesAt) >> 2;
}

/**
 * Notes control characters and invalid escapes among 64 characters of a string. `toEnd` has a bit for each
 * character up to the string's end.
 */
function check(at: i32, length: i32, escapes: u64, toEnd: u64): void {
  const place = textAt + at;
  // The control characters behind the text are no part of it.
  const inText = length - at < 64 ? ((<u64>1) << (length - at)) - 1 : ~(<u64>0);
  if ((controlsAt(place) & toEnd & inText) !== 0) isBroken = true;
  for (let odd = escapes & ~usualAt(place + 1); odd !== 0; odd &= odd - 1)
    checkEscape(at + <i32>ctz(odd) + 1, length);
}

/** Notes the escape whose letter stands there if JSON has no such escape. */
function checkEscape(at: i32, length: i32): void {
  awaitsLetter = at >= length;
  if (awaitsLetter) return;
  const letter: i32 = load<u8>(textAt + at);
  if (letter !== 0x75) {
    if (!isEscape(letter)) isBroken = true;
    return;
  }
  digitsLeft = 4;
  checkDigits(at + 1, length);
}

function checkDigits(from: i32, length: i32): void {
  for (let at = from; digitsLeft > 0 && at < length; at += 1, digitsLeft -= 1)
    if (!isHexDigitByte(load<u8>(textAt + at))) isBroken = true;
}

/** Checks the rest of an escape that began in the piece before. */
function checkRest(length: i32): void {
  if (awaitsLetter) checkEscape(0, length);
  else checkDigits(0, length);
}

function controlsAt(place: i32): u64 {
  const least = i8x16.splat(<i8>space);
  return mask(
    i8x16.lt_u(v128.load(place), least),
    i8x16.lt_u(v128.load(place, 16), least),
    i8x16.lt_u(v128.load(place, 32), least),
    i8x16.lt_u(v128.load(place, 48), least),
  );
}

function usualAt(place: i32): u64 {
  return mask(
    areUsual(v128.load(place)),
    areUsual(v128.load(place, 16)),
    areUsual(v128.load(place, 32)),
    areUsual(v128.load(place, 48)),
  );
}

/**
 * Marks the letters of escapes (RFC 8259, 7), by both halves of the byte. That of code units is not marked.
 */
function areUsual(bytes: v128): v128 {
  const low = i8x16.swizzle(lowHalves, v128.and(bytes, i8x16.splat(0x0f)));
  const high = i8x16.swizzle(highHalves, i8x16.shr_u(bytes, 4));
  return i8x16.ne(v128.and(low, high), i8x16.splat(0));
}

// Bits 0 to 3 stand for the upper halves 2, 5, 6 and 7. `"` and `/` are 22 and 2f, `\\` is 5c, `b`, `f` and
// `n` are 62, 66 and 6e, and `r` and `t` are 72 and 74.
const highHalves = i8x16(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0);
const lowHalves = i8x16(0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1);

/** Tells whether a byte is the letter of an escape (RFC 8259, 7). That of code units is not. */
function isEscape(byte: i32): bool {
  if (byte === quote || byte === backslash || byte === 0x2f) return true;
  return byte === 0x62 || byte === 0x66 || byte === 0x6e || byte === 0x72 || byte === 0x74;
}

function isHexDigitByte(byte: i32): bool {
  return <u32>(byte - 0x30) <= 9 || <u32>((byte | 0x20) - 0x61) <= 5;
}
