import { type Checks, digitsOf } from '../check.ts';
import {
  complement,
  digitsCheck,
  isDate,
  isDdmmyy,
  isYymmdd,
  passesLuhn,
  weightedSum,
} from '../check-digits.ts';

/* Nordic and Baltic numbers of persons have a date of birth, a serial, and often a check digit. */

export const northernEuropeanIdentityChecks = {
  /** Checks a Swedish personal number; the day of a coordination number is raised by 60. */
  personnummer(text) {
    const digits = digitsOf(text).slice(-10);
    const day = Number(digits.slice(4, 6));
    return isDate(digits.slice(0, 2), digits.slice(2, 4), day > 60 ? day - 60 : day) && passesLuhn(digits);
  },
  /**
   * Checks a Norwegian number with two check digits. A D-number adds 40 to its day; other numbers add 40 or 80
   * to the month.
   */
  fodselsnummer: digitsCheck(11, (digits) => {
    const [day, month] = [Number(digits.slice(0, 2)), Number(digits.slice(2, 4))];
    const first = complement(weightedSum(digits, [3, 7, 6, 1, 8, 9, 4, 5, 2]), 11);
    const second = complement(weightedSum(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]), 11);
    return (
      isDate(digits.slice(4, 6), month % 40, day > 40 ? day - 40 : day) &&
      first === Number(digits[9]) &&
      second === Number(digits[10])
    );
  }),
  /** Checks the date of a Danish number. Numbers given since 2007 need not satisfy any sum. */
  cpr: digitsCheck(10, isDdmmyy),
  /**
   * Checks a Finnish number. The sign between date and serial tells the century, the last one the rest modulo
   * 31.
   */
  hetu(text) {
    const digits = digitsOf(text).slice(0, 9);
    return (
      isDdmmyy(digits) &&
      '0123456789ABCDEFHJKLMNPRSTUVWXY'[Number(digits) % 31] === text.at(-1)?.toUpperCase()
    );
  },
  /** Checks an Icelandic number; the last digit is the century. */
  kennitala: digitsCheck(
    10,
    (digits) =>
      isDdmmyy(digits) && complement(weightedSum(digits, [3, 2, 7, 6, 5, 4, 3, 2]), 11) === Number(digits[8]),
  ),
  /** Checks an Estonian or Lithuanian number. Where the first sum leaves 10, a second sum is taken. */
  baltic: digitsCheck(11, (digits) => {
    const first = weightedSum(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    const second = weightedSum(digits, [3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11;
    return isYymmdd(digits.slice(1)) && (first < 10 ? first : second % 10) === Number(digits[10]);
  }),
  /** Checks a Latvian number. Numbers given since 2017 begin with 32 to 39 and tell no date. */
  'lv-code': digitsCheck(11, (digits) => {
    if (/^3[2-9]/.test(digits)) return true;
    const sum = weightedSum(digits, [10, 5, 8, 4, 2, 1, 6, 3, 7, 9]);
    return isDdmmyy(digits) && ((1 + sum) % 11) % 10 === Number(digits[10]);
  }),
} as const satisfies Checks;
