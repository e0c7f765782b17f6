import { getPublicSuffix, parse } from 'tldts';
import { overlaps, parseRange, type Range } from './addresses.ts';
import { isSharedHost } from './index/shared-hosts.ts';

/*
 * Indicators that would block what nobody wants blocked. Some only a mistaken or a poisoned feed can have.
 * They are fatal to the whole feed, for who wrote one may have written any of its lines. Others stand in
 * honest feeds now and then: they are dropped, and counted.
 */

/** `fatal` is a sentence without its subject. */
export type Danger = { readonly fatal: string } | 'dropped' | undefined;

/** No registry hands out more in one block (IANA: /8 of IPv4), and nobody has a /16 of IPv6. */
const ipv4BitsMin = 8;
const ipv6BitsMin = 16;

/**
 * Never public hosts, so never somebody else's threat: ourselves, the own network, groups. Ranges for
 * documentation and measurements are not among them, for they reach nobody.
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

/** Returns the danger of listing a canonical host name with all that is below it. */
export function hostDanger(host: string): Danger {
  if (host === 'localhost' || host.endsWith('.localhost') || isSharedHost(host)) return 'dropped';
  if (getPublicSuffix(host, suffixOptions) !== host) return undefined;
  if (parse(host, suffixOptions).isIcann) return { fatal: `lists ${host}, under which anybody has a domain` };
  return 'dropped';
}
