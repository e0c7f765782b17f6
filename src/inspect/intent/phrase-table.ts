import { kept } from '../../util/kept.ts';
import type { Sentence } from './sentences.ts';

/* Stores the phrases of a lexicon as steps from word to word. */

/** Bound on the mentions in a sentence; more say nothing new. */
const mentionsMax = 48;
const none: readonly number[] = [];

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

/** A word of a phrase: the words that may follow, and the concepts of phrases that end with it. */
class Step {
  readonly next = new Map<number, Step>();
  concepts: readonly number[] = none;
}

/** Finds phrases in sentences, for up to 256 concepts. */
export class PhraseTable implements Mentions {
  count = 0;
  readonly concepts = new Uint8Array(mentionsMax);
  readonly starts = new Uint8Array(mentionsMax);
  readonly ends = new Uint8Array(mentionsMax);
  readonly #first = new Step();

  /** Takes the words of each phrase, at least one, and its concept. */
  constructor(phrases: readonly { readonly words: readonly number[]; readonly concept: number }[]) {
    for (const { words, concept } of phrases) {
      const end = words.reduce((step, word) => kept(step.next, word, () => new Step()), this.#first);
      if (!end.concepts.includes(concept)) end.concepts = [...end.concepts, concept];
    }
  }

  /** Returns the mentions of a sentence. The longest of phrases that begin together counts. */
  of({ words, count }: Sentence): Mentions {
    this.count = 0;
    for (let start = 0; start < count && this.count < mentionsMax; ) {
      let end = start + 1;
      let found = none;
      let step = this.#first.next.get(words[start] as number);
      for (let at = start + 1; step; at += 1) {
        if (step.concepts.length > 0) {
          found = step.concepts;
          end = at;
        }
        step = at < count ? step.next.get(words[at] as number) : undefined;
      }
      for (const concept of found) this.#note(concept, start, end);
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
}
