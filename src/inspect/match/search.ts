import type { Confidence } from '../../core/call.ts';
import { nextDigit, type Outline } from '../kernel/outline.ts';
import { beginOf, endOf, has, mayBegin, nextOf } from '../patterns/alphabet.ts';
import { beginsToken, isOfWords, missingOf, partialSecretEnd } from '../patterns/partial-secret.ts';
import { sha256Of } from '../patterns/tuning.ts';
import { findDigitRuns } from './digit-runs.ts';
import { Finds } from './finds.ts';
import {
  type Earlier,
  type FindLimits,
  type Found,
  type PartialSecret,
  withoutCoveredGenerics,
} from './found.ts';
import { LatinText } from './latin-text.ts';
import { isOfMarker, markerEnd } from './markers.ts';
import type { SearchPlan, SearchRule, Use } from './search-plan.ts';
import { findTokenStarts } from './token-runs.ts';
import { mayStartToken, standsAlone, standsAsWord } from './token-start.ts';
import { Verdicts } from './verdicts.ts';

/** Numbers of steps between two calls of `isOver`. */
const attemptsPerQuestion = 32;
const hitsPerQuestion = 4096;
/** Bytes that a pattern is searched in at once; `isOver` is called between two pieces. */
const pieceBytes = 32_768;
/** Limits the anchors that are tried inside a match that was not accepted. */
const retriesMax = 8;

const partialSecretsMax = 16;

/** Searches one text, once. */
export class Search {
  readonly #plan: SearchPlan;
  readonly #bytes: Buffer;
  readonly #outline: Outline;
  readonly #limits: FindLimits;
  readonly #isKnown: Earlier['isKnown'];
  #verdicts: Verdicts | undefined;
  readonly #finds: Finds;
  readonly #text: LatinText;
  readonly #partialSecrets: PartialSecret[] = [];
  #isRoomClear = false;
  /** Rules with a window that is still to be searched. */
  readonly #waiting: SearchRule[] = [];
  /** End of the last redaction marker. */
  #markedTo = 0;
  #complete = true;
  #hits = 0;
  #attempts = 0;
  #searchedBytes = 0;

  constructor(plan: SearchPlan, bytes: Buffer, outline: Outline, limits: FindLimits, earlier?: Earlier) {
    this.#plan = plan;
    this.#bytes = bytes;
    this.#outline = outline;
    this.#limits = limits;
    this.#finds = new Finds(limits.matchesMax);
    this.#text = new LatinText(bytes);
    this.#isKnown = earlier?.isKnown;
    this.#verdicts = earlier?.verdicts;
  }

