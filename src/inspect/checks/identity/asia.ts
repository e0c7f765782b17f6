import { type Checks, compactOf, digitsOf } from '../check.ts';
import {
  complement,
  digitsAndLetters,
  digitsCheck,
  isDate,
  isDdmmyy,
  isYymmdd,
  lastDigitCheck,
  passesLuhn,
  passesVerhoeff,
  weighLetters,
  weightedSum,
} from '../check-digits.ts';

/* Checks numbers that the states of Asia give to persons, from Turkey to Japan. */

/** Letters of Taiwanese cards in the order in which places were numbered, which is not the alphabet's. */
const taiwaneseLetters = 'ABCDEFGHJKLMNPQRSTUVXYWZIO';

export const asianIdentityChecks = {
  /** Checks the two check digits of a Turkish number. */
  tckn: digitsCheck(11, (digits) => {
    const first = weightedSum(digits, [7, 9, 7, 9, 7, 9, 7, 9, 7]) % 10;
    const second = weightedSum(digits, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) % 10;
    return digits[0] !== '0' && first === Number(digits[9]) && second === Number(digits[10]);
  }),
  /**
   * Checks a Turkish tax number. Each digit is raised by its distance from the end and doubled as often, modulo
   * 9.
   */
  vkn: digitsCheck(10, (digits) => {
    const sum = [...digits.slice(0, 9)].reduce((sum, digit, at) => {
      const raised = (Number(digit) + 9 - at) % 10;
      return sum + (raised === 9 ? 9 : (raised * 2 ** (9 - at)) % 9);
    }, 0);
    return complement(sum, 10) === Number(digits[9]);
  }),
  'il-id': digitsCheck(9, passesLuhn),
  /** Checks an Indian Aadhaar number: none begins with 0 or 1, none is a palindrome. */
  aadhaar: digitsCheck(
    12,
    (digits) => digits > '2' && [...digits].toReversed().join('') !== digits && passesVerhoeff(digits),
  ),
  /**
   * Checks an Indian number for goods and services tax: state, PAN, entity, `Z`, and a check character in base
   * 36.
   */
  gstin(text) {
    const number = compactOf(text);
    const sum = [...number.slice(0, 14)].reduce((sum, letter, at) => {
      const product = digitsAndLetters.indexOf(letter) * (at % 2 === 0 ? 1 : 2);
      return sum + Math.trunc(product / 36) + (product % 36);
    }, 0);
    return digitsAndLetters[complement(sum, 36)] === number[14];
  },
  /**
   * Checks a Chinese resident identity number (GB 11643-1999): region, date, serial, and a digit of ISO/IEC
   * 7064, MOD 11-2.
   */
  ric(text) {
    const sum = weightedSum(text, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
    const isBirth = isDate(text.slice(6, 10), text.slice(10, 12), text.slice(12, 14));
    return (
      /^[1-8]\d{5}(?:19|20)/.test(text) && isBirth && '10X98765432'[sum % 11] === text[17]?.toUpperCase()
    );
  },
  /** Checks a Hong Kong identity card, with one letter or two. The missing letter is a space and counts 36. */
  hkid(text) {
    const number = compactOf(text);
    const padded = number.length === 8 ? `?${number}` : number;
    const sum = [...padded.slice(0, 8)].reduce(
      (sum, letter, at) => sum + (letter === '?' ? 36 : digitsAndLetters.indexOf(letter)) * (9 - at),
      0,
    );
    return '0123456789A'[complement(sum, 11)] === padded[8];
  },
  /** Checks a Taiwanese identity card, or the residents' card, which has the same form since 2021. */
  'tw-id'(text) {
    const number = compactOf(text);
    const place = taiwaneseLetters.indexOf(number[0] as string) + 10;
    const sum =
      Math.trunc(place / 10) + (place % 10) * 9 + weightedSum(number.slice(1), [8, 7, 6, 5, 4, 3, 2, 1, 1]);
    return place >= 10 && sum % 10 === 0;
  },
  /** Checks a Japanese individual number. */
  'my-number': lastDigitCheck([6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2], (sum) => complement(sum, 11) % 10),
  /**
   * Checks a Korean number: date, then sex and century. Only these are checked, since the last digits are
   * random since 2020.
   */
  rrn: digitsCheck(13, (digits) => isYymmdd(digits) && /^.{6}[1-8]/.test(digits)),
  /**
   * Checks a Singaporean identity card or foreign identification number. T and G stand for those since 2000, M
   * for those since 2022.
   */
  nric(text) {
    const number = compactOf(text);
    const [series, last] = [number.slice(0, 1), number[8]];
    if (last === undefined) return false;
    const rest = weightedSum(number.slice(1), [2, 7, 6, 5, 4, 3, 2]) + ('TG'.includes(series) ? 4 : 0);
    if ('ST'.includes(series)) return 'JZIHGFEDCBA'[rest % 11] === last;
    return series === 'M'
      ? 'KLJNPQRTUWX'[10 - ((rest + 3) % 11)] === last
      : 'XWUTRQPNMLK'[rest % 11] === last;
  },
  /** Checks a Malaysian identity card: date, place of birth, serial. */
  mykad: digitsCheck(
    12,
    (digits) => isYymmdd(digits) && !/^.{6}(?:00|1[789]|[23]0|69|7[03]|8[01]|9[4-7])/.test(digits),
  ),
  /** Checks a Thai number, with weights 13 to 2. */
  'th-id': digitsCheck(
    13,
    (digits) =>
      digits[0] !== '0' &&
      (11 - (weightedSum(digits, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === Number(digits[12]),
  ),
  /** Checks an Indonesian number: province and district, then the date, with a woman's day raised by 40. */
  nik: digitsCheck(16, (digits) => {
    const day = Number(digits.slice(6, 8));
    return (
      /^(?:1[1-9]|21|3[1-6]|5[1-3]|6[1-5]|7[1-6]|8[12]|9[1-7])/.test(digits) &&
      isDate(digits.slice(10, 12), digits.slice(8, 10), day > 40 ? day - 40 : day)
    );
  }),
  npwp: digitsCheck(15, (digits) => passesLuhn(digits.slice(0, 9))),
  /** Checks a Vietnamese number: province 001 to 096, then sex and century, then the year of birth. */
  cccd: digitsCheck(12, (digits) => /^0(?:0[1-9]|[1-8]\d|9[0-6])[0-9]/.test(digits)),
  /**
   * Checks a Sri Lankan card: two or four digits of the year, then the day of the year, a woman's raised by
   * 500.
   */
  'lk-nic'(text) {
    const digits = digitsOf(text);
    const day = Number(digits.length === 12 ? digits.slice(4, 7) : digits.slice(2, 5));
    return (
      (digits.length === 9 || /^(?:19|20)\d{10}$/.test(digits)) &&
      day % 500 >= 1 &&
      day % 500 <= 366 &&
      day <= 866
    );
  },
  /** Checks an Emirates ID: the country's code, the year of birth, Luhn's sum. */
  'emirates-id': digitsCheck(15, (digits) => /^784(?:19|20)\d\d/.test(digits) && passesLuhn(digits)),
  /** Checks a Saudi number of national identity (1) or residence (2). */
  'sa-id': digitsCheck(10, (digits) => /^[12]/.test(digits) && passesLuhn(digits)),
  /** Checks a Kuwaiti civil number: century, date, serial. */
  'kw-civil': digitsCheck(12, (digits) => {
    const digit = 11 - (weightedSum(digits, [2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11);
    return /^[1-3]/.test(digits) && isYymmdd(digits.slice(1)) && digit === Number(digits[11]);
  }),
  /** Checks the century of a Qatari number; year, country and serial follow it. */
  qid: digitsCheck(11, (digits) => /^[23]/.test(digits)),
  /** Checks an Iranian number, with weights 10 to 2. */
  'ir-code': lastDigitCheck([10, 9, 8, 7, 6, 5, 4, 3, 2], (sum) =>
    sum % 11 < 2 ? sum % 11 : 11 - (sum % 11),
  ),
  /** Checks an Uzbek number: sex and century, then the date of birth, day first. */
  pinfl: digitsCheck(
    14,
    (digits) =>
      /^[1-6]/.test(digits) &&
      isDdmmyy(digits.slice(1)) &&
      weighLetters(digits, digitsAndLetters, [7, 3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1, 7]) % 10 ===
        Number(digits[13]),
  ),
} as const satisfies Checks;
