import { parseIpv6, RangeList, toIpv4, withoutZone } from '../../../util/addresses.ts';

/*
 * Addresses that are not the public internet (IANA special-purpose registries, RFC 6890 and successors), and
 * the cloud metadata services. Data only; guard.ts says what follows from it.
 */

/**
 * Ranges that need `upstream.allow_private`, by the name that a refusal gives them. The first range that
 * contains an address counts.
 */
const specialRanges: Readonly<Record<string, readonly string[]>> = {
  unspecified: ['0.0.0.0/8', '::/128'],
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  'carrier-grade NAT': ['100.64.0.0/10'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  broadcast: ['255.255.255.255/32'],
  benchmarking: ['198.18.0.0/15', '2001:2::/48'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
  'IPv4-mapped IPv6': ['::ffff:0:0/96'],
  'IPv4-translated IPv6': ['::ffff:0:0:0/96'],
  'IPv4-compatible IPv6': ['::/96'],
  NAT64: ['64:ff9b::/96', '64:ff9b:1::/48'],
  '6to4': ['192.88.99.0/24', '2002::/16'],
  Teredo: ['2001::/32'],
  'site-local': ['fec0::/10'],
  'discard-only': ['100::/64', '100:0:0:1::/64'],
  'segment routing': ['5f00::/16'],
  'IETF protocol assignments': ['192.0.0.0/24', '2001::/23'],
  // These come last. Of IPv6 only 2000::/3 is handed out (RFC 4291, 2.4), and these three are the rest of it.
  reserved: ['240.0.0.0/4', '::/3', '4000::/2', '8000::/1'],
};

/** Addresses where the credentials of the machine are served to whoever asks. Nothing exempts them. */
const metadataAddresses = [
  '169.254.169.254', // nearly all clouds
  '169.254.169.253',
  '169.254.170.2', // AWS ECS
  '169.254.170.23', // AWS EKS
  '169.254.0.23', // Tencent
  '169.254.42.42', // Scaleway
  '100.100.100.200', // Alibaba
  '168.63.129.16', // Azure; a public address
  '192.0.0.192', // Oracle
  'fd00:ec2::254', // AWS
  'fd00:ec2::253',
  'fd00:ec2::23', // AWS EKS
  'fd20:ce::254', // Google
  'fd00:42::42', // Scaleway
  'fd00:c1::a9fe:a9fe', // Oracle
];

const metadataName =
  /^(?:(?:metadata|instance-data)(?:\.(?:[a-z0-9_-]+\.)*internal)?|(?:rancher-)?metadata|metadata\.(?:goog|tencentyun\.com|packet\.net|platformequinix\.com|udhcpc\.io))$/;

const special = Object.entries(specialRanges).map(([name, ranges]) => ({
  name,
  list: new RangeList(ranges),
}));
const metadata = new RangeList(metadataAddresses);

/** Returns the name of the special range of an address; undefined for the public internet. */
export const specialRangeOf = (address: string): string | undefined =>
  special.find(({ list }) => list.has(address))?.name;

export const isMetadataAddress = (address: string): boolean => metadata.has(address);

/** Tells whether metadata services are found under a name. `host` is normalised. */
export const isMetadataName = (host: string): boolean => metadataName.test(host);

/**
 * Returns IPv4 addresses inside an IPv6 address, where the kernel or a translator would send the packets. It
 * knows IPv4-mapped and -compatible (RFC 4291, 2.5.5), IPv4-translated (RFC 2765), and NAT64 with a /96
 * prefix (RFC 6052). It also knows 6to4, Teredo's server and client, and ISATAP.
 */
export function embeddedIpv4Addresses(address: string): readonly string[] {
  const words = parseIpv6(withoutZone(address));
  if (!words) return [];
  const [a, b, c, d] = words;
  if (a >>> 16 === 0x2002) return [toIpv4((a << 16) | (b >>> 16))];
  if (a === 0x2001_0000) return [toIpv4(b), toIpv4(~d)];
  const isNat64 = a === 0x64_ff9b;
  const isIsatap = c === 0x5efe || c === 0x200_5efe;
  // `::` and `::1` are not IPv4-compatible, they are themselves.
  const isLow = a === 0 && b === 0 && (c !== 0 || d >>> 16 !== 0);
  return isNat64 || isIsatap || isLow ? [toIpv4(d)] : [];
}
