import type { BodyValue } from '../core/call.ts';
import { hidesNames, type Words, type WordsFound } from '../inspect/match/rule-words.ts';
import type { Facts } from './facts.ts';
import type { BodyPlace, BodyPlaceValue, PlaceTree } from './match/body-places.ts';
import type { BodyValues } from './match/body-values.ts';

/** Tells whether one key of a rule matches. */
export type RuleCheck = (call: Evaluation) => boolean;

/**
 * A compiled body path. Where `word` does not stand in the body, the path leads nowhere. `word` is undefined
 * where no such word is known.
 */
export interface CompiledBodyPath {
  readonly place: BodyPlace;
  readonly word: number | undefined;
}

/**
 * Holds one call while the rules of a set look at it. The pass over the body, its structure, and the values
 * at each place cost something. Each is done when the first rule asks, and kept for the others.
 */
export class Evaluation {
  readonly facts: Facts;
  readonly #words: Words;
  #found: Uint8Array | undefined;
  #hidesNames: boolean | undefined;
  readonly #places: PlaceTree;
  /** The values that were found, by the index of their place. */
  #foundAt: readonly (BodyPlaceValue | undefined)[] | undefined;
  #body: BodyValue | undefined;
  /** A condition held only because the body does not tell. Whoever asks rule by rule resets it. */
  heldUnclear = false;

  constructor(facts: Facts, words: Words, places: PlaceTree) {
    this.facts = facts;
    this.#words = words;
    this.#places = places;
  }

  hasWord(word: number): boolean {
    return this.#foundWords()[word] === 1;
  }

  /** Tells whether a rule that asks for a word in the body can match at all. */
  mayHoldWords(): boolean {
    return this.#foundWords().includes(1) || this.#mayHideNames();
  }

  #foundWords(): Uint8Array {
    this.#found ??= this.#foundBefore?.found ?? this.#words.find(this.facts.body.texts);
    return this.#found;
  }

  /**
   * Returns the words found by an earlier search, if it was for this set. Words found for other sets say
   * nothing.
   */
  get #foundBefore(): WordsFound | undefined {
    const { wordsFound } = this.facts.body;
    return wordsFound?.list === this.#words.list ? wordsFound : undefined;
  }

  /**
   * Tells whether the values at a path meet a condition. `isMet` answers undefined where the values do not
   * tell.
   *
   * A body without the word that the path needs cannot meet it, however unclear the body is. That is mostly
   * known without parsing the body. Where the values are unclear the answer is the safe one: a rule that
   * `allows` does not hold, any other rule does. A rule that `allows` does not hold either where the body has
   * several readings, or a name is spelt otherwise.
   */
  meetsAt(
    { place, word }: CompiledBodyPath,
    allows: boolean,
    isMet: (values: BodyValues) => boolean | undefined,
  ): boolean {
    if (word !== undefined && !this.hasWord(word) && !this.#mayHideNames()) return false;
    this.#body ??= this.facts.body.value();
    if (this.#body.kind === 'none') return false;
    if (this.#body.kind === 'unclear') return this.#unclear(allows);
    const { readings } = this.#body;
    if (allows && readings.length > 1) return false;
    this.#foundAt ??= this.#places.read(readings);
    const found = this.#foundAt[place.index];
    if (found === undefined || (allows && !found.isExact)) return false;
    return isMet(found.values) ?? this.#unclear(allows);
  }

  #unclear(allows: boolean): boolean {
    this.heldUnclear ||= !allows;
    return !allows;
  }

  #mayHideNames(): boolean {
    const { body } = this.facts;
    this.#hidesNames ??= body.hidesNames || (this.#foundBefore?.hidesNames ?? body.texts.some(hidesNames));
    return this.#hidesNames;
  }
}
