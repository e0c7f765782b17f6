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

/** Tries patterns where their anchors stand, and notes secrets that are cut off there. */
export class AnchorSearch {
  /** The first `partialSecretsMax` beginnings of secrets that were found. */
  readonly partialSecrets: PartialSecret[] = [];
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

  try(use: Use, start: number): void {
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
    else if (rule.mayBeCut && this.partialSecrets.length < partialSecretsMax) this.#noteCut(use, start);
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
    this.partialSecrets.push({ detector, start, end, missing, isTelling });
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
