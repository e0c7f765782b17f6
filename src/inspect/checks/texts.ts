import { isUtf8 } from 'node:buffer';
import { parse } from 'tldts';
import { isAscii } from '../kernel/bytes.ts';
import type { Checks } from './check.ts';
import { randomBits } from './letter-pairs.ts';
import { isIdentifier, isPlainValue, withoutNumbers } from './plain-values.ts';
import { isEncodedWords, isRandom } from './randomness.ts';

export const hasDigit = /[0-9]/;
export const hasLetter = /[A-Za-z]/;

/** The bits that a password of letters alone needs; names of products and abbreviations have some. */
export const passwordBitsMin = 12;

/**
 * Matches names of values: `user.password1`, `base64.b64decode`, `connection.credentials[2]`,
 * `vault:path/x#key`.
 */
const reference =
  /^(?:[A-Za-z_]{1,64}(?:[./:][A-Za-z_]{0,64}){1,16}\d{0,4}|[a-z_]\w{0,64}(?:(?:\.[a-z_]\w{0,64}){1,8}(?:\[\d{1,4}\]){0,3}|(?:\[\d{1,4}\]){1,3})|[a-z]{2,16}:\S{1,4096})$/;

/** Matches words, dots and a year or another number, which no name of code has: `Sommer.2024`, `Marble.Fox.31`. */
const wordsAndYear = /^[A-Z][a-z]{2,16}(?:\.[A-Z][a-z]{1,16}){0,2}\.\d{2,4}$/;

const isReference = (word: string): boolean =>
  !wordsAndYear.test(word) &&
  (reference.test(word) || reference.test(withoutNumbers(word.replace(pointer, ''))));

/** Matches constants such as `__BITS_PER_LONG`, whose letters stand in an order unlike that of words. */
const constant = /^_{0,2}[A-Z]{2,}\d{0,2}(?:_[A-Z]{2,}\d{0,2}){1,8}_{0,2}$/;

/**
 * Matches what stands before a name in Perl, C and Ruby: `*all_children`, `&password_cb`, `:Argon2Password`.
 */
const pointer = /^[*&:]/;

const isUtf8Text = (text: string): boolean => isAscii(text) || isUtf8(Buffer.from(text, 'latin1'));

/**
 * Matches four characters of Chinese, Japanese or Korean in a row. They are a sentence, since nobody types a
 * password so.
 */
const ideograms = /(?:[\xe3-\xed][\x80-\xbf]{2}){4}/;

/** Bound on the share of letters beyond ASCII in texts of another encoding, such as Latin-1. */
const nonAsciiShareMax = 0.25;

/**
 * Tells whether a text is written text, and not what stands between two quotes or signs in a picture or a
 * program. These contain every short word somewhere. In UTF-8 a control character proves nothing, since it
 * may hide the rest.
 */
function isWritten(text: string): boolean {
  if (isUtf8Text(text)) return true;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what tells them apart
  if (/[\x00-\x08\x0e-\x1f\x7f]/.test(text)) return false;
  return text.replace(/[^\x80-\xff]/g, '').length <= text.length * nonAsciiShareMax;
}

/** Matches the quotation marks of printed text, in UTF-8: “secret:2”. */
const quotes = /^(?:\xe2\x80[\x98\x9c\x9e]|\xc2\xab)|(?:\xe2\x80[\x99\x9c\x9d]|\xc2\xbb)[.,;:]?$/g;

/**
 * Tells whether a text can be a password: letters with a digit or an unusual sign, or in an order that no
 * word has. References, prose and plain values are none.
 */
