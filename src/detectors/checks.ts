import { crc32 } from 'node:zlib';

/*
 * What a pattern cannot express: check digits, checksums, the inside of an encoding. A detector names its check in YAML; the check
 * sees the secret as it stands in the text and says whether it can be what the detector takes it for.
 */

export type Check = (text: string) => boolean;

const digitsOf = (text: string): string => text.replace(/\D/g, '');

/** The last digit makes the sum right in which every second digit counts double (ISO/IEC 7812-1, annex B). */
function passesLuhn(digits: string): boolean {
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

/** A US social security number that can have been assigned: no area 000, 666, 9xx, no group 00, no serial 0000. */
function isSsn(text: string): boolean {
  const digits = digitsOf(text);
  if (digits.length !== 9 || new Set(digits).size === 1) return false;
  const [area, group, serial] = [digits.slice(0, 3), digits.slice(3, 5), digits.slice(5)];
  return area !== '000' && area !== '666' && area < '900' && group !== '00' && serial !== '0000';
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

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const checksumLength = 6;

/** CRC-32 of the text as six characters of base62, as GitHub, npm and Postern end their tokens. */
export function crcChecksum(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  for (; rest > 0; rest = Math.floor(rest / 62)) checksum = (base62[rest % 62] as string) + checksum;
  return checksum.padStart(checksumLength, '0');
}

const endsWithChecksumOf = (text: string, covered: string): boolean => text.endsWith(crcChecksum(covered));

/** `ghp_` and its like: the checksum covers the 30 random characters, not the prefix. */
const isPrefixedCrcToken: Check = (text) =>
  endsWithChecksumOf(text, text.slice(text.indexOf('_') + 1, -checksumLength));

/** `iv_live_…`: the checksum covers all before it. */
const isPosternKey: Check = (text) => endsWithChecksumOf(text, text.slice(0, -checksumLength));

function parseBase64Json(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The first segment is the base64url of a JSON object that names an algorithm (RFC 7515, 4.1.1). */
function isJwt(text: string): boolean {
  const header = parseBase64Json(text.slice(0, text.indexOf('.')));
  return typeof header === 'object' && header !== null && 'alg' in header;
}

/** Base64 of `user:password` (RFC 7617), and not of JSON or markup. */
function isBasicCredential(text: string): boolean {
  const decoded = Buffer.from(text, 'base64').toString('latin1');
  return /^[!#-9;=?-z|~]{1,128}:[ -~]{3,256}$/.test(decoded);
}

const hasDigit = /[0-9]/;
const hasLetter = /[A-Za-z]/;

const randomLettersMin = 20;

/**
 * A digit before a letter and one behind a letter, or letters alone that no word would have in this order: so look random tokens, and
 * not words, names with a number, and numbers.
 */
const isMixed: Check = (text) =>
  (/[0-9][A-Za-z]/.test(text) && /[A-Za-z][0-9]/.test(text)) ||
  (text.length >= randomLettersMin && /^[A-Za-z]+$/.test(text) && /[bcdfghjklmnpqrstvwxz]{5}/i.test(text));

/** Letters with a digit or an unusual sign among them; `user.password1`, `vault:path/x#key` and prose are not. */
function isPasswordLike(text: string): boolean {
  const word = text.replace(/[.,:!?]{1,3}$/, '');
  if (/^[A-Za-z_]{1,64}(?:[./:][A-Za-z_]{0,64}){1,16}\d{0,4}$/.test(word) || /^[a-z]{1,16}:\S/.test(word))
    return false;
  return word.length >= 5 && hasLetter.test(word) && (hasDigit.test(word) || /[!@#$%^*+~?]/.test(word));
}

/** A phone number of the North American plan: area and exchange begin with 2 to 9, no service code, no fiction (555-01xx). */
function isNanp(text: string): boolean {
  const national = digitsOf(text).replace(/^1(?=\d{10}$)/, '');
  return /^[2-9](?!11)\d\d[2-9](?!11)\d{6}$/.test(national) && !/^\d{3}55501/.test(national);
}

/** A whole phone number: 9 to 15 digits (ITU-T E.164), behind a `+` with a country code that exists, not all alike. */
function isPhoneNumber(text: string): boolean {
  const digits = digitsOf(text);
  const hasCountry = !text.startsWith('+') || countryCode.test(digits);
  return digits.length >= 9 && digits.length <= 15 && new Set(digits).size > 2 && hasCountry;
}

/** Assigned country codes (ITU-T E.164, annex). */
const countryCode =
  /^(?:1|7|2(?:[07]|1[1-368]|[2-4]\d|5[0-8]|6\d|9[01789])|3(?:[0-469]|5\d|7\d|8[0-9])|4(?:[013-9]|2[013])|5(?:[1-8]|0\d|9\d)|6(?:[0-6]|[789]\d)|8(?:[1246]|5[02356]|80|86)|9(?:[0-58]|6[0-8]|7[0-7]|9[2-8]))/;

const fileExtensions = new Set(
  'png jpg jpeg gif svg webp ico css js mjs ts tsx jsx json md html htm txt pdf zip gz tar woff py go rs java rb sh yml yaml map exe dll so'.split(
    ' ',
  ),
);

/** The part behind the last dot can be a top-level domain and is no file's ending (`logo@2x.png`). */
const isEmailDomain: Check = (text) =>
  !fileExtensions.has(text.slice(text.lastIndexOf('.') + 1).toLowerCase());

/** All checks by the names that YAML files use. */
export const checks = {
  luhn: (text) => passesLuhn(digitsOf(text)),
  card: isCardNumber,
  ssn: isSsn,
  iban: isIban,
  nanp: isNanp,
  phone: isPhoneNumber,
  'prefixed-crc': isPrefixedCrcToken,
  'postern-key': isPosternKey,
  jwt: isJwt,
  'basic-credential': isBasicCredential,
  mixed: isMixed,
  'password-like': isPasswordLike,
  'email-domain': isEmailDomain,
} as const satisfies Readonly<Record<string, Check>>;

export type CheckName = keyof typeof checks;

/** Shannon's entropy of the text, in bits for each character. */
export function entropyBits(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
