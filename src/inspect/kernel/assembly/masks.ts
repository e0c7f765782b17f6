import { textAt } from './memory';

/* Finds classes of bytes in a block of 64. A class is a mask of 64 bits, one for each byte of the block. */

/** Returns the highest bits of the 64 bytes as a mask. */
export function mask(a: v128, b: v128, c: v128, d: v128): u64 {
  const low = <u32>i8x16.bitmask(a) | ((<u32>i8x16.bitmask(b)) << 16);
  const high = <u32>i8x16.bitmask(c) | ((<u32>i8x16.bitmask(d)) << 16);
  return <u64>low | ((<u64>high) << 32);
}

/** Returns all ones for each of sixteen bytes that is `byte`, and zero for the others. */
export function is(bytes: v128, byte: i32): v128 {
  return i8x16.eq(bytes, i8x16.splat(<i8>byte));
}

/**
 * Returns all ones for each of sixteen bytes that is among the `count` from `first` on, and zero for the
 * others.
 */
export function isFrom(bytes: v128, first: i32, count: i32): v128 {
  return i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(<i8>first)), i8x16.splat(<i8>count));
}

/** Returns which bytes of the block at `at` are `byte`. */
export function placesOf(byte: i32, at: i32): u64 {
  const place = textAt + at;
  return mask(
    is(v128.load(place), byte),
    is(v128.load(place, 16), byte),
    is(v128.load(place, 32), byte),
    is(v128.load(place, 48), byte),
  );
}
