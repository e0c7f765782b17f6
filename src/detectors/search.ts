import type { Confidence } from '../call.ts';
import { confidenceOf } from './confidence.ts';
import type { Detector } from './detector.ts';
import { findDigitRuns } from './digit-runs.ts';
import type { Rule, SearchPlan, Use } from './search-plan.ts';
import { mayStartToken } from './token-start.ts';

export interface Match {
  readonly detector: Detector;
  /** Bytes of the text: the first of the secret, and the one behind it. */
  readonly start: number;
  readonly end: number;
  readonly confidence: Confidence;
}

export interface FindLimits {
  readonly matchesMax: number;
  /** Asked now and then; once it says yes, the search ends. */
  readonly isOver: () => boolean;
  /** Of `withWords`: its n-th byte becomes 1 where the n-th of those words occurs. */
  readonly wordsFound?: Uint8Array;
}

export interface Found {
  /** In the order of the text. Matches of different detectors may overlap. */
  readonly matches: Match[];
  /** False where a limit ended the search: something may have been missed. */
  readonly complete: boolean;
  /** How often a pattern was tried, and over how many bytes it was searched: what the search has cost. */
  readonly attempts: number;
  readonly searchedBytes: number;
}

/** Between two questions to `isOver`. */
const attemptsPerQuestion = 32;
const hitsPerQuestion = 4096;
/** What a pattern is searched in at once; between two pieces `isOver` is asked. */
const pieceBytes = 32_768;
/** Anchors that are tried inside of a match that was not accepted. */
const retriesMax = 8;

/** An anchor of so many bytes in its own case begins a secret even inside a word: a letter before it would hide the secret. */
const unmistakableLength = 6;

/** Goes through one text, once. */
export class Search {
  readonly #plan: SearchPlan;
  readonly #bytes: Buffer;
  readonly #limits: FindLimits;
  readonly #matches: Match[] = [];
  #progress: SearchPlan['progress'] | undefined;
  /** For each rule the window that was not searched yet. */
  #windows: (Region | undefined)[] | undefined;
  #latin1: string | undefined;
  #complete = true;
  #hits = 0;
  #attempts = 0;
  #searchedBytes = 0;

  constructor(plan: SearchPlan, bytes: Buffer, limits: FindLimits) {
    this.#plan = plan;
    this.#bytes = bytes;
    this.#limits = limits;
  }

