import { DecodingMode, HtmlEntityDecoder } from 'entities/decode';
import {
  byteSet,
  digits,
  isAlphanumeric,
  isDigit,
  isLetter,
  lowerCase,
  readHex,
  upperCase,
} from '../../kernel/bytes.ts';
import type { EscapeDecoder, Output } from '../unescape.ts';
import { isInvisible } from './zero-width.ts';

/** The number of characters of the longest name, and one more, which marks a longer run of letters. */
const nameLengthMax = 32;
/** Bound on the digits without leading zeros; more stand for no character. */
const digitsMax = 8;
/** Bound on the leading zeros, of which browsers take any number. */
const zerosMax = 4096;
const zero = 0x30;
const semicolon = 0x3b;
const equals = 0x3d;
const space = 0x20;
const hyphen = 0x2d;
const isSpace = /\p{Zs}/u;
const fieldLengthMax = 64;
const isOfField = byteSet(`${digits}${lowerCase}${upperCase}_-.[]%`);
const unseen = ['shy', 'nbsp'].map((name) => Buffer.from(name));

/** Decodes `&amp;`, `&#65;` and `&#x41;`, also without the semicolon where browsers accept that. */
export const htmlEntities: EscapeDecoder = {
  name: 'html',
  leads: [0x26],
  read(bytes: Buffer, at: number, out: Output): number {
    if (bytes[at + 1] !== 0x23) return isLetter(bytes[at + 1]) ? readNamed(bytes, at, out) : 0;
    const isHex = ((bytes[at + 2] ?? 0) | 0x20) === 0x78;
    return isHex ? readNumber(bytes, at, at + 3, 16, out) : readNumber(bytes, at, at + 2, 10, out);
  },
};

/** Reads references by name. Each replaces the last one in `text`. */
const names = new (class {
  text = '';
  readonly #decoder = new HtmlEntityDecoder((unit) => {
    this.text += String.fromCharCode(unit);
  });

  /** Returns how much of the text behind an `&` is a reference, counting the `&`; 0 where it is none. */
  read(text: string): number {
    this.text = '';
    this.#decoder.startEntity(DecodingMode.Legacy);
    const length = this.#decoder.write(text, 0);
    return length < 0 ? this.#decoder.end() : length;
  }
})();

function readNamed(bytes: Buffer, at: number, out: Output): number {
  let end = at + 1;
  while (end - at <= nameLengthMax && isAlphanumeric(bytes[end])) end += 1;
  const isWhole = bytes[end] === semicolon;
  if (!isWhole && isFieldName(bytes, at + 1, end)) return 0;
  const length = names.read(bytes.toString('latin1', at + 1, isWhole ? end + 1 : end));
  if (length === 0) return 0;
  for (const character of names.text) pushFolded(character.codePointAt(0) ?? 0, length, out);
  return length;
}

/**
 * Tells whether a reference is the name of a form or query field, which also begins with `&`: `&copy=1`,
 * `&region_id=2`. Names of invisible characters count as references.
 */
function isFieldName(bytes: Buffer, start: number, nameEnd: number): boolean {
  let end = nameEnd;
  while (end - start <= fieldLengthMax && isOfField[bytes[end] ?? 0] === 1) end += 1;
  return bytes[end] === equals && !unseen.some((name) => name.every((byte, i) => bytes[start + i] === byte));
}

/**
 * Appends a character. Spaces and dashes of any width become ASCII, invisible characters are dropped. So is
 * text that is longer than its reference.
 */
function pushFolded(codePoint: number, lengthMax: number, out: Output): void {
  if (isInvisible(codePoint)) return;
  if (isSpace.test(String.fromCodePoint(codePoint))) out.push(space);
  else if ((codePoint >= 0x2010 && codePoint <= 0x2013) || codePoint === 0x2212) out.push(hyphen);
  else if (out.length + bytesOf(codePoint) <= lengthMax) out.pushCodePoint(codePoint);
}

const bytesOf = (codePoint: number): number =>
  codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x1_0000 ? 3 : 4;

function readNumber(bytes: Buffer, at: number, digitsAt: number, radix: 10 | 16, out: Output): number {
  let end = digitsAt;
  while (end - digitsAt < zerosMax && bytes[end] === zero) end += 1;
  const firstDigit = end;
  let codePoint = 0;
  while (end - firstDigit < digitsMax && (radix === 16 ? readHex(bytes, end, 1) >= 0 : isDigit(bytes[end]))) {
    codePoint = Math.min(codePoint * radix + readHex(bytes, end, 1), 0x11_0000);
    end += 1;
  }
  if (end === digitsAt || codePoint === 0 || codePoint > 0x10_ffff || (codePoint & 0x1f_f800) === 0xd800)
    return 0;
  const length = (bytes[end] === semicolon ? end + 1 : end) - at;
  out.pushCodePoint(codePoint);
  return length;
}
