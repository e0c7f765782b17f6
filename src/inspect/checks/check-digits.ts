import { digitsOf, type SecretCheck } from './check.ts';

/* Arithmetic for check digits that many countries share. */

/** Creates a check of numbers with so many digits, not all alike; separators are ignored. */
export function digitsCheck(length: number, isValid: (digits: string) => boolean): SecretCheck {
  return (text) => {
    const digits = digitsOf(text);
    return digits.length === length && !isMonotone(digits) && isValid(digits);
  };
}

/** Creates a check of numbers whose last digit follows from the weighted sum of all digits before it. */
export const lastDigitCheck = (weights: readonly number[], digitOf: (sum: number) => number): SecretCheck =>
  digitsCheck(
    weights.length + 1,
    (digits) => digitOf(weightedSum(digits, weights)) === Number(digits.at(-1)),
  );

/**
 * Tells whether a text is one character over and over. Such a text satisfies many formulas and is nobody's
 * number.
 */
export function isMonotone(text: string): boolean {
  for (let at = 1; at < text.length; at++) if (text.charCodeAt(at) !== text.charCodeAt(0)) return false;
  return true;
}

/** Returns the sum of the first digits, each times its weight; NaN where digits are missing. */
export const weightedSum = (digits: string, weights: readonly number[]): number =>
  weights.reduce((sum, weight, at) => sum + weight * Number(digits[at]), 0);

/**
 * Returns the weighted sum of characters that count as their place in an alphabet; NaN where a character is
 * none of it.
 */
export function weighLetters(text: string, alphabet: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, at) => {
    const place = alphabet.indexOf(text[at] ?? '?');
    return sum + weight * (place < 0 ? Number.NaN : place);
  }, 0);
}

/**
 * Returns the check digit of machine-readable documents (ICAO Doc 9303-3, 4.9), with weights 7, 3, 1. Letters
 * count 10 to 35, the filler `<` counts 0.
 */
export function icaoDigit(field: string): number {
  const text = field.replaceAll('<', '0');
  const weights = Array.from(text, (_, at) => [7, 3, 1][at % 3] as number);
  return weighLetters(text, digitsAndLetters, weights) % 10;
}

export const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
export const digitsAndLetters = `0123456789${letters}`;

/** Returns what is missing from a sum to the next multiple of a modulus; 0 for a multiple. */
export const complement = (sum: number, modulus: number): number => (modulus - (sum % modulus)) % modulus;

/** Checks Luhn's sum, in which every second digit from the right counts double (ISO/IEC 7812-1, annex B). */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighted = index % 2 === 1 ? digit * 2 : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

/** Checks the digit of ISO/IEC 7064, MOD 11,10, in which a product is carried from digit to digit. */
export function passesMod1110(digits: string): boolean {
  let product = 10;
  for (const digit of digits.slice(0, -1)) product = (((product + Number(digit)) % 10 || 10) * 2) % 11;
  return (11 - product) % 10 === Number(digits.at(-1));
}

/** Returns the remainder of a number of any length. */
export function remainder(digits: string, modulus: number): number {
  let rest = 0;
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % modulus;
  return rest;
}

/** Multiplies in the dihedral group of ten elements, in which Verhoeff's check digit is computed. */
const product = (a: number, b: number): number => {
  if (a < 5) return b < 5 ? (a + b) % 5 : ((a + b) % 5) + 5;
  return b < 5 ? ((a - b + 5) % 5) + 5 : (a - b + 5) % 5;
};
const permutation = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

/**
 * Checks Verhoeff's digit (J. Verhoeff, Error Detecting Decimal Codes, 1969). The digits, each permuted by
 * its place, must multiply to the neutral element.
 */
export function passesVerhoeff(digits: string): boolean {
  let result = 0;
  for (let place = 0; place < digits.length; place++) {
    let digit = Number(digits[digits.length - 1 - place]);
    for (let round = 0; round < place % 8; round++) digit = permutation[digit] as number;
    result = product(result, digit);
  }
  return result === 0;
}

const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Tells whether the calendar has that day; two digits of the year suffice. */
export function isDate(year: string, month: string | number, day: string | number): boolean {
  const [m, d] = [Number(month), Number(day)];
  if (m === 2 && d === 29) return Number(year) % 4 === 0;
  return d >= 1 && d <= (daysOfMonth[m - 1] ?? 0);
}

/** Tells whether the first six digits are a date, year first. */
export const isYymmdd = (six: string): boolean => isDate(six.slice(0, 2), six.slice(2, 4), six.slice(4, 6));

/** Tells whether the first six digits are a date, day first. */
export const isDdmmyy = (six: string): boolean => isDate(six.slice(4, 6), six.slice(2, 4), six.slice(0, 2));
