import { isIP } from 'node:net';
import { RangeList } from '../../../util/addresses.ts';
import { toHostMatcher } from './host-glob.ts';

/*
 * Hosts that calls reach without the parent proxy, as users of NO_PROXY write them. That variable has no
 * standard. This follows what Go and curl agree on, and Go where they differ. `example.com` is the domain
 * with all that is below it, `.example.com` only what is below, `*` everything. An address or a range holds
 * for hosts that are such an address, and for names whose addresses all are. Each entry may end in `:port`.
 */

/** One entry of `upstream.no_proxy`. */
interface NoProxyEntry {
  /** A host glob, a domain (which may begin with a dot), an address or a CIDR. */
  readonly place: string;
  /** Port that the entry is for; undefined for all. */
  readonly port: number | undefined;
}

/** Tells whether a host at a port, with its resolved addresses, goes past the parent. */
type PassesBy = (host: string, port: number, addresses: readonly string[]) => boolean;

/**
 * Takes the port off an entry. Returns undefined for a port that is none. `[::1]:443` and `[::1]` lose their
 * brackets.
 */
export function parseNoProxyEntry(text: string): NoProxyEntry | undefined {
  const [, inner, afterInner] = /^\[([^\]]*)\](?::(\d{1,5}))?$/.exec(text) ?? [];
  const [, outer, afterOuter] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  // An IPv6 address or range without brackets has no port.
  const place = inner ?? outer ?? text;
  const digits = afterInner ?? afterOuter;
  const port = digits === undefined ? undefined : Number(digits);
  return port !== undefined && (port < 1 || port > 65_535) ? undefined : { place, port };
}

/** Returns the test that entries make, which the configuration has checked. */
export function createPassesBy(entries: readonly string[]): PassesBy {
  const rules = entries.flatMap((text) => {
    const entry = parseNoProxyEntry(text);
    return entry ? [{ port: entry.port, holds: toRule(entry.place) }] : [];
  });
  return (host, port, addresses) =>
    rules.some((rule) => (rule.port === undefined || rule.port === port) && rule.holds(host, addresses));
}

function toRule(place: string): (host: string, addresses: readonly string[]) => boolean {
  if (isIP(place.split('/')[0] ?? '') !== 0) {
    const range = new RangeList([place]);
    // One address outside would be dialled straight although nobody said so.
    return (_host, addresses) => addresses.length > 0 && addresses.every((it) => range.has(it));
  }
  if (/[*?]/.test(place)) return toHostMatcher(place);
  const below = place.startsWith('.') ? place : `.${place}`;
  return (host) => host.endsWith(below) || host === place;
}
