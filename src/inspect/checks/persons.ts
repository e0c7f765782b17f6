import ipaddr from 'ipaddr.js';
import { packagedWords } from '../../util/files/packaged-lines.ts';
import type { Checks } from './check.ts';

/*
 * Checks that facts about persons are possible. A birth date must be one of somebody alive, an address one on
 * the Internet, and a place as exact as a door. Words must be such that they can be a name.
 */

/** Birth years of anybody alive today and for a while. */
const [yearMin, yearMax] = [1900, 2040];
/** Starts of month names in the languages that write dates with words. */
const monthStarts: ReadonlySet<string> = new Set(
  (
    'jan jän gen ene sty янв feb fév fev lut фев mar mär maa мар apr avr abr kwi апр may mai maj mag ' +
    'mei мая jun jui giu cze июн jul lug lip июл aug aoû ago sie авг sep set wrz сен oct okt ott out ' +
    'paź окт nov lis ноя dec dez déc dic gru дек'
  ).split(' '),
);

const isBirthYear = (text: string): boolean =>
  text.length === 2 || (text.length === 4 && Number(text) >= yearMin && Number(text) <= yearMax);

const isDay = (month: number, day: number): boolean => month >= 1 && month <= 12 && day >= 1 && day <= 31;

/**
 * Matches a time of day as in a log line, which may stand behind any word. A full hour does not count: a date
 * that was converted to another zone has one.
 */
const timeOfEvent = /T\d\d:(?!00(?::00(?:\.0{1,9})?)?(?:[Z+-]|$))/;

/** Tells whether eight digits are a birth date: `19800203`, or `03021980` as forms have it. */
function isCompactDate(digits: string): boolean {
  const part = (from: number, to: number): number => Number(digits.slice(from, to));
  if (isBirthYear(digits.slice(0, 4)) && isDay(part(4, 6), part(6, 8))) return true;
  return isBirthYear(digits.slice(4)) && (isDay(part(0, 2), part(2, 4)) || isDay(part(2, 4), part(0, 2)));
}

/** Tells whether a text is a birth date with the month in words: `14 January 1962`, `März 3, 1971`. */
function isWrittenDate(text: string, day: string, year: string): boolean {
  const words = Buffer.from(text, 'latin1')
    .toString('utf8')
    .toLowerCase()
    .split(/[^\p{L}]+/u);
  return (
    words.some((word) => monthStarts.has(word.slice(0, 3))) && isDay(1, Number(day)) && isBirthYear(year)
  );
}

/** Addresses of public DNS resolvers, which are nobody's. */
const resolvers: ReadonlySet<string> = new Set(
  (
    '1.1.1.1 1.0.0.1 1.1.1.2 1.1.1.3 8.8.8.8 8.8.4.4 9.9.9.9 9.9.9.10 149.112.112.112 208.67.222.222 208.67.220.220 ' +
    '2606:4700:4700::1111 2606:4700:4700::1001 2001:4860:4860::8888 2001:4860:4860::8844 2620:fe::fe'
  ).split(' '),
);
/** Matches ends of networks, made-up addresses, and object identifiers (`2.5.4.3`), which look the same. */
const notAddresses =
  /\.(?:0|255)$|^2\.5\.\d{1,2}\.|^(\d{1,3})\.\1\.\1\.\1$|^(?:1\.2\.3\.4|4\.3\.2\.1|5\.6\.7\.8|12\.34\.56\.78)$/;
/** The least number of characters of an IPv6 address. Shorter ones, such as `1::1`, are made up. */
const v6LengthMin = 12;

const isGlobal = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean => address.range() === 'unicast';

/** Matches the block of the IANA (RFC 9542, 2.1) for protocols and documentation, and made-up addresses. */
const notMachines =
  /^00005e|^(?:001122334455|0123456789ab|aabbccddeeff|001a2b3c4d5e|deadbeef|cafebabe|123456789abc|a1b2c3d4e5f6|112233445566)/;

const decimalsMin = 5;

/** Capitalised words behind `name:` or `Dear` that are nobody's name. */
const impersonalWords = packagedWords('impersonal-words.txt');

