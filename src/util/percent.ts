/**
 * Decodes the escapes of a URL once, as a character for each byte (RFC 3986, 2.1). It leaves all other text
 * as it is.
 */
export const undoEscapes = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
