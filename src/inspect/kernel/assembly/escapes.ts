import { textAt } from './memory';
import { addTo, escapesList } from './places';
import {
  byteAt,
  isAlphanumericByte,
  isDigitByte,
  isHexDigitByte,
  isLetterByte,
  ofEncoded,
  traitsOf,
} from './traits';

/*
 * Finds signs that may begin an escape, by the bytes behind them. Most backslashes, `%` and `&` of code, and
 * nearly all letters beyond ASCII, begin none. The decoders in src/inspect/decode read the escapes.
 */

const space: i32 = 0x20;
const homoglyphsMax: i32 = 64;

// The flag of a right-to-left override in the text, as in src/inspect/kernel/outline.ts.
const hasOverride: u32 = 1 << 16;

/**
 * Adds those of `signs`, one bit each in the block at `block`, that may begin an escape. Returns the flag of
 * a right-to-left override, or 0.
 */
export function takeEscapes(block: i32, signs: u64): u32 {
  let flags: u32 = 0;
  for (let rest = signs; rest !== 0; rest &= rest - 1) {
    const at = block + <i32>ctz(rest);
    if (!mayBeEscape(at)) continue;
    addTo(escapesList, at);
    if (byteAt(at) === 0xe2 && byteAt(at + 2) === 0xae) flags = hasOverride;
  }
  return flags;
}

function mayBeEscape(at: i32): bool {
  const byte = byteAt(at);
  if (byte >= 0x80) return mayBeOther(at, byte);
  const next = byteAt(at + 1);
  if (byte === 0x5c) return isBehindBackslash(at, next);
  if (byte === 0x25) return isHexDigitByte(byteAt(at + 2)) && (isHexDigitByte(next) || next === 0x75);
  if (byte === 0x26) return next === 0x23 || isLetterByte(next);
  if (byte === 0) return isNearText(at);
  if (isBetweenTokens(at, 1)) return true;
  return byte === 0x1b && (next === 0x5b || (next >= space && next <= 0x2f));
}

/**
 * Tells whether a byte other than NUL stands within eight bytes. ASCII in UTF-32 has three NUL in a row, and
 * images of disks have millions.
 */
function isNearText(at: i32): bool {
  return (load<u64>(textAt + at - 8) | load<u64>(textAt + at + 1)) !== 0;
}

/** Tells whether characters of tokens stand on both sides of what has so many bytes. */
function isBetweenTokens(at: i32, length: i32): bool {
  return (traitsOf(at - 1) & ofEncoded) !== 0 && (traitsOf(at + length) & ofEncoded) !== 0;
}

/** Tells whether a letter or digit, or the first byte of a small capital, stands on a side. */
function isInWord(at: i32, length: i32): bool {
  const before = byteAt(at - 1);
  const after = byteAt(at + length);
  return isAlphanumericByte(before) || isAlphanumericByte(after) || before >= 0x80 || after >= 0x80;
}

function isBehindBackslash(at: i32, next: i32): bool {
  if (isDigitByte(next)) return isDigitByte(byteAt(at + 2)) && isDigitByte(byteAt(at + 3));
  if (!isLetterByte(next)) return next > space || next === 0x0a || next === 0x0d;
  if (next === 0x6e || next === 0x72 || next === 0x74 || next === 0x62 || next === 0x66) return true;
  const after = byteAt(at + 2);
  if (next === 0x75) return after === 0x7b || isHexDigitByte(after);
  if (next === 0x78) return isHexDigitByte(after) && isHexDigitByte(byteAt(at + 3));
  if (next === 0x55) return after === 0x30;
  return next === 0x65 && after === 0x5b;
}

/** Tells whether a character beyond ASCII may be invisible or look like ASCII, by its first bytes. */
function mayBeOther(at: i32, lead: i32): bool {
  const second = byteAt(at + 1);
  const third = byteAt(at + 2);
  if (lead >= 0xce && lead <= 0xd6) return lead !== 0xd2 && mayBeHomoglyph(at);
  if (lead === 0xe2) {
    if (second === 0x80 && third >= 0x8a && third <= 0x8f) return true;
    if (second === 0x80 && third >= 0xaa && third <= 0xae) return true;
    if (second === 0x81 && third >= 0xa0) return true;
    if (second >= 0x91 && second <= 0x93) return true;
    if (second === 0x83) return third === 0xa3;
    if (second === 0x80 && (third === 0x90 || third === 0x91)) return isAlphanumericByte(byteAt(at - 1));
    if ((second === 0x80 || second === 0x88) && isDigitByte(byteAt(at - 1))) return true;
    return (second === 0x80 || second === 0x81) && isBetweenTokens(at, 3);
  }
  if (lead === 0xc2) {
    if (second === 0xad || (second === 0xa0 && isDigitByte(byteAt(at - 1)))) return true;
    return second <= 0xa0 && isBetweenTokens(at, 2);
  }
  if (lead === 0xe3) {
    if (second === 0x85) return true;
    const isSpace = second === 0x80 && third === 0x80;
    return isSpace && (isDigitByte(byteAt(at - 1)) || isBetweenTokens(at, 3));
  }
  if (lead === 0xc9 || lead === 0xca) return isInWord(at, 2);
  if (lead === 0xef) return second >= 0xb8 && (second !== 0xbf || third >= 0xb0);
  if (lead === 0xe1) {
    if (second === 0xb4) return isInWord(at, 3);
    return (
      second === 0x85 || second === 0x9e || second === 0xa0 || (second === 0x9a && isBetweenTokens(at, 3))
    );
  }
  if (lead === 0xd9) return second >= 0xa0 && second <= 0xa9;
  if (lead === 0xdb) return second >= 0xb0 && second <= 0xb9;
  if (lead === 0xe0) return isDigitOfScript(second, third);
  if (lead === 0xf0) return second === 0x9d || second === 0x9b;
  return (
    lead === 0xcc || lead === 0xcd || (lead === 0xd8 && second === 0x9c) || (lead === 0xf3 && second === 0xa0)
  );
}

/** Tells whether a character is a digit of a script of India, or of Thai or Lao. */
function isDigitOfScript(second: i32, third: i32): bool {
  if (second >= 0xb8) return (second === 0xb9 || second === 0xbb) && third >= 0x90 && third <= 0x99;
  return second >= 0xa5 && (second & 1) !== 0 && third >= 0xa6 && third <= 0xaf;
}

/**
 * Tells whether a word of two-byte letters begins at a place, with ASCII letters before it, behind it, or in
 * the next word.
 */
function mayBeHomoglyph(at: i32): bool {
  const before = byteAt(at - 1);
  if (before >= 0x80) return false;
  if (isAlphanumericByte(before)) return true;
  const end = wordEnd(at);
  if (byteAt(end) !== space) return isAlphanumericByte(byteAt(end));
  const next = wordEnd(end + 1);
  return next > end + 1 && isAlphanumericByte(byteAt(next));
}

function wordEnd(start: i32): i32 {
  let end = start;
  while (end - start < homoglyphsMax && byteAt(end) >= 0xce && byteAt(end) <= 0xd6) end += 2;
  return end;
}
