const filterBits = 16;
const bitsPerPlace = 5;

/**
 * A bit for each of some words as numbers, in 8 KB. Of a text nearly no word is among them, and so the bit tells; the table stays in the
 * cache, as one of the numbers would not.
 */
export function wordBitsOf(words: Iterable<number>): Int32Array {
  const bits = new Int32Array(2 ** (filterBits - bitsPerPlace));
  for (const word of words) {
    const place = placeOf(word);
    bits[place] = (bits[place] as number) | (1 << word);
  }
  return bits;
}

/** Whether it may be one of the words that the bits were made of. */
export const hasBit = (bits: Int32Array, word: number): boolean =>
  ((bits[placeOf(word)] as number) & (1 << word)) !== 0;

/** Where the bit of a word stands: the bit itself is told by the lowest five, which `<<` takes of any number. */
const placeOf = (word: number): number => (word & (2 ** filterBits - 1)) >>> bitsPerPlace;
