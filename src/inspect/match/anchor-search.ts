import { kept } from '../../util/kept.ts';
import { standsAt } from '../kernel/bytes.ts';
import { mayBegin, nextOf } from '../patterns/alphabet.ts';
import { beginsToken, isOfWords, missingOf, partialSecretEnd } from '../patterns/partial-secret.ts';
import type { PartialSecret } from './found.ts';
import type { PatternSearch } from './pattern-search.ts';
import type { SearchBudget } from './search-budget.ts';
import type { SearchPlan, SearchRule, Use } from './search-plan.ts';

/** Bound on the anchors that are tried inside a match that was not accepted. */
const retriesMax = 8;
const partialSecretsMax = 16;
/** Bound on the places that a rule's pattern is tried at in a row. */
const placesMax = 64;

/** A place where an anchor stands. */
interface Place {
  readonly use: Use;
  readonly start: number;
}

/**
 * Tries patterns where their anchors stand, and notes secrets that are cut off there. Each pattern is tried
 * at many places in a row, since it is faster while it is in the processor's caches.
 */
export class AnchorSearch {
  /** The first `partialSecretsMax` beginnings of secrets that were found, in the order of the text. */
  readonly partialSecrets: PartialSecret[] = [];
  /** The place from which on no beginning of a secret counts, since there are enough before it. */
  #cutBefore = Number.POSITIVE_INFINITY;
  readonly #placesOf = new Map<SearchRule, Place[]>();
  readonly #patterns: PatternSearch;
  readonly #bytes: Buffer;
  readonly #budget: SearchBudget;
  readonly #room: SearchPlan['room'];
  #isRoomClear = false;

  constructor(room: SearchPlan['room'], bytes: Buffer, budget: SearchBudget, patterns: PatternSearch) {
    this.#room = room;
    this.#bytes = bytes;
    this.#budget = budget;
    this.#patterns = patterns;
  }

  /** Adds a place, where the pattern will be tried. Places come roughly in order. */
  add(use: Use, start: number): void {
    const places = kept(this.#placesOf, use.rule, (): Place[] => []);
    if (places.push({ use, start }) === placesMax) this.#tryAt(places);
  }

  tryAll(): void {
    for (const places of this.#placesOf.values()) this.#tryAt(places);
  }

  #tryAt(places: Place[]): void {
    for (const place of places) if (this.#budget.isComplete) this.#try(place);
    places.length = 0;
  }

  #try({ use, start }: Place): void {
    const { rule, exact } = use;
    if (exact && !standsAt(this.#bytes, exact, start)) return;
    const mayMatch = mayBegin(rule.detector.head, this.#bytes, start);
    if (!mayMatch && !rule.mayBeCut) return;
    if (this.#isInsideMatch(rule, start) || this.#budget.isOverAtAttempt()) return;
    const patterns = this.#patterns;
    const offset = Math.max(0, start - rule.detector.bounds.behindMax);
    const match =
      !mayMatch || patterns.isKnownIn(rule, start, start) ? null : this.#matchAt(rule, offset, start);
    if (match !== null) this.#noteMatch(rule, start + match[0].length, patterns.accept(rule, match, offset));
    else if (rule.mayBeCut && start < this.#cutBefore) this.#noteCut(use, start);
  }

  /**
   * Returns the match that begins at `start`, found in the text from `offset` on; null where there is none.
   */
  #matchAt(
    { regex, detector: { alphabet, core, bounds } }: SearchRule,
    offset: number,
    start: number,
  ): RegExpExecArray | null {
    if (nextOf(alphabet, this.#bytes, start, start + 1) > start) return null;
    const coreTo = start + core.lead + 1;
    if (nextOf(core.alphabet, this.#bytes, start, coreTo) === coreTo) return null;
    regex.lastIndex = start - offset;
    return regex.exec(this.#patterns.text.between(offset, start + bounds.reachMax + bounds.aheadMax + 1));
  }

  #noteCut({ rule: { detector, tokenBody }, wordLength, isTelling, mayBeginWord }: Use, start: number): void {
    const end = partialSecretEnd(this.#bytes, start);
    if (end < 0) return;
    const missing = tokenBody && missingOf(tokenBody, this.#bytes, [start, end], wordLength);
    const isWorthTrying =
      missing || isTelling || (tokenBody && beginsToken(tokenBody, this.#bytes, [start + wordLength, end]));
    if (!isWorthTrying) return;
    if (mayBeginWord && isOfWords(this.#patterns.text.between(start + wordLength, end))) return;
    const all = this.partialSecrets;
    all.push({ detector, start, end, missing, isTelling });
    all.sort((a, b) => a.start - b.start).splice(partialSecretsMax);
    if (all.length === partialSecretsMax) this.#cutBefore = (all.at(-1) as PartialSecret).start;
  }

  /**
   * Tells whether an anchor stands inside what the rule has matched, so that it need not be tried. Where that
   * match was not accepted, some anchors inside it are tried. Trying all would cost the square of its length.
   */
  #isInsideMatch({ index }: SearchRule, start: number): boolean {
    const { matchedTo, retriesLeft } = this.#room;
    // Most texts need no room, so it is cleared when it is first needed.
    if (!this.#isRoomClear) {
      this.#isRoomClear = true;
      matchedTo.fill(0);
    }
    if (start >= (matchedTo[index] as number)) {
      retriesLeft[index] = retriesMax;
      return false;
    }
    return (retriesLeft[index] as number) <= 0;
  }

  #noteMatch({ index }: SearchRule, end: number, isAccepted: boolean): void {
    const { matchedTo, retriesLeft } = this.#room;
    matchedTo[index] = Math.max(end, matchedTo[index] as number);
    retriesLeft[index] = isAccepted ? 0 : (retriesLeft[index] as number) - 1;
  }
}
