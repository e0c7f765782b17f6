import { type Outline, outlineOf } from '../kernel/outline.ts';
import { beginOf, has } from '../patterns/alphabet.ts';
import { AnchorSearch } from './anchor-search.ts';
import { findDigitRuns } from './digit-runs.ts';
import { inTurns } from './finds.ts';
import { type Earlier, type FindLimits, type Found, withoutCoveredGenerics } from './found.ts';
import { markerEnd } from './markers.ts';
import { PatternSearch } from './pattern-search.ts';
import { SearchBudget } from './search-budget.ts';
import type { SearchPlan, SearchRule, Use } from './search-plan.ts';
import { SearchWindows } from './search-windows.ts';
import { findTokenStarts } from './token-runs.ts';
import { mayStartToken, standsAlone, standsAsWord, standsInBase64 } from './token-start.ts';
import { inTurned, TurnedPlaces, type TurnedWord, turnedWords } from './turned-text.ts';

/**
 * Searches a text. Stretches of it that may be written backwards or in ROT13 are turned back and searched
 * once more.
 */
export function searchText(
  plan: SearchPlan,
  bytes: Buffer,
  outline: Outline,
  limits: FindLimits,
  earlier?: Earlier,
): Found {
  const search = new Search(plan, bytes, outline, limits, earlier);
  const found = search.run();
  if (!search.turned) return found;
  let { matches, complete } = found;
  for (const stretch of search.turned.stretches()) {
    if (!complete) break;
    const text = stretch.turning.turn(bytes.subarray(stretch.start, stretch.end));
    // What begins like a secret in a text that was turned back proves nothing, since nobody turns a text
    // twice.
    const other = new Search(plan, text, outlineOf(text), limits).run();
    matches = [...matches, ...inTurned(stretch, other.matches)];
    complete = other.complete;
  }
  return { ...found, matches: matches.toSorted((a, b) => a.start - b.start), complete };
}

/** Searches one text once. It finds the places of words, and has patterns tried there. */
class Search {
  readonly #plan: SearchPlan;
  readonly #bytes: Buffer;
  readonly #outline: Outline;
  readonly #budget: SearchBudget;
  readonly #patterns: PatternSearch;
  readonly #anchors: AnchorSearch;
  readonly #windows: SearchWindows;
  /** The places of words that begin a secret in a text that was turned; undefined where there are none. */
  turned: TurnedPlaces | undefined;
  /** The end of the last redaction marker. */
  #markedTo = 0;

  constructor(plan: SearchPlan, bytes: Buffer, outline: Outline, limits: FindLimits, earlier?: Earlier) {
    this.#plan = plan;
    this.#bytes = bytes;
    this.#outline = outline;
    const budget = new SearchBudget(limits.isOver);
    const patterns = new PatternSearch(plan, bytes, outline, budget, limits, earlier);
    this.#budget = budget;
    this.#patterns = patterns;
    this.#anchors = new AnchorSearch(plan.room, bytes, budget, patterns);
    this.#windows = new SearchWindows(patterns);
  }

