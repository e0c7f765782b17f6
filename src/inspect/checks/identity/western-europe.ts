import { type Checks, compactOf, digitsOf } from '../check.ts';
import {
  complement,
  digitsAndLetters,
  digitsCheck,
  icaoDigit,
  isDate,
  isDdmmyy,
  isMonotone,
  lastDigitCheck,
  letters,
  passesLuhn,
  passesMod1110,
  passesVerhoeff,
  remainder,
  weightedSum,
} from '../check-digits.ts';

/* Checks numbers that the states of western and southern Europe give to persons. */

/** Checks the digit of UK health numbers and Scotland's CHI, with weights 10 to 2 modulo 11. */
const hasNhsDigit = (digits: string): boolean =>
  complement(weightedSum(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2]), 11) === Number(digits[9]);
const pupilLetters = 'ABCDEFGHJKLMNPQRTUVWXYZ';

/** Returns a weighted sum in which each product counts with the sum of its digits. */
function crossSum(digits: string, weights: readonly number[]): number {
  const products = weights.map((weight, at) => Number(digits[at]) * weight);
  return products.reduce((sum, product) => sum + Math.trunc(product / 10) + (product % 10), 0);
}

/** Values of characters at odd places of the codice fiscale (D.M. 23 December 1976, art. 11). */
const oddValues = [
  1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
];

