import { byteSet, readHex } from '../../kernel/bytes.ts';
import type { EscapeDecoder, Output } from '../unescape.ts';

const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const tab = 0x09;
const letterE = 0x65;
const escapeCharacter = 0x1b;

/**
 * Bytes of the escapes with a letter. `\b` is a backspace here; `\e` counts only at the start of a colour
 * sequence.
 */
const controls = new Map(
  Object.entries({ n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }).map(([letter, character]) => [
    letter.charCodeAt(0),
    character.charCodeAt(0),
  ]),
);
const isPunctuation = byteSet('!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~');
/** Bound on the indentation of a continued line. */
const indentationMax = 256;

/**
 * Decodes escapes of JSON strings (RFC 8259, 7) and those that agents paste beside them: `\x41`, `\u{41}`,
 * `\U00000041`, `\101`, and punctuation (CommonMark 0.31, 2.4). A line end with the indentation behind it is
 * dropped (shells, YAML 1.2, 7.3.1, TOML). A lone surrogate stays.
 */
export const jsonEscapes: EscapeDecoder = {
  name: 'json',
  leads: [backslash],
  read(bytes: Buffer, at: number, out: Output): number {
    const letter = bytes[at + 1] ?? 0;
    if (isPunctuation[letter] === 1) return pushByte(letter, out);
    const control = controls.get(letter);
    if (control !== undefined) return pushByte(control, out);
    if (letter === newline || letter === carriageReturn) return continuationLength(bytes, at);
    if (letter === letterE) return bytes[at + 2] === openBracket ? pushByte(escapeCharacter, out) : 0;
    if (letter === 0x75)
      return bytes[at + 2] === openBrace ? readBraced(bytes, at, out) : readUnicode(bytes, at, out);
    if (letter === 0x78) return pushIfValid(readHex(bytes, at + 2, 2), 4, out);
    if (letter === 0x55)
      return readHex(bytes, at + 2, 2) === 0 ? pushIfValid(readHex(bytes, at + 4, 6), 10, out) : 0;
    return readOctal(bytes, at, out);
  },
};

function pushByte(byte: number, out: Output): number {
  out.push(byte);
  return 2;
}

/**
 * Returns the length of a backslash with the line end and indentation behind it; 0 where no line ends there.
 */
function continuationLength(bytes: Buffer, at: number): number {
  let end = at + (bytes[at + 1] === carriageReturn ? 2 : 1);
  if (bytes[end] !== newline) return 0;
  end += 1;
  const limit = end + indentationMax;
  while (end < limit && (bytes[end] === space || bytes[end] === tab)) end += 1;
  return end - at;
}

function pushIfValid(codePoint: number, length: number, out: Output): number {
  if (codePoint < 0 || codePoint > 0x10_ffff || (codePoint & 0x1f_f800) === 0xd800) return 0;
  out.pushCodePoint(codePoint);
  return length;
}

function readUnicode(bytes: Buffer, at: number, out: Output): number {
  const unit = readHex(bytes, at + 2, 4);
  if ((unit & 0xfc00) !== 0xd800 || unit < 0) return pushIfValid(unit, 6, out);
  if (bytes[at + 6] !== backslash || bytes[at + 7] !== 0x75) return 0;
  const low = readHex(bytes, at + 8, 4);
  if (low < 0 || (low & 0xfc00) !== 0xdc00) return 0;
  return pushIfValid(0x1_0000 + ((unit & 0x3ff) << 10) + (low & 0x3ff), 12, out);
}

function readBraced(bytes: Buffer, at: number, out: Output): number {
  for (let count = 1; count <= 6; count += 1) {
    if (bytes[at + 3 + count] === closeBrace)
      return pushIfValid(readHex(bytes, at + 3, count), count + 4, out);
  }
  return 0;
}

/** Reads three octal digits, as `printf` and most languages take them. */
function readOctal(bytes: Buffer, at: number, out: Output): number {
  let byte = 0;
  for (let index = at + 1; index <= at + 3; index += 1) {
    const digit = (bytes[index] ?? 0) - 0x30;
    if (digit < 0 || digit > 7) return 0;
    byte = byte * 8 + digit;
  }
  if (byte > 0xff) return 0;
  out.push(byte);
  return 4;
}
