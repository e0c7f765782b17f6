import type { Checks, SecretCheck } from './check.ts';
import { isPlainValue } from './plain-values.ts';

/*
 * Tells generated random text from names. Entropy cannot do that: `getUserAccessToken` has as many different
 * characters as random text of its length. The order of letters can: languages and identifiers use few of the
 * 676 pairs of letters, random texts all of them.
 */

/**
 * Bits by which a pair of letters speaks for randomness, as one digit. It is log2 of how much rarer the pair
 * is in words than in random text, plus 4. There is a row for each first letter and a column for each second.
 * They were counted over the different words of documentation, source code and licences. So frequent words
 * weigh little more than others.
 */
const pairDigits =
  '53236536374131738121445546 35563678468367379446489858 26452672383367168342478868 35541567277566368446467869 ' +
  '24213346475231535012544346 46664379299477379455498969 48672754499464469346488878 28872888397666379564588969 ' +
  '33233337775230237322638584 58775899698989579959698999 48873776488686579656687979 26541667186266259744468838 ' +
  '25762778387547338746489869 26322416265564358621457857 54335546565331339133343667 27662774386367349243487859 ' +
  '99999899799999999978489999 15431547185434259323457948 36361563285455336621366857 26451572186456259233476736 ' +
  '44454558496342649333879787 38782889399878589768899989 48874885498685589557999999 68575798599878759874899679 ' +
  '57675878699665649755787988 59994997599889799988899987';

const pairBitsZero = 4;
const letterCount = 26;
const pairBits = Int8Array.from(pairDigits.replaceAll(' ', ''), (digit) => Number(digit) - pairBitsZero);
/** The bits of a digit before a letter: within a word, digits seldom come first. */
const digitThenLetterBits = 2;
const letterThenDigitBits = 1;
/**
 * The bits of a small letter before a capital. In `camelCase` a new word follows, so the pair says little.
 */
const newWordBits = 0.5;
/**
 * The least number of bits of a random text. One in a thousand identifiers and words of other sources has so
 * many; of random texts of 16 letters and digits 95 % do.
 */
const randomBitsMin = 6;
/**
 * The least number of bits of a random text for each letter. Long texts of words have some rare pairs, too.
 */
const randomBitsPerLetterMin = 0.3;

const lowerA = 0x61;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isUpper = (code: number): boolean => code >= 0x41 && code <= 0x5a;
const isLower = (code: number): boolean => code >= lowerA && code <= 0x7a;
const isLetter = (code: number): boolean => isLower(code) || isUpper(code);

/** Returns the bits of two neighbouring characters. */
function bitsOf(first: number, second: number): number {
  if (isDigit(first)) return isLetter(second) ? digitThenLetterBits : 0;
  if (!isLetter(first)) return 0;
  if (isDigit(second)) return letterThenDigitBits;
  if (!isLetter(second)) return 0;
  if (isLower(first) && isUpper(second)) return newWordBits;
  return pairBits[letterCount * ((first | 0x20) - lowerA) + (second | 0x20) - lowerA] as number;
}

/** Returns the bits by which the order of characters speaks for randomness; below 0 it speaks for words. */
export function randomBits(text: string): number {
  let bits = 0;
  for (let index = 1; index < text.length; index++)
    bits += bitsOf(text.charCodeAt(index - 1), text.charCodeAt(index));
  return bits;
}

function countLetters(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++) if (isLetter(text.charCodeAt(index))) count++;
  return count;
}

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
