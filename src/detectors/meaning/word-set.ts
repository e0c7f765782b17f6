const filterBits = 16;
const bitsPerPlace = 5;

/**
 * Some words as numbers. Of a text nearly no word is among them, so a bit tells of most that they are not: 8 KB of bits stay in the cache,
 * as a table of the numbers would not.
 */
export class WordSet {
  readonly #words: ReadonlySet<number>;
  readonly #filter = new Int32Array(2 ** (filterBits - bitsPerPlace));

  constructor(words: Iterable<number>) {
    this.#words = new Set(words);
    for (const word of this.#words) {
      const place = placeOf(word);
      this.#filter[place] = (this.#filter[place] as number) | (1 << word);
    }
  }

  has(word: number): boolean {
    return ((this.#filter[placeOf(word)] as number) & (1 << word)) !== 0 && this.#words.has(word);
  }
}

/** Where the bit of a word stands: the bit itself is told by the lowest five, which `<<` takes of any number. */
const placeOf = (word: number): number => (word & (2 ** filterBits - 1)) >>> bitsPerPlace;
