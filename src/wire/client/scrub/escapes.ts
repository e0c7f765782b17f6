import { hexDigit } from '../../../util/hex-digit.ts';

/*
 * One character as an upstream may write it: as it is, `%2F` (RFC 3986, 2.1), `\/`, `\u002f`, `\x2f`,
 * `&#47;`, `&#x2f;` or `&amp;`. What an escape stands for may begin the next one, so that `%252F`, `\\u002f`,
 * `&amp;amp;` and `\u0026amp;` are read to their end.
 */

/**
 * Bytes within which nested escapes are undone: as long as the next one begins within them, `%252525252F` is
 * read.
 */
const nestedBytesMax = 16;
/** Backslashes in a row that are read as one: text in JSON in JSON in JSON has seven. */
const backslashesMax = 8;
const digitsMax = 7;

/**
 * Bytes that no character exceeds. The longest escape, `\\\\\\\\u002f`, may begin at the last of
 * `nestedBytesMax` bytes.
 */
export const characterBytesMax = nestedBytesMax + backslashesMax + 5;

const percent = 0x25;
const ampersand = 0x26;
const backslash = 0x5c;
const semicolon = 0x3b;

export const beginsEscape = (byte: number): boolean =>
  byte === percent || byte === ampersand || byte === backslash;

/**
 * Packs a character and its byte length into a number, without allocating. Only the low byte of a code
 * counts.
 */
const pack = (code: number, byteLength: number): number => (byteLength << 8) | (code & 0xff);
export const codeOf = (read: number): number => read & 0xff;
export const byteLengthOf = (read: number): number => read >> 8;
/** Stands for no character. No character has this number, since each takes a byte at least. */
const none = 0;

/**
 * Reads a character; `codeOf` and `byteLengthOf` take the number apart. A cut escape is read as the character
 * that it begins with.
 */
export function readCharacter(bytes: Buffer, start: number): number {
  let code = bytes[start] as number;
  let at = start + 1;
  while (beginsEscape(code) && at - start < nestedBytesMax) {
    const inner = readEscaped(code, bytes, at);
    if (inner === none) break;
    code = codeOf(inner);
    at += byteLengthOf(inner);
  }
  return pack(code, at - start);
}

/** Reads the rest of an escape behind its first character. Returns `none` where it is not one. */
function readEscaped(first: number, bytes: Buffer, at: number): number {
  if (first === percent) return readHex(bytes, at, 2);
  return first === backslash ? readBehindBackslash(bytes, at) : readEntity(bytes, at);
}

/** Bytes that a backslash makes of others: `n`, `r` and `t` stand for controls, any other byte for itself. */
const behindBackslash = Uint8Array.from({ length: 256 }, (_, byte) => byte);
behindBackslash.set([0x0a], 0x6e);
behindBackslash.set([0x0d], 0x72);
behindBackslash.set([0x09], 0x74);

/**
 * Reads what stands behind a backslash. JSON in JSON has more backslashes in a row, all of which are about
 * the character behind them.
 */
function readBehindBackslash(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] === backslash) if (++at - start === backslashesMax) return none;
  const kind = bytes[at] ?? 0;
  // A control character, such as a line break, is never escaped so.
  if (kind < 0x20) return none;
  const hex = kind === 0x75 ? readHex(bytes, at + 1, 4) : kind === 0x78 ? readHex(bytes, at + 1, 2) : none;
  const code = hex === none ? (behindBackslash[kind] as number) : codeOf(hex);
  return pack(code, at + 1 - start + byteLengthOf(hex));
}

function readHex(bytes: Buffer, start: number, digits: number): number {
  let code = 0;
  for (let i = 0; i < digits; i++) {
    const value = hexDigit(bytes[start + i]);
    if (value < 0) return none;
    code = code * 16 + value;
  }
  return pack(code, digits);
}

function readEntity(bytes: Buffer, start: number): number {
  if (bytes[start] !== 0x23) return readNamedEntity(bytes, start);
  const isHex = ((bytes[start + 1] ?? 0) | 0x20) === 0x78;
  const base = isHex ? 16 : 10;
  const from = start + (isHex ? 2 : 1);
  let code = 0;
  for (let at = from; at <= from + digitsMax; at++) {
    if (bytes[at] === semicolon) return at === from ? none : pack(code, at + 1 - start);
    const value = hexDigit(bytes[at]);
    if (value < 0 || value >= base) return none;
    code = code * base + value;
  }
  return none;
}

const nameLengthMax = 4;
/** Adds a letter to a name that is kept as a number, five bits a letter, which are the same in both cases. */
const toNameKey = (key: number, letter: number): number => (key << 5) | (letter & 31);
const entities: ReadonlyMap<number, number> = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }).map(([name, character]) => [
    [...Buffer.from(name)].reduce(toNameKey, 0),
    character.charCodeAt(0),
  ]),
);

function readNamedEntity(bytes: Buffer, start: number): number {
  let key = 0;
  for (let at = start; at <= start + nameLengthMax; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === semicolon) {
      const code = entities.get(key);
      return code === undefined ? none : pack(code, at + 1 - start);
    }
    const letter = byte | 0x20;
    if (letter < 0x61 || letter > 0x7a) return none;
    key = toNameKey(key, letter);
  }
  return none;
}
