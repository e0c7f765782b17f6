import { placesAt, textAt } from './memory';

/* Finds the strings of a JSON text. The state is kept from one piece of the text to the next. */

const quote: i32 = 0x22;
const backslash: i32 = 0x5c;
const openingBracket: i32 = 0x5b;
const space: i32 = 0x20;

let farBytes: i32 = 0;
let longBytes: i32 = 0;
let isInString: bool = false;
let isEscaped: bool = false;
/** Start of the last string, and end of the last one that was listed. */
let stringAt: i32 = 0;
let lastEnd: i32 = 0;
/** Last character outside strings. */
let before: i32 = 0;
/** Hexadecimal digits that an escaped code unit still needs. */
let digitsLeft: i32 = 0;
/** The string has something in it that no string of JSON may have. */
let isBroken: bool = false;

/** Begins a text. Ends are listed that are `far` bytes from the last one, and those of strings of `long` bytes. */
export function beginStrings(far: i32, long: i32): void {
  farBytes = far;
  longBytes = long;
  isInString = false;
  isEscaped = false;
  lastEnd = 0;
  before = 0;
  digitsLeft = 0;
}

/**
 * Lists ends at `placesAt` and returns their number, or its complement where an array of arrays begins, behind which
 * none are listed.
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
    if (isEscaped) {
      isEscaped = false;
      at += 1;
      continue;
    }
    const bytes = v128.load(textAt + at);
    const found = i8x16.bitmask(
      v128.or(i8x16.eq(bytes, i8x16.splat(<i8>quote)), i8x16.eq(bytes, i8x16.splat(<i8>backslash))),
    );
    at += found === 0 ? 16 : ctz(found) + 1;
    if (found === 0) continue;
    isEscaped = load<u8>(textAt + at - 1) === backslash;
    if (isEscaped) continue;
    isInString = false;
    const end = base + at;
    const isLong = end - stringAt >= longBytes && end - lastEnd >= longBytes;
    if (end - lastEnd < farBytes && !isLong) continue;
    store<i32>(put, end);
    put += 4;
    lastEnd = end;
  }
  return (put - placesAt) >> 2;
}

/** Lists start and end of each valid JSON string of at least `longBytes`, and returns how many numbers that is. */
export function longStrings(length: i32, base: i32): i32 {
  let put = placesAt;
  let at: i32 = 0;
  while (at < length) {
    if (isEscaped) {
      isEscaped = false;
      const letter: i32 = load<u8>(textAt + at);
      at += 1;
      if (letter === 0x75) digitsLeft = 4;
      else if (!isEscape(letter)) isBroken = true;
      continue;
    }
    if (digitsLeft > 0) {
      if (isHexDigitByte(load<u8>(textAt + at))) {
        digitsLeft -= 1;
        at += 1;
      } else {
        isBroken = true;
        digitsLeft = 0;
      }
      continue;
    }
    const bytes = v128.load(textAt + at);
    let signs = i8x16.eq(bytes, i8x16.splat(<i8>quote));
    if (isInString) {
      signs = v128.or(signs, i8x16.eq(bytes, i8x16.splat(<i8>backslash)));
      signs = v128.or(signs, i8x16.lt_u(bytes, i8x16.splat(<i8>space)));
    }
    const found = i8x16.bitmask(signs);
    at += found === 0 ? 16 : ctz(found);
    // Behind the text stand control characters that are none of it.
    if (found === 0 || at >= length) continue;
    const sign: i32 = load<u8>(textAt + at);
    at += 1;
    if (!isInString) {
      isInString = true;
      isBroken = false;
      stringAt = base + at - 1;
    } else if (sign === backslash) isEscaped = true;
    else if (sign !== quote) isBroken = true;
    else {
      isInString = false;
      if (isBroken || base + at - stringAt < longBytes) continue;
      store<i32>(put, stringAt);
      store<i32>(put, base + at, 4);
      put += 8;
    }
  }
  return (put - placesAt) >> 2;
}

/** RFC 8259, 7, but for code units. */
function isEscape(byte: i32): bool {
  if (byte === quote || byte === backslash || byte === 0x2f) return true;
  return byte === 0x62 || byte === 0x66 || byte === 0x6e || byte === 0x72 || byte === 0x74;
}

function isHexDigitByte(byte: i32): bool {
  return <u32>(byte - 0x30) <= 9 || <u32>((byte | 0x20) - 0x61) <= 5;
}
