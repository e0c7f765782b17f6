/* Tells the classes of ASCII bytes. A missing byte, outside a text, is of no class. */

export const isDigit = (byte = 0): boolean => byte >= 0x30 && byte <= 0x39;
export const isLower = (byte = 0): boolean => byte >= 0x61 && byte <= 0x7a;
export const isUpper = (byte = 0): boolean => byte >= 0x41 && byte <= 0x5a;
export const isLetter = (byte = 0): boolean => isLower(byte | 0x20);
export const isAlphanumeric = (byte = 0): boolean => isLetter(byte) || isDigit(byte);
export const isHexDigit = (byte = 0): boolean =>
  isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

/** Tells whether a byte continues a UTF-8 character. */
export const isContinuation = (byte = 0): boolean => (byte & 0xc0) === 0x80;

/** Tells whether the bytes of a sign stand at a place. */
export function standsAt(bytes: Uint8Array, sign: Uint8Array, start: number): boolean {
  for (let at = 0; at < sign.length; at += 1) if (bytes[start + at] !== sign[at]) return false;
  return true;
}

/** Tells whether no character is above 0x7f. The text may be bytes read as Latin-1. */
export const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** Creates a table with 1 at each byte of `characters` (Latin-1). */
export function byteSet(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(characters, 'latin1')) table[byte] = 1;
  return table;
}

export const digits = '0123456789';
export const lowerCase = 'abcdefghijklmnopqrstuvwxyz';
export const upperCase = lowerCase.toUpperCase();

const hexValues = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value += 1) {
  hexValues[value.toString(16).charCodeAt(0)] = value;
  hexValues[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

/**
 * Returns the number that `length` hexadecimal digits from `at` spell, for at most 6 digits. Returns -1 where
 * not all are digits.
 */
export function readHex(bytes: Buffer, at: number, length: number): number {
  let number = 0;
  for (let index = at; index < at + length; index += 1) {
    const value = hexValues[bytes[index] ?? 0] ?? -1;
    if (value < 0) return -1;
    number = number * 16 + value;
  }
  return number;
}
