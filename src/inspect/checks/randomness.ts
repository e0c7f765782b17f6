import type { Checks, SecretCheck } from './check.ts';
import { countLetters, randomBits } from './letter-pairs.ts';
import { isPlainValue } from './plain-values.ts';

/*
 * Tells generated random text from names. Entropy cannot do that: `getUserAccessToken` has as many different
 * characters as random text of its length. The order of letters can: languages and identifiers use few of the
 * 676 pairs of letters, random texts all of them.
 */

/**
 * The least number of bits of a random text. One in a thousand identifiers and words of other sources has so
 * many; of random texts of 16 letters and digits 95 % do.
 */
const randomBitsMin = 6;
/**
 * The least number of bits of a random text for each letter. Long texts of words have some rare pairs, too.
 */
const randomBitsPerLetterMin = 0.3;

/** Matches hexadecimal. The few words of `a` to `f` make no identifier together with digits. */
const isHex = /^[0-9A-Fa-f-]{16,4096}$/;

/**
 * Tells whether characters are random: no words, no names with a number behind them, no plain numbers. The
 * order of few letters among digits proves little; there it suffices that they stand between digits.
 */
export const isRandom: SecretCheck = (text) =>
  !isPlainValue(text) &&
  !isEncodedWords(text) &&
  ((isMixed(text) && (isHex.test(text) || randomBits(text) >= 0)) || hasRandomOrder(text));

const base64 = /^[0-9A-Za-z+/]{6,256}={0,2}$/;
const words = /^[A-Za-z]{3,}(?:[ :_-][A-Za-z]{3,})*:?$|^[A-Za-z]{1,16}(?: [A-Za-z]{1,16}){2,}[.!?]?\n?$/;

const jsonSigns = /[{}[\]",: ]+/g;

/**
 * Tells whether a text is base64 of words, as tests and manuals have: `dXNlcm5hbWU6cGFzc3dvcmQ=` is
 * `username:password`. JSON in it may be cut short, as in a cookie.
 */
export function isEncodedWords(text: string): boolean {
  if (!base64.test(text)) return false;
  const decoded = Buffer.from(text, 'base64').toString('latin1');
  const isJson = decoded.startsWith('{"');
  // The padding may stand behind the text.
  if (!isJson && text.length % 4 === 1) return false;
  const said = isJson ? decoded.replace(jsonSigns, ' ').trim() : decoded;
  return words.test(said) && randomBits(said) < 0;
}

const isMixed = (text: string): boolean => /[0-9][A-Za-z]/.test(text) && /[A-Za-z][0-9]/.test(text);

function hasRandomOrder(text: string): boolean {
  const [min, perLetterMin] = hyphenated.test(text)
    ? [hyphenatedBitsMin, hyphenatedBitsPerLetterMin]
    : [randomBitsMin, randomBitsPerLetterMin];
  return randomBits(text) >= Math.max(min, countLetters(text) * perLetterMin);
}

/**
 * Matches small letters with hyphens: names of packages contain abbreviations (`jjwt-jackson`). Random
 * letters have twice as many bits.
 */
const hyphenated = /^[a-z]+(?:-[a-z]+)+$/;
const hyphenatedBitsMin = 12;
const hyphenatedBitsPerLetterMin = 1.2;

export const randomnessChecks = {
  random: isRandom,
  /**
   * Tells whether characters are random where names are expected. These may have digits between their words
   * (`utf8ToUtf16Le`), so that digits between letters do not suffice.
   */
  'plainly-random': (text) =>
    !isPlainValue(text) &&
    ((isMixed(text) && isHex.test(text)) || (/[0-9]/.test(text) && hasRandomOrder(text))),
} as const satisfies Checks;
