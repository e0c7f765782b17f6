import type { Sentence } from './sentences.ts';
import { hasBit, wordBitsOf } from './word-set.ts';

/*
 * Stores the phrases of a lexicon as one table of numbers. Every word of a sentence is looked up, and the
 * table is small enough for the nearest caches.
 */

/** Bound on the mentions in a sentence; more say nothing new. */
const mentionsMax = 48;
/** The factor that spreads similar inputs: the golden ratio in 32 bits (Knuth, TAOCP 6.4). */
const multiplier = 0x9e3779b1;
/** The numbers in a slot: a step, a word that follows it, and the step that both lead to. */
const numbersPerSlot = 3;

/**
 * Concepts in a sentence, in order: the number, first word and end of each. They are valid until the next
 * sentence is looked up.
 */
export interface Mentions {
  /** The number of entries that are valid in each array. */
  readonly count: number;
  readonly concepts: Uint8Array;
  readonly starts: Uint8Array;
  readonly ends: Uint8Array;
}

/** Finds phrases in sentences, for up to 256 concepts. */
export class PhraseTable implements Mentions {
  count = 0;
  readonly concepts = new Uint8Array(mentionsMax);
  readonly starts = new Uint8Array(mentionsMax);
  readonly ends = new Uint8Array(mentionsMax);
  readonly #firstWords: Int32Array;
  readonly #slots: Int32Array;
  readonly #mask: number;
  /** The concepts of each step. */
  readonly #conceptsOf: (readonly number[])[] = [none];

  /** Takes the words of each phrase, at least one, and its concept. */
  constructor(phrases: readonly { readonly words: readonly number[]; readonly concept: number }[]) {
    const wordCount = phrases.reduce((sum, { words }) => sum + words.length, 0);
    const slotCount = 2 ** Math.ceil(Math.log2(2 * wordCount + 2));
    this.#slots = new Int32Array(numbersPerSlot * slotCount);
    this.#mask = slotCount - 1;
    this.#firstWords = wordBitsOf(phrases.flatMap(({ words }) => words.slice(0, 1)));
    for (const { words, concept } of phrases) {
      const step = words.reduce((from, word) => this.#add(from, word), 0);
      const concepts = this.#conceptsOf[step] as readonly number[];
      if (!concepts.includes(concept)) this.#conceptsOf[step] = [...concepts, concept];
    }
  }

  /** Returns the mentions of a sentence. The longest of phrases that begin together counts. */
  of({ words, count }: Sentence): Mentions {
    this.count = 0;
    for (let start = 0; start < count && this.count < mentionsMax; ) {
      let end = start + 1;
      if (hasBit(this.#firstWords, words[start] as number)) {
        let found = none;
        let step = this.#next(0, words[start] as number);
        for (let at = start + 1; step > 0; at += 1) {
          const concepts = this.#conceptsOf[step] as readonly number[];
          if (concepts.length > 0) {
            found = concepts;
            end = at;
          }
          step = at < count ? this.#next(step, words[at] as number) : 0;
        }
        for (let index = 0; index < found.length; index += 1) this.#note(found[index] as number, start, end);
      }
      start = end;
    }
    return this;
  }

  #note(concept: number, start: number, end: number): void {
    if (this.count === mentionsMax) return;
    this.concepts[this.count] = concept;
    this.starts[this.count] = start;
    this.ends[this.count] = end;
    this.count += 1;
  }

  /** Returns the step that a word leads to; 0 where no phrase goes on with the word. */
  #next(step: number, word: number): number {
    return this.#slots[this.#slotOf(step, word) + 2] as number;
  }

  #add(step: number, word: number): number {
    const slot = this.#slotOf(step, word);
    const known = this.#slots[slot + 2] as number;
    if (known > 0) return known;
    const next = this.#conceptsOf.push(none) - 1;
    this.#slots.set([step, word, next], slot);
    return next;
  }

  /**
   * Returns the slot of a step and word, or the first empty slot behind. At least half of the slots are
   * empty.
   */
  #slotOf(step: number, word: number): number {
    const slots = this.#slots;
    for (let place = word ^ Math.imul(step, multiplier); ; place += 1) {
      const slot = numbersPerSlot * (place & this.#mask);
      if (slots[slot + 2] === 0 || (slots[slot + 1] === word && slots[slot] === step)) return slot;
    }
  }
}

const none: readonly number[] = [];