export const westernEuropeanIdentityChecks = {
  /** Checks the form of a UK national insurance number, without prefixes that are not issued. */
  nino: (text) =>
    /^(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]?$/.test(compactOf(text)),
  'nhs-number': digitsCheck(10, hasNhsDigit),
  chi: digitsCheck(10, (digits) => isDdmmyy(digits) && hasNhsDigit(digits)),
  /** Checks a UK unique taxpayer reference, whose check digit stands first. */
  utr: digitsCheck(
    10,
    (digits) => '21987654321'[weightedSum(digits.slice(1), [6, 7, 8, 9, 10, 5, 4, 3, 2]) % 11] === digits[0],
  ),
  /**
   * Checks a pupil number in England. The first letter tells the sum; a temporary number ends with a letter.
   */
  'uk-upn'(text) {
    const number = compactOf(text);
    const weights = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
    const last = pupilLetters.indexOf(number[12] ?? '');
    const digits = last < 0 ? number.slice(1) : number.slice(1, 12);
    const sum = weightedSum(digits, weights.slice(0, digits.length)) + (last < 0 ? 0 : 13 * last);
    return pupilLetters[sum % 23] === number[0];
  },
  /**
   * Checks the date in a UK driving licence: behind five letters of the surname stand decade, month (a woman's
   * plus 50), day and year.
   */
  'uk-driving-licence': (text) => {
    const birth = compactOf(text).slice(5, 11);
    return isDate('00', Number(birth.slice(1, 3)) % 50, birth.slice(3, 5));
  },
  /** Checks an Irish personal public service number, in which a second letter counts nine times. */
  pps(text) {
    const pps = compactOf(text);
    const second = 'WABCDEFGHI'.indexOf(pps[8] ?? 'W');
    return (
      pps.length > 7 &&
      'WABCDEFGHIJKLMNOPQRSTUV'[(weightedSum(pps, [8, 7, 6, 5, 4, 3, 2]) + 9 * second) % 23] === pps[7]
    );
  },
  /**
   * Checks a French number (INSEE): sex, date, department, commune, serial, and 97 less the rest. In Corsica
   * the department has a letter.
   */
  nir(text) {
    const nir = compactOf(text).replace('2A', '19').replace('2B', '18');
    return (
      /^[1-478]\d{2}(?:0[1-9]|1[0-2]|[2-9]\d)\d{10}$/.test(nir) &&
      97 - remainder(nir.slice(0, 13), 97) === Number(nir.slice(13))
    );
  },
  /** Checks a French tax number, whose last three digits are the first ten modulo 511. */
  spi: digitsCheck(
    13,
    (digits) => /^[0-3]/.test(digits) && remainder(digits.slice(0, 10), 511) === Number(digits.slice(10)),
  ),
  /**
   * Checks a Belgian number. For births since 2000 the key is computed with a 2 in front. Foreigners' months
   * are 20 or 40 more.
   */
  'be-nrn': digitsCheck(11, (digits) => {
    const [month, day] = [Number(digits.slice(2, 4)) % 20, Number(digits.slice(4, 6))];
    const key = Number(digits.slice(9));
    const isKey = (prefix: string): boolean => 97 - remainder(prefix + digits.slice(0, 9), 97) === key;
    return month <= 12 && day <= 31 && (isKey('') || isKey('2'));
  }),
  'be-card': digitsCheck(
    12,
    (digits) => (remainder(digits.slice(0, 10), 97) || 97) === Number(digits.slice(10)),
  ),
  /** Checks a Dutch citizen service number by the "eleven test", in which the last digit counts -1. */
  bsn: digitsCheck(9, (digits) => weightedSum(digits, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0),
  /**
   * Checks a Luxembourgish number: date of birth, serial, a digit by Luhn and one by Verhoeff, both over the
   * first eleven.
   */
  'lu-matricule': digitsCheck(13, (digits) => {
    const hasDate = isDate(digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8));
    return hasDate && passesLuhn(digits.slice(0, 12)) && passesVerhoeff(digits.slice(0, 11) + digits[12]);
  }),
  /** Checks a German tax number for life: of its first ten digits only one is repeated, once or twice. */
  'steuer-id': digitsCheck(11, (digits) => {
    const counts = [...'0123456789'].map((digit) => digits.slice(0, 10).split(digit).length - 1);
    const repeated = counts.filter((count) => count > 1);
    return digits[0] !== '0' && repeated.length === 1 && (repeated[0] as number) < 4 && passesMod1110(digits);
  }),
  /** Checks the number of a German identity card or passport. The check digit is often left out. */
  'de-document'(text) {
    const number = compactOf(text);
    return /\d/.test(number) && (number.length === 9 || icaoDigit(number.slice(0, 9)) === Number(number[9]));
  },
  /** Checks a German pension insurance number: area, date of birth, initial (as two digits), serial. */
  rvnr(text) {
    const number = compactOf(text);
    const initial = String(letters.indexOf(number[8] as string) + 1).padStart(2, '0');
    const digits = number.slice(0, 8) + initial + number.slice(9);
    return (
      /^\d{13}$/.test(digits) &&
      crossSum(digits, [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1]) % 10 === Number(digits[12])
    );
  },
  /** Checks a German health insurance number: a letter (as two digits) and eight digits. */
  kvnr(text) {
    const number = compactOf(text);
    const digits = String(letters.indexOf(number[0] as string) + 1).padStart(2, '0') + number.slice(1);
    return (
      /^\d{11}$/.test(digits) && crossSum(digits, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]) % 10 === Number(digits[10])
    );
  },
  /**
   * Checks an Austrian social insurance number: serial, check digit, date of birth. Months are 13 to 15 where
   * serials ran out.
   */
  svnr: digitsCheck(10, (digits) => {
    const [day, month] = [Number(digits.slice(4, 6)), Number(digits.slice(6, 8))];
    const isBirth = day >= 1 && day <= 31 && month >= 1 && month <= 15;
    return (
      digits[0] !== '0' &&
      isBirth &&
      weightedSum(digits, [3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11 === Number(digits[3])
    );
  }),
  /** Checks a Swiss AHV number, which is an EAN-13 with Switzerland's prefix 756. */
  ahv: digitsCheck(13, (digits) => {
    const sum = weightedSum(digits, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]);
    return digits.startsWith('756') && complement(sum, 10) === Number(digits[12]);
  }),
  /** Checks a Spanish DNI or NIE. A letter tells the number modulo 23; X, Y, Z stand for 0, 1, 2. */
  dni(text) {
    const number = compactOf(text).replace(/^[XYZ]/, (letter) => String('XYZ'.indexOf(letter)));
    return (
      !isMonotone(digitsOf(number)) &&
      'TRWAGMYFPDXBNJZSQVHLCKE'[Number(number.slice(0, -1)) % 23] === number.at(-1)
    );
  },
  /**
   * Checks a Spanish social security number: province, serial and key modulo 97. Serials below ten million
   * count without their zeros.
   */
  'es-nss': digitsCheck(12, (digits) => {
    const [province, serial] = [digits.slice(0, 2), Number(digits.slice(2, 10))];
    const base = serial < 10_000_000 ? Number(province) * 10_000_000 + serial : Number(digits.slice(0, 10));
    return base % 97 === Number(digits.slice(10));
  }),
  /** Checks the Portuguese taxpayer number of a natural person. */
  'pt-nif': digitsCheck(
    9,
    (digits) =>
      /^(?:[1235689]|45)/.test(digits) &&
      complement(weightedSum(digits, [9, 8, 7, 6, 5, 4, 3, 2]), 11) % 10 === Number(digits[8]),
  ),
  /** Checks a Portuguese citizen card by Luhn's sum, with letters as 10 to 35. */
  'pt-cc'(text) {
    const values = [...compactOf(text)].map((letter) => digitsAndLetters.indexOf(letter));
    const sum = values.reduce(
      (sum, value, at) => sum + (at % 2 === 0 ? (value * 2 > 9 ? value * 2 - 9 : value * 2) : value),
      0,
    );
    return values.length === 12 && sum % 10 === 0;
  },
  niss: digitsCheck(
    11,
    (digits) =>
      /^[12]/.test(digits) &&
      9 - (weightedSum(digits, [29, 23, 19, 17, 13, 11, 7, 5, 3, 2]) % 10) === Number(digits[10]),
  ),
  /** Checks an Italian codice fiscale. A digit may be a letter where two persons would have the same code. */
  'codice-fiscale'(text) {
    const code = compactOf(text);
    const placeOf = (letter: string): number =>
      /\d/.test(letter) ? Number(letter) : letters.indexOf(letter);
    const sum = [...code.slice(0, 15)].reduce(
      (sum, letter, at) => sum + (at % 2 === 0 ? (oddValues[placeOf(letter)] as number) : placeOf(letter)),
      0,
    );
    return letters[sum % 26] === code[15];
  },
  'partita-iva': digitsCheck(11, passesLuhn),
  /** Checks a Greek tax number, whose weights are powers of two. */
  afm: lastDigitCheck([256, 128, 64, 32, 16, 8, 4, 2], (sum) => (sum % 11) % 10),
  amka: digitsCheck(11, (digits) => isDdmmyy(digits) && passesLuhn(digits)),
  /** Checks a Cypriot tax number. Odd places count by a table, and the letter tells the sum modulo 26. */
  'cy-tic'(text) {
    const number = compactOf(text);
    const sum = [...number.slice(0, 8)].reduce(
      (sum, digit, at) => sum + (at % 2 === 0 ? (oddValues[Number(digit)] as number) : Number(digit)),
      0,
    );
    return letters[sum % 26] === number[8];
  },
} as const satisfies Checks;
