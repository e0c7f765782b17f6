import { placesAt, textAt } from './memory';

/*
 * Finds where strings of a JSON text end. What was seen of a text is kept from one piece of it to the next.
 */

const quote: i32 = 0x22;
const backslash: i32 = 0x5c;
const openingBracket: i32 = 0x5b;
const space: i32 = 0x20;

let farBytes: i32 = 0;
let longBytes: i32 = 0;
let isInString: bool = false;
let isEscaped: bool = false;
/** Where the last string begins, and where the last one that was listed ends. */
let stringAt: i32 = 0;
let lastEnd: i32 = 0;
/** The last sign outside of strings. */
let before: i32 = 0;

/** Begins a text. Ends are listed that are `far` bytes from the last one, and those of strings of `long` bytes. */
export function beginStrings(far: i32, long: i32): void {
  farBytes = far;
  longBytes = long;
  isInString = false;
  isEscaped = false;
  lastEnd = 0;
  before = 0;
}

/** Lists ends at `placesAt`, and answers how many there are; as a complement where an array of arrays begins, behind which none are. */
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
