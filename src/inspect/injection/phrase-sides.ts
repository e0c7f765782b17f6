import { isAlphanumeric, isAscii } from '../kernel/bytes.ts';
import { compositions } from './spellings.ts';

/* Compares what stands on both sides of the core of a phrase: its other words, or the end of a word. */

export const isWordSign = /[\p{L}\p{N}]/u;
const endsInWordSign = /[\p{L}\p{N}]$/u;
const startsWithWordSign = /^[\p{L}\p{N}]/u;
/** Bound on the characters between two words of a phrase. */
const gapMax = 4;
const characterBytesMax = 4;

/** The requirement on one side of a core: other words, the end of a word, or nothing. */
export interface Side {
  /** Words from the core outwards, each in all its spellings, in lower case. */
  readonly words: readonly (readonly string[])[];
  /** The word next to the core; '' where it has more than ASCII letters. */
  readonly nearest: string;
  /** The bytes in which the words must stand. */
  readonly reach: number;
  readonly endsWord: boolean;
}

/** Makes a side of words from the core outwards. */
export type SideOf = (words: readonly string[], endsWord: boolean) => Side;

/** Creates each side once, because thousands of phrases share a few hundred. */
export function sidesOnce(): SideOf {
  const made = new Map<string, Side>();
  return (words, endsWord) => {
    const key = `${endsWord} ${words.join(' ')}`;
    const side = made.get(key) ?? toSide(words, endsWord);
    made.set(key, side);
    return side;
  };
}

const toSide: SideOf = (words, endsWord) => {
  const nearest = words[0]?.toLowerCase() ?? '';
  const characters = words.join('').length + (words.length + 1) * gapMax + 1;
  return {
    words: words.map((word) => compositions(word.toLowerCase())),
    nearest: /^[a-z]+$/.test(nearest) ? nearest : '',
    reach: words.length === 0 ? 0 : characters * (isAscii(words.join('')) ? 2 : characterBytesMax),
    endsWord,
  };
};

/** Returns how many bytes of the phrase stand before its core; -1 where something else does. */
export function lengthBefore(bytes: Buffer, { words, nearest, reach, endsWord }: Side, at: number): number {
  const byte = bytes[at - 1] ?? 0;
  if (words.length > 0) {
    if (isAlphanumeric(byte) || isOther(bytes, at - 2, nearest, -1)) return -1;
    const text = bytes.toString('utf8', Math.max(0, at - reach), at);
    const start = startOf(text, words, endsWord);
    return start < 0 ? -1 : Buffer.byteLength(text.slice(start));
  }
  if (!endsWord) return 0;
  if (byte < 0x80) return isAlphanumeric(byte) ? -1 : 0;
  return endsInWordSign.test(bytes.toString('utf8', Math.max(0, at - characterBytesMax), at)) ? -1 : 0;
}

export function lengthAfter(bytes: Buffer, { words, nearest, reach, endsWord }: Side, at: number): number {
  const byte = bytes[at] ?? 0;
  if (words.length > 0) {
    if (isAlphanumeric(byte) || isOther(bytes, at + 1, nearest, 1)) return -1;
    const text = bytes.toString('utf8', at, at + reach);
    const end = endOf(text, words, endsWord);
    return end < 0 ? -1 : Buffer.byteLength(text.slice(0, end));
  }
  if (!endsWord) return 0;
  if (byte < 0x80) return isAlphanumeric(byte) ? -1 : 0;
  return startsWithWordSign.test(bytes.toString('utf8', at, at + characterBytesMax)) ? -1 : 0;
}

/** Returns the start of the words that end at the end of the text; -1 where other words do. */
function startOf(text: string, words: Side['words'], endsWord: boolean): number {
  let at = text.length;
  for (const spellings of words) {
    const behind = at;
    while (at > 0 && isGap(text[at - 1])) at--;
    if (at === behind || behind - at > gapMax || isNameMark(text.slice(at, behind))) return -1;
    const found = spellings.find((word) => isSame(text.slice(Math.max(0, at - word.length), at), word));
    if (found === undefined) return -1;
    at -= found.length;
  }
  return endsWord && at > 0 && endsInWordSign.test(text.slice(Math.max(0, at - 2), at)) ? -1 : at;
}

/** Returns the end of the words that begin at the start of the text; -1 where other words do. */
function endOf(text: string, words: Side['words'], endsWord: boolean): number {
  let at = 0;
  for (const spellings of words) {
    const before = at;
    while (isGap(text[at])) at++;
    if (at === before || at - before > gapMax || isNameMark(text.slice(before, at))) return -1;
    const found = spellings.find((word) => isSame(text.slice(at, at + word.length), word));
    if (found === undefined) return -1;
    at += found.length;
  }
  return endsWord && startsWithWordSign.test(text.slice(at, at + 2)) ? -1 : at;
}

/** Tells whether a text is a word in any case. Most texts differ from it in the first letter already. */
function isSame(written: string, word: string): boolean {
  const [code, other] = [written.charCodeAt(0), word.charCodeAt(0)];
  if (code < asciiEnd && other < asciiEnd && (code | 0x20) !== (other | 0x20)) return false;
  return written.toLowerCase().replaceAll('\u2019', "'") === word;
}

/**
 * Tells whether a character may stand between the words of a phrase. The end of a sentence or statement may
 * not, since another phrase begins behind it.
 */
function isGap(character: string | undefined): boolean {
  if (character === undefined) return false;
  const code = character.charCodeAt(0);
  return code < asciiEnd ? asciiGaps[code] === 1 : !isWordSign.test(character);
}

const asciiEnd = 0x80;
/** The ASCII characters of gaps, as 1; 0 for all others. */
const asciiGaps = Uint8Array.from({ length: asciiEnd }, (_, code) => {
  const character = String.fromCharCode(code);
  return '.!?;={}'.includes(character) || isWordSign.test(character) ? 0 : 1;
});

/** Tells whether a gap is one between the parts of a name in code or in a path. */
const isNameMark = (gap: string): boolean => gap === '_' || gap === '-';

/**
 * Tells whether another word begins at a place, behind the one space that nearly always separates two words.
 * `step` leads away from the core. Comparing bytes saves making a string of them.
 */
function isOther(bytes: Buffer, at: number, nearest: string, step: 1 | -1): boolean {
  if (bytes[at - step] !== 0x20 || !isAlphanumeric(bytes[at])) return false;
  let index = step > 0 ? 0 : nearest.length - 1;
  for (let count = 0; count < nearest.length; count++, index += step)
    if (((bytes[at + count * step] ?? 0) | 0x20) !== nearest.charCodeAt(index)) return true;
  return false;
}
