import { isIP } from 'node:net';

/* Addresses as numbers. An IPv4 address is one number, an IPv6 address is four of 32 bits. */

/** The bits of an address as four numbers of 32 bits, the highest first. */
export type AddressWords = readonly [number, number, number, number];

/** Returns the 32 bits of an address in dotted decimals; -1 where the text is none. */
export function parseIpv4(text: string): number {
  let value = 0;
  let part = -1;
  let parts = 0;
  if (text.length > 15) return -1;
  for (let index = 0; index <= text.length; index++) {
    const code = index === text.length ? 0x2e : text.charCodeAt(index);
    if (code === 0x2e) {
      if (part < 0 || part > 255) return -1;
      value = value * 256 + part;
      part = -1;
      parts++;
    } else if (code >= 0x30 && code <= 0x39 && part !== 0) {
      part = (part < 0 ? 0 : part * 10) + code - 0x30;
    } else return -1;
  }
  return parts === 4 ? value : -1;
}

/**
 * Returns the words of an IPv6 address in any spelling that `isIP` takes. Returns undefined for all other
 * text, and for an address with a zone.
 */
export function parseIpv6(text: string): AddressWords | undefined {
  if (isIP(text) !== 6 || text.includes('%')) return undefined;
  const lastColon = text.lastIndexOf(':');
  const tail = text.includes('.') ? parseIpv4(text.slice(lastColon + 1)) : -1;
  const hex =
    tail < 0
      ? text
      : `${text.slice(0, lastColon + 1)}${(tail >>> 16).toString(16)}:${(tail & 0xffff).toString(16)}`;
  const gap = hex.indexOf('::');
  const head = gap < 0 ? hex : hex.slice(0, gap);
  const left = head === '' ? [] : head.split(':');
  const right = gap < 0 || gap + 2 === hex.length ? [] : hex.slice(gap + 2).split(':');
  const groups = [...left, ...new Array<string>(8 - left.length - right.length).fill('0'), ...right];
  const word = (at: number): number =>
    Number.parseInt(groups[at] ?? '', 16) * 65_536 + Number.parseInt(groups[at + 1] ?? '', 16);
  return [word(0), word(2), word(4), word(6)];
}

/** Returns the IPv4 address in a mapped (RFC 4291), NAT64 (RFC 6052) or 6to4 (RFC 3056) address, else -1. */
export function embeddedIpv4([a, b, c, d]: AddressWords): number {
  const isMapped = a === 0 && b === 0 && c === 0xffff;
  const isNat64 = a === 0x64_ff9b && b === 0 && c === 0;
  if (isMapped || isNat64) return d;
  return a >>> 16 === 0x2002 ? (a & 0xffff) * 65_536 + (b >>> 16) : -1;
}

export interface Range {
  readonly isIpv6: boolean;
  /** The first address. That of IPv4 is in the first word alone. */
  readonly first: AddressWords;
  readonly last: AddressWords;
  /** The number of bits of the prefix. */
  readonly bits: number;
}

/**
 * Returns the range of an address or a CIDR. Host bits of a CIDR do not count. Returns undefined for any
 * other text.
 */
export function parseRange(text: string): Range | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  if (rest.length > 0 || (prefix !== undefined && !/^\d{1,3}$/.test(prefix))) return undefined;
  const ipv4 = parseIpv4(address);
  if (ipv4 >= 0) return ipv4Range(ipv4, prefix === undefined ? 32 : Number(prefix));
  const words = parseIpv6(address);
  if (words === undefined) return undefined;
  const bits = prefix === undefined ? 128 : Number(prefix);
  const inner = embeddedIpv4(words);
  if (inner >= 0 && words[0] >>> 16 !== 0x2002 && bits >= 96) return ipv4Range(inner, bits - 96);
  return bits > 128 ? undefined : { isIpv6: true, bits, ...bounds(words, bits) };
}

function ipv4Range(address: number, bits: number): Range | undefined {
  if (bits > 32) return undefined;
  return { isIpv6: false, bits, ...bounds([address, 0, 0, 0], bits) };
}

function bounds(words: AddressWords, bits: number): { first: AddressWords; last: AddressWords } {
  const each = (use: (word: number, mask: number) => number): AddressWords => {
    const at = (index: number): number => {
      const own = Math.max(0, Math.min(32, bits - 32 * index));
      const mask = own === 0 ? 0 : (0xffffffff << (32 - own)) >>> 0;
      return use(words[index] ?? 0, mask) >>> 0;
    };
    return [at(0), at(1), at(2), at(3)];
  };
  return { first: each((word, mask) => word & mask), last: each((word, mask) => word | ~mask) };
}

export const overlaps = (a: Range, b: Range): boolean =>
  a.isIpv6 === b.isIpv6 && compareWords(a.first, b.last) <= 0 && compareWords(b.first, a.last) <= 0;

const compareWords = (a: AddressWords, b: AddressWords): number =>
  a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3];
