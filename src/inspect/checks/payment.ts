import { type Checks, compactOf, digitsOf } from './check.ts';
import {
  complement,
  digitsCheck,
  isMonotone,
  letters,
  passesLuhn,
  remainder,
  weightedSum,
} from './check-digits.ts';

/**
 * Leading digits of card networks and the lengths they issue. Visa's former 13 digits are left out, since
 * goods have as many (GTIN, ISBN) and one in ten of those passes.
 */
const issuers: readonly { from: number; to: number; lengths: readonly number[] }[] = [
  { from: 4, to: 4, lengths: [16, 19] },
  { from: 51, to: 55, lengths: [16] },
  { from: 2221, to: 2720, lengths: [16] },
  { from: 1800, to: 1800, lengths: [15] },
  { from: 2131, to: 2131, lengths: [15] },
  { from: 34, to: 34, lengths: [15] },
  { from: 37, to: 37, lengths: [15] },
  { from: 300, to: 305, lengths: [14, 16, 19] },
  { from: 36, to: 36, lengths: [14, 16, 19] },
  { from: 38, to: 39, lengths: [14, 16, 19] },
  { from: 6011, to: 6011, lengths: [16, 19] },
  { from: 644, to: 649, lengths: [16, 19] },
  { from: 65, to: 65, lengths: [16, 19] },
  { from: 3528, to: 3589, lengths: [16, 17, 18, 19] },
  { from: 62, to: 62, lengths: [16, 17, 18, 19] },
  { from: 50, to: 50, lengths: [16, 18, 19] },
  { from: 56, to: 58, lengths: [16, 18, 19] },
  { from: 2200, to: 2204, lengths: [16, 19] },
  { from: 9792, to: 9792, lengths: [16] },
];

/** Tells whether a network in the table issues numbers with this start and length. */
const isOfNetwork = (digits: string): boolean =>
  issuers.some(({ from, to, lengths }) => {
    const lead = Number(digits.slice(0, String(from).length));
    return lead >= from && lead <= to && lengths.includes(digits.length);
  });

/**
 * Matches the lengths of ids that clouds and chats count up, and of 64-bit numbers. Among cards without
 * groups only those of UnionPay often have so many digits.
 */
const snowflake = /^(?:\d{17,18}|(?!62)\d{19})$/;

/** Tells whether four groups are a list of numbers, each as much above the one before. */
function isCountedUp(text: string): boolean {
  const [first = 0, second = 0, third = 0, fourth = 0, ...more] = text.split(/\D+/).map(Number);
  return (
    more.length === 0 &&
    second > first &&
    second - first === third - second &&
    third - second === fourth - third
  );
}

const isPlainCard = (text: string): boolean => isOfNetwork(digitsOf(text)) && !snowflake.test(text);

/** Lengths of international bank account numbers, by country (ISO 13616 registry). */
const ibanLengths: Readonly<Record<string, number>> = Object.fromEntries(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 ' +
    'FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 ' +
    'LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 ' +
    'SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

export const paymentChecks = {
  luhn: (text) => passesLuhn(digitsOf(text)),
  /**
   * Checks that a card network can have issued a number, by start, length and check digit; separators are
   * ignored.
   */
  card(text) {
    const digits = digitsOf(text);
    return isPlainCard(text) && passesLuhn(digits) && new Set(digits).size > 2 && !isCountedUp(text);
  },
  /**
   * Checks a number with the right check digit that no listed network issues, or that an id may have too. It
   * needs the word "card" beside it. Numbers that begin with 1 are airlines' or times in milliseconds.
   */
  'other-card'(text) {
    const digits = digitsOf(text);
    return (
      /^[02-9]\d{11,18}$/.test(digits) && !isMonotone(digits) && passesLuhn(digits) && !isPlainCard(text)
    );
  },
  /**
   * Checks an international bank account number: a known country, its length, and remainder 1 modulo 97 (ISO
   * 7064).
   */
  iban(text) {
    const compact = text.replace(/[ -]/g, '').toUpperCase();
    if (ibanLengths[compact.slice(0, 2)] !== compact.length) return false;
    let remainder = 0;
    for (const character of compact.slice(4) + compact.slice(0, 4)) {
      const value = Number.parseInt(character, 36);
      remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
    }
    return remainder === 1;
  },
  /**
   * Checks a US bank routing number: a Federal Reserve district, then weights 3, 7, 1 (ABA Routing Number
   * Policy).
   */
  'aba-routing': digitsCheck(
    9,
    (digits) =>
      /^(?:0[1-9]|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)/.test(digits) &&
      weightedSum(digits, [3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 === 0,
  ),
  /** Checks a Spanish bank account: one check digit for bank and branch, one for the account. */
  'es-ccc': digitsCheck(20, (digits) => {
    const digitOf = (body: string): number => {
      const digit = 11 - (weightedSum(body.padStart(10, '0'), [1, 2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11);
      return digit > 9 ? 11 - digit : digit;
    };
    return (
      digitOf(digits.slice(0, 8)) === Number(digits[8]) && digitOf(digits.slice(10)) === Number(digits[9])
    );
  }),
  /** Checks a French bank account: bank, branch, account (letters count 1 to 9 by their place), key 97. */
  'fr-rib'(text) {
    const digitOf = (letter: string): string =>
      '12345678912345678923456789'[letters.indexOf(letter)] as string;
    const rib = compactOf(text).replace(/[A-Z]/g, digitOf);
    return rib.length === 23 && remainder(rib, 97) === 0;
  },
  /** Checks a bank account in Argentina: two blocks, each with its check digit. */
  cbu: digitsCheck(22, (digits) => {
    const first = complement(weightedSum(digits, [7, 1, 3, 9, 7, 1, 3]), 10);
    const second = complement(weightedSum(digits.slice(8), [3, 9, 7, 1, 3, 9, 7, 1, 3, 9, 7, 1, 3]), 10);
    return first === Number(digits[7]) && second === Number(digits[21]);
  }),
  /** Checks a bank account in Mexico. */
  clabe: digitsCheck(18, (digits) => {
    const sum = [...digits.slice(0, 17)].reduce(
      (sum, digit, at) => sum + ((Number(digit) * ([3, 7, 1][at % 3] as number)) % 10),
      0,
    );
    return complement(sum, 10) === Number(digits[17]);
  }),
} as const satisfies Checks;
