import { type Checks, digitsOf } from './check.ts';

/** The last digit makes the sum right in which every second digit counts double (ISO/IEC 7812-1, annex B). */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighted = index % 2 === 1 ? digit * 2 : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

/** Leading digits of the card networks and the lengths they issue. */
const issuers: readonly { from: number; to: number; lengths: readonly number[] }[] = [
  { from: 4, to: 4, lengths: [13, 16, 19] },
  { from: 51, to: 55, lengths: [16] },
  { from: 2221, to: 2720, lengths: [16] },
  { from: 34, to: 34, lengths: [15] },
  { from: 37, to: 37, lengths: [15] },
  { from: 300, to: 305, lengths: [14, 16, 19] },
  { from: 36, to: 36, lengths: [14, 16, 19] },
  { from: 38, to: 39, lengths: [14, 16, 19] },
  { from: 6011, to: 6011, lengths: [16, 19] },
  { from: 644, to: 649, lengths: [16, 19] },
  { from: 65, to: 65, lengths: [16, 19] },
  { from: 3528, to: 3589, lengths: [16, 19] },
  { from: 62, to: 62, lengths: [16, 17, 18, 19] },
  { from: 50, to: 50, lengths: [16, 18, 19] },
  { from: 56, to: 58, lengths: [16, 18, 19] },
  { from: 2200, to: 2204, lengths: [16, 19] },
  { from: 9792, to: 9792, lengths: [16] },
];

/** A number that a card network can have issued, with the right check digit; separators are ignored. */
function isCardNumber(text: string): boolean {
  const digits = digitsOf(text);
  const isIssued = issuers.some(({ from, to, lengths }) => {
    const lead = Number(digits.slice(0, String(from).length));
    return lead >= from && lead <= to && lengths.includes(digits.length);
  });
  return isIssued && passesLuhn(digits) && new Set(digits).size > 2;
}

/** Lengths of international bank account numbers by country (ISO 13616 registry). */
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

/** A known country, its length, and remainder 1 modulo 97 (ISO 7064). */
function isIban(text: string): boolean {
  const compact = text.replace(/[ -]/g, '').toUpperCase();
  if (ibanLengths[compact.slice(0, 2)] !== compact.length) return false;
  let remainder = 0;
  for (const character of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}

export const paymentChecks = {
  luhn: (text) => passesLuhn(digitsOf(text)),
  card: isCardNumber,
  iban: isIban,
} as const satisfies Checks;
