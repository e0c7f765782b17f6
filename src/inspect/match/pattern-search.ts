import type { Confidence } from '../../core/call.ts';
import { nextDigit, type Outline } from '../kernel/outline.ts';
import { endOf, nextOf } from '../patterns/alphabet.ts';
import { sha256Of } from '../patterns/tuning.ts';
import { Finds } from './finds.ts';
import type { Earlier, FindLimits } from './found.ts';
import { LatinText } from './latin-text.ts';
import { isOfMarker } from './markers.ts';
import type { SearchBudget } from './search-budget.ts';
import type { SearchPlan, SearchRule } from './search-plan.ts';
import { Verdicts } from './verdicts.ts';

/** How many bytes a pattern is searched in at once; `isOver` is called between two pieces. */
const pieceBytes = 32_768;

/** Searches a text for the pattern of one rule at a time, and keeps the matches that pass. */
export class PatternSearch {
  readonly finds: Finds;
  readonly text: LatinText;
  searchedBytes = 0;
  /** The turn of the place that is searched; see `takeTurn`. */
  turn = 0;
  #turns = 0;
  readonly #plan: SearchPlan;
  readonly #bytes: Buffer;
  readonly #outline: Outline;
  readonly #budget: SearchBudget;
  readonly #isKnown: Earlier['isKnown'];
  #verdicts: Verdicts | undefined;

  constructor(
    plan: SearchPlan,
    bytes: Buffer,
    outline: Outline,
    budget: SearchBudget,
    { matchesMax }: FindLimits,
    earlier: Earlier | undefined,
  ) {
    this.#plan = plan;
    this.#bytes = bytes;
    this.#outline = outline;
    this.#budget = budget;
    this.finds = new Finds(matchesMax);
    this.text = new LatinText(bytes);
    this.#isKnown = earlier?.isKnown;
    this.#verdicts = earlier?.verdicts;
  }

  /**
   * Returns the next turn. Each place takes one when it is met, and matches are told in the order of their
   * turns, whenever the place is searched.
   */
  takeTurn(): number {
    this.#turns += 1;
    return this.#turns;
  }

  /**
   * Tells whether the rule finds nothing in the region because it found nothing where the same bytes stood
   * before.
   */
  isKnownIn({ detector, lookaround }: SearchRule, from: number, to: number): boolean {
    if (!this.#isKnown || !this.#verdicts) return false;
    // At anchors matches count whether accepted or not: see `isInsideMatch` of `AnchorSearch`.
    const hasAnchors = detector.anchors.length > 0;
    if (hasAnchors ? this.#verdicts.hasMet(detector) : this.#verdicts.hasAccepted(detector)) return false;
    const end = to + lookaround.after;
    return end <= this.#bytes.length && this.#isKnown(from - lookaround.before, end);
  }

  /**
   * Searches a window around a word. Where each match of the rule has digits, it searches only near digits.
   */
  searchWindow(rule: SearchRule, windowFrom: number, windowTo: number): void {
    const start = Math.max(0, windowFrom);
    const to = Math.min(this.#bytes.length, windowTo);
    const from = this.#firstStart(rule, start, to);
    if (from === to || this.isKnownIn(rule, start, to)) return;
    const { digitLead } = rule.detector;
    if (digitLead === undefined) this.search(rule, from, to);
    else this.#searchNearDigits(rule, from, to, digitLead);
  }

  /**
   * Finds the rule's matches that begin in the region; they may reach out of it. Returns the end of the last
   * match or of the region.
   */
  search(rule: SearchRule, from: number, to: number): number {
    let at = from;
    while (at < to && this.#budget.isComplete) {
      const pieceEnd = Math.min(to, at + pieceBytes);
      at = Math.max(pieceEnd, this.#searchPiece(rule, at, pieceEnd));
      if (at < to && this.#budget.isOver()) break;
    }
    return at;
  }

  /** Judges a match of the pattern and keeps it if it passes. Returns whether it does. */
  accept(rule: SearchRule, match: RegExpExecArray, offset: number): boolean {
    const { detector } = rule;
    const secret = match[detector.group];
    this.#verdicts ??= new Verdicts();
    const confidence = this.#verdicts.confidenceOf(detector, secret);
    if (!secret || confidence === undefined) return false;
    const start = offset + (match.indices?.[detector.group]?.[0] ?? match.index);
    if (isOfMarker(this.#bytes, start, start + secret.length, this.#plan.ids)) return false;
    this.keep(rule, start, start + secret.length, confidence);
    return true;
  }

  keep(rule: SearchRule, start: number, end: number, confidence: Confidence): void {
    const { allowSha256 } = this.#plan;
    if (allowSha256.size > 0 && allowSha256.has(sha256Of(this.#bytes.subarray(start, end)))) return;
    const match = { detector: rule.detector, start, end, confidence, turn: this.turn };
    if (!this.finds.add(rule, match)) this.#budget.isComplete = false;
  }

  /** Returns the first place from `from` on where a match may begin; `to` where there is none before `to`. */
  #firstStart({ detector: { core } }: SearchRule, from: number, to: number): number {
    const coreTo = to + core.lead;
    const place = nextOf(core.alphabet, this.#bytes, from, coreTo);
    return place === coreTo ? to : Math.max(from, place - core.lead);
  }

  /**
   * Searches near digits only. Words like "card" stand everywhere, and most rules look for a number beside
   * them. A match begins with its first digit, or less than `lead` bytes before it.
   */
  #searchNearDigits(rule: SearchRule, from: number, to: number, lead: number): void {
    const bytes = this.#bytes;
    const outline = this.#outline;
    const end = Math.min(bytes.length, to + lead);
    // Each search reaches out of its region, so two close regions become one.
    const gapMax = Math.max(lead, rule.detector.bounds.reachMax);
    let searchedTo = from;
    for (let digit = nextDigit(bytes, outline, from, end); digit < end; ) {
      const start = digit - lead + 1;
      let last = digit;
      do {
        last = digit;
        digit = nextDigit(bytes, outline, last + 1, end);
      } while (digit - last <= gapMax && digit < end);
      searchedTo = this.search(rule, Math.max(start, searchedTo), Math.min(to, last + 1));
    }
  }

  /**
   * Searches a piece of the text and returns the end of its last match. Where it has none, it returns where
   * searching began, or `to`.
   */
  #searchPiece(rule: SearchRule, pieceStart: number, to: number): number {
    const { regex } = rule;
    const { bounds, alphabet } = rule.detector;
    const from = this.#firstStart(rule, pieceStart, to);
    if (from === to) return to;
    const offset = Math.max(0, from - bounds.behindMax);
    const end = endOf(alphabet, this.#bytes, to, to + bounds.reachMax);
    const text = this.text.between(offset, end + bounds.aheadMax + 1);
    this.searchedBytes += text.length;
    regex.lastIndex = from - offset;
    let matchedTo = from;
    while (!this.#budget.isOverAtAttempt()) {
      const match = regex.exec(text);
      if (match === null || offset + match.index >= to) return matchedTo;
      // A match that failed a check may hide the beginning of one that passes.
      if (this.accept(rule, match, offset)) matchedTo = offset + regex.lastIndex;
      else regex.lastIndex = match.index + 1;
    }
    return matchedTo;
  }
}
