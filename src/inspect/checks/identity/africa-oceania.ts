import { type Checks, digitsOf } from '../check.ts';
import { digitsCheck, isDate, isYymmdd, letters, passesLuhn, weightedSum } from '../check-digits.ts';

/* Checks numbers that the states of Africa and Oceania give to persons. */

export const africanAndOceanianIdentityChecks = {
  /** Checks a South African number: date, serial, citizenship 0 to 2, and Luhn's sum. */
  'za-id': digitsCheck(13, (digits) => isYymmdd(digits) && /^.{10}[012]/.test(digits) && passesLuhn(digits)),
  /** Checks Luhn's digit of a South African tax reference. */
  'za-tax': digitsCheck(10, passesLuhn),
  /** Checks an Egyptian number: century, date, governorate. */
  'eg-id': digitsCheck(
    14,
    (digits) => isYymmdd(digits.slice(1)) && /^[23].{6}(?:0[1-4]|1[1-9]|2[1-9]|3[1-5]|88)/.test(digits),
  ),
  /** Checks a number that begins with the whole date of birth, as in Tanzania and others. */
  'date-first': (text) => {
    const digits = digitsOf(text);
    return /^(?:19|20)/.test(digits) && isDate(digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8));
  },
  /** Checks a Rwandan number: a kind, the year of birth, and 7 or 8 for the sex. */
  'rw-id': digitsCheck(16, (digits) => /^[1-3](?:19|20)\d\d[78]/.test(digits)),
  /** Checks an Australian tax file number, which had eight digits before 1990. */
  tfn(text) {
    const digits = digitsOf(text);
    if (digits.length === 8) return weightedSum(digits, [10, 7, 8, 4, 6, 3, 5, 1]) % 11 === 0;
    return new Set(digits).size > 1 && weightedSum(digits, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0;
  },
  /**
   * Checks an Australian business number. The first digit counts one less, and the sum must be divisible by 89.
   */
  abn: digitsCheck(
    11,
    (digits) =>
      digits[0] !== '0' && (weightedSum(digits, [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]) - 10) % 89 === 0,
  ),
  /**
   * Checks an Australian Medicare card: eight digits, a check digit, the issue, and perhaps the place on the
   * card.
   */
  'au-medicare'(text) {
    const digits = digitsOf(text);
    return (
      /^[2-6]\d{9,10}$/.test(digits) &&
      weightedSum(digits, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === Number(digits[8])
    );
  },
  /** Checks a New Zealand tax number. Where the first sum gives 10, a second sum is taken. */
  ird(text) {
    const digits = digitsOf(text).padStart(9, '0');
    const digitFor = (weights: readonly number[]): number => (11 - (weightedSum(digits, weights) % 11)) % 11;
    const first = digitFor([3, 2, 7, 6, 5, 4, 3, 2]);
    const isIssued = Number(digits) > 10_000_000 && Number(digits) < 200_000_000;
    return isIssued && (first < 10 ? first : digitFor([7, 4, 3, 2, 5, 2, 7, 6])) === Number(digits[8]);
  },
  /**
   * Checks a New Zealand health number. Letters without I and O count 1 to 24. The new form ends with a letter
   * and counts modulo 23 or 24, as editions of the standard differ.
   */
  nhi(text) {
    const number = text.toUpperCase();
    const alphabet = letters.replace(/[IO]/g, '');
    const values = [...number].map((letter) =>
      /\d/.test(letter) ? Number(letter) : alphabet.indexOf(letter) + 1,
    );
    const sum = values.slice(0, 6).reduce((sum, value, at) => sum + value * (7 - at), 0);
    if (/[A-Z]$/.test(number)) return [23 - (sum % 23), 24 - (sum % 24)].includes(values[6] as number);
    return sum % 11 !== 0 && (11 - (sum % 11)) % 10 === values[6];
  },
  /** Checks a Mauritian number, which has the date of birth, day first, behind the initial. */
  'mu-id': (text) => isDate(text.slice(5, 7), text.slice(3, 5), text.slice(1, 3)),
} as const satisfies Checks;
