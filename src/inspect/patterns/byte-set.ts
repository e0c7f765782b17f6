/*
 * Makes sets of bytes for the proofs about patterns, which are made once and compared often. A set is a
 * number of 256 bits, of which bit n is 1 where the byte n belongs to it. So equal sets are equal numbers,
 * and a set costs as much as a short string.
 */

export type ByteSet = bigint;

export const noBytes: ByteSet = 0n;
export const allBytes: ByteSet = (1n << 256n) - 1n;

/** Returns all bytes from `low` to `high`, both included; none where `low` is larger. */
export const bytesBetween = (low: number, high: number): ByteSet =>
  low > high ? noBytes : ((1n << BigInt(high - low + 1)) - 1n) << BigInt(low);

const singles: readonly ByteSet[] = Array.from({ length: 256 }, (_, byte) => bytesBetween(byte, byte));

/** Returns the set of one byte; `byte` is below 256. */
export const singleByte = (byte: number): ByteSet => singles[byte] as ByteSet;

/** Returns the bytes whose characters the regular expression matches. */
export const bytesMatching = (regex: RegExp): ByteSet =>
  singles.reduce(
    (set, single, byte) => (regex.test(String.fromCharCode(byte)) ? set | single : set),
    noBytes,
  );

export const complementOf = (set: ByteSet): ByteSet => allBytes ^ set;
export const union = (a: ByteSet, b: ByteSet): ByteSet => a | b;
export const overlap = (a: ByteSet, b: ByteSet): boolean => (a & b) !== noBytes;
/** Tells whether all bytes of one set belong to the other. */
export const isSubset = (inner: ByteSet, outer: ByteSet): boolean => (inner & outer) === inner;

export const isSingle = (set: ByteSet): boolean => set !== noBytes && (set & (set - 1n)) === noBytes;

/** Capitals of Latin-1; the small form of each is 0x20 higher. */
const capitals = bytesMatching(/[A-Z\xc0-\xd6\xd8-\xde]/);
const caseDistance = 0x20n;
const smallLetters = capitals << caseDistance;

/** Returns the set with the other case of every letter, as regular expressions match that ignore case. */
export const withBothCases = (set: ByteSet): ByteSet =>
  set | ((set & capitals) << caseDistance) | ((set & smallLetters) >> caseDistance);

/** Returns the set as a table for hot paths: `table[byte]` is 1 where the byte belongs to it. */
export const tableOf = (set: ByteSet): Uint8Array =>
  Uint8Array.from(singles, (single) => (overlap(set, single) ? 1 : 0));
