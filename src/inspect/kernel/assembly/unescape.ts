import { filterAt, textAt, textBytesMax } from './memory';

/*
 * Removes JSON escapes that stand for one character each. `src/inspect/kernel/json-unescape.ts` reads the
 * others.
 */

/** The address of the unescaped text; behind it is room for bytes copied beyond its end. */
export const plainAt: i32 = filterAt;
/** The address of the pieces of text, three numbers each, as `SpanMap` has them. */
export const piecesAt: i32 = plainAt + textBytesMax + 64;
/** Bound on the pieces; an escape is one, and so is the text before it. */
const piecesMax: i32 = 8192;
const pieceBytes: i32 = 12;

const backslash: i32 = 0x5c;

let stoppedAt: i32 = 0;
let plainLength: i32 = 0;

/** Returns where the last call stopped: at the end of its span, or at a backslash that it does not decode. */
export function unescapedTo(): i32 {
  return stoppedAt;
}

/** Returns how many bytes the last call wrote. */
export function unescapedLength(): i32 {
  return plainLength;
}

/**
 * Writes the unescaped text of a span and returns the number of its pieces. `base` is the place of the
 * memory's text in its source. `plainBase` is the place of the written text in the whole.
 */
export function unescapeJson(from: i32, to: i32, base: i32, plainBase: i32): i32 {
  let at = from;
  let put = plainAt;
  let pieces: i32 = 0;
  let literal = put;
  while (at < to && pieces < piecesMax - 2) {
    const bytes = v128.load(textAt + at);
    v128.store(put, bytes);
    const found = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(<i8>backslash)));
    const step = min(found === 0 ? 16 : ctz(found), to - at);
    at += step;
    put += step;
    if (found === 0 || at === to) continue;
    const letter = load<u8>(textAt + at + 1);
    const character = letter === 0x75 ? unitAt(at + 2) : characterOf(letter);
    if (character === other) break;
    if (character === none) {
      at += 1;
      put += 1;
      continue;
    }
    const end = at + (letter === 0x75 ? 6 : 2);
    if (put > literal) pieces = add(pieces, plainBase + literal - plainAt, base + at - (put - literal), 0);
    pieces = add(pieces, plainBase + put - plainAt, base + at, base + end);
    put = encode(character, put);
    at = end;
    literal = put;
  }
  if (put > literal) pieces = add(pieces, plainBase + literal - plainAt, base + at - (put - literal), 0);
  stoppedAt = at;
  plainLength = put - plainAt;
  return pieces;
}

function add(count: i32, start: i32, sourceStart: i32, sourceEnd: i32): i32 {
  const piece = piecesAt + count * pieceBytes;
  store<i32>(piece, start);
  store<i32>(piece, sourceStart, 4);
  store<i32>(piece, sourceEnd, 8);
  return count + 1;
}

/**
 * What stands for a character where there is none: `none` for no escape, `other` for an escape that needs
 * more bytes.
 */
const none: i32 = -1;
const other: i32 = -2;

/** Returns the character that a backslash and this byte stand for, or `none`, or `other`. */
function characterOf(byte: i32): i32 {
  if (byte === 0x6e) return 0x0a;
  const isLetterByte = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
  const isDigitByte = byte >= 0x30 && byte <= 0x39;
  if (byte > 0x20 && byte < 0x7f && !isLetterByte && !isDigitByte) return byte;
  if (byte === 0x74) return 0x09;
  if (byte === 0x72) return 0x0d;
  if (byte === 0x62) return 0x08;
  if (byte === 0x66) return 0x0c;
  const isOther = byte === 0x55 || byte === 0x78 || byte === 0x65 || (isDigitByte && byte < 0x38);
  return isOther || byte === 0x0a || byte === 0x0d ? other : none;
}

/** Returns the code unit of four hexadecimal digits, or `other` where it is no whole character. */
function unitAt(at: i32): i32 {
  let unit: i32 = 0;
  for (let offset = 0; offset < 4; offset += 1) {
    const byte: i32 = load<u8>(textAt + at + offset);
    const letter = (byte | 0x20) - 0x61;
    const digit = byte - 0x30;
    if (<u32>digit > 9 && <u32>letter > 5) return other;
    unit = (unit << 4) | (<u32>digit <= 9 ? digit : letter + 10);
  }
  return (unit & 0xf800) === 0xd800 ? other : unit;
}

/** Writes a character as UTF-8, and returns its end. */
function encode(character: i32, put: i32): i32 {
  if (character < 0x80) {
    store<u8>(put, <u8>character);
    return put + 1;
  }
  let end = put;
  if (character < 0x800) store<u8>(end, <u8>(0xc0 | (character >> 6)));
  else {
    store<u8>(end, <u8>(0xe0 | (character >> 12)));
    end += 1;
    store<u8>(end, <u8>(0x80 | ((character >> 6) & 0x3f)));
  }
  store<u8>(end, <u8>(0x80 | (character & 0x3f)), 1);
  return end + 2;
}