/** Matches addresses of something else: a machine, a page, a memory, a mailbox. */
const otherAddress =
  /:\/\/|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d|0x[\da-f]|::|[\da-f]{2}:[\da-f]{2}:|[$%#~^]\{|\\x|_|\w\(/i;
/** Matches words of sentences and of software, which no address has. */
const sentenceWord =
  /(?<!\p{L})(?:the|is|are|was|must|should|and|or|if|not|your|we|you|this|that|with|for|from|bytes?|port|line|server|host|page|length|offset|value|default|string|null|und|ist|oder|nicht)(?!\p{L})/iu;
const someNumber = /(?<![\p{L}\p{N}.])\p{N}{1,6}(?:[-/ ]?\p{N}{1,5})*\p{L}?(?![\p{L}\p{N}])/u;
const uncased = /[\u05d0-\u07ff\u0900-\u109f\u0e00-\u0eff\u3040-\u9fff\uac00-\ud7a3]/u;

export const personChecks = {
  /** Tells whether a text is a date, in any usual order, on which somebody alive can have been born. */
  'birth-date'(text) {
    if (timeOfEvent.test(text)) return false;
    const numbers = text.match(/\d{1,8}/g) ?? [];
    const [first = '', second = '', third = ''] = numbers;
    if (numbers.length === 1 && first.length === 8) return isCompactDate(first);
    if (numbers.length === 2) return isWrittenDate(text, first, second);
    if (numbers.length < 3) return false;
    const [year, middle, last] = first.length === 4 ? [first, second, third] : [third, first, second];
    const [a, b] = [Number(middle), Number(last)];
    return isBirthYear(year) && (isDay(a, b) || isDay(b, a));
  },
  /**
   * Tells whether a person's machine can have an address on the public Internet. Addresses for a special
   * purpose do not count (RFC 6890).
   */
  'public-address'(text) {
    if (resolvers.has(text.toLowerCase()) || notAddresses.test(text)) return false;
    if (!text.includes(':'))
      return ipaddr.IPv4.isValidFourPartDecimal(text) && isGlobal(ipaddr.IPv4.parse(text));
    return text.length >= v6LengthMin && ipaddr.IPv6.isValid(text) && isGlobal(ipaddr.IPv6.parse(text));
  },
  /**
   * Tells whether an EUI-48 is one that a maker gave to one machine. Multicast addresses are none, nor are
   * those of one or two different bytes.
   */
  'machine-address'(text) {
    const digits = text.replace(/[^0-9A-Fa-f]/g, '').toLowerCase();
    return (
      digits.length === 12 &&
      !notMachines.test(digits) &&
      new Set(digits.match(/../g)).size > 2 &&
      Number.parseInt(digits.slice(1, 2), 16) % 2 === 0
    );
  },
  /**
   * Tells whether latitude and longitude are as exact as a door. Five decimals are a metre; landmarks have
   * four.
   */
  'exact-position'(text) {
    const [latitude, longitude] = text.match(/-?\d{1,3}\.\d{1,15}/g) ?? [];
    if (latitude === undefined || longitude === undefined) return false;
    const decimals = (number: string): number => number.length - number.indexOf('.') - 1;
    const isThere = Math.abs(Number(latitude)) <= 90 && Math.abs(Number(longitude)) <= 180;
    return isThere && decimals(latitude) >= decimalsMin && decimals(longitude) >= decimalsMin;
  },
  /** Tells whether words may be a person's name: none is of software, trade or courtesy, or in capitals. */
  'plain-name': (text) =>
    text.split(/[ -]/).every((word) => !impersonalWords().has(word) && !/^[A-Z]{2,}$/.test(word)),
  /**
   * Tells whether a text is an address of a house. It has capitalised words and a number, and a comma or a post
   * code between its parts. In scripts without capitals a number with some letters is enough.
   */
  address(text) {
    const address = Buffer.from(text, 'latin1').toString('utf8').trim();
    if (otherAddress.test(address) || sentenceWord.test(address)) return false;
    if (uncased.test(address)) return /\p{N}/u.test(address) && (address.match(/\p{L}/gu)?.length ?? 0) >= 5;
    const words = address.match(/\p{L}[\p{L}\p{M}'\u2019.-]+/gu) ?? [];
    const isLarge = words.filter((word) => /^\p{Lu}/u.test(word)).length;
    const hasParts = address.includes(',') || /\p{N}{4}|\p{N}{2,3}[ -]\p{N}{2,3}/u.test(address);
    return isLarge >= 2 && 2 * isLarge >= words.length && hasParts && someNumber.test(address);
  },
  /**
   * Tells whether a text is a name that somebody has chosen. Such a name is marked by `@`, or has a digit, dot
   * or underscore, unlike common words.
   */
  handle: (text) => text.startsWith('@') || (/[A-Za-z]/.test(text) && /[._\d]/.test(text)),
} as const satisfies Checks;