  run(): Found {
    const { matcher, usesOfWord, placeOfWord, singles, digitRules, keywordRules } = this.#plan;
    const { wordsFound } = this.#limits;
    const onHit = (word: number, start: number): void => {
      const place = placeOfWord[word] as number;
      if (place >= 0 && wordsFound) wordsFound[place] = 1;
      this.#hit(usesOfWord[word] as readonly Use[], start);
    };
    matcher.scan(this.#bytes, onHit, () => this.#isOver());
    for (const { byte, uses } of singles) {
      for (
        let at = this.#bytes.indexOf(byte);
        at >= 0 && this.#complete;
        at = this.#bytes.indexOf(byte, at + 1)
      ) {
        if (++this.#hits % hitsPerQuestion === 0 && this.#isOver()) break;
        this.#hit(uses, at);
      }
    }
    if (digitRules.length > 0)
      findDigitRuns(this.#bytes, (start, end, count) => this.#digits(start, end, count));
    if (this.#windows !== undefined) for (const rule of keywordRules) this.#searchWindow(rule);
    return {
      matches: this.#matches.length > 1 ? withoutCoveredGenerics(this.#matches) : this.#matches,
      complete: this.#complete,
      attempts: this.#attempts,
      searchedBytes: this.#searchedBytes,
    };
  }

  #hit(uses: readonly Use[], start: number): void {
    for (const use of uses) {
      if (!this.#complete) return;
      if (use.rule.regex.sticky) this.#tryAnchor(use, start);
      else this.#widenWindow(use, start);
    }
  }

  #tryAnchor({ rule, exact, wordLength }: Use, start: number): void {
    const isUnmistakable = exact !== undefined && wordLength >= unmistakableLength;
    if (rule.detector.boundary && !isUnmistakable && !mayStartToken(this.#bytes, start)) return;
    if (exact?.compare(this.#bytes, start, start + wordLength)) return;
    if (this.#isInsideMatch(rule, start) || this.#isStopped()) return;
    rule.regex.lastIndex = start;
    const match = rule.regex.exec(this.#text());
    if (match !== null) this.#noteMatch(rule, start + match[0].length, this.#accept(rule, match, 0));
  }

  /**
   * An anchor inside of what the rule has matched says nothing new. Where that match was not accepted, some anchors inside of it are
   * still tried, for they may begin what passes; trying all of them would cost the square of its length.
   */
  #isInsideMatch({ index }: Rule, start: number): boolean {
    if (this.#progress === undefined) {
      this.#progress = this.#plan.progress;
      this.#progress.matchedTo.fill(0);
    }
    const { matchedTo, retriesLeft } = this.#progress;
    if (start >= (matchedTo[index] as number)) {
      retriesLeft[index] = retriesMax;
      return false;
    }
    return (retriesLeft[index] as number) <= 0;
  }

  #noteMatch({ index }: Rule, end: number, isAccepted: boolean): void {
    const { matchedTo, retriesLeft } = this.#plan.progress;
    matchedTo[index] = Math.max(end, matchedTo[index] as number);
    retriesLeft[index] = isAccepted ? 0 : (retriesLeft[index] as number) - 1;
  }

  #widenWindow({ rule, wordLength }: Use, start: number): void {
    const { before, after } = rule.detector.window;
    const [from, to] = [start - before, start + wordLength + after];
    this.#windows ??= [];
    const window = this.#windows[rule.index];
    if (window !== undefined && from <= window.to) {
      window.from = Math.min(window.from, from);
      window.to = Math.max(window.to, to);
      return;
    }
    this.#searchWindow(rule);
    this.#windows[rule.index] = { from, to };
  }

  #searchWindow(rule: Rule): void {
    const window = this.#windows?.[rule.index];
    if (window !== undefined)
      this.#search(rule, Math.max(0, window.from), Math.min(this.#bytes.length, window.to));
  }

  #digits(start: number, end: number, count: number): void {
    for (const rule of this.#plan.digitRules) {
      if (!this.#complete) return;
      if (count < rule.detector.digitsMin) continue;
      this.#search(rule, Math.max(0, start - rule.detector.window.before), end);
    }
  }

  /** Finds the rule's matches that begin in the region; they may reach out of it. */
  #search(rule: Rule, from: number, to: number): void {
    let at = from;
    while (at < to && this.#complete) {
      const pieceEnd = Math.min(to, at + pieceBytes);
      at = Math.max(pieceEnd, this.#searchPiece(rule, at, pieceEnd));
      if (at < to && this.#isOver()) return;
    }
  }

  /** Answers where the last match ends. */
  #searchPiece(rule: Rule, from: number, to: number): number {
    const { regex } = rule;
    const { reachMax, behindMax } = rule.detector.bounds;
    const offset = Math.max(0, from - behindMax);
    const text = this.#text().slice(offset, to + reachMax + 1);
    this.#searchedBytes += text.length;
    regex.lastIndex = from - offset;
    let matchedTo = from;
    while (!this.#isStopped()) {
      const match = regex.exec(text);
      if (match === null || offset + match.index >= to) return matchedTo;
      // What failed a check may hide the beginning of what would pass it.
      if (this.#accept(rule, match, offset)) matchedTo = offset + regex.lastIndex;
      else regex.lastIndex = match.index + 1;
    }
    return matchedTo;
  }

  /** Judges a match of the pattern and keeps it if it passes. */
  #accept(rule: Rule, match: RegExpExecArray, offset: number): boolean {
    const { detector } = rule;
    const secret = match[detector.group];
    if (!secret) return false;
    const confidence = confidenceOf(detector, secret);
    if (confidence === undefined) return false;
    if (this.#matches.length >= this.#limits.matchesMax) {
      this.#complete = false;
      return true;
    }
    const start = offset + (match.indices?.[detector.group]?.[0] ?? match.index);
    const end = start + secret.length;
    const isKnown = this.#matches.some(
      (known) => known.detector === detector && known.start === start && known.end === end,
    );
    if (!isKnown) this.#matches.push({ detector, start, end, confidence });
    return true;
  }

  #text(): string {
    this.#latin1 ??= this.#bytes.toString('latin1');
    return this.#latin1;
  }

  #isStopped(): boolean {
    if (++this.#attempts % attemptsPerQuestion === 0) this.#isOver();
    return !this.#complete;
  }

  #isOver(): boolean {
    if (this.#limits.isOver()) this.#complete = false;
    return !this.#complete;
  }
}

interface Region {
  from: number;
  to: number;
}

/** Sorted, without the matches of generic detectors that lie within one that says more. */
function withoutCoveredGenerics(matches: readonly Match[]): Match[] {
  const rank = (match: Match): number => (match.detector.isGeneric ? 1 : 0);
  const sorted = matches.toSorted((a, b) => a.start - b.start || b.end - a.end || rank(a) - rank(b));
  // All that stand earlier begin no later, so the one that reaches farthest decides what is covered.
  let coveredTo = 0;
  return sorted.filter((match) => {
    if (match.detector.isGeneric) return match.end > coveredTo;
    coveredTo = Math.max(coveredTo, match.end);
    return true;
  });
}
