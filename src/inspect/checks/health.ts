import type { Checks } from './check.ts';
import { digitsOf } from './check.ts';
import {
  complement,
  digitsCheck,
  isYymmdd,
  passesLuhn,
  passesVerhoeff,
  weightedSum,
} from './check-digits.ts';

/* Checks numbers of persons, practitioners and findings in health care. */

/**
 * Prefixes of health numbers on cards, which count in the check digit (ISO/IEC 7812): "80" for health, a
 * country, an issuer.
 */
const usIssuer = '80840';
const australianIssuer = '8003';

const bcWeights = [2, 4, 8, 5, 10, 9, 7, 3];
export const healthChecks = {
  /**
   * Checks a national provider identifier: 10 digits from 1 or 2, and Luhn's sum with the issuer in front (45
   * CFR 162.406).
   */
  npi: digitsCheck(10, (digits) => /^[12]/.test(digits) && passesLuhn(usIssuer + digits)),
  /** Checks a DEA registration: the last digit ends the sum of digits 1, 3, 5 and twice 2, 4, 6. */
  dea: (text) => {
    const digits = digitsOf(text.slice(2));
    return (
      digits.length === 7 &&
      new Set(digits).size > 2 &&
      weightedSum(digits, [1, 2, 1, 2, 1, 2]) % 10 === Number(digits[6])
    );
  },
  /** Checks an Australian healthcare identifier of a person, provider or organisation (AS 5017). */
  'australian-health-id': digitsCheck(
    16,
    (digits) => digits.startsWith(australianIssuer) && /^8003(?:60|61|62)/.test(digits) && passesLuhn(digits),
  ),
  /**
   * Checks a health number of Ontario, which has nine digits and Luhn's digit. A number of British Columbia,
   * below, begins with 9 and ends with a digit modulo 11; both have ten digits.
   */
  'ontario-health-number': digitsCheck(10, (digits) => /^[1-9]/.test(digits) && passesLuhn(digits)),
  'bc-health-number': digitsCheck(
    10,
    (digits) =>
      digits.startsWith('9') && complement(weightedSum(digits.slice(1), bcWeights), 11) === Number(digits[9]),
  ),
  /**
   * Checks a health number of Quebec. It has four letters of the name, the date of birth with a woman's month
   * 50 higher, and two digits.
   */
  'quebec-health-number'(text) {
    const digits = digitsOf(text);
    const month = Number(digits.slice(2, 4));
    const isoMonth = String(month > 50 ? month - 50 : month).padStart(2, '0');
    return digits.length === 8 && isYymmdd(digits.slice(0, 2) + isoMonth + digits.slice(4, 6));
  },
  /** Checks a Swiss or European insurance card: 80, country, issuer, person, and Luhn's digit (EN 1387). */
  'health-card': (text) => {
    const digits = digitsOf(text);
    return digits.length === 20 && digits.startsWith('80') && passesLuhn(digits);
  },
  /** Checks a LOINC code: up to five digits, and Luhn's digit behind a dash (LOINC Users' Guide). */
  loinc: (text) => passesLuhn(digitsOf(text)),
  /**
   * Checks a code of SNOMED CT for a concept: 00 or 10 for its kind, then Verhoeff's digit (Release File 6).
   */
  snomed: (text) => /(?:00|10)\d$/.test(text) && passesVerhoeff(text),
} as const satisfies Checks;
