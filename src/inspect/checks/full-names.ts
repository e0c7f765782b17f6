import { packagedWords } from '../../util/files/packaged-lines.ts';
import type { Checks } from './check.ts';

/*
 * Tells whether capitalised words are a person's name. In a text about health, headings, firms and places
 * look the same.
 */

/** Returns the words in lower case, without punctuation at their ends. */
const wordsOf = (text: string): string[] =>
  Buffer.from(text, 'latin1')
    .toString('utf8')
    .split(/[\s+^_-]+|(?<=[.,])(?=\p{Lu})/u)
    .map((word) => word.replace(/[.,]$|['\u2019]s$/g, '').toLowerCase());

const givenNames = packagedWords('given-names.txt');

/** Returns a word in the form of the list: `Jürgen` is `jurgen`. */
const withoutAccents = (word: string): string =>
  word
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[łøßæœđı]/g, (letter) => plainLetters[letter] ?? letter);
const plainLetters: Readonly<Record<string, string>> = {
  ł: 'l',
  ø: 'o',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  đ: 'd',
  ı: 'i',
};

/** Capitalised words, in lower case here, that no person's name has. */
const notNames = packagedWords('no-names.txt');

export const fullNameChecks = {
  /** Tells whether none of the words belongs to a firm, a place, a heading or a disease. */
  'person-name': (text) => wordsOf(text).every((word) => !notNames().has(word)),
  /** Tells whether words are a person's name, one of which is a known given name. */
  'known-name'(text) {
    const words = wordsOf(text);
    if (words.some((word) => notNames().has(word))) return false;
    return words.some((word) => givenNames().has(withoutAccents(word)));
  },
} as const satisfies Checks;
