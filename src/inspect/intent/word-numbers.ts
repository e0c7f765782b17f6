/*
 * Turns words into numbers: hashes of 30 bits. Only these are compared. One word in 400,000 has the hash of
 * another one in the lexicon. Nobody gains by making such a word, since the other one would do the same.
 */

/** The hash of nothing (FNV-1a, 32 bits). */
export const emptyHash = 0x811c9dc5 | 0;
const prime = 0x01000193;

export const mix = (hash: number, byte: number): number => Math.imul(hash ^ byte, prime);

/**
 * Returns the 30 bits of a hash that are compared. The upper bits, which are better mixed, are folded in. 30
 * bits are a small integer to V8 on all platforms.
 */
export const toNumber = (hash: number): number => (hash ^ (hash >>> 15)) & 0x3fffffff;

/** Returns some words in a row as one number. */
export const numberOfRow = (words: readonly number[]): number => toNumber(words.reduce(mix, emptyHash));

const markNumber = (name: string): number => numberOfRow([...Buffer.from(name)]);

/** Marks that stand among the words, with the names that lexicons write. */
export const marks = {
  anything: '*',
  fileAt: '@',
  rootPath: '#root-path',
  setuidMode: '#setuid-mode',
  call: '#call',
  code: '#code',
  metadataAddress: '#metadata-address',
  privateAddress: '#private-address',
  privateRange: '#private-range',
  publicAddress: '#public-address',
} as const;

export type Mark = keyof typeof marks;

export const numberOfMark = Object.fromEntries(
  Object.entries(marks).map(([mark, name]) => [mark, markNumber(name)]),
) as Readonly<Record<Mark, number>>;

const numbersByName = new Map(Object.values(marks).map((name) => [name as string, markNumber(name)]));

/** Returns the number of a mark; undefined for a word. Throws an Error for an unknown mark. */
export function markNamed(name: string): number | undefined {
  const number = numbersByName.get(name);
  if (number === undefined && name.startsWith('#')) throw new Error(`There is no mark ${name}.`);
  return number;
}
