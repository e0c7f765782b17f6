import type { Target } from '../../../core/target.ts';
import { embeddedIpv4, parseIpv4, parseIpv6, parseRange } from '../addresses.ts';
import { canonicalHost } from './canonical-url.ts';
import { findIpv4, findIpv6, RangesBuilder } from './range-table.ts';

/** A tenant's own list of destinations, as far as it can be looked up without trying its entries one after the other. */
export interface HostList {
  /**
   * Tells whether a host is listed: exactly, by `*.` before a parent, or by an address or range; an IPv6 address also
   * by the IPv4 address in it.
   */
  has(target: Pick<Target, 'host' | 'isAddress'>): boolean;
  /** The other entries, for whoever has the patterns: URL prefixes, and globs that are more than `*.` and a host. */
  readonly rest: readonly string[];
}

/** Costs the same for ten entries and for a hundred thousand. */
export function createHostList(entries: readonly string[]): HostList {
  const exact = new Set<string>();
  const parents = new Set<string>();
  const ranges = [new RangesBuilder(1), new RangesBuilder(4)] as const;
  const rest: string[] = [];
  for (const entry of entries) {
    const isBelow = entry.startsWith('*.');
    const name = isBelow ? entry.slice('*.'.length) : entry;
    const host = /[*?[\]{}!()/]/.test(name) ? undefined : canonicalHost(name);
    const range = isBelow ? undefined : parseRange(host ?? entry);
    if (range !== undefined) ranges[range.isIpv6 ? 1 : 0].add(range, 0);
    else if (host !== undefined) (isBelow ? parents : exact).add(host);
    else rest.push(entry);
  }
  const [ipv4, ipv6] = [ranges[0].finish(), ranges[1].finish()];

  function hasAddress(address: string): boolean {
    const words = parseIpv6(address);
    const inner = words === undefined ? parseIpv4(address) : embeddedIpv4(words);
    return (inner >= 0 && findIpv4(ipv4, inner) >= 0) || (words !== undefined && findIpv6(ipv6, words) >= 0);
  }

  function isBelowAny(host: string): boolean {
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1))
      if (parents.has(host.slice(dot + 1))) return true;
    return false;
  }

  return {
    rest,
    has: ({ host, isAddress }) => (isAddress ? hasAddress(host) : exact.has(host) || isBelowAny(host)),
  };
}
