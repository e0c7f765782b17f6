import { type Checks, compactOf, digitsOf } from '../check.ts';
import {
  complement,
  digitsAndLetters,
  digitsCheck,
  isMonotone,
  isYymmdd,
  lastDigitCheck,
  passesLuhn,
  weightedSum,
} from '../check-digits.ts';

/* Checks numbers that the states of the Americas give to persons. */

/**
 * Checks both check digits of a Brazilian number. They are sums with falling weights modulo 11; a remainder
 * below 2 counts as 0.
 */
function hasBrazilianDigits(digits: string, first: readonly number[]): boolean {
  const digitFor = (weights: readonly number[]): number => {
    const rest = weightedSum(digits, weights) % 11;
    return rest < 2 ? 0 : 11 - rest;
  };
  const second = [(first[0] as number) === 5 ? 6 : (first[0] as number) + 1, ...first];
  const at = first.length;
  return digitFor(first) === Number(digits[at]) && digitFor(second) === Number(digits[at + 1]);
}

/**
 * Checks the digit of a taxpayer number in Argentina: a kind of person, eight digits, one check digit.
 * Numbers of Peru have the same form.
 */
const hasCuitDigit = (digits: string): boolean => {
  const digit = complement(weightedSum(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]), 11);
  return (digit === 10 ? 9 : digit) === Number(digits[10]);
};

