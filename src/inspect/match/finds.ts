import type { DataClass } from '../../core/call.ts';
import { kept } from '../../util/kept.ts';
import type { Match } from './found.ts';
import type { SearchRule } from './search-plan.ts';

/**
 * Bound on the hints that are kept however near they are. A text with more is about health; from there on,
 * one of a kind within `hintDistance` bytes is enough.
 */
const hintsMax = 1000;
const hintDistance = 512;

/** A match with the turn of the place where it was found; see `takeTurn` of `PatternSearch`. */
export interface MatchInTurn extends Match {
  readonly turn: number;
}

/** Sorts matches by their turns. */
export const inTurns = (found: MatchInTurn[]): MatchInTurn[] => found.sort((a, b) => a.turn - b.turn);

/** Collects what a search finds, within its bounds. */
export class Finds {
  readonly matches: MatchInTurn[] = [];
  readonly hints: MatchInTurn[] = [];
  /** Classes with more findings than are kept. */
  readonly uncounted = new Set<DataClass>();
  readonly #matchesMax: number;
  /** The matches by their starts; undefined until there are some. */
  #foundAt: Map<number, Match[]> | undefined;
  readonly #counts = new Map<DataClass | 'low', number>();
  /** For each rule the start of its last hint; undefined until there are many hints. */
  #lastHints: number[] | undefined;

  constructor(matchesMax: number) {
    this.#matchesMax = matchesMax;
  }

  /**
   * Keeps a new match, up to `matchesMax` of each class and of low confidence. Returns false where there are
   * too many secrets.
   */
  add(rule: SearchRule, match: MatchInTurn): boolean {
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
    // A word is met only once, so it needs no comparison.
    if (detector.words.length === 0) {
      this.#foundAt ??= new Map();
      const known = kept(this.#foundAt, start, (): Match[] => []);
      if (known.some((it) => it.detector === detector && it.end === end)) return true;
      known.push(match);
    }
    list.push(match);
    if (!isHint) this.#counts.set(counted, count + 1);
    return true;
  }

  /**
   * Tells whether a hint stands near another of its rule, once there are many hints. Any number of hints is
   * harmless, but must not cost much.
   */
  #isOneOfMany({ index }: SearchRule, start: number): boolean {
    if (this.hints.length < hintsMax) return false;
    this.#lastHints ??= [];
    if (Math.abs(start - (this.#lastHints[index] ?? -hintDistance)) < hintDistance) return true;
    this.#lastHints[index] = start;
    return false;
  }
}
