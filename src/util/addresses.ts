import { BlockList, isIP } from 'node:net';
import { kept } from './kept.ts';

/* Addresses, and ranges of them. As a number an IPv4 address is one, an IPv6 address is four of 32 bits. */

/** Finds addresses in ranges. A list without ranges contains no address. */
export class RangeList {
  /**
   * The list of IPv4 ranges; IPv6 has another. One BlockList would take IPv4 addresses for mapped ones and
   * find them in IPv6 ranges.
   */
  readonly #ipv4 = new BlockList();
  readonly #ipv6 = new BlockList();

  /** Takes CIDRs and single addresses. Throws a `RangeError` that quotes the first text that is neither. */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.#add(range);
  }

  #add(text: string): void {
    const [address = '', prefix, ...rest] = text.split('/');
    const version = isIP(address);
    const bits = version === 4 ? 32 : 128;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
    if (version === 0 || address.includes('%') || rest.length > 0 || length < 0 || length > bits) {
      throw new RangeError(`"${text}" is not an IP address or CIDR.`);
    }
    if (version === 4) this.#ipv4.addSubnet(address, length, 'ipv4');
    else this.#ipv6.addSubnet(address, length, 'ipv6');
  }

  /**
   * Tells whether an address is in a range. It takes a mapped IPv4 address as IPv6. `address` must have
   * passed `isIP`, since BlockList accepts any text.
   */
  has(address: string): boolean {
    return isIP(address) === 4 ? this.#ipv4.check(address, 'ipv4') : this.#ipv6.check(address, 'ipv6');
  }
}

const lists = new WeakMap<readonly string[], RangeList>();

/**
 * Tells whether an address is in one of the ranges; never for text that is no address. The list is compiled
 * once and must not change.
 */
export function isWithin(ranges: readonly string[], address: string): boolean {
  return isIP(address) !== 0 && kept(lists, ranges, () => new RangeList(ranges)).has(address);
}

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

/** Returns an IPv6 address without the zone, which names an interface of this machine. */
export const withoutZone = (address: string): string => address.replace(/%.*$/, '');

/** Returns an IPv4 address of 32 bits in dotted decimals. */
export const toIpv4 = (address: number): string =>
  [24, 16, 8, 0].map((bits) => (address >>> bits) & 0xff).join('.');

/** Tells whether an IPv6 address stands for an IPv4 one (RFC 4291, 2.5.5.2), which is its last word. */
export const isMapped = ([a, b, c]: AddressWords): boolean => a === 0 && b === 0 && c === 0xffff;

/** Returns the IPv4 address that a mapped address stands for; any other text unchanged. */
export function unmapped(address: string): string {
  const words = parseIpv6(address);
  return words && isMapped(words) ? toIpv4(words[3]) : address;
}

/**
 * Tells whether a host is an address that leads elsewhere. Unspecified addresses lead to this machine (RFC
 * 1122, 3.2.1.3; RFC 4291, 2.5.2), IPv4-mapped ones to IPv4.
 */
export const isDisguised = (host: string): boolean =>
  host === '0.0.0.0' || host === '::' || unmapped(host) !== host;

/** Returns the part of an address that one client usually has: an IPv4 address, or the /64 of an IPv6 one. */
export function networkOf(address: string): string {
  const words = parseIpv6(withoutZone(address));
  if (!words) return address;
  const [high, low, , last] = words;
  return isMapped(words) ? toIpv4(last) : `${high.toString(16)}:${low.toString(16)}`;
}
