import type { DataClass } from '../../core/call.ts';
import type { Match } from './found.ts';
import type { SearchRule } from './search-plan.ts';

/** Hints that are kept whatever they are. A text full of them is a text about health: then one of a kind in so many bytes is enough. */
const hintsMax = 1000;
const hintDistance = 512;

/** What a search has found so far, within its bounds. */
export class Finds {
  readonly matches: Match[] = [];
  readonly hints: Match[] = [];
  /** Classes of which there is more than was kept. */
  readonly uncounted = new Set<DataClass>();
  readonly #matchesMax: number;
  readonly #counts = new Map<DataClass | 'low', number>();
  /** For each rule the start of its last hint, once there are many. */
  #lastHints: number[] | undefined;

  constructor(matchesMax: number) {
    this.#matchesMax = matchesMax;
  }

  /** Takes a match that was not taken yet; of each class so many, and so many that weigh nothing. False where there are too many secrets. */
  add(rule: SearchRule, match: Match): boolean {
    const { detector, start, end } = match;
    const isHint = detector.needs.length > 0;
    if (isHint && this.#isOneOfMany(rule, start)) return true;
    const counted = match.confidence === 'low' ? 'low' : detector.class;
    const count = this.#counts.get(counted) ?? 0;
    if (!isHint && count >= this.#matchesMax) {
      if (counted !== 'low') this.uncounted.add(counted);
      return counted !== 'SECRETS';
    }
    const list = isHint ? this.hints : this.matches;
    const isSame = (known: Match): boolean =>
      known.detector === detector && known.start === start && known.end === end;
    // A word is met once.
    if (detector.words.length === 0 && list.some(isSame)) return true;
    list.push(match);
    if (!isHint) this.#counts.set(counted, count + 1);
    return true;
  }

  /** Hints are no findings yet, so any number of them is harmless; it must only not cost much. */
  #isOneOfMany({ index }: SearchRule, start: number): boolean {
    if (this.hints.length < hintsMax) return false;
    this.#lastHints ??= [];
    if (Math.abs(start - (this.#lastHints[index] ?? -hintDistance)) < hintDistance) return true;
    this.#lastHints[index] = start;
    return false;
  }
}
