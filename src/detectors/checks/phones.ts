import { type Checks, digitsOf } from './check.ts';

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

export const phoneChecks = { nanp: isNanp, phone: isPhoneNumber } as const satisfies Checks;
