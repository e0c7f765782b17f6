import { BlockList, isIP } from 'node:net';
import { compileGlob, type Glob } from '../policy/glob.ts';
import { compileUrlPattern, type UrlMatcher } from '../policy/url-pattern.ts';
import type { Target } from '../target.ts';
import { readingsOf } from '../url-readings.ts';

/** Whether a target is on a tenant's list. */
export type Denylist = (target: Target) => boolean;

/**
 * Compiles a list of address ranges (`10.0.0.0/8`), URL prefixes (with `://`) and host globs. Ranges are compared with addresses
 * that the URL names; those that a name resolves to are the SSRF guard's (`upstream.deny`).
 */
export function compileDenylist(entries: readonly string[]): Denylist {
  const ranges = new BlockList();
  const urls: UrlMatcher[] = [];
  const hosts: Glob[] = [];
  for (const entry of entries) {
    const [, address = '', bits = ''] = /^([0-9a-f.:]+)\/(\d+)$/i.exec(entry) ?? [];
    const family = isIP(address);
    if (family !== 0) ranges.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
    else if (entry.includes('://')) urls.push(compileUrlPattern(entry, false));
    else hosts.push(compileGlob(entry.toLowerCase()));
  }
  return ({ host, href, isAddress }) =>
    (isAddress && ranges.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4')) ||
    hosts.some((matches) => matches(host)) ||
    (urls.length > 0 && readingsOf(href).some((url) => urls.some((matches) => matches(url))));
}
