import { BlockList, isIP } from 'node:net';
import { kept } from './kept.ts';

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

/**
 * Returns the IPv4 address that a mapped address (RFC 4291, 2.5.5.2) stands for; any other text unchanged.
 */
export function unmapped(address: string): string {
  if (isIP(address) !== 6 || address.includes('%')) return address;
  // The URL parser writes all spellings of an address in the same way.
  const [, high = '', low = ''] =
    /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(new URL(`http://[${address}]`).hostname) ?? [];
  if (high === '') return address;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >>> 8}.${a & 255}.${b >>> 8}.${b & 255}`;
}

/**
 * Tells whether a host is an address that leads elsewhere. Unspecified addresses lead to this machine (RFC
 * 1122, 3.2.1.3; RFC 4291, 2.5.2), IPv4-mapped ones to IPv4.
 */
export const isDisguised = (host: string): boolean =>
  host === '0.0.0.0' || host === '::' || unmapped(host) !== host;

/** Returns the part of an address that one client usually has: an IPv4 address, or the /64 of an IPv6 one. */
export function networkOf(address: string): string {
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice('::ffff:'.length);
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const rest = tail === '' ? 0 : tail.split(':').length;
    while (groups.length + rest < 8) groups.push('0');
  }
  return groups.length < 4 ? address : groups.slice(0, 4).join(':');
}
