import { crc32 } from 'node:zlib';
import type { Random } from './random.ts';

/*
 * Credentials that look like those of vendors, put together when the test runs: a literal one would be taken for a leak by whoever
 * scans this repository.
 */

const digits = '0123456789';
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** In the order in which GitHub counts its checksums. */
const base62 = `${digits}${letters}`;

/** Its last six characters are the checksum of the others. */
function githubToken(random: Random): string {
  const body = random.text(base62, 30);
  let sum = '';
  for (let rest = crc32(body); sum.length < 6; rest = Math.floor(rest / 62))
    sum = `${base62[rest % 62]}${sum}`;
  return `ghp_${body}${sum}`;
}

const uuid = (random: Random): string =>
  [8, 4, 4, 4, 12].map((length) => random.text('0123456789abcdef', length)).join('-');

const makers = {
  aws: (random) => `AKIA${random.text('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}`,
  github: githubToken,
  gitlab: (random) => `glpat-${random.text(base62, 20)}`,
  hubspot: (random) => `pat-eu1-${uuid(random)}`,
  sendgrid: (random) => `SG.${random.text(base62, 22)}.${random.text(base62, 43)}`,
  slack: (random) => `xoxb-${random.text(digits, 12)}-${random.text(digits, 12)}-${random.text(base62, 24)}`,
  stripe: (random) => `sk_${'live'}_${random.text(base62, 24)}`,
} satisfies Record<string, (random: Random) => string>;

export type Vendor = keyof typeof makers;

export const isVendor = (name: string): name is Vendor => Object.hasOwn(makers, name);

export const newToken = (vendor: Vendor, random: Random): string => makers[vendor](random);
