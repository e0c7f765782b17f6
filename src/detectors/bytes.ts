/* Classes of bytes, all of ASCII. What lies outside of a text is of no class. */

export const isDigit = (byte = 0): boolean => byte >= 0x30 && byte <= 0x39;
export const isLower = (byte = 0): boolean => byte >= 0x61 && byte <= 0x7a;
export const isUpper = (byte = 0): boolean => byte >= 0x41 && byte <= 0x5a;
export const isLetter = (byte = 0): boolean => isLower(byte | 0x20);
export const isAlphanumeric = (byte = 0): boolean => isLetter(byte) || isDigit(byte);
export const isHexDigit = (byte = 0): boolean =>
  isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
