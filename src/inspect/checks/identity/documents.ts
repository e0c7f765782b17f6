import type { Checks } from '../check.ts';
import { digitsCheck, icaoDigit, isMonotone, passesLuhn } from '../check-digits.ts';

/*
 * Checks documents that look alike in all countries: machine-readable zones, and the numbers of devices and
 * vehicles.
 */

const hasIcaoDigit = (field: string, digit: string | undefined): boolean =>
  String(icaoDigit(field)) === digit;

/** Values of letters in a vehicle number; I, O and Q do not occur. */
const vinValues: Readonly<Record<string, number>> = Object.fromEntries(
  [...'ABCDEFGH_JKLMN_P_R_STUVWXYZ'].map((letter, at) => [letter, (at % 9) + 1]),
);
const vinWeights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];

export const documentChecks = {
  /** Checks the serial of a mobile device, with Luhn's digit (3GPP TS 23.003, annex B). */
  imei: digitsCheck(15, passesLuhn),
  /**
   * Checks the second line of a passport or visa (ICAO Doc 9303-4 and -7), by the digits of number, birth and
   * expiry.
   */
  mrz: (line) =>
    hasIcaoDigit(line.slice(0, 9), line[9]) &&
    hasIcaoDigit(line.slice(13, 19), line[19]) &&
    hasIcaoDigit(line.slice(21, 27), line[27]),
  /** Checks the second line of an identity card that has three lines (ICAO Doc 9303-5). */
  'mrz-card': (line) => hasIcaoDigit(line.slice(0, 6), line[6]) && hasIcaoDigit(line.slice(8, 14), line[14]),
  /**
   * Checks a vehicle number, whose ninth character tells the sum modulo 11 (49 CFR 565.15; North America and
   * China demand it).
   */
  vin(text) {
    const vin = text.toUpperCase();
    const sum = vinWeights.reduce((sum, weight, at) => {
      const letter = vin[at] as string;
      return sum + weight * (/\d/.test(letter) ? Number(letter) : (vinValues[letter] as number));
    }, 0);
    return '0123456789X'[sum % 11] === vin[8] && !isMonotone(vin);
  },
} as const satisfies Checks;