  run(): Found {
    this.#searchWords();
    this.#searchSingles();
    this.#searchRuns();
    this.#anchors.tryAll();
    this.#windows.searchAll();
    const { matches, hints, uncounted } = this.#patterns.finds;
    if (this.#plan.nearRules.length > 0 && matches.length + hints.length > 0) {
      for (const rule of this.#plan.nearRules) this.#windows.lookAround(rule);
      this.#windows.searchAll();
    }
    return {
      matches: matches.length > 1 ? withoutCoveredGenerics(inTurns(matches)) : matches,
      hints: inTurns(hints),
      partialSecrets: this.#anchors.partialSecrets,
      uncounted,
      complete: this.#budget.isComplete,
      attempts: this.#budget.attempts,
      searchedBytes: this.#patterns.searchedBytes,
    };
  }

  #searchWords(): void {
    const { matcher, usesOfWord, markerWord, firstTurned } = this.#plan;
    const onHit = (word: number, start: number): void => {
      if (word >= firstTurned) {
        this.#noteTurned(turnedWords[word - firstTurned] as TurnedWord, start);
        return;
      }
      // The marker is noted before the words in it, since the matcher goes from left to right.
      if (word === markerWord) this.#noteMarker(start);
      if (start >= this.#markedTo) this.#hit(usesOfWord[word] as readonly Use[], start);
    };
    matcher.scan(this.#bytes, onHit, () => this.#budget.isOver());
  }

  #searchSingles(): void {
    const bytes = this.#bytes;
    for (const { byte, uses, flag } of this.#plan.singles) {
      if ((this.#outline.flags & flag) === 0) continue;
      for (
        let at = bytes.indexOf(byte);
        at >= 0 && this.#budget.isComplete;
        at = bytes.indexOf(byte, at + 1)
      ) {
        if (this.#budget.isOverAtHit()) break;
        this.#hit(uses, at);
      }
    }
  }

  /** Searches runs of letters and digits, and runs of digits, which the outline knows. */
  #searchRuns(): void {
    const { runUses, digitRules } = this.#plan;
    const bytes = this.#bytes;
    if (runUses.size > 0)
      findTokenStarts(bytes, this.#outline, (start) => {
        const uses = runUses.get((bytes[start] ?? 0) | ((bytes[start + 1] ?? 0) << 8));
        if (uses) this.#hit(uses, start);
      });
    if (digitRules.length > 0)
      findDigitRuns(bytes, this.#outline, (start, end, count) => this.#digits(start, end, count));
  }

  #noteTurned(word: TurnedWord, start: number): void {
    this.turned ??= new TurnedPlaces(this.#bytes);
    this.turned.add(word, start);
  }

  #noteMarker(start: number): void {
    this.#markedTo = Math.max(this.#markedTo, markerEnd(this.#bytes, start, this.#plan.ids));
  }

  #hit(uses: readonly Use[], start: number): void {
    const bytes = this.#bytes;
    /** What `mayStartToken` and `standsAsWord` tell, which holds for all rules of the word. */
    let isStart: boolean | undefined;
    let isWord: boolean | undefined;
    for (const use of uses) {
      if (!this.#budget.isComplete) return;
      if (use.isRun && isAmidRun(use, bytes, start)) continue;
      if (use.kind === 'anchor') {
        if (use.startsToken) isStart ??= mayStartToken(bytes, start);
        if (!use.startsToken || isStart) this.#anchors.add(use, start);
      } else if (use.kind === 'match') this.#takeWord(use, start);
      else {
        const end = start + use.wordLength;
        if (use.isOfMatch && !fitsBeside(use.rule, bytes, start, end)) continue;
        if (use.isWholeWord) isWord ??= standsAsWord(bytes, start, end) && !standsInBase64(bytes, start, end);
        if (!use.isWholeWord || isWord)
          this.#windows.widen(use.rule, this.#firstStart(use, start), end + use.window.after);
      }
    }
  }

  /** Returns where a match with this keyword begins at the earliest, or where the last window ends. */
  #firstStart({ rule, window, isOfMatch }: Use, start: number): number {
    if (!isOfMatch) return start - window.before;
    const from = Math.max(start - window.before, this.#windows.endOf(rule));
    return beginOf(rule.detector.alphabet, this.#bytes, from, start);
  }

  #takeWord({ rule, wordLength }: Use, start: number): void {
    if (!standsAlone(this.#bytes, start, start + wordLength)) return;
    this.#patterns.turn = this.#patterns.takeTurn();
    this.#patterns.keep(rule, start, start + wordLength, rule.detector.confidence);
  }

  #digits(start: number, end: number, count: number): void {
    const patterns = this.#patterns;
    patterns.turn = patterns.takeTurn();
    for (const rule of this.#plan.digitRules) {
      if (!this.#budget.isComplete) return;
      if (count < rule.detector.digitsMin) continue;
      const from = Math.max(0, start - rule.detector.window.before);
      if (!patterns.isKnownIn(rule, from, end)) patterns.search(rule, from, end);
    }
  }
}

/** Tells whether the run of one character goes on on both sides of the word. */
function isAmidRun({ wordLength }: Use, bytes: Buffer, start: number): boolean {
  const byte = bytes[start];
  return bytes[start - 1] === byte && bytes[start + wordLength] === byte;
}

/** Tells whether a match may contain the keyword that stands there. */
function fitsBeside(
  { detector: { besideKeyword } }: SearchRule,
  bytes: Buffer,
  start: number,
  end: number,
): boolean {
  if (!besideKeyword || start === 0 || end >= bytes.length) return true;
  const { before, behind } = besideKeyword;
  return has(before, bytes[start - 1] as number) && has(behind, bytes[end] as number);
}
