import { createPrivateKey, createPublicKey, hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { lazily } from '../../util/lazily.ts';
import { packageFile } from '../../util/program-files.ts';
import type { Checks } from './check.ts';

/* Checks the checksums of wallet keys. No other text passes them, so such keys need no word beside them. */

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

export const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** The characters of base58 in the order of the XRP Ledger. */
export const rippleBase58 = 'rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz';
/** Bound on the length, since decoding takes the square of it; an extended key has 111 characters. */
const base58LengthMax = 128;
/**
 * The number of digits of a step. Nine stay below 2 ** 53, which is faster than a step of large numbers for
 * each digit.
 */
const base58StepLength = 9;
const base58Step = 58n ** BigInt(base58StepLength);

/** Returns the bytes that the digits stand for; undefined for an invalid digit or a text that is too long. */
function decodeBase58(text: string, alphabet: string): Buffer | undefined {
  if (text.length > base58LengthMax) return undefined;
  let value = 0n;
  for (let at = 0; at < text.length; at += base58StepLength) {
    const end = Math.min(text.length, at + base58StepLength);
    let step = 0;
    for (let index = at; index < end; index++) {
      const digit = alphabet.indexOf(text[index] as string);
      if (digit < 0) return undefined;
      step = step * 58 + digit;
    }
    value = value * (end - at === base58StepLength ? base58Step : 58n ** BigInt(end - at)) + BigInt(step);
  }
  const hex = value.toString(16);
  let zeros = 0;
  while (zeros < text.length && text[zeros] === alphabet[0]) zeros++;
  return Buffer.concat([Buffer.alloc(zeros), Buffer.from(hex.length % 2 === 1 ? `0${hex}` : hex, 'hex')]);
}

/** Tells whether the last four bytes are the first of the double SHA-256 of the others. */
function endsWithHash(bytes: Buffer | undefined): boolean {
  if (bytes === undefined || bytes.length <= 4) return false;
  return sha256(sha256(bytes.subarray(0, -4)))
    .subarray(0, 4)
    .equals(bytes.subarray(-4));
}

const wifVersion = 0x80;
/** The byte that says that the public key is written in short form. */
const wifCompressed = 0x01;

export const bech32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const bech32Generator = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const bech32Constant = 1;
const bech32mConstant = 0x2bc830a3;

export function bech32Checksum(prefix: string, digits: readonly number[]): number {
  const codes = [...prefix].map((character) => character.charCodeAt(0));
  return [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31), ...digits].reduce(
    bech32Step,
    1,
  );
}

function bech32Step(checksum: number, value: number): number {
  const top = checksum >> 25;
  const shifted = ((checksum & 0x1ffffff) << 5) ^ value;
  return bech32Generator.reduce((sum, term, bit) => ((top >> bit) & 1 ? sum ^ term : sum), shifted);
}

export const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const crc16Polynomial = 0x1021;

export function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? crc16Polynomial : 0)) & 0xffff;
  }
  return crc;
}

/** The PKCS #8 header (RFC 8410, section 7) before the 32 bytes of an Ed25519 key. */
export const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

const phraseLengthMin = 12;
const phraseLengths = [24, 21, 18, 15, phraseLengthMin];

/** Reads the English list of BIP 39. */
export const bip39List = (): readonly string[] =>
  readFileSync(packageFile('config/words/bip-39-english.txt'), 'utf8').trim().split('\n');

/** Returns the words with their indexes, which are read when the first phrase is seen. */
const bip39Words = lazily(() => new Map(bip39List().map((word, index) => [word, index])));

const indexesOf = (text: string): number[] =>
  text
    .toLowerCase()
    .replace(/\\[nr]/g, ' ')
    .split(/[^a-z]+/)
    .map((word) => bip39Words().get(word) ?? -1);

/** Tells whether words are sorted, as in a piece of the list itself. */
const isSorted = (indexes: readonly number[]): boolean =>
  indexes.every((index, place) => place === 0 || index > (indexes[place - 1] as number));

