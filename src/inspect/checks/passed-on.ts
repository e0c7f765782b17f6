import { packagedWords } from '../../util/files/packaged-lines.ts';
import { isAscii } from '../kernel/bytes.ts';
import type { Checks } from './check.ts';
import { randomBits } from './letter-pairs.ts';
import { isEncodedWords } from './randomness.ts';
import { hasDigit, hasLetter, isChosen, isPasswordLike } from './texts.ts';

/*
 * Checks passwords where the words before them, or their place on a command line, already say that one stands
 * there. So shorter ones count than elsewhere, and only what else people write there has to be told apart.
 */

/**
 * Matches a capital word with a sign or a year behind it, and two capital words with a number: `Topaz_2017`.
 */
const capitalsAndNumber = /^[A-Z][a-z]{2,}(?:[_.-]\d{3,4}|[-_.]?[A-Z][a-z]{2,}\d{1,4})$/;
/** Matches a small word with three digits or more: `cobalt2766`. */
const wordAndNumber = /^[a-z]{4,}\d{3,6}$/;
/**
 * Matches letters and digits that change twice or more, which they do not in names with a version:
 * `js8s2vdj6`.
 */
const mixedTwice = /\d[a-z]+\d[a-z]|[a-z]\d+[a-z]+\d/i;
const mixedLengthMin = 8;
/** Matches a capital word in which a digit stands for a letter, and more behind a sign: `Wint3r-Sun`. */
const digitForLetter = /^[A-Z](?=[a-z\d]{5})[a-z]{1,6}[01347][a-z]{1,8}[-_.!][A-Za-z]/;
/** Matches the words with a number that tests and manuals have for a password: `password123`. */
const namedNumber =
  /^#[\da-f]{3,8}$|^(?:[a-z]+\d{0,2}[-_./:])+[a-z\d]*$|^(?:\d{1,4}x)+\d{1,4}$|[/\\()<>]|[a-z]\.[a-z]/i;
/** Matches the words with a number that tests and manuals have for a password: `password123`. */
const knownWord =
  /^(?:my)?(?:pass(?:word|wd)?|test|user|admin|secret|example|demo|hello|abc|qwerty|foo|bar|token|key|value)[-_]?\d{1,4}!?$/i;
const signInside = /[!#$%^&*+=?@~]/;

/** Matches what is no password on a command line: options, variables, ports, addresses, paths and lists. */
const argument =
  /^(?:[-$%@<{(*~./\\]|\d{1,5}(?::|$|-\d|\/)|(?:\d{1,3}\.){3}|[\w.-]{0,64}:[\d/]|\w{1,40}=)|,|[\w.-]+\/[\w./-]+$/;

const typedBitsMin = 6;

const wordsOfPhrase =
  /^(?:[A-Za-z]{3,10}|\d{1,4})[,.!?]?(?:[ ._-](?:[A-Za-z]{3,10}|\d{1,4})[,.!?]?){2,11}[!?.]?$/;
/** Words of sentences, labels and messages. Passphrases of random words have none of them. */
const wordsOfSentences = packagedWords('sentence-words.txt');
const phraseWordsMin = 4;

const groupBitsMin = 8;

export const passedOnChecks = {
  /**
   * Tells whether a text is a password, behind words that say that one follows. Shorter texts count than for
   * `chosen`. Names with a number do not: `server-01`, `RFC7617`.
   */
  told(text) {
    const word = text.replace(/[.,:?;]{1,3}$/, '');
    if (knownWord.test(word)) return false;
    if (isChosen(word)) return true;
    if (!isPasswordLike(word) || !hasDigit.test(word)) return false;
    if (capitalsAndNumber.test(word) || wordAndNumber.test(word) || digitForLetter.test(word)) return true;
    if (namedNumber.test(word) || /^[\w.+-]{1,64}@[\w-]{1,64}\./.test(word)) return false;
    if (/[a-z]/.test(word) && signInside.test(word)) return true;
    return word.length >= mixedLengthMin && mixedTwice.test(word);
  },
  /**
   * Tells whether a text on a command line, where no code can stand, is a password. It has a digit or a sign,
   * or an order that no word has.
   */
  typed(text) {
    if (!isAscii(text) || !hasLetter.test(text) || argument.test(text)) return false;
    if (/^[a-z]+(?:[-_.][a-z]+)*[-_.]?\d{0,2}$/i.test(text) && !/[a-z][A-Z]+[a-z]*\d/.test(text))
      return randomBits(text) >= typedBitsMin;
    return (hasDigit.test(text) || /[!@#$%^*+~?]/.test(text)) && !isEncodedWords(text);
  },
  /** Tells whether a text is a passphrase of random words, perhaps with a number, and no sentence or label. */
  passphrase(text) {
    if (!wordsOfPhrase.test(text)) return false;
    const parts = text
      .toLowerCase()
      .split(/[ ,.!?_-]+/)
      .filter((part) => part !== '');
    if (parts.some((part) => wordsOfSentences().has(part))) return false;
    return parts.length >= phraseWordsMin || (parts.length === phraseWordsMin - 1 && hasDigit.test(text));
  },
  /**
   * Tells whether groups of four letters or digits have an order that words do not have: `woev gkbe xcsw pogn`.
   */
  'random-groups': (text) =>
    !/abcd|1234|xxxx|0000/i.test(text) && randomBits(text.replace(/[ -]/g, '')) >= groupBitsMin,
  'has-digit': (text) => hasDigit.test(text),
} as const satisfies Checks;
