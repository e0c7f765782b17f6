import { headAt } from './memory';
import { byteAt } from './traits';

/*
 * Tells whether the bytes of a run may be packed. It has the first tests of
 * src/inspect/decode/packed/packed-start.ts for Brotli (RFC 7932) and raw deflate (RFC 1951). It also has
 * those of src/inspect/decode/packed/compression.ts for formats with a signature. It may say yes too often,
 * never too seldom.
 */

/** The number of bytes that are decoded for these tests. */
const headBytes: i32 = 36;
const notInCode: i32 = 0xff;

const expansionMax: i32 = 16;
const shortBytes: i32 = 4096;
const longExpansionMax: i32 = 1024;
const sizeMin: i32 = 8;
const skippedMax: i32 = 8;

let headLength: i32 = 0;
/** The next bit, from the least significant one of each byte on. */
let bit: i32 = 0;

/** Tells whether a run may be packed. `values` is the table of a code, which has `bits` bits a character. */
export function mayBePacked(start: i32, end: i32, values: i32, bits: i32): bool {
  decodeHead(start, end, values, bits);
  const length = ((end - start) * bits) >> 3;
  return mayBeBrotli(length) || mayBeDeflate();
}

/**
 * Tells whether a run begins like gzip, zlib with its usual window, zstd with its skippable frames, or ZIP.
 */
export function beginsCompressed(start: i32, end: i32, values: i32, bits: i32): bool {
  let held: i32 = 0;
  let two: i32 = 0;
  for (let at = start; at < end && held < 16; at += 1) {
    const value: i32 = load<u8>(values + byteAt(at));
    if (value === notInCode) continue;
    two = (two << bits) | value;
    held += bits;
  }
  two = held < 16 ? 0 : (two >> (held - 16)) & 0xffff;
  if (two === 0x1f8b || two === 0x28b5 || two === 0x504b || (two & 0xf0ff) === 0x502a) return true;
  return two >> 8 === 0x78 && two % 31 === 0 && (two & 0x20) === 0;
}

function decodeHead(start: i32, end: i32, values: i32, bits: i32): void {
  memory.fill(headAt, 0, headBytes + 8);
  let held: i32 = 0;
  let all: i32 = 0;
  headLength = 0;
  bit = 0;
  for (let at = start; at < end && headLength < headBytes; at += 1) {
    const value: i32 = load<u8>(values + byteAt(at));
    if (value === notInCode) continue;
    all = ((all << bits) | value) & 0xffff;
    held += bits;
    if (held < 8) continue;
    held -= 8;
    store<u8>(headAt + headLength, <u8>(all >> held));
    headLength += 1;
  }
}

/** Takes up to 16 bits as a number; zeros follow the head. */
function take(count: i32): i32 {
  const byte = bit >> 3;
  const some: u32 = byte < headBytes + 4 ? load<u32>(headAt + byte) : 0;
  const value = (some >> (bit & 7)) & ((1 << count) - 1);
  bit += count;
  return <i32>value;
}

/** Moves to the next whole byte. Returns whether the skipped bits were zero. */
function align(): bool {
  return take(-bit & 7) === 0;
}

function isOver(): bool {
  return bit > headLength << 3;
}

function sizeOf(digits: i32, bitsOfDigit: i32): i32 {
  let size: i32 = 0;
  for (let digit = 0; digit < digits; digit += 1) size |= take(bitsOfDigit) << (bitsOfDigit * digit);
  return size;
}

function mayBeBrotli(length: i32): bool {
  bit = 0;
  if (take(1) === 1 && take(3) === 0 && take(3) === 1) return false;
  for (let skipped = 0; skipped < skippedMax; skipped += 1) {
    const isLast = take(1) === 1;
    if (isLast && take(1) === 1) return false;
    const nibbles = take(2) + 4;
    if (nibbles < 7) {
      const size = sizeOf(nibbles, 4) + 1;
      if (nibbles > 4 && (size - 1) >>> (4 * (nibbles - 1)) === 0) return false;
      if (!isLast && take(1) === 1) return align() && size <= length;
      if (size < sizeMin) return false;
      return !isOver() && size <= length * (length > shortBytes ? longExpansionMax : expansionMax);
    }
    if (isLast || take(1) === 1) return false;
    const sizeBytes = take(2);
    const size = sizeBytes === 0 ? 0 : sizeOf(sizeBytes, 8) + 1;
    if (!align() || size > length) return false;
    bit += size << 3;
    if (isOver()) return true;
  }
  return true;
}

const literalsMin: i32 = 257;
const literalsMax: i32 = 286;
const distancesMax: i32 = 30;
const symbolsMax: i32 = 20;

/**
 * Tells whether deflate may begin with the bytes at hand, by the head of its first block. Of a block with
 * fixed codes it also looks at the first characters.
 */
function mayBeDeflate(): bool {
  bit = 1;
  const type = take(2);
  if (type === 3) return false;
  if (type === 0) {
    align();
    return take(16) === (take(16) ^ 0xffff) || isOver();
  }
  if (type === 1) return beginsText();
  if (take(5) + literalsMin > literalsMax || take(5) + 1 > distancesMax) return false;
  const count = take(4) + 4;
  let codes: i32 = 0;
  // Room is counted in parts of 128, of which a code of 7 bits takes one.
  let room: i32 = 0;
  for (let index = 0; index < count; index += 1) {
    const bits = take(3);
    if (bits === 0) continue;
    codes += 1;
    room += 128 >> bits;
  }
  return isOver() || room === 128 || (codes === 1 && room === 64);
}

/** Tells whether literals of text come first, up to a repetition of some. */
function beginsText(): bool {
  for (let symbols = 0; symbols < symbolsMax && !isOver(); symbols += 1) {
    let code: i32 = 0;
    for (let index = 0; index < 7; index += 1) code = (code << 1) | take(1);
    // These codes are lengths, and the end of the block.
    if (code < 24) return code === 0 || symbols > 0;
    code = (code << 1) | take(1);
    if (code >= 192 && code < 200) return symbols > 0;
    const literal = code < 192 ? code - 48 : ((code << 1) | take(1)) - 256;
    if (isOver()) return true;
    if (literal < 0x09 || (literal > 0x0d && literal < 0x20)) return false;
  }
  return true;
}
