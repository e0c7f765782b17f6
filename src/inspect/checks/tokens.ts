import { crc32 } from 'node:zlib';
import { parsedObject } from '../../util/parsed-json.ts';
import type { Checks } from './check.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const checksumLength = 6;

/** Returns the CRC-32 as six characters of base62. Tokens of GitHub, npm and Postern end with it. */
export function crcChecksum(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  for (; rest > 0; rest = Math.floor(rest / 62)) checksum = (base62[rest % 62] as string) + checksum;
  return checksum.padStart(checksumLength, '0');
}

const endsWithChecksumOf = (text: string, covered: string): boolean => text.endsWith(crcChecksum(covered));

export const tokenChecks = {
  /**
   * Checks that each of eight groups of six digits is 11 times a 16-bit number. One in 430 million random keys
   * passes.
   */
  'bitlocker-key': (text) =>
    text.split('-').every((group) => Number(group) % 11 === 0 && Number(group) / 11 < 2 ** 16),
  /** Checks `ghp_` and similar tokens: the checksum covers the 30 random characters, not the prefix. */
  'prefixed-crc': (text) => endsWithChecksumOf(text, text.slice(text.indexOf('_') + 1, -checksumLength)),
  /** Checks `iv_live_…`: the checksum covers everything before it. */
  'postern-key': (text) => endsWithChecksumOf(text, text.slice(0, -checksumLength)),
  /** Checks that the first segment is base64url of a JSON object that names an algorithm (RFC 7515, 4.1.1). */
  jwt(text) {
    const header = Buffer.from(text.slice(0, text.indexOf('.')), 'base64url');
    return parsedObject(header.toString('utf8'))?.['alg'] !== undefined;
  },
  /** Checks that the first segment is base64 of a snowflake, the id of a bot or user: 17 to 20 digits. */
  'discord-token': (text) =>
    /^[1-9]\d{16,19}$/.test(Buffer.from(text.slice(0, text.indexOf('.')), 'base64').toString('latin1')),
  /**
   * Checks that a text is base64 of `user:password` (RFC 7617), not of JSON, markup or a repeated word
   * (`test:test`).
   */
  'basic-credential'(text) {
    const decoded = Buffer.from(text, 'base64').toString('latin1');
    return /^[!#-9;=?-z|~]{1,128}:[ -~]{3,256}$/.test(decoded) && !/^([a-z]{3,12}):\1$/.test(decoded);
  },
} as const satisfies Checks;
