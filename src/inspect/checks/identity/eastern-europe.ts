import { type Checks, compactOf, digitsOf } from '../check.ts';
import {
  complement,
  digitsAndLetters,
  digitsCheck,
  isDate,
  isDdmmyy,
  isYymmdd,
  lastDigitCheck,
  letters,
  passesMod1110,
  weighLetters,
  weightedSum,
} from '../check-digits.ts';

/* Checks numbers that the states of central and eastern Europe give to persons. */

export const easternEuropeanIdentityChecks = {
  /** Checks a Polish number, whose month tells the century by 20, 40, 60 or 80 more. */
  pesel: digitsCheck(11, (digits) => {
    const hasDate = isDate(digits.slice(0, 2), Number(digits.slice(2, 4)) % 20, digits.slice(4, 6));
    const sum = weightedSum(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    return hasDate && complement(sum, 10) === Number(digits[10]);
  }),
  nip: lastDigitCheck([6, 5, 7, 2, 3, 4, 5, 6, 7], (sum) => sum % 11),
  /** Checks a Polish identity card: three letters and six digits, the first of which is the check digit. */
  dowod: (text) => {
    const number = compactOf(text);
    return weighLetters(number, digitsAndLetters, [7, 3, 1, 9, 7, 3, 1, 7, 3]) % 10 === 0;
  },
  /**
   * Checks a Czech or Slovak number. A woman's month is 50 more, or 20 more where serials ran out; ten digits
   * divide by 11.
   */
  'rodne-cislo'(text) {
    const digits = digitsOf(text);
    const isDivisible =
      Number(digits) % 11 === 0 || (Number(digits.slice(0, 9)) % 11 === 10 && digits[9] === '0');
    return (
      isDate(digits.slice(0, 2), (Number(digits.slice(2, 4)) % 50) % 20, digits.slice(4, 6)) &&
      (digits.length === 9 || isDivisible)
    );
  },
  /** Checks a Hungarian personal number. Until 1996 its weights are 1 to 10, since then 10 to 1. */
  'hu-personal': digitsCheck(11, (digits) => {
    const rising = weightedSum(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) % 11;
    const falling = weightedSum(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11;
    return isYymmdd(digits.slice(1)) && [rising, falling].includes(Number(digits[10]));
  }),
  'hu-tax': digitsCheck(
    10,
    (digits) =>
      digits[0] === '8' && weightedSum(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11 === Number(digits[9]),
  ),
  taj: lastDigitCheck([3, 7, 3, 7, 3, 7, 3, 7], (sum) => sum % 10),
  /** Checks a Romanian number: sex and century, date, county. */
  cnp: digitsCheck(13, (digits) => {
    const rest = weightedSum(digits, [2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    return digits[0] !== '0' && isYymmdd(digits.slice(1)) && (rest === 10 ? 1 : rest) === Number(digits[12]);
  }),
  /** Checks a Bulgarian number. The month is 20 more for births before 1900, 40 more for those since 2000. */
  egn: digitsCheck(
    10,
    (digits) =>
      isDate(digits.slice(0, 2), Number(digits.slice(2, 4)) % 20, digits.slice(4, 6)) &&
      (weightedSum(digits, [2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11) % 10 === Number(digits[9]),
  ),
  /** Checks the Bulgarian number of a foreigner. */
  lnch: lastDigitCheck([21, 19, 17, 13, 11, 9, 7, 3, 1], (sum) => sum % 10),
  oib: digitsCheck(11, passesMod1110),
  /**
   * Checks a number of Yugoslavia, which its successors still give: a date with three digits of the year,
   * region, serial.
   */
  jmbg: digitsCheck(13, (digits) => {
    const digit = complement(weightedSum(digits, [7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]), 11);
    return (
      isDate(digits.slice(5, 7), digits.slice(2, 4), digits.slice(0, 2)) && digit % 10 === Number(digits[12])
    );
  }),
  'si-tax': lastDigitCheck([8, 7, 6, 5, 4, 3, 2], (sum) => complement(sum, 11) % 10),
  /** Checks an Albanian number. A letter is the decade since 1800, and a woman's month is 50 more. */
  'al-nid': (text) => {
    const year = String(letters.indexOf(text[0]?.toUpperCase() ?? '') * 10 + Number(text[1]));
    return isDate(year, Number(text.slice(2, 4)) % 50, text.slice(4, 6));
  },
  idnp: digitsCheck(
    13,
    (digits) =>
      /^[02]/.test(digits) &&
      weightedSum(digits, [7, 3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1]) % 10 === Number(digits[12]),
  ),
  /** Checks a Ukrainian taxpayer number, which begins with the days since 1899. */
  rnokpp: lastDigitCheck([-1, 5, 7, 9, 4, 6, 10, 5, 7], (sum) => (((sum % 11) + 11) % 11) % 10),
  /** Checks a Ukrainian register number: date of birth, serial. */
  unzr: digitsCheck(13, (digits) => isDate(digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8))),
  /** Checks the two check digits in the Russian taxpayer number of a person. */
  inn: digitsCheck(12, (digits) => {
    const first = (weightedSum(digits, [7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10;
    const second = (weightedSum(digits, [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10;
    return first === Number(digits[10]) && second === Number(digits[11]);
  }),
  snils: digitsCheck(11, (digits) => {
    const rest = weightedSum(digits, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101;
    return (rest === 100 ? 0 : rest) === Number(digits.slice(9));
  }),
  /** Checks a Belarusian number: sex and century, then the date of birth. */
  'by-number': (text) => isDdmmyy(text.slice(1, 7)),
  /** Checks a Kazakh number. Where the first sum leaves 10, a second sum is taken. */
  iin: digitsCheck(12, (digits) => {
    const first = weightedSum(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11;
    const second = weightedSum(digits, [3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11;
    return isYymmdd(digits) && (first < 10 ? first : second) === Number(digits[11]);
  }),
} as const satisfies Checks;