export const americanIdentityChecks = {
  /** Checks a US social security number: area 000, 666 or 9xx, group 00 and serial 0000 are never assigned. */
  ssn: digitsCheck(9, (digits) => {
    const [area, group, serial] = [digits.slice(0, 3), digits.slice(3, 5), digits.slice(5)];
    return area !== '000' && area !== '666' && area < '900' && group !== '00' && serial !== '0000';
  }),
  /**
   * Checks a US number of taxpayers without a social security number, by the groups that the IRS uses; 93 is
   * for adoptions.
   */
  itin: digitsCheck(9, (digits) => /^9\d\d(?:5\d|6[0-5]|7\d|8[0-8]|9[0-9])/.test(digits)),
  /** Checks an employer number by the prefixes that the IRS has given out. */
  ein: digitsCheck(9, (digits) =>
    /^(?:0[1-6]|1[0-6]|[2-4]\d|5\d|6[0-8]|7[1-7]|8[0-8]|9[0-589])/.test(digits),
  ),
  /** Checks a Canadian social insurance number. Those that begin with 0 are temporary tax numbers. */
  sin: digitsCheck(9, passesLuhn),
  /** Checks a Mexican CURP. The year of its date has two digits, and `Ñ` has its own place in the alphabet. */
  curp(text) {
    const curp = text.toUpperCase();
    if (!isYymmdd(curp.slice(4, 10))) return false;
    const alphabet = digitsAndLetters.replace('O', '_O');
    const sum = [...curp.slice(0, 17)].reduce(
      (sum, letter, at) => sum + alphabet.indexOf(letter) * (18 - at),
      0,
    );
    return complement(sum, 10) === Number(curp[17]);
  },
  rfc: (text) => isYymmdd(digitsOf(text).slice(0, 6)),
  nss: digitsCheck(11, passesLuhn),
  cpf: digitsCheck(11, (digits) => hasBrazilianDigits(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2])),
  /**
   * Checks a Brazilian company number. Its letters, used since 2026, count as their ASCII code less that of
   * `0`.
   */
  cnpj(text) {
    const compact = compactOf(text);
    if (!/^[0-9A-Z]{12}\d\d$/.test(compact) || isMonotone(compact)) return false;
    const values = [...compact].map((letter) => letter.charCodeAt(0) - 48);
    const digitFor = (weights: readonly number[]): number => {
      const rest = weights.reduce((sum, weight, at) => sum + weight * (values[at] as number), 0) % 11;
      return rest < 2 ? 0 : 11 - rest;
    };
    const weights = [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    return digitFor(weights) === values[12] && digitFor([6, ...weights]) === values[13];
  },
  pis: lastDigitCheck([3, 2, 9, 8, 7, 6, 5, 4, 3, 2], (sum) => complement(sum, 11) % 10),
  /** Checks a Brazilian driving licence. Where the first check digit overflows, the second is two less. */
  cnh: digitsCheck(11, (digits) => {
    const first = weightedSum(digits, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11;
    const second = weightedSum(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11;
    const less = first > 9 ? 2 : 0;
    const wanted = second > 9 ? 0 : (second - less + 11) % 11;
    return Number(digits[9]) === first % 10 && Number(digits[10]) === wanted % 10;
  }),
  /** Checks a Brazilian voter number: serial, state 01 to 28, two check digits. */
  'titulo-eleitor': digitsCheck(12, (digits) => {
    const state = Number(digits.slice(8, 10));
    const first = (weightedSum(digits, [2, 3, 4, 5, 6, 7, 8, 9]) % 11) % 10;
    const second = ((Number(digits[8]) * 7 + Number(digits[9]) * 8 + first * 9) % 11) % 10;
    return state >= 1 && state <= 28 && first === Number(digits[10]) && second === Number(digits[11]);
  }),
  cuit: digitsCheck(11, (digits) => /^(?:2[034567]|3[034])/.test(digits) && hasCuitDigit(digits)),
  'pe-ruc': digitsCheck(11, (digits) => {
    const digit = (11 - (weightedSum(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 10;
    return /^(?:1[0567]|20)/.test(digits) && digit === Number(digits[10]);
  }),
  /** Checks a Chilean number: weights 2 to 7 from the right, with 10 written as K. */
  rut(text) {
    const compact = text.toUpperCase().replace(/[^0-9K]/g, '');
    const body = [...compact.slice(0, -1)].toReversed();
    if (body.length < 7 || isMonotone(compact.slice(0, -1))) return false;
    const sum = body.reduce((sum, digit, at) => sum + Number(digit) * ((at % 6) + 2), 0);
    return '0123456789K'[complement(sum, 11)] === compact.at(-1);
  },
  /** Checks a Colombian taxpayer number, whose weights are primes, from the right. */
  nit(text) {
    const digits = digitsOf(text);
    const weights = [3, 7, 13, 17, 19, 23, 29, 37, 41];
    const body = [...digits.slice(0, -1)].toReversed().join('');
    if (digits.length < 9 || digits.length > 10 || isMonotone(digits)) return false;
    const rest = weightedSum(body, weights.slice(0, body.length)) % 11;
    return (rest < 2 ? rest : 11 - rest) === Number(digits.at(-1));
  },
  /** Checks an Ecuadorian identity card: province 01 to 24 or 30, a natural person, Luhn's sum. */
  'ec-cedula': digitsCheck(
    10,
    (digits) => /^(?:0[1-9]|1\d|2[0-4]|30)[0-6]/.test(digits) && passesLuhn(digits),
  ),
  /** Checks a Venezuelan taxpayer number, in which the letter counts too. */
  rif(text) {
    const digits = digitsOf(text);
    const letter = { V: 4, E: 8, J: 12, C: 12, P: 16, G: 20 }[text.slice(0, 1).toUpperCase()];
    if (letter === undefined || digits.length !== 9) return false;
    const digit = complement(letter + weightedSum(digits, [3, 2, 7, 6, 5, 4, 3, 2]), 11);
    return (digit === 10 ? 0 : digit) === Number(digits[8]);
  },
  'uy-ci': lastDigitCheck([2, 9, 8, 7, 6, 3, 4], (sum) => complement(sum, 10)),
  'do-cedula': digitsCheck(11, passesLuhn),
  'sv-dui': lastDigitCheck([9, 8, 7, 6, 5, 4, 3, 2], (sum) => complement(sum, 10)),
  /** Checks a Guatemalan CUI: eight digits, a check digit, one of 22 departments and a municipality. */
  'gt-cui': digitsCheck(13, (digits) => {
    const department = Number(digits.slice(9, 11));
    const digit = weightedSum(digits, [2, 3, 4, 5, 6, 7, 8, 9]) % 11;
    return digit === Number(digits[8]) && department >= 1 && department <= 22 && digits.slice(11) !== '00';
  }),
  /** Checks a Paraguayan taxpayer number, with weights 2, 3, … from the right. */
  'py-ruc'(text) {
    const digits = digitsOf(text);
    const body = [...digits.slice(0, -1)].toReversed();
    if (isMonotone(digits)) return false;
    const sum = body.reduce((sum, digit, at) => sum + Number(digit) * (at + 2), 0);
    return complement(sum, 11) % 10 === Number(digits.at(-1));
  },
  /** Checks a Cuban identity number, which begins with the date of birth. */
  'cu-ni': digitsCheck(11, isYymmdd),
  /** Checks a Brazilian health card: the weighted sum of all fifteen digits is divisible by 11. */
  cns: digitsCheck(
    15,
    (digits) =>
      /^[126-9]/.test(digits) &&
      weightedSum(digits, [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0,
  ),
} as const satisfies Checks;
