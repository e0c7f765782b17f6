import { createRequire } from 'node:module';
import type { MetadataJson } from 'libphonenumber-js/core';
import { lazily } from '../../util/lazily.ts';
import { type Checks, digitsOf } from './check.ts';

/*
 * Checks phone numbers by the numbering plans of the world, as Google's libphonenumber collects them. Only
 * the library's table is used: matching a plan's patterns takes a microsecond, the library's parser ten.
 */

/** The form of the national numbers of one country, without the prefix that is dialled before them. */
interface Plan {
  readonly prefix: string;
  readonly national: RegExp;
}

const callingCodeDigitsMax = 3;
/** The most digits of a number, with the country code (ITU-T E.164). */
const digitsMax = 15;
const digitsMin = 7;

/** Countries that a number without country code may belong to. */
const commonCountries =
  'DE AT CH FR BE NL LU GB IE ES PT IT PL CZ SK HU RO BG GR HR RS SE NO DK FI EE LV LT UA RU TR IL ZA EG NG KE AE SA IN PK BD ' +
  'CN TW HK JP KR SG MY TH ID PH VN AU NZ CA MX BR AR CL CO PE';

/** Prefixes that are no longer dialled but still written. */
const oldPrefixes: Readonly<Record<string, string>> = { MX: '1' };

interface Plans {
  readonly byCallingCode: ReadonlyMap<string, readonly Plan[]>;
  readonly common: readonly Plan[];
}

/**
 * Returns the numbering plans, read when they are first needed. The table has 83 KB and takes some
 * milliseconds to read, and many processes never see a number.
 */
const plans = lazily(readPlans);

/** Columns of a country's row in the library's table; `version` is the table's layout. */
const [nationalPatternColumn, nationalPrefixColumn] = [2, 5];
const tableVersion = 4;

function readPlans(): Plans {
  const table: MetadataJson = createRequire(import.meta.url)('libphonenumber-js/min/metadata');
  if (table.version !== tableVersion) throw new Error('The table of libphonenumber-js has another layout.');
  const planOf = (country: string): Plan => {
    const row: readonly unknown[] = table.countries[country as keyof typeof table.countries] ?? [];
    return {
      prefix: String(row[nationalPrefixColumn] || oldPrefixes[country] || ''),
      national: new RegExp(`^(?:${row[nationalPatternColumn]})$`),
    };
  };
  const codes = Object.entries(table.country_calling_codes);
  return {
    byCallingCode: new Map(codes.map(([code, countries]) => [code, countries.map(planOf)])),
    common: commonCountries.split(' ').map(planOf),
  };
}

/**
 * Matches numbers reserved for films: NANPA (555-01xx), Ofcom (UK), ACMA (Australia), Bundesnetzagentur
 * (Germany).
 */
const fiction =
  /^(?:(?:1?\d{3})?55501\d\d|(?:44|0)(?:2079460\d{3}|7700900\d{3}|1632960\d{3}|8081570\d{3})|(?:61|0)(?:49157\d{4}|[2378](?:5550|7010)\d{4})|(?:49|0)(?:3023125\d{3}|6990009\d{3}|4066969\d{3}|2214710\d{3}|8999998\d{3}|1713920\d{3}))$/;

const hasVariety = (digits: string): boolean => new Set(digits).size > 2;

/**
 * Tells whether a text is a number of North America: area and exchange begin with 2 to 9 and are no service
 * codes (NANPA).
 */
function isNanp(text: string): boolean {
  const national = digitsOf(text).replace(/^1(?=\d{10}$)/, '');
  return (
    /^[2-9](?!11)\d\d[2-9](?!11)\d{6}$/.test(national) && !fiction.test(national) && hasVariety(national)
  );
}

/**
 * Tells whether a text is a number behind an existing country code, with as many digits as are dialled there.
 * It may contain a trunk prefix: `+49 (0)30 …`.
 */
function isInternational(text: string): boolean {
  const digits = digitsOf(text.replace('(0)', ''));
  if (digits.length > digitsMax || digits.length < digitsMin || !hasVariety(digits)) return false;
  if (fiction.test(digits)) return false;
  if (digits.startsWith('1')) return isNanp(digits);
  for (let length = 1; length <= callingCodeDigitsMax; length++) {
    const rest = digits.slice(length);
    const ofCode = plans().byCallingCode.get(digits.slice(0, length));
    if (ofCode?.some((plan) => plan.national.test(rest) || isDialled(plan, rest))) return true;
  }
  return false;
}

const isDialled = ({ prefix, national }: Plan, digits: string): boolean =>
  digits.startsWith(prefix) && national.test(digits.slice(prefix.length));

const isPlausible = (text: string, digits: string): boolean =>
  digits.length >= digitsMin &&
  digits.length <= digitsMax &&
  hasVariety(digits) &&
  !fiction.test(digits) &&
  !otherNumber.test(text);

/**
 * Matches other numbers behind the same words: dates, spans of years, IP addresses, ZIP codes (`phone:
 * 2026-11-21`, `mob: 20261121`).
 */
const otherNumber =
  /^(?:(?:19|20)\d\d[-./]\d\d[-./]\d\d|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$|(?:19|20)\d\d[ -](?:19|20)\d\d|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d\d|[1-9]\d{0,2}(?:\.\d{1,3}){3}$|\d{5}-\d{4}$)/;

export const phoneChecks = {
  nanp: isNanp,
  phone: isInternational,
  /**
   * Tells whether a text is a number as it is dialled within one of many countries. It has the prefix where
   * there is one, or `00` before a whole number.
   */
  'phone-national'(text) {
    const digits = digitsOf(text);
    if (digits.startsWith('00')) return isInternational(digits.slice(2));
    if (!isPlausible(text, digits)) return false;
    return isNanp(digits) || plans().common.some((plan) => isDialled(plan, digits));
  },
  /**
   * Tells whether a text is a number where one is asked for. It need not be complete: people omit what
   * neighbours know.
   */
  'phone-named': (text) => (text.startsWith('+') ? isInternational(text) : isPlausible(text, digitsOf(text))),
} as const satisfies Checks;
