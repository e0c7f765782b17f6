import type { Facts } from './facts.ts';
import { PathValues, type Step } from './json-path.ts';
import type { Words } from './words.ts';

/** Whether one key of a rule holds. */
export type Check = (call: Evaluation) => boolean;

/** A body path as compiled: `index` is its own in the set, `word` that of a name which must stand in the body. */
export interface BodyPath {
  readonly index: number;
  readonly steps: readonly Step[];
  readonly word: number | undefined;
}

/**
 * One call while the rules of a set look at it. What costs something is done when the first rule asks and kept for the rest:
 * the pass over the body, its JSON, the values behind each path.
 */
export class Evaluation {
  readonly facts: Facts;
  readonly #words: Words;
  #found: Uint8Array | undefined;
  #hasEscapes: boolean | undefined;
  readonly #values: (PathValues | undefined)[] = [];

  constructor(facts: Facts, words: Words) {
    this.facts = facts;
    this.#words = words;
  }

  hasWord(word: number): boolean {
    return this.#foundWords()[word] === 1;
  }

  /** Whether a rule that asks for a word in the body can hold at all. */
  mayHoldWords(): boolean {
    return this.#foundWords().includes(1) || this.#mayHideNames();
  }

  #foundWords(): Uint8Array {
    this.#found ??= this.#words.find(this.facts.bodyTexts, this.facts.wordsFound);
    return this.#found;
  }

  /** The values behind a path; undefined where the body cannot have any, which is mostly known without parsing it. */
  valuesAt({ index, steps, word }: BodyPath): PathValues | undefined {
    if (word !== undefined && !this.hasWord(word) && !this.#mayHideNames()) return undefined;
    let values = this.#values[index];
    if (values === undefined) {
      values = new PathValues(steps, this.facts.bodyJson());
      this.#values[index] = values;
    }
    return values;
  }

  /** `{"\u0061mount": 1}` has an amount. */
  #mayHideNames(): boolean {
    this.#hasEscapes ??= this.facts.bodyTexts.some((text) => text.includes('\\u'));
    return this.#hasEscapes;
  }
}
