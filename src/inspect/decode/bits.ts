import { byteSet } from '../kernel/bytes.ts';
import { sequenceLength } from './code-points.ts';
import type { Span } from './span-map.ts';

const notInCode = 255;

/** A code that writes bytes as characters of 1 to 7 bits each. */
export interface BitCode {
  readonly bitsPerCharacter: number;
  /** The value of each character; 255 for a byte that is none and is skipped. */
  readonly values: Uint8Array;
  /** Tells whether small letters and capitals have different values. */
  readonly isMixedCase: boolean;
}

/** Creates a code; each alphabet lists its characters in the order of their values. */
export function bitCode(bitsPerCharacter: number, ...alphabets: readonly string[]): BitCode {
  const values = new Uint8Array(256).fill(notInCode);
  for (const alphabet of alphabets) {
    for (const [value, byte] of Buffer.from(alphabet, 'latin1').entries()) values[byte] = value;
  }
  return {
    bitsPerCharacter,
    values,
    isMixedCase: values[0x61] !== notInCode && values[0x61] !== values[0x41] && values[0x41] !== notInCode,
  };
}

/** The bytes of printable ASCII and the white space of texts. */
export const isTextByte = byteSet(
  `\t\n\r${String.fromCharCode(...Array.from({ length: 0x5f }, (_, index) => 0x20 + index))}`,
);

/** The number of bytes that follow a UTF-8 lead byte; 0 for all others. */
const continuations = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0xc2 || byte > 0xf4 ? 0 : sequenceLength(byte) - 1,
);

/**
 * Tells whether the decoded span has at least `textMin` characters of text in a row, in ASCII or UTF-8. Zero
 * bytes between them do not count, as in UTF-16. Most runs are identifiers and hashes, which this rules out
 * without a copy.
 */
export function holdsText(
  bytes: Uint8Array,
  { start, end }: Span,
  { bitsPerCharacter, values }: BitCode,
  textMin: number,
): boolean {
  let bits = 0;
  let held = 0;
  let streak = 0;
  let pending = 0;
  // A text that has not begun by this place would be too short.
  const lastStart = end - Math.floor((8 * (textMin - 1)) / bitsPerCharacter);
  for (let at = start; at < end; at += 1) {
    if (at > lastStart && streak === 0 && pending === 0) return false;
    const value = values[bytes[at] as number] as number;
    if (value === notInCode) continue;
    bits = ((bits << bitsPerCharacter) | value) & 0xffff;
    held += bitsPerCharacter;
    if (held < 8) continue;
    held -= 8;
    const byte = (bits >> held) & 0xff;
    if (byte < 0x80) {
      if (isTextByte[byte] === 1) {
        streak = pending > 0 ? 1 : streak + 1;
        pending = 0;
        if (streak >= textMin) return true;
      } else if (byte !== 0) streak = pending = 0;
      continue;
    }
    if (pending > 0 && byte < 0xc0) {
      pending -= 1;
      if (pending === 0 && ++streak >= textMin) return true;
      continue;
    }
    const follow = continuations[byte] as number;
    if (pending > 0 || follow === 0) streak = 0;
    pending = follow;
  }
  return false;
}

/** Returns the first byte that the run at `start` stands for; -1 where it is too short. */
export function firstByte(bytes: Uint8Array, start: number, code: BitCode): number {
  const first = code.values[bytes[start] ?? 0] ?? notInCode;
  const second = code.values[bytes[start + 1] ?? 0] ?? notInCode;
  if (first === notInCode || second === notInCode) return -1;
  return ((first << code.bitsPerCharacter) | second) >> (2 * code.bitsPerCharacter - 8);
}

/**
 * Decodes a run. Characters outside the alphabet are skipped and left-over bits dropped; behind `padding`, a
 * byte begins anew. The result is written into `room`, if it is given, which must be large enough.
 */
export function decodeBits(
  run: Buffer,
  { bitsPerCharacter, values }: BitCode,
  padding = notInCode + 1,
  room?: Buffer,
): Buffer {
  const { length: runLength } = run;
  const decoded = room ?? Buffer.allocUnsafe(Math.ceil((run.length * bitsPerCharacter) / 8));
  let length = 0;
  let bits = 0;
  let held = 0;
  for (let at = 0; at < runLength; at += 1) {
    const value = values[run[at] ?? 0] ?? 255;
    if (value === 255) {
      if (run[at] === padding) held = 0;
      continue;
    }
    bits = ((bits << bitsPerCharacter) | value) & 0xffff;
    held += bitsPerCharacter;
    if (held < 8) continue;
    held -= 8;
    decoded[length] = (bits >> held) & 0xff;
    length += 1;
  }
  return decoded.subarray(0, length);
}
