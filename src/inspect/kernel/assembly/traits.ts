import { textAt, traitsAt } from './memory';

/*
 * Notes the traits of each byte in two tables of eight bits, because a look-up takes less time than
 * comparisons.
 */

/** Letters, digits and `+/-_`: base64, and so base32 and hexadecimal. */
export const ofEncoded: i32 = 1;
/** Hexadecimal digits and `-`. */
export const ofHex: i32 = 2;
/** Small letters and `-_/`. */
export const ofWord: i32 = 4;
/** Digits with letters of one case, as all alphabets of base32 have. */
export const ofLower: i32 = 8;
export const ofUpper: i32 = 16;
/** Characters of tokens that are cut into lines; in lines of one length also `@` and space. */
export const ofToken: i32 = 32;
export const ofSpacedToken: i32 = 64;
/** Characters of tokens with tags in them. */
export const ofMarkup: i32 = 128;

/** Characters that can end a table header, and that may stand before its first name. */
export const endsHeader: i32 = 1;
export const beginsHeader: i32 = 2;
/** Characters between the words of quoted-printable. */
export const endsQuoted: i32 = 4;
/** Characters of bytes as numbers, and those between two such numbers. */
export const ofCodes: i32 = 8;
export const betweenCodes: i32 = 16;

let isWritten: bool = false;

export function byteAt(at: i32): i32 {
  return load<u8>(textAt + at);
}

export function traitsOf(at: i32): i32 {
  return load<u8>(traitsAt + byteAt(at));
}

export function furtherTraitsOf(at: i32): i32 {
  return load<u8>(traitsAt + 256 + byteAt(at));
}

export function isDigitByte(byte: i32): bool {
  return <u32>(byte - 0x30) <= 9;
}

export function isLowerByte(byte: i32): bool {
  return <u32>(byte - 0x61) <= 25;
}

export function isUpperByte(byte: i32): bool {
  return <u32>(byte - 0x41) <= 25;
}

export function isLetterByte(byte: i32): bool {
  return isLowerByte(byte | 0x20);
}

export function isAlphanumericByte(byte: i32): bool {
  return isLetterByte(byte) || isDigitByte(byte);
}

export function isHexDigitByte(byte: i32): bool {
  return isDigitByte(byte) || <u32>((byte | 0x20) - 0x61) <= 5;
}

export function writeTraits(): void {
  if (isWritten) return;
  isWritten = true;
  for (let byte: i32 = 0; byte < 256; byte += 1) {
    let traits: i32 = 0;
    let further: i32 = byte >= 0x80 ? endsHeader : 0;
    if (isAlphanumericByte(byte)) {
      traits = ofEncoded | ofToken | ofSpacedToken;
      if (!isLowerByte(byte)) traits |= ofUpper;
      if (!isUpperByte(byte)) traits |= ofLower;
      if (isLowerByte(byte)) traits |= ofWord;
      further = endsHeader;
    }
    if (isHexDigitByte(byte)) {
      traits |= ofHex;
      further |= ofCodes;
    }
    if (byte > 0x20 && byte < 0x7f) traits |= ofMarkup;
    store<u8>(traitsAt + byte, <u8>traits);
    store<u8>(traitsAt + 256 + byte, <u8>further);
  }
  // These are the traits of each sign.
  add(0x2b, ofEncoded | ofToken | ofSpacedToken, 0);
  add(0x2f, ofEncoded | ofWord | ofToken | ofSpacedToken, 0);
  add(0x2d, ofEncoded | ofHex | ofWord | ofToken | ofSpacedToken, ofCodes | betweenCodes);
  add(0x5f, ofEncoded | ofWord | ofToken | ofSpacedToken, endsHeader);
  add(0x3d, ofToken | ofSpacedToken, beginsHeader);
  add(0x2e, ofToken | ofSpacedToken, ofCodes | betweenCodes);
  add(0x40, ofSpacedToken, 0);
  add(0x20, ofSpacedToken, endsHeader | endsQuoted | ofCodes | betweenCodes);
  add(0x09, 0, endsHeader | endsQuoted | ofCodes | betweenCodes);
  add(0x0d, 0, endsQuoted | ofCodes | betweenCodes);
  add(0x0a, 0, beginsHeader | endsQuoted | ofCodes | betweenCodes);
  add(0x1e, 0, beginsHeader);
  add(0x22, 0, endsHeader | beginsHeader | endsQuoted);
  add(0x27, 0, endsHeader | beginsHeader | endsQuoted);
  add(0x60, 0, beginsHeader);
  add(0x3e, 0, beginsHeader | endsQuoted);
  add(0x3a, 0, beginsHeader | ofCodes | betweenCodes);
  add(0x7b, 0, beginsHeader | endsQuoted);
  add(0x7d, 0, beginsHeader | endsQuoted);
  add(0x7c, 0, endsHeader);
  add(0x29, 0, endsHeader | endsQuoted);
  add(0x2a, 0, endsHeader);
  add(0x3f, 0, endsHeader | endsQuoted);
  add(0x26, 0, endsQuoted);
  add(0x3b, 0, endsQuoted | ofCodes | betweenCodes);
  add(0x2c, 0, endsQuoted | ofCodes | betweenCodes);
  add(0x3c, 0, endsQuoted);
  add(0x28, 0, endsQuoted);
  add(0x5b, 0, endsQuoted);
  add(0x5d, 0, endsQuoted);
  add(0x78, 0, ofCodes);
  // A token with tags in it has none of these.
  without(0x22);
  without(0x3c);
  without(0x3e);
  without(0x5c);
  without(0x5e);
  without(0x60);
}

function add(byte: i32, traits: i32, further: i32): void {
  store<u8>(traitsAt + byte, <u8>(load<u8>(traitsAt + byte) | traits));
  store<u8>(traitsAt + 256 + byte, <u8>(load<u8>(traitsAt + 256 + byte) | further));
}

function without(byte: i32): void {
  store<u8>(traitsAt + byte, <u8>(load<u8>(traitsAt + byte) & ~ofMarkup));
}
