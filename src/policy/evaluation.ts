import type { BodyValue } from '../call.ts';
import type { Facts } from './facts.ts';
import { PathValues, type Step, stepInto } from './json-path.ts';
import type { Words } from './words.ts';

/** Whether one key of a rule holds. */
export type Check = (call: Evaluation) => boolean;

/** Where a body path leads: one step on from another place, or the body itself. Paths that begin alike share their places. */
export interface Place {
  readonly index: number;
  readonly from: { readonly place: Place; readonly step: Step } | undefined;
}

/** A body path as compiled; `word` is that of a name which must stand in the body. */
export interface BodyPath {
  readonly place: Place;
  readonly word: number | undefined;
}

/**
 * One call while the rules of a set look at it. What costs something is done when the first rule asks and kept for the rest:
 * the pass over the body, its JSON, the values at each place.
 */
export class Evaluation {
  readonly facts: Facts;
  readonly #words: Words;
  #found: Uint8Array | undefined;
  #hidesNames: boolean | undefined;
  /** By the index of the place. */
  readonly #reached: (readonly unknown[] | undefined)[] = [];
  readonly #values: (PathValues | undefined)[] = [];
  #body: BodyValue | undefined;
  /** A condition held only because nobody can tell from the body; reset by whoever asks rule by rule. */
  heldUnclear = false;

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

  /**
   * Whether the values behind a path meet a condition. A body without the name that the path needs cannot, however unclear it
   * is, which is mostly known without parsing it. Of an unclear body the answer is the safe one: a rule that `allows` does not
   * hold, any other does. Nor does one allow a body that has several readings.
   */
  meetsAt({ place, word }: BodyPath, allows: boolean, isMet: (values: PathValues) => boolean): boolean {
    if (word !== undefined && !this.hasWord(word) && !this.#mayHideNames()) return false;
    this.#body ??= this.facts.bodyValue();
    if (this.#body.kind === 'none') return false;
    if (this.#body.kind === 'unclear') {
      this.heldUnclear ||= !allows;
      return !allows;
    }
    const { readings } = this.#body;
    if (allows && readings.length > 1) return false;
    return isMet(this.#valuesOf(place, readings));
  }

  #valuesOf(place: Place, readings: readonly unknown[]): PathValues {
    const { index } = place;
    this.#values[index] ??= new PathValues(this.#valuesAt(place, readings));
    return this.#values[index];
  }

  #valuesAt({ index, from }: Place, readings: readonly unknown[]): readonly unknown[] {
    if (from === undefined) return readings;
    this.#reached[index] ??= stepInto(from.step, this.#valuesAt(from.place, readings));
    return this.#reached[index];
  }

  /** `{"\u0061mount": 1}` has an amount, as `"\x61mount"` has for lenient parsers. */
  #mayHideNames(): boolean {
    this.#hidesNames ??=
      this.facts.bodyHidesNames ||
      this.facts.bodyTexts.some((text) => text.includes('\\u') || text.includes('\\x'));
    return this.#hidesNames;
  }
}
