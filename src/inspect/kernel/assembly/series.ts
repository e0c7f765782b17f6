import { is, isFrom } from './masks';
import { textAt } from './memory';

/* Finds the names of JSON fields that number pieces. */

const quote: i32 = 0x22;
const backslash: i32 = 0x5c;
const underscore: i32 = 0x5f;
const digitZero: i32 = 0x30;
const letterF: i32 = 0x66;
const letterS: i32 = 0x73;
// These are `":` and `\":`, `first_` and `second_`, as little-endian numbers.
const endOfName: i32 = 0x3a22;
const endOfNestedName: i32 = 0x3a225c;
const firs: i32 = 0x73726966;
const tUnderscore: i32 = 0x5f74;
const seco: i32 = 0x6f636573;
const nd: i32 = 0x646e;

/**
 * Returns the signs in the text as bits. Bits 0 to 2 stand for a `0`, `1` or `2` before `":`, and bits 3 to 5
 * for the same before `\":`. Bit 6 stands for `first_` and bit 7 for `second_`.
 */
export function seriesSigns(length: i32): i32 {
  let seen: i32 = 0;
  for (let at = textAt; at < textAt + length; at += 16) {
    const bytes = v128.load(at);
    const next = v128.load(at, 1);
    const digits = isFrom(bytes, digitZero, 3);
    const marks = v128.or(is(next, quote), is(next, backslash));
    const firsts = v128.and(is(bytes, letterF), is(v128.load(at, 5), underscore));
    const seconds = v128.and(is(bytes, letterS), is(v128.load(at, 6), underscore));
    let found = i8x16.bitmask(v128.or(v128.and(digits, marks), v128.or(firsts, seconds)));
    for (; found !== 0; found &= found - 1) seen |= signAt(at + ctz(found));
  }
  return seen;
}

function signAt(at: i32): i32 {
  const byte = <i32>load<u8>(at);
  if (byte === letterF) return load<i32>(at) === firs && <i32>load<u16>(at, 4) === tUnderscore ? 1 << 6 : 0;
  if (byte === letterS) {
    const isWord =
      load<i32>(at) === seco && <i32>load<u16>(at, 4) === nd && <i32>load<u8>(at, 6) === underscore;
    return isWord ? 1 << 7 : 0;
  }
  const digit = byte - digitZero;
  if (<i32>load<u16>(at, 1) === endOfName) return 1 << digit;
  return (load<i32>(at, 1) & 0xffffff) === endOfNestedName ? 8 << digit : 0;
}
