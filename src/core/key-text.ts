import { createHmac, hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { PresentedKey } from './call.ts';

/*
 * A key is a prefix, 32 random bytes in base62, and six characters of CRC-32 over all that. By the checksum,
 * rubbish is refused without asking the state, and a leaked key differs from a random text.
 */

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefixes = { live: 'iv_live_', ephemeral: 'iv_eph_' } as const;
const randomLength = 43;
const checksumLength = 6;
const form = /^iv_(?:live|eph)_[0-9A-Za-z]{49}$/;

function toBase62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; rest > 0n; rest /= 62n) text = (digits[Number(rest % 62n)] ?? '') + text;
  return text.padStart(length, '0');
}

/**
 * Returns the CRC-32 in base62, as `toBase62` would. It avoids big integers, because every call asks for a
 * checksum.
 */
function checksum(text: string): string {
  let digest = '';
  for (let rest = crc32(text); rest > 0; rest = Math.floor(rest / 62))
    digest = (digits[rest % 62] ?? '') + digest;
  return digest.padStart(checksumLength, '0');
}

/** Returns a new key. It is shown once to whoever makes it, and nothing keeps it. */
export function newKeyText(type: keyof typeof prefixes): string {
  const random = toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), randomLength);
  const text = prefixes[type] + random;
  return text + checksum(text);
}

export const keyPrefix = (text: string): string => text.slice(0, 12);

/** Returns the SHA-256 of the key's text in hex. `keys[].hash` in the configuration holds the same. */
export const keyDigest = (text: string): string => hash('sha256', text, 'hex');

/**
 * Returns the stored form of a key's digest. Whoever steals the state cannot check a guess without the
 * pepper.
 */
export const peppered = (digestHex: string, pepper: Buffer): string =>
  createHmac('sha256', pepper).update(Buffer.from(digestHex, 'hex')).digest('hex');

/** Tells whether the text has the prefix, length and alphabet of a key. */
export const hasKeyForm = (text: string): boolean => form.test(text);

/** Tells whether a text in the form of a key ends in the right checksum. */
export const hasKeyChecksum = (text: string): boolean =>
  checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);

/** Returns a key's digest; undefined for a text of another prefix, length, alphabet or checksum. */
const digestOfKey = (text: string): string | undefined =>
  hasKeyForm(text) && hasKeyChecksum(text) ? keyDigest(text) : undefined;

/** Returns the presented key as it may be kept; undefined where the text is no key. */
export function readKey(text: string, pepper: Buffer): PresentedKey | undefined {
  const digest = digestOfKey(text);
  return digest === undefined ? undefined : { prefix: keyPrefix(text), hash: peppered(digest, pepper) };
}
