import { textAt } from './memory';

/* Kinds of bytes for a reader of words, by the tables of src/inspect/intent/letters.ts. */

// These are kinds of bytes, with the numbers of letters.ts.
export const kindEnd: i32 = 1;
export const kindLine: i32 = 2;
export const kindOpening: i32 = 3;
export const kindStar: i32 = 4;
export const kindAt: i32 = 5;
export const kindSlash: i32 = 6;
export const kindBackslash: i32 = 7;
export const kindMark: i32 = 8;
export const kindLongMark: i32 = 9;
export const kindHash: i32 = 10;
export const kindParenthesis: i32 = 11;
export const kindBacktick: i32 = 12;
export const kindApostrophe: i32 = 13;
export const kindLower: i32 = 16;
export const kindUpper: i32 = 17;
export const kindDigit: i32 = 18;
export const kindAccented: i32 = 19;
export const kindAccent: i32 = 20;

const space: i32 = 0x20;

/** The address of the tables, the first of which is that of kinds. */
export let tables: i32 = 0;
/** The length of the text in the memory. */
export let length: i32 = 0;

export function setTables(at: i32): void {
  tables = at;
}

export function setLength(lengthOfText: i32): void {
  length = lengthOfText;
}

/** Returns the byte at a place; a space where that lies outside the text. */
export function textByteAt(at: i32): i32 {
  return at >= 0 && at < length ? <i32>load<u8>(textAt + at) : space;
}

export function kindOf(at: i32): i32 {
  return byteIn(0, textByteAt(at));
}

export function byteIn(table: i32, index: i32): i32 {
  return <i32>load<u8>(tables + table + index);
}

export function isTextDigit(byte: i32): bool {
  return byte >= 0x30 && byte <= 0x39;
}
