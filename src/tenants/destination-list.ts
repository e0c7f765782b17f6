import { BlockList, isIP } from 'node:net';
import type { Target } from '../core/target.ts';
import { readingsOf } from '../core/url-readings.ts';
import { compileUrlPattern, type UrlMatcher } from '../policy/match/url-pattern.ts';
import { type HostMatcher, toHostMatcher } from '../wire/client/reach/host-glob.ts';

/** Tells whether a target is on a tenant's list. */
export type DestinationList = (target: Target) => boolean;

/**
 * Compiles a list of what is denied: address ranges (`10.0.0.0/8`), URL prefixes and globs (with `://`), and
 * host globs. Ranges are compared with an address that the URL names. The addresses that a name resolves to
 * are left to the SSRF guard (`upstream.deny`). A URL is listed where any of its readings is.
 */
export const compileDenylist = (entries: readonly string[]): DestinationList => compile(entries, false);

/**
 * Compiles a list of what is allowed. All readings of a URL must be listed, and stars in a host match within
 * the host alone.
 */
export const compileAllowlist = (entries: readonly string[]): DestinationList => compile(entries, true);

function compile(entries: readonly string[], allows: boolean): DestinationList {
  const ranges = new BlockList();
  const urls: UrlMatcher[] = [];
  const hosts: HostMatcher[] = [];
  for (const entry of entries) {
    const [, address = '', bits = ''] = /^([0-9a-f.:]+)\/(\d+)$/i.exec(entry) ?? [];
    const family = isIP(address);
    if (family !== 0) ranges.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
    else if (entry.includes('://')) urls.push(compileUrlPattern(entry, allows));
    else hosts.push(toHostMatcher(entry));
  }
  const isListed = (url: string): boolean => urls.some((matches) => matches(url));
  return ({ host, href, isAddress }) => {
    if (isAddress && ranges.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4')) return true;
    if (hosts.some((matches) => matches(host))) return true;
    if (urls.length === 0) return false;
    return allows ? readingsOf(href).every(isListed) : readingsOf(href).some(isListed);
  };
}
