import { emptyHash, mix, numberOfRow, toNumber } from './word-numbers.ts';
import { hasBit, wordBitsOf } from './word-set.ts';

/** The number of words of a phrase that are tested. A longer phrase passes by its first three words. */
const beginningWords = 3;

/**
 * Tells whether one of some phrases may stand in a sentence. A word passes that ends a phrase, or is the
 * third word of one. If no word passes, none of the phrases stands there; if one does, perhaps only a
 * beginning. The tables are those of `src/inspect/kernel/assembly/words.ts`.
 */
export class PhraseFilter {
  /** A bit for each first word, see `wordBitsOf`. */
  readonly firstWords: Int32Array;
  /**
   * A bit for each number in `beginnings`, as `wordBitsOf` has for words. It rules out nearly all other
   * numbers.
   */
  readonly beginningBits: Int32Array;
  /**
   * Phrases of one word, and the first two or three words of others, as numbers plus one; 0 is an empty slot.
   * A number stands in the slot of its lowest bits, or in the next free one. At least half of the slots are
   * empty.
   */
  readonly beginnings: Int32Array;

  /** Takes the words of each phrase. */
  constructor(phrases: readonly (readonly number[])[]) {
    this.firstWords = wordBitsOf(phrases.flatMap((words) => words.slice(0, 1)));
    const numbers = new Set(phrases.flatMap(beginningOf));
    this.beginningBits = wordBitsOf(numbers);
    const slots = 2 ** Math.ceil(Math.log2(2 * numbers.size + 2));
    this.beginnings = new Int32Array(slots);
    for (const number of numbers) {
      let slot = number & (slots - 1);
      while (this.beginnings[slot] !== 0) slot = (slot + 1) & (slots - 1);
      this.beginnings[slot] = number + 1;
    }
  }

  /** Tells whether a word of the sentence passes, as the kernel does with its own filter. */
  passes({ words, count }: { readonly words: Int32Array; readonly count: number }): boolean {
    const { firstWords } = this;
    let [wasFirst, wasFirstBefore] = [false, false];
    let [lastRow, lastButOneRow] = [0, 0];
    for (let index = 0; index < count; index += 1) {
      const word = words[index] as number;
      const isFirst = hasBit(firstWords, word);
      const two = mix(lastRow, word);
      if (isFirst && this.#has(word)) return true;
      if (wasFirst && this.#has(toNumber(two))) return true;
      if (wasFirstBefore && this.#has(toNumber(mix(lastButOneRow, word)))) return true;
      wasFirstBefore = wasFirst;
      wasFirst = isFirst;
      lastButOneRow = two;
      lastRow = mix(emptyHash, word);
    }
    return false;
  }

  #has(number: number): boolean {
    if (!hasBit(this.beginningBits, number)) return false;
    const { beginnings } = this;
    const mask = beginnings.length - 1;
    for (let slot = number & mask; beginnings[slot] !== 0; slot = (slot + 1) & mask)
      if (beginnings[slot] === number + 1) return true;
    return false;
  }
}

function beginningOf(words: readonly number[]): readonly number[] {
  const [first, second] = words;
  if (first === undefined) return [];
  return [second === undefined ? first : numberOfRow(words.slice(0, beginningWords))];
}
