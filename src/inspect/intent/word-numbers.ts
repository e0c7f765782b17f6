/*
 * Words as numbers: a hash of 30 bits, and nothing else is compared. One word in 400,000 has the hash of another one in the lexicon, and
 * who makes such a word by design only speaks of what he could have said.
 */

/** FNV-1a, 32 bits. */
export const emptyHash = 0x811c9dc5 | 0;
const prime = 0x01000193;

export const mix = (hash: number, byte: number): number => Math.imul(hash ^ byte, prime);

/** The upper bits are the better ones. 30 of them are a small integer to V8 wherever it runs. */
export const toNumber = (hash: number): number => (hash ^ (hash >>> 15)) & 0x3fffffff;

/** Some words in a row as one number. */
export const numberOfRow = (words: readonly number[]): number => toNumber(words.reduce(mix, emptyHash));

function markNumber(name: string): number {
  let hash = emptyHash;
  for (const byte of Buffer.from(name)) hash = mix(hash, byte);
  return toNumber(hash);
}

/** What stands among the words without being one. Lexicons write them as they are here. */
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

/** Undefined for what is not written as a mark. Throws an Error for a mark that there is not. */
export function markNamed(name: string): number | undefined {
  const number = numbersByName.get(name);
  if (number === undefined && name.startsWith('#')) throw new Error(`There is no mark ${name}.`);
  return number;
}