/**
 * Checks a phrase of BIP 39. A word has eleven bits, and the last bits of the phrase are the first of the
 * SHA-256 of the others.
 */
function passesBip39(indexes: readonly number[]): boolean {
  if (indexes.includes(-1) || isSorted(indexes)) return false;
  const bits = indexes.map((index) => index.toString(2).padStart(11, '0')).join('');
  const checksumLength = bits.length / 33;
  const bytes = Buffer.from(
    (bits.slice(0, -checksumLength).match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)),
  );
  const hash = (sha256(bytes)[0] as number).toString(2).padStart(8, '0');
  return hash.startsWith(bits.slice(-checksumLength));
}

export const walletChecks = {
  base58check: (text) => endsWithHash(decodeBase58(text, base58)),
  /** Checks Bitcoin's wallet import format: a version, 32 bytes, and sometimes one more byte. */
  wif(text) {
    const bytes = decodeBase58(text, base58);
    if (bytes?.[0] !== wifVersion) return false;
    const isWhole = bytes.length === 37 || (bytes.length === 38 && bytes[33] === wifCompressed);
    return isWhole && endsWithHash(bytes);
  },
  'ripple-seed': (text) => endsWithHash(decodeBase58(text, rippleBase58)),
  /**
   * Checks the checksum of BIP 173 or BIP 350, which covers the part before the last `1` and the digits behind
   * it.
   */
  bech32(text) {
    const lower = text.toLowerCase();
    const separator = lower.lastIndexOf('1');
    const digits = [...lower.slice(separator + 1)].map((character) => bech32.indexOf(character));
    if (separator < 1 || digits.includes(-1)) return false;
    const checksum = bech32Checksum(lower.slice(0, separator), digits);
    return checksum === bech32Constant || checksum === bech32mConstant;
  },
  /**
   * Checks a seed of Stellar (SEP 23). It is base32, and its last two bytes are the CRC-16/XMODEM of the
   * others, low byte first.
   */
  'stellar-seed'(text) {
    let bits = 0n;
    for (const character of text)
      bits = (bits << 5n) | BigInt(Math.max(0, base32Alphabet.indexOf(character)));
    const bytes = Buffer.from(bits.toString(16).padStart(70, '0'), 'hex');
    return bytes.readUInt16LE(bytes.length - 2) === crc16(bytes.subarray(0, -2));
  },
  /** Checks 64 bytes, in base58 or a list of numbers. The last 32 are the public key of the first. */
  'ed25519-key-pair'(text) {
    const bytes = text.includes(',')
      ? Buffer.from(
          text
            .split(/[^\d]{1,8}/)
            .filter(Boolean)
            .map(Number),
        )
      : decodeBase58(text, base58);
    if (bytes?.length !== 64) return false;
    const key = createPrivateKey({
      key: Buffer.concat([pkcs8Head, bytes.subarray(0, 32)]),
      format: 'der',
      type: 'pkcs8',
    });
    const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
    return spki.subarray(-32).equals(bytes.subarray(32));
  },
  /** Tells whether a whole phrase of listed words stands in a row somewhere, with the right checksum. */
  'seed-phrase'(text) {
    const indexes = indexesOf(text);
    return indexes.some((_, start) =>
      phraseLengths.some(
        (length) => start + length <= indexes.length && passesBip39(indexes.slice(start, start + length)),
      ),
    );
  },
  /**
   * Tells whether twelve listed words stand in a row, whatever their checksum: a phrase with a slip takes a few
   * guesses.
   */
  'seed-phrase-like'(text) {
    const indexes = indexesOf(text);
    return indexes.some((_, start) => {
      const phrase = indexes.slice(start, start + phraseLengthMin);
      return phrase.length === phraseLengthMin && !phrase.includes(-1) && !isSorted(phrase);
    });
  },
} as const satisfies Checks;
