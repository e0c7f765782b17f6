const filterBits = 16;
const bitsPerPlace = 5;

/**
 * Returns a bit for each of some words as numbers, in 8 KB. The bits rule out nearly all words of a text, and
 * the table stays in the cache, unlike a set of the numbers.
 */
export function wordBitsOf(words: Iterable<number>): Int32Array {
  const bits = new Int32Array(2 ** (filterBits - bitsPerPlace));
  for (const word of words) {
    const place = placeOf(word);
    bits[place] = (bits[place] as number) | (1 << word);
  }
  return bits;
}

/** Tells whether a word may be one of those that the bits were made of. */
export const hasBit = (bits: Int32Array, word: number): boolean =>
  ((bits[placeOf(word)] as number) & (1 << word)) !== 0;

/**
 * Returns the index of the number that has a word's bit. The place in it needs no mask: `<<` takes the lowest
 * five bits of any number.
 */
const placeOf = (word: number): number => (word & (2 ** filterBits - 1)) >>> bitsPerPlace;