export function isPasswordLike(text: string): boolean {
  if (!isWritten(text) || ideograms.test(text)) return false;
  const word = text.replace(quotes, '').replace(/[.,:!?]{1,3}$/, '');
  if (
    word.length < 5 ||
    !hasLetter.test(word) ||
    isReference(word) ||
    isPlainValue(word) ||
    isEncodedWords(word)
  )
    return false;
  if (isIdentifier(word.replace(pointer, '')))
    return randomBits(word) >= passwordBitsMin && !constant.test(word);
  return hasDigit.test(word) || /[!@#$%^*+~?]/.test(word) || randomBits(word) >= passwordBitsMin;
}

/** Matches more digits behind a word than versions and numbers of standards have. */
const digitsBehindWord = /[a-z][A-Za-z]{2,}\d{3,}[!@#$%^&*?]?$/;
const chosenLengthMin = 10;
const smallLetters = /^[a-z]+$/;

/**
 * Tells whether a text is a password as people choose them under rules (`couch-trip-update3971`, `S3cret!7`),
 * or a random one. It is stricter than `password-like`: `my-app-2`, `v1.2` and `user@host` do not pass.
 */
export function isChosen(text: string): boolean {
  const word = text.replace(/[.,:?]{1,3}$/, '');
  if (!isPasswordLike(word) || /^[\w.+-]{1,64}@[\w-]{1,64}\.|:\/\//.test(word)) return false;
  const hasSign = /[!#$%^&*+=~?@].*[0-9A-Za-z]|[0-9A-Za-z][!#$%^&*]$/.test(word);
  if (hasSign && hasDigit.test(word) && /[a-z]/.test(word) && /[A-Z]/.test(word)) return true;
  if (word.length < chosenLengthMin) return false;
  // Words of other languages have an order of letters that English words do not have, so small letters alone
  // do not count as random.
  return digitsBehindWord.test(word) || (isRandom(word) && !smallLetters.test(word)) || isOfManySigns(word);
}

/** Matches what code, templates, addresses and connection strings have, and passwords hardly ever. */
const codeSigns =
  /[$#%@]?\{\{|\$\{|\$\(|<%|%\(|:\/\/|=>|->|::|===?|&&|\|\||[;&]\w{1,32}=|,\w{2,32}[=:]|^[A-Za-z_$][\w.$:]{3,64}\(|\w\[["':]|[a-z]{5}|[A-Z]{6}|^\/.*\/[gimsuy,;]{0,4}$/;
const manySignsLengthMin = 10;
/** Matches a file in a folder, without capitals: `ld-elf/pr22836-1a`. */
const smallPath = /^[a-z\d._+-]{1,64}(?:\/[a-z\d._+-]{1,64}){1,8}$/;

const kindOf = (character: string): number => {
  if (character >= '0' && character <= '9') return 0;
  if (character >= 'a' && character <= 'z') return 1;
  return character >= 'A' && character <= 'Z' ? 2 : 3;
};

/**
 * Tells whether characters of all kinds stand in any order, as in passwords of programs and unlike code. The
 * kind changes at every other character or more, and no word is among them.
 */
function isOfManySigns(text: string): boolean {
  if (text.length < manySignsLengthMin || !/^[!-~]+$/.test(text)) return false;
  if (codeSigns.test(text) || smallPath.test(text) || isPlainValue(text) || reference.test(text))
    return false;
  const kinds = Array.from(text, kindOf);
  const changes = kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length;
  const signs = new Set(text.replace(/[0-9A-Za-z]/g, ''));
  return signs.size >= 2 && new Set(kinds).size >= 3 && 2 * changes >= text.length - 1;
}

/** The least number of characters of a password in a URL. */
const urlPasswordMin = 3;
/** Matches words in capitals that stand for a password in manuals: `smtp://ACCESS_KEY:SECRET_KEY@host`. */
const capitals = /^[A-Z]+(?:_[A-Z]+){0,4}$/;
const escaped = /%[\dA-Fa-f]{2}/g;
const lettersMax = 7;
/** Matches the word for a password, and signs and words behind it, as tests of URLs have: `pass;option`. */
const passAndWords = /^(?:p[a4]ss(?:w[o0]rd|wd)?|pwd|secret)(?:[^0-9A-Za-z]{1,4}[a-z]{0,12}){1,3}$/;

const fileExtensions = new Set(
  'png jpg jpeg gif svg webp ico css js mjs ts tsx jsx json md html htm txt pdf zip gz tar woff py go rs java rb sh yml yaml map exe dll so'.split(
    ' ',
  ),
);

/** Tells whether a label is a country's domain (RFC 1591, section 2); nobody writes one as `cH`. */
const isCountry = (label: string): boolean =>
  !/^[a-z][A-Z]$/.test(label) && parse(`a.${label}`, { allowPrivateDomains: false }).isIcann === true;

export const textChecks = {
  'password-like': isPasswordLike,
  chosen: isChosen,
  'many-signs': isOfManySigns,
  /**
   * Tells whether a text is a password in a URL, and not a few letters, as documentation has:
   * `https://wiki:pedia@host`, `http://user:he%2F%2Fo@host`.
   */
  'url-password'(text) {
    const plain = text.replace(escaped, '-');
    if (Buffer.from(plain, 'latin1').toString().length < urlPasswordMin) return false;
    if (capitals.test(plain) || passAndWords.test(plain)) return false;
    const letters = plain.replace(/[-/:@`{}]/g, '');
    return (
      letters.length > lettersMax || !/^[A-Za-z]*$/.test(letters) || randomBits(letters) >= passwordBitsMin
    );
  },
  /**
   * Tells whether the last part of a domain can be a top-level domain and is no file extension (`logo@2x.png`).
   */
  'email-domain': (text) => {
    const last = text.slice(text.lastIndexOf('.') + 1);
    return (
      !fileExtensions.has(last.toLowerCase()) && isUtf8Text(text) && (last.length > 2 || isCountry(last))
    );
  },
} as const satisfies Checks;
