import { isAscii } from 'node:buffer';
import { kept } from '../../util/kept.ts';
import { createMatcher, type Matcher } from './matcher.ts';

/*
 * Finds all phrases and field names that a set of rules looks for, in one pass over a body. The matcher
 * compares ASCII without case. Single letters and words beyond ASCII are searched in the lower-cased text.
 */

/** Letters that become ASCII letters when compared without case: long s and the kelvin sign. */
export const foldsToAscii = ['\u017f', '\u212a'] as const;

/** The words of a set, ready for the search. */
export interface Words {
  /** Tells whether `firstEnds` can find all words. */
  readonly havePlaces: boolean;
  /** The words in the order of their indices. */
  readonly list: readonly string[];
  /** Returns an array with 1 at the index of each word in the texts; empty where they have none. */
  find(texts: readonly Buffer[]): Uint8Array;
  /** Maps the index of each word in a text to the end of its first occurrence. */
  firstEnds(text: Buffer): ReadonlyMap<number, number>;
}

export class WordList {
  readonly #indexOf = new Map<string, number>();

  /** Returns the index of a word, which is the same in any case. A new word gets the next index. */
  add(word: string): number {
    const lower = fold(word);
    const known = this.#indexOf.get(lower);
    if (known !== undefined) return known;
    this.#indexOf.set(lower, this.#indexOf.size);
    return this.#indexOf.size - 1;
  }

  build(): Words {
    return wordsOf(Object.freeze([...this.#indexOf.keys()]));
  }
}

/** Prepares the search for words that are folded already. Folding some words twice would change them. */
function wordsOf(list: readonly string[]): Words {
  const entries = list.map((word, index) => ({ word, index }));
  const plain = entries.filter(({ word }) => isPlain(word));
  const others = entries.filter(({ word }) => !isPlain(word));
  const plainWords = plain.map(({ word }) => word);
  let matcher: Matcher | undefined;
  return {
    list,
    // A word with a backslash occurs in the raw body, not in its unescaped form.
    havePlaces: others.length === 0 && !list.some((word) => word.includes('\\')),
    firstEnds(text) {
      const ends = new Map<number, number>();
      if (plain.length === 0) return ends;
      matcher ??= createMatcher(plainWords);
      matcher.scan(text, (place, start) => {
        const { index, word } = plain[place] as (typeof plain)[number];
        ends.set(index, Math.min(ends.get(index) ?? Number.POSITIVE_INFINITY, start + word.length));
      });
      return ends;
    },
    find(texts) {
      // The array is made for the first hit, since most bodies have none.
      let found: Uint8Array | undefined;
      const add = (index: number): void => {
        found ??= new Uint8Array(entries.length);
        found[index] = 1;
      };
      const mark = (place: number): void => add(plain[place]?.index ?? 0);
      if (plain.length > 0) {
        matcher ??= createMatcher(plainWords);
        for (const text of texts) matcher.scan(text, mark);
      }
      for (const text of others.length > 0 ? texts : []) {
        const lower = fold(text.toString('utf8'));
        for (const { word, index } of others) if (lower.includes(word)) add(index);
      }
      return found ?? noneFound;
    },
  };
}

const noneFound = new Uint8Array(0);

/** The words of a set that stand in the texts of a body, found while the body is read. */
export interface WordsFound {
  /** 1 at the index of each word that occurs; may be empty where none does. */
  readonly found: Uint8Array;
  readonly hidesNames: boolean;
}

const sets = new WeakMap<readonly string[], Words>();

/** Returns the words of a list, which stay prepared as long as the list lives. */
export const wordsOfList = (list: readonly string[]): Words => kept(sets, list, () => wordsOf(list));

/** Looks for the words of a set in all texts of a body. */
export const findWords = (list: readonly string[], texts: readonly Buffer[]): WordsFound => ({
  found: Buffer.from(wordsOfList(list).find(texts)),
  hidesNames: texts.some(hidesNames),
});

/**
 * Tells whether escapes may hide a name: `{"\\u0061mount": 1}` and, for lenient parsers, `"\\x61mount"` have
 * an amount; `{"it\\u2019s": 1}` hides nothing.
 */
export const hidesNames = (text: Buffer): boolean => hiddenNameEnd(text) !== undefined;

/** Returns the end of the first sign that may hide a name; undefined where there is none. */
export function hiddenNameEnd(text: Buffer): number | undefined {
  const isPlainText = isAscii(text);
  if (isPlainText && !text.includes(backslash)) return undefined;
  const ends = (isPlainText ? asciiSigns : hidingSigns).flatMap((sign) => {
    const at = text.indexOf(sign);
    return at < 0 ? [] : [at + sign.length];
  });
  const escapeEnd = hidingEscapeEnd(text);
  if (escapeEnd !== undefined) ends.push(escapeEnd);
  return ends.length > 0 ? Math.min(...ends) : undefined;
}

/**
 * Returns the end of the first escape of an ASCII letter or digit, or of an ambiguous one. Most escapes are
 * quotes and dashes.
 */
function hidingEscapeEnd(text: Buffer): number | undefined {
  for (let at = text.indexOf(escapeStart); at >= 0; at = text.indexOf(escapeStart, at + 2)) {
    if (!harmlessCode.test(text.toString('latin1', at + 2, at + 6))) return Math.min(at + 6, text.length);
  }
  return undefined;
}

const backslash = 0x5c;
const escapeStart = Buffer.from('\\u');
/**
 * Matches codes that cannot hide a name, which is searched by its ASCII letters and digits; see also
 * `foldsToAscii`.
 */
const harmlessCode = /^(?!00(?:3\d|[46][1-9a-f]|[57][\da])|017f|212a)[\da-f]{4}$/i;
const asciiSigns = [Buffer.from('\\x')];
const hidingSigns = [...asciiSigns, ...foldsToAscii.map((it) => Buffer.from(it))];

const isPlain = (word: string): boolean => /^[\x20-\x7e]{2,}$/.test(word);

/** Folds a text to lower case, composed accents, and one form of sigma. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ');
