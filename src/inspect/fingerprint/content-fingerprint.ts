import { createHmac } from 'node:crypto';
import { beginSip, sipRound } from '../../util/half-sip-hash.ts';

/*
 * Makes fingerprints of content, `s1.<whole>.<sketch>`. They recognise later content that carries a good part
 * of it. Nobody without the key can learn or guess what the content was.
 *
 * `<whole>` is the HMAC of all of it. `<sketch>` samples its shingles, each of five words in a row, by their
 * least keyed hashes. Equal shingles have equal hashes wherever they stand; case, white space and punctuation
 * do not matter. Both parts are base64url, together 16 to 124 characters.
 */

const version = 's1';
const wholeBytes = 9;
const shingleWords = 5;
/**
 * Bound on the hashes in a sketch. With three bytes each, about one sketch in 60 shares one hash with a long
 * text by chance, and hardly any shares two.
 */
const sketchSize = 27;
const hashBytes = 3;
const hashBits = 8 * hashBytes;
/** Bound on the sampled words: a sketch of so many takes 20 ms. Further ones count in `<whole>` alone. */
const wordsMax = 20_000;
const word = /[\p{L}\p{N}]+/gu;

/** Returns the fingerprint of a text; `key` has 32 bytes. */
export function contentFingerprint(key: Buffer, text: string): string {
  const whole = createHmac('sha256', key).update(text).digest().subarray(0, wholeBytes);
  const sketch = Buffer.concat([...leastOf(shingleHashes(key, text))].map(toBytes));
  return `${version}.${whole.toString('base64url')}.${sketch.toString('base64url')}`;
}

/**
 * Returns how much of the content with this fingerprint a text carries. It is 0 to 1, exact to about a tenth,
 * and 0 for an invalid fingerprint.
 */
export function carriedShare(key: Buffer, fingerprint: string, text: string): number {
  const [found, , sketch = ''] = fingerprint.split('.');
  const bytes = Buffer.from(sketch, 'base64url');
  const hashes = new Set<number>();
  for (let at = 0; at + hashBytes <= bytes.length; at += hashBytes)
    hashes.add(bytes.readUIntBE(at, hashBytes));
  if (found !== version || hashes.size === 0) return 0;
  const { size } = hashes;
  for (const hash of shingleHashes(key, text)) hashes.delete(hash);
  return 1 - hashes.size / size;
}

/** Returns the least distinct hashes, ascending. */
function leastOf(hashes: Iterable<number>): number[] {
  let least: number[] = [];
  let limit = Number.POSITIVE_INFINITY;
  for (const hash of hashes) {
    if (hash >= limit) continue;
    least.push(hash);
    if (least.length < 8 * sketchSize) continue;
    least = firstOf(least);
    limit = least.at(-1) ?? limit;
  }
  return firstOf(least);
}

const firstOf = (hashes: readonly number[]): number[] =>
  [...new Set(hashes)].sort((a, b) => a - b).slice(0, sketchSize);

function toBytes(hash: number): Buffer {
  const bytes = Buffer.allocUnsafe(hashBytes);
  bytes.writeUIntBE(hash, 0, hashBytes);
  return bytes;
}

/** Yields a hash for every five words in a row; a text of fewer words has one shingle. */
function* shingleHashes(key: Buffer, text: string): Generator<number> {
  const [k0, k1] = [key.readUInt32LE(0), key.readUInt32LE(4)];
  const shingle = new Uint32Array(shingleWords);
  let count = 0;
  for (const [found] of text.toLowerCase().matchAll(word)) {
    if (count >= wordsMax) break;
    shingle.copyWithin(0, 1);
    shingle[shingleWords - 1] = halfSipHash(k0, k1, unitsOf(found));
    count++;
    if (count >= shingleWords) yield halfSipHash(k0, k1, shingle) >>> (32 - hashBits);
  }
  if (count > 0 && count < shingleWords) yield halfSipHash(k0, k1, shingle) >>> (32 - hashBits);
}

const room = new Uint32Array(128);

/** Returns the UTF-16 units of a word, one a number, up to 128. */
function unitsOf(text: string): Uint32Array {
  const length = Math.min(text.length, room.length);
  for (let i = 0; i < length; i++) room[i] = text.charCodeAt(i);
  return room.subarray(0, length);
}

const state = new Int32Array(4);

/** Computes HalfSipHash-2-4 over 32-bit numbers in little-endian order. */
export function halfSipHash(k0: number, k1: number, message: Uint32Array): number {
  beginSip(state, k0, k1);
  for (let i = 0; i < message.length; i++) take(message[i] as number);
  take((message.length * 4) << 24);
  state[2] = (state[2] ?? 0) ^ 0xff;
  for (let i = 0; i < 4; i++) sipRound(state);
  return ((state[1] ?? 0) ^ (state[3] ?? 0)) >>> 0;
}

function take(part: number): void {
  state[3] = (state[3] ?? 0) ^ part;
  sipRound(state);
  sipRound(state);
  state[0] = (state[0] ?? 0) ^ part;
}
