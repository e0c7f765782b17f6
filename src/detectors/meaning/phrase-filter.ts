import { pairNumber } from './word-numbers.ts';
import { WordSet } from './word-set.ts';

/** No word is it. */
const none = -1;

/** Tells of the words of a text, one after the other, whether one of some phrases may stand there. */
export class PhraseFilter {
  readonly #firstWords: WordSet;
  /** Phrases of one word, and the first two words of all others. */
  readonly #beginnings: WordSet;
  /** The word before, if a phrase begins with it. */
  #before = none;

  /** Takes the words of each phrase. */
  constructor(phrases: readonly (readonly number[])[]) {
    this.#firstWords = new WordSet(phrases.map(([first = none]) => first));
    this.#beginnings = new WordSet(
      phrases.map(([first = none, second]) => (second === undefined ? first : pairNumber(first, second))),
    );
  }

  /**
   * Called for each word in its turn: whether it is a phrase, or the second word of one. Where no word passes, none of the phrases stands; where
   * one does, there may be less than all of it.
   */
  passes(word: number): boolean {
    const before = this.#before;
    const isFirst = this.#firstWords.has(word);
    this.#before = isFirst ? word : none;
    return (
      (isFirst && this.#beginnings.has(word)) ||
      (before !== none && this.#beginnings.has(pairNumber(before, word)))
    );
  }
}
