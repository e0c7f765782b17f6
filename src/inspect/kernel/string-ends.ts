import { Kernel, pieceBytesMax, placesAt } from './kernel.ts';

const kernel = new Kernel();

/**
 * Returns the ends of strings of a JSON text that are no names. They are `far` bytes apart, or less behind
 * strings of `long` bytes. Returns at most `countMax`, and none behind the start of an array of arrays.
 */
export function stringEnds(
  bytes: Uint8Array,
  { far, long, countMax }: { readonly far: number; readonly long: number; readonly countMax: number },
): readonly number[] {
  const { exports } = kernel;
  const { length } = bytes;
  const ends: number[] = [];
  exports.beginStrings(far, long);
  for (let from = 0; from < length && ends.length < countMax; from += pieceBytesMax) {
    const end = Math.min(length, from + pieceBytesMax);
    kernel.take(end - from === length ? bytes : bytes.subarray(from, end));
    const found = exports.stringEnds(end - from, from);
    const count = found < 0 ? ~found : found;
    ends.push(...kernel.numbers(placesAt, count));
    if (found < 0) break;
  }
  return ends.slice(0, countMax);
}

/**
 * Returns start and end of all strings of at least `bytesMin` bytes, quotes included, one behind the other.
 * With `isChecked` it returns only strings that JSON allows.
 */
export function longStringPlaces(bytes: Uint8Array, bytesMin: number, isChecked: boolean): readonly number[] {
  const { exports } = kernel;
  const { length } = bytes;
  const places: number[] = [];
  exports.beginStrings(0, bytesMin);
  for (let from = 0; from < length; from += pieceBytesMax) {
    const end = Math.min(length, from + pieceBytesMax);
    kernel.take(end - from === length ? bytes : bytes.subarray(from, end));
    const count = exports.longStrings(end - from, from, isChecked);
    if (count > 0) places.push(...kernel.numbers(placesAt, count));
  }
  return places;
}
