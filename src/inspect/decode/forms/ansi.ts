import type { EscapeDecoder } from '../unescape.ts';

const escapeCharacter = 0x1b;
const openBracket = 0x5b;
/** Bound on the bytes of a sequence that colours text; longer ones stay. */
const sequenceBytesMax = 32;

/** Bound on the intermediate bytes of a sequence that switches character sets. */
const intermediatesMax = 3;

/**
 * Drops control sequences of terminals, which colour text or move the cursor (ECMA-48, 5.4): `ESC [`,
 * parameter bytes, intermediate bytes and a final byte. It also drops those that switch character sets
 * (ECMA-35, 13.2), as mail in ISO-2022-JP has them: `ESC ( B`.
 */
export const ansi: EscapeDecoder = {
  name: 'ansi',
  leads: [escapeCharacter],
  read(bytes: Buffer, at: number): number {
    if (bytes[at + 1] !== openBracket) return switchLength(bytes, at);
    const limit = at + sequenceBytesMax;
    let end = at + 2;
    while (end < limit && isBetween(bytes[end], 0x30, 0x3f)) end += 1;
    while (end < limit && isBetween(bytes[end], 0x20, 0x2f)) end += 1;
    return isBetween(bytes[end], 0x40, 0x7e) ? end + 1 - at : 0;
  },
};

function switchLength(bytes: Buffer, at: number): number {
  const limit = at + 1 + intermediatesMax;
  let end = at + 1;
  while (end < limit && isBetween(bytes[end], 0x20, 0x2f)) end += 1;
  return end > at + 1 && isBetween(bytes[end], 0x30, 0x7e) ? end + 1 - at : 0;
}

const isBetween = (byte: number | undefined, first: number, last: number): boolean =>
  byte !== undefined && byte >= first && byte <= last;
