/**
 * Returns the code point of the UTF-8 sequence at `at`; -1 where it is incomplete. Overlong forms count as
 * the character that they spell.
 */
export function readCodePoint(bytes: Buffer, at: number): number {
  const lead = bytes[at] ?? 0xff;
  if (lead < 0x80) return lead;
  const length = lead >= 0xf8 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
  if (length === 0) return -1;
  let codePoint = lead & (0x7f >> length);
  for (let index = at + 1; index < at + length; index += 1) {
    const byte = bytes[index] ?? 0;
    if ((byte & 0xc0) !== 0x80) return -1;
    codePoint = (codePoint << 6) | (byte & 0x3f);
  }
  return codePoint;
}

/** Returns the length of the UTF-8 sequence with this lead byte; 1 for a byte that leads none. */
export function sequenceLength(lead: number): number {
  if (lead >= 0xf8 || lead < 0xc0) return 1;
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}
