import { kept } from '../../util/kept.ts';
import { standsAt } from '../kernel/bytes.ts';
import { mayBegin, NextPlaces, nextOf } from '../patterns/alphabet.ts';
import { beginsToken, isOfWords, missingOf, PieceEnds } from '../patterns/partial-secret.ts';
import { type FirstRun, RunEnds } from '../patterns/run-ends.ts';
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
  readonly turn: number;
}

/**
 * Tries patterns where their anchors stand, and notes secrets that are cut off there. Each pattern is tried
 * at many places in a row, since it is faster while it is in the processor's caches.
 */
export class AnchorSearch {
  /** The first `partialSecretsMax` beginnings of secrets that were found, with their turns. */
  readonly #cuts: { readonly secret: PartialSecret; readonly turn: number }[] = [];
  /** The turn of the last of them, where there are so many. */
  #lastTurn = Number.POSITIVE_INFINITY;
  readonly #placesOf = new Map<SearchRule, Place[]>();
  readonly #patterns: PatternSearch;
  readonly #bytes: Buffer;
  #pieces: PieceEnds | undefined;
  readonly #budget: SearchBudget;
  readonly #room: SearchPlan['room'];
  #isRoomClear = false;
  /** The cores of the rule that is tried. */
  readonly #cores: NextPlaces;
  /** Its first runs, the end of the last one, and of the last without a match. */
  #runs: RunEnds | undefined;
  #runEnd = -1;
  #failedEnd = -1;

  constructor(room: SearchPlan['room'], bytes: Buffer, budget: SearchBudget, patterns: PatternSearch) {
    this.#room = room;
    this.#bytes = bytes;
    this.#budget = budget;
    this.#patterns = patterns;
    this.#cores = new NextPlaces(bytes);
  }

  /** The first beginnings of secrets that were found. */
  get partialSecrets(): PartialSecret[] {
    return this.#cuts.map(({ secret }) => secret);
  }

  /** Adds a place, where the pattern will be tried. Places come roughly in order. */
  add(use: Use, start: number): void {
    const places = kept(this.#placesOf, use.rule, (): Place[] => []);
    const turn = this.#patterns.takeTurn();
    if (places.push({ use, start, turn }) === placesMax) this.#tryAt(places);
  }

  tryAll(): void {
    for (const places of this.#placesOf.values()) this.#tryAt(places);
  }

  #tryAt(places: Place[]): void {
    this.#cores.forget();
    this.#runs = undefined;
    this.#failedEnd = -1;
    for (const place of places) if (this.#budget.isComplete) this.#try(place);
    places.length = 0;
  }

  #try({ use, start, turn }: Place): void {
    const { rule, exact } = use;
    if (exact && !standsAt(this.#bytes, exact, start)) return;
    const mayMatch = mayBegin(rule.detector.head, this.#bytes, start);
    if (!mayMatch && !rule.mayBeCut) return;
    if (this.#isInsideMatch(rule, start) || this.#budget.isOverAtAttempt()) return;
    const patterns = this.#patterns;
    patterns.turn = turn;
    const offset = Math.max(0, start - rule.detector.bounds.behindMax);
    const match =
      !mayMatch || patterns.isKnownIn(rule, start, start) ? null : this.#matchAt(rule, offset, start);
    if (match !== null) this.#noteMatch(rule, start + match[0].length, patterns.accept(rule, match, offset));
    else if (rule.mayBeCut && turn < this.#lastTurn) this.#noteCut(use, start);
  }

  /**
   * Returns the match that begins at `start`, found in the text from `offset` on; null where there is none.
   */
  #matchAt(
    { regex, detector: { alphabet, core, bounds, firstRun } }: SearchRule,
    offset: number,
    start: number,
  ): RegExpExecArray | null {
    if (nextOf(alphabet, this.#bytes, start, start + 1) > start) return null;
    const coreTo = start + core.lead + 1;
    if (this.#cores.nextOf(core.alphabet, start, coreTo) === coreTo) return null;
    if (firstRun && !this.#mayEnd(firstRun, start + firstRun.at)) return null;
    regex.lastIndex = start - offset;
    const match = regex.exec(
      this.#patterns.text.between(offset, start + bounds.reachMax + bounds.aheadMax + 1),
    );
    if (match === null) this.#failedEnd = this.#runEnd;
    return match;
  }

  /**
   * Tells whether the run is as long as matches have it, and does not end where another one was followed by
   * something else.
   */
  #mayEnd({ byteBits, min, max }: FirstRun, start: number): boolean {
    this.#runs ??= new RunEnds(this.#bytes, byteBits);
    this.#runEnd = this.#runs.endOf(start, start + max + 1);
    const length = this.#runEnd - start;
    return length >= min && length <= max && this.#runEnd !== this.#failedEnd;
  }

  #noteCut({ rule: { detector, tokenBody }, wordLength, isTelling, mayBeginWord }: Use, start: number): void {
    this.#pieces ??= new PieceEnds(this.#bytes);
    const end = this.#pieces.endOf(start);
    if (end < 0) return;
    const missing = tokenBody && missingOf(tokenBody, this.#bytes, [start, end], wordLength);
    const isWorthTrying =
      missing || isTelling || (tokenBody && beginsToken(tokenBody, this.#bytes, [start + wordLength, end]));
    if (!isWorthTrying) return;
    if (mayBeginWord && isOfWords(this.#patterns.text.between(start + wordLength, end))) return;
    const cuts = this.#cuts;
    cuts.push({ secret: { detector, start, end, missing, isTelling }, turn: this.#patterns.turn });
    cuts.sort((a, b) => a.turn - b.turn).splice(partialSecretsMax);
    if (cuts.length === partialSecretsMax) this.#lastTurn = cuts[partialSecretsMax - 1]?.turn ?? 0;
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
