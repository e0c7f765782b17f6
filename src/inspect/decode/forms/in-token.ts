import { byteSet, digits, isDigit, isLetter, isUpper, lowerCase, upperCase } from '../../kernel/bytes.ts';
import { readCodePoint, sequenceLength } from '../code-points.ts';
import type { EscapeDecoder, Output } from '../unescape.ts';

const isOfToken = byteSet(`${digits}${lowerCase}${upperCase}+/-_`);
/** Bound on the bytes of a token that are looked at on either side. */
const lookMax = 64;
/** The least number of bytes of a token behind its prefix, and on both sides of a gap in it. */
const tailMin = 8;
const partMin = 3;

/** Control characters but for white space, and those that no outline lists (kernel/assembly/outline.ts). */
const controls = [
  ...Array.from({ length: 0x20 }, (_, code) => code).filter(
    (code) => code > 0 && ![0x09, 0x0a, 0x0c, 0x0d, 0x19, 0x1a, 0x1d].includes(code),
  ),
  0x7f,
];
const isControl = Uint8Array.from({ length: 256 }, (_, byte) => (controls.includes(byte) ? 1 : 0));
const escapeCharacter = 0x1b;
const hyphen = 0x2d;

const isOddSpace = (codePoint: number): boolean =>
  codePoint === 0xa0 ||
  codePoint === 0x1680 ||
  (codePoint >= 0x2000 && codePoint <= 0x2009) ||
  (codePoint >= 0x2028 && codePoint <= 0x2029) ||
  codePoint === 0x202f ||
  codePoint === 0x205f ||
  codePoint === 0x3000;

/**
 * Drops what breaks a token and is hardly seen: control characters between its characters, and spaces other
 * than the usual one where both sides look like parts of one token.
 */
export const inToken: EscapeDecoder = {
  name: 'in-token',
  leads: [...controls, 0xc2, 0xe1, 0xe2, 0xe3],
  read(bytes: Buffer, at: number, _: Output): number {
    const lead = bytes[at] ?? 0;
    const codePoint = readCodePoint(bytes, at);
    const end = at + sequenceLength(lead);
    if (isOfToken[bytes[at - 1] ?? 0] === 0 || isOfToken[bytes[end] ?? 0] === 0) return 0;
    // `ESC -` begins a control sequence.
    if (lead === escapeCharacter && bytes[end] === hyphen) return 0;
    if (isControl[lead] === 1 || (codePoint >= 0x80 && codePoint < 0xa0)) return end - at;
    return isOddSpace(codePoint) && isToken(bytes, at, end) ? end - at : 0;
  },
};

/** Tells whether the texts before and behind a gap look like parts of one token, unlike two words. */
function isToken(bytes: Buffer, at: number, end: number): boolean {
  let start = at;
  while (at - start < lookMax && isOfToken[bytes[start - 1] ?? 0] === 1) start -= 1;
  let behind = end;
  while (behind - end < lookMax && isOfToken[bytes[behind] ?? 0] === 1) behind += 1;
  if (!isMixed(bytes, end, behind) || at - start < partMin) return false;
  if (behind - end >= tailMin && (isPrefix(bytes, start, at) || isMixed(bytes, start, at))) return true;
  return behind - end >= partMin && at - start >= tailMin && isMixed(bytes, start, at);
}

/** Tells whether both letters and digits stand in the span. */
function isMixed(bytes: Buffer, start: number, end: number): boolean {
  const part = bytes.subarray(start, end);
  return part.some(isDigitByte) && part.some(isLetterByte);
}

const isDigitByte = (byte: number): boolean => isDigit(byte);
const isLetterByte = (byte: number): boolean => isLetter(byte);

/** Tells whether the span may be a token's prefix: capitals alone, or with `_` or `-` at its end. */
const isPrefix = (bytes: Buffer, start: number, end: number): boolean =>
  /[_-]$/.test(bytes.toString('latin1', start, end)) ||
  bytes.subarray(start, end).every((byte) => isUpper(byte));
