import { getPublicSuffix, parse } from 'tldts';
import { isSharedHost } from './index/shared-hosts.ts';
import { overlaps, parseRange, type Range } from './range.ts';

/*
 * Indicators that would block what nobody wants blocked. Only a mistaken or a poisoned feed can have some of
 * them. Those are fatal to the whole feed, since whoever wrote one may have written any of its lines. Others
 * stand in honest feeds now and then. Those are dropped and counted.
 */

/** The danger of an indicator; undefined where there is none. `fatal` is a sentence without its subject. */
export type Danger = { readonly fatal: string } | 'dropped' | undefined;

/**
 * The shortest prefixes that a feed may list. No registry gives out a wider block (IANA: /8 of IPv4), and
 * nobody has a /16 of IPv6.
 */
const ipv4BitsMin = 8;
const ipv6BitsMin = 16;

/**
 * Ranges that are never public hosts, and so never a threat of somebody else: the own host, the own network,
 * groups. Ranges for documentation and measurements are not among them, because they reach nobody.
 */
const special: readonly Range[] = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.168.0.0/16', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/8', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
].flatMap((text) => parseRange(text) ?? []);

export function rangeDanger(range: Range, text: string): Danger {
  const min = range.isIpv6 ? ipv6BitsMin : ipv4BitsMin;
  if (range.bits < min) return { fatal: `lists ${text}, which is wider than /${min}` };
  const isSpecial = special.some((it) => overlaps(it, range));
  return isSpecial || isSharedHost(text) ? 'dropped' : undefined;
}

const suffixOptions = { allowPrivateDomains: true, extractHostname: false, validateHostname: false } as const;

/** Returns the danger of listing a canonical host name with all names below it. */
export function hostDanger(host: string): Danger {
  if (host === 'localhost' || host.endsWith('.localhost') || isSharedHost(host)) return 'dropped';
  if (getPublicSuffix(host, suffixOptions) !== host) return undefined;
  if (parse(host, suffixOptions).isIcann) return { fatal: `lists ${host}, under which anybody has a domain` };
  return 'dropped';
}
