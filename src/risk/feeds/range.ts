import { type AddressWords, isMapped, parseIpv4, parseIpv6 } from '../../util/addresses.ts';

/** Returns the IPv4 address in a mapped (RFC 4291), NAT64 (RFC 6052) or 6to4 (RFC 3056) address, else -1. */
export function embeddedIpv4([a, b, c, d]: AddressWords): number {
  const isNat64 = a === 0x64_ff9b && b === 0 && c === 0;
  if (isNat64 || isMapped([a, b, c, d])) return d;
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