  run(): Found {
    const { matcher, usesOfWord, singles, runUses, digitRules, nearRules } = this.#plan;
    const onHit = (word: number, start: number): void => {
      // The marker is noted before the words in it, since the matcher goes from left to right.
      if (word === this.#plan.markerWord) this.#noteMarker(start);
      if (start >= this.#markedTo) this.#hit(usesOfWord[word] as readonly Use[], start);
    };
    matcher.scan(this.#bytes, onHit, () => this.#isOver());
    for (const { byte, uses, flag } of singles) {
      if ((this.#outline.flags & flag) === 0) continue;
      for (
        let at = this.#bytes.indexOf(byte);
        at >= 0 && this.#complete;
        at = this.#bytes.indexOf(byte, at + 1)
      ) {
        if (++this.#hits % hitsPerQuestion === 0 && this.#isOver()) break;
        this.#hit(uses, at);
      }
    }
    if (runUses.size > 0)
      findTokenStarts(this.#bytes, this.#outline, (start) => {
        const uses = runUses.get((this.#bytes[start] ?? 0) | ((this.#bytes[start + 1] ?? 0) << 8));
        if (uses) this.#hit(uses, start);
      });
    if (digitRules.length > 0)
      findDigitRuns(this.#bytes, this.#outline, (start, end, count) => this.#digits(start, end, count));
    if (this.#waiting.length > 0) this.#searchWindows();
    const { matches, hints } = this.#finds;
    if (nearRules.length > 0 && matches.length + hints.length > 0) {
      for (const rule of nearRules) this.#lookAround(rule);
      this.#searchWindows();
    }
    return {
      matches: matches.length > 1 ? withoutCoveredGenerics(matches) : matches,
      hints,
      partialSecrets: this.#partialSecrets,
      uncounted: this.#finds.uncounted,
      complete: this.#complete,
      attempts: this.#attempts,
      searchedBytes: this.#searchedBytes,
    };
  }

  #noteMarker(start: number): void {
    this.#markedTo = Math.max(this.#markedTo, markerEnd(this.#bytes, start, this.#plan.ids));
  }

  #hit(uses: readonly Use[], start: number): void {
    /** The answers are shared by all rules of the word. */
    let isStart: boolean | undefined;
    let isWord: boolean | undefined;
    for (const use of uses) {
      if (!this.#complete) return;
      if (use.isRun && this.#isAmidRun(use, start)) continue;
      if (use.kind === 'anchor') {
        if (use.startsToken) isStart ??= mayStartToken(this.#bytes, start);
        if (!use.startsToken || isStart) this.#tryAnchor(use, start);
      } else if (use.kind === 'match') this.#takeWord(use, start);
      else {
        const end = start + use.wordLength;
        if (use.isOfMatch && !this.#fitsBeside(use.rule, start, end)) continue;
        if (use.isWholeWord) isWord ??= standsAsWord(this.#bytes, start, end);
        if (!use.isWholeWord || isWord)
          this.#widen(use.rule, start - this.#before(use, start), end + use.window.after);
      }
    }
  }

  /** Answers whether the run goes on on both sides. */
  #isAmidRun({ wordLength }: Use, start: number): boolean {
    const byte = this.#bytes[start];
    return this.#bytes[start - 1] === byte && this.#bytes[start + wordLength] === byte;
  }

  /** Answers whether a match may contain the keyword that stands there. */
  #fitsBeside({ detector: { besideKeyword } }: SearchRule, start: number, end: number): boolean {
    if (!besideKeyword || start === 0 || end >= this.#bytes.length) return true;
    const { before, behind } = besideKeyword;
    return has(before, this.#bytes[start - 1] as number) && has(behind, this.#bytes[end] as number);
  }

  /** Returns how far before a keyword a match may begin. */
  #before({ rule, window, isOfMatch }: Use, start: number): number {
    if (!isOfMatch) return window.before;
    return start - beginOf(rule.detector.alphabet, this.#bytes, Math.max(0, start - window.before), start);
  }

  #takeWord({ rule, wordLength }: Use, start: number): void {
    if (standsAlone(this.#bytes, start, start + wordLength))
      this.#keep(rule, start, start + wordLength, rule.detector.confidence);
  }

  #tryAnchor(use: Use, start: number): void {
    const { rule, exact } = use;
    if (exact && !standsAt(this.#bytes, exact, start)) return;
    const mayMatch = mayBegin(rule.detector.head, this.#bytes, start);
    if (!mayMatch && !rule.mayBeCut) return;
    if (this.#isInsideMatch(rule, start) || this.#isStopped()) return;
    const offset = Math.max(0, start - rule.detector.bounds.behindMax);
    const match =
      !mayMatch || this.#isKnownIn(rule, start, start) ? null : this.#matchAt(rule, offset, start);
    if (match !== null) this.#noteMatch(rule, start + match[0].length, this.#accept(rule, match, offset));
    else if (rule.mayBeCut && this.#partialSecrets.length < partialSecretsMax) this.#noteCut(use, start);
  }

  /** Returns the match that begins at `start`, in the text from `offset` on. */
  #matchAt(
    { regex, detector: { alphabet, core, bounds } }: SearchRule,
    offset: number,
    start: number,
  ): RegExpExecArray | null {
    if (nextOf(alphabet, this.#bytes, start, start + 1) > start) return null;
    const coreTo = start + core.lead + 1;
    if (nextOf(core.alphabet, this.#bytes, start, coreTo) === coreTo) return null;
    regex.lastIndex = start - offset;
    return regex.exec(this.#text.between(offset, start + bounds.reachMax + bounds.aheadMax + 1));
  }

  /**
   * Answers whether the rule finds nothing in the region because it found nothing where the same bytes stood before.
   */
  #isKnownIn({ detector, lookaround }: SearchRule, from: number, to: number): boolean {
    if (!this.#isKnown || !this.#verdicts) return false;
    // At anchors matches count whether accepted or not: see `#isInsideMatch`.
    const hasAnchors = detector.anchors.length > 0;
    if (hasAnchors ? this.#verdicts.hasMet(detector) : this.#verdicts.hasAccepted(detector)) return false;
    const end = to + lookaround.after;
    return end <= this.#bytes.length && this.#isKnown(from - lookaround.before, end);
  }

  #noteCut({ rule: { detector, tokenBody }, wordLength, isTelling, mayBeginWord }: Use, start: number): void {
    const end = partialSecretEnd(this.#bytes, start);
    if (end < 0) return;
    const missing = tokenBody && missingOf(tokenBody, this.#bytes, [start, end], wordLength);
    const isWorthTrying =
      missing || isTelling || (tokenBody && beginsToken(tokenBody, this.#bytes, [start + wordLength, end]));
    if (!isWorthTrying) return;
    if (mayBeginWord && isOfWords(this.#text.between(start + wordLength, end))) return;
    this.#partialSecrets.push({ detector, start, end, missing, isTelling });
  }

  /**
   * Tells an anchor inside what the rule has matched, which says nothing new. Where that match was not accepted, only
   * some anchors inside it are tried: trying all would cost the square of its length.
   */
  #isInsideMatch({ index }: SearchRule, start: number): boolean {
    const { matchedTo, retriesLeft } = this.#room();
    if (start >= (matchedTo[index] as number)) {
      retriesLeft[index] = retriesMax;
      return false;
    }
    return (retriesLeft[index] as number) <= 0;
  }

  #noteMatch({ index }: SearchRule, end: number, isAccepted: boolean): void {
    const { matchedTo, retriesLeft } = this.#room();
    matchedTo[index] = Math.max(end, matchedTo[index] as number);
    retriesLeft[index] = isAccepted ? 0 : (retriesLeft[index] as number) - 1;
  }

  /** Marks the surroundings of other detectors' findings for a search with this rule. */
  #lookAround(rule: SearchRule): void {
    const { near, window } = rule.detector;
    const around = [...this.#finds.matches, ...this.#finds.hints].filter(
      ({ detector: { role } }) => role !== undefined && near.includes(role),
    );
    for (const { start, end } of around.sort((a, b) => a.start - b.start))
      this.#widen(rule, start - window.before, end + window.after);
  }

  #widen(rule: SearchRule, from: number, to: number): void {
    const { windowFrom, windowTo } = this.#room();
    const { index } = rule;
    const openTo = windowTo[index] as number;
    if (openTo < 0) this.#waiting.push(rule);
    else if (from <= openTo) {
      windowFrom[index] = Math.min(windowFrom[index] as number, from);
      windowTo[index] = Math.max(openTo, to);
      return;
    } else this.#searchWindow(rule);
    windowFrom[index] = from;
    windowTo[index] = to;
  }

  #searchWindows(): void {
    const { windowTo } = this.#room();
    for (const rule of this.#waiting) {
      this.#searchWindow(rule);
      windowTo[rule.index] = -1;
    }
    this.#waiting.length = 0;
  }

  #searchWindow(rule: SearchRule): void {
    const { windowFrom, windowTo } = this.#room();
    const start = Math.max(0, windowFrom[rule.index] as number);
    const to = Math.min(this.#bytes.length, windowTo[rule.index] as number);
    const from = this.#firstStart(rule, start, to);
    if (from === to || this.#isKnownIn(rule, start, to)) return;
    const { digitLead } = rule.detector;
    if (digitLead === undefined) this.#search(rule, from, to);
    else this.#searchNearDigits(rule, from, to, digitLead);
  }

  /** Returns the first place from `from` on where a match may begin; `to` where there is none before. */
  #firstStart({ detector: { core } }: SearchRule, from: number, to: number): number {
    const coreTo = to + core.lead;
    const place = nextOf(core.alphabet, this.#bytes, from, coreTo);
    return place === coreTo ? to : Math.max(from, place - core.lead);
  }

  /**
   * Searches near digits only. Words like "card" stand everywhere, and most rules look for a number beside them. A
   * match begins with its first digit, or less than `lead` bytes before it.
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
      searchedTo = this.#search(rule, Math.max(start, searchedTo), Math.min(to, last + 1));
    }
  }

  #digits(start: number, end: number, count: number): void {
    for (const rule of this.#plan.digitRules) {
      if (!this.#complete) return;
      if (count < rule.detector.digitsMin) continue;
      const from = Math.max(0, start - rule.detector.window.before);
      if (!this.#isKnownIn(rule, from, end)) this.#search(rule, from, end);
    }
  }

  /**
   * Finds the rule's matches that begin in the region; they may reach out of it. Returns the end of the last match or
   * of the region.
   */
  #search(rule: SearchRule, from: number, to: number): number {
    let at = from;
    while (at < to && this.#complete) {
      const pieceEnd = Math.min(to, at + pieceBytes);
      at = Math.max(pieceEnd, this.#searchPiece(rule, at, pieceEnd));
      if (at < to && this.#isOver()) break;
    }
    return at;
  }

  /** Returns the end of the last match. */
  #searchPiece(rule: SearchRule, pieceStart: number, to: number): number {
    const { regex } = rule;
    const { bounds, alphabet } = rule.detector;
    const from = this.#firstStart(rule, pieceStart, to);
    if (from === to) return to;
    const offset = Math.max(0, from - bounds.behindMax);
    const end = endOf(alphabet, this.#bytes, to, to + bounds.reachMax);
    const text = this.#text.between(offset, end + bounds.aheadMax + 1);
    this.#searchedBytes += text.length;
    regex.lastIndex = from - offset;
    let matchedTo = from;
    while (!this.#isStopped()) {
      const match = regex.exec(text);
      if (match === null || offset + match.index >= to) return matchedTo;
      // A match that failed a check may hide the beginning of one that passes.
      if (this.#accept(rule, match, offset)) matchedTo = offset + regex.lastIndex;
      else regex.lastIndex = match.index + 1;
    }
    return matchedTo;
  }

  /** Judges a match of the pattern and keeps it if it passes. */
  #accept(rule: SearchRule, match: RegExpExecArray, offset: number): boolean {
    const { detector } = rule;
    const secret = match[detector.group];
    this.#verdicts ??= new Verdicts();
    const confidence = this.#verdicts.confidenceOf(detector, secret);
    if (!secret || confidence === undefined) return false;
    const start = offset + (match.indices?.[detector.group]?.[0] ?? match.index);
    if (isOfMarker(this.#bytes, start, start + secret.length, this.#plan.ids)) return false;
    this.#keep(rule, start, start + secret.length, confidence);
    return true;
  }

  #keep(rule: SearchRule, start: number, end: number, confidence: Confidence): void {
    const { allowSha256 } = this.#plan;
    if (allowSha256.size > 0 && allowSha256.has(sha256Of(this.#bytes.subarray(start, end)))) return;
    if (!this.#finds.add(rule, { detector: rule.detector, start, end, confidence })) this.#complete = false;
  }

  /** Returns the plan's room for notes. It is cleared when it is first needed, because most texts need none. */
  #room(): SearchPlan['room'] {
    const { room } = this.#plan;
    if (!this.#isRoomClear) {
      this.#isRoomClear = true;
      room.matchedTo.fill(0);
      room.windowTo.fill(-1);
    }
    return room;
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

/** Compares a word of a few bytes, which costs less than a call of `Buffer.compare`. */
function standsAt(bytes: Uint8Array, word: Uint8Array, start: number): boolean {
  for (let index = 0; index < word.length; index += 1) if (bytes[start + index] !== word[index]) return false;
  return true;
}
