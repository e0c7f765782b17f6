import type { Match } from './found.ts';
import type { Rule } from './search-plan.ts';

/** Hints that are kept whatever they are. A text full of them is a text about health: then one of a kind in so many bytes is enough. */
const hintsMax = 1000;
const hintDistance = 512;

/** What a search has found so far, within its bounds. */
export class Finds {
  readonly matches: Match[] = [];
  readonly hints: Match[] = [];
  readonly #matchesMax: number;
  /** For each rule the start of its last hint, once there are many. */
  #lastHints: number[] | undefined;

  constructor(matchesMax: number) {
    this.#matchesMax = matchesMax;
  }

  /** Takes a match that was not taken yet; false where there are too many. */
  add(rule: Rule, match: Match): boolean {
    const { detector, start, end } = match;
    const isHint = detector.needs.length > 0;
    if (isHint && this.#isOneOfMany(rule, start)) return true;
    if (!isHint && this.matches.length >= this.#matchesMax) return false;
    const list = isHint ? this.hints : this.matches;
    const isSame = (known: Match): boolean =>
      known.detector === detector && known.start === start && known.end === end;
    // A word is met once.
    if (detector.words.length > 0 || !list.some(isSame)) list.push(match);
    return true;
  }

  /** Hints are no findings yet, so any number of them is harmless; it must only not cost much. */
  #isOneOfMany({ index }: Rule, start: number): boolean {
    if (this.hints.length < hintsMax) return false;
    this.#lastHints ??= [];
    if (Math.abs(start - (this.#lastHints[index] ?? -hintDistance)) < hintDistance) return true;
    this.#lastHints[index] = start;
    return false;
  }
}
