import { prepared } from '../../util/prepared.ts';
import { isAlphanumeric, isLower, isUpper } from '../kernel/bytes.ts';
import { createMatcher } from '../match/matcher.ts';
import { isWordSign, lengthAfter, lengthBefore, type Side, type SideOf, sidesOnce } from './phrase-sides.ts';
import { spellings } from './spellings.ts';

/*
 * Finds phrases of many languages in one pass over bytes. The matcher looks for the longest word of each
 * phrase. Only at such a word are its ends and the other words compared. Line ends, marks and quotes may
 * stand between the words, as in wrapped and decorated texts.
 */

/** A phrase that was found: its bytes in the text, and its number. */
export interface PhraseHit {
  readonly phrase: number;
  readonly start: number;
  readonly end: number;
}

export interface PhraseFinder {
  /**
   * Calls `onHit` for the phrases of a region, in the order of their starts; the longest of those with one
   * start comes first. A phrase may reach out of the region.
   */
  scan(bytes: Buffer, region: Region, onHit: (hit: PhraseHit) => void, isStopped: () => boolean): void;
}

/** A stretch of a text: its first byte, and the byte behind it. */
export interface Region {
  readonly from: number;
  readonly to: number;
}

/** A phrase as it is compared around its core. */
interface Candidate {
  readonly phrase: number;
  readonly coreLength: number;
  readonly before: Side;
  readonly after: Side;
}

/** Matches scripts without visible ends of words: they have no spaces, or words with articles and endings. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Devanagari}]/u;
/**
 * Builds a finder of phrases, which hits name by their index. A word that ends in `*` stands for all words
 * with that start. `isShipped` says that the phrases come with the program, see `prepared`.
 */
export function createPhraseFinder(phrases: readonly string[], isShipped = false): PhraseFinder {
  const make = (): Cores => coresOf(phrases);
  const { cores, candidatesAt } = isShipped ? prepared('cores', JSON.stringify(phrases), make) : make();
  const matcher = createMatcher(cores, { keptAs: isShipped ? 'phrases' : undefined });
  return {
    scan(bytes, { from, to }, onHit, isStopped) {
      const line = new HitLine(onHit);
      matcher.scan(
        bytes.subarray(from, to),
        (core, start) => {
          for (const candidate of candidatesAt[core] as readonly Candidate[]) {
            const hit = hitOf(bytes, candidate, from + start);
            if (hit) line.add(hit);
          }
        },
        isStopped,
      );
      line.end();
    },
  };
}

/** The cores of phrases, and the phrases of each. */
interface Cores {
  readonly cores: readonly string[];
  readonly candidatesAt: readonly (readonly Candidate[])[];
}

function coresOf(phrases: readonly string[]): Cores {
  const candidatesOf = new Map<string, Candidate[]>();
  const sideOf = sidesOnce();
  phrases.forEach((text, phrase) => {
    const { cores, before, after } = takeApart(text, sideOf);
    for (const core of cores) {
      const candidates = candidatesOf.get(core) ?? [];
      candidates.push({ phrase, coreLength: Buffer.byteLength(core), before, after });
      candidatesOf.set(core, candidates);
    }
  });
  return { cores: [...candidatesOf.keys()], candidatesAt: [...candidatesOf.values()] };
}

/**
 * Takes a phrase apart at its core, the longest word. The last of equally long ones is taken, because
 * articles and pronouns stand first.
 */
function takeApart(text: string, sideOf: SideOf): { cores: Iterable<string>; before: Side; after: Side } {
  const isOpen = text.endsWith('*');
  const words = (isOpen ? text.slice(0, -1) : text).split(' ');
  // An apostrophe has two spellings, so a word without one is preferred.
  const lengths = words.map((word) => Buffer.byteLength(word) / (word.includes("'") ? 2 : 1));
  const at = lengths.lastIndexOf(Math.max(...lengths));
  const core = words[at] as string;
  const hasEnds = !unspaced.test(text);
  const opens = hasEnds && isWordSign.test(text.charAt(0));
  const closes = hasEnds && !isOpen && isWordSign.test(text.charAt(text.length - 1));
  return {
    cores: spellings(core),
    before: sideOf(words.slice(0, at).reverse(), opens),
    after: sideOf(words.slice(at + 1), closes),
  };
}

function hitOf(bytes: Buffer, candidate: Candidate, coreStart: number): PhraseHit | undefined {
  const { phrase, coreLength, before, after } = candidate;
  const coreEnd = coreStart + coreLength;
  const leftLength = lengthBefore(bytes, before, coreStart);
  if (leftLength < 0) return undefined;
  const rightLength = lengthAfter(bytes, after, coreEnd);
  if (rightLength < 0) return undefined;
  const hit = { phrase, start: coreStart - leftLength, end: coreEnd + rightLength };
  return isName(bytes, hit) ? undefined : hit;
}

/**
 * Tells whether a hit is a part of a name in code, such as `ignore_previous`, or of an option, such as
 * `--ignore`.
 */
function isName(bytes: Buffer, { start, end }: PhraseHit): boolean {
  const [before, last] = [bytes[start - 1], bytes[end]];
  if (before === underscore && isAlphanumeric(bytes[start - 2])) return true;
  if (before === hyphen && bytes[start - 2] === hyphen && bytes[start - 3] !== exclamationMark) return true;
  if (isCompound(bytes, start, end)) return true;
  return last === underscore && isAlphanumeric(bytes[end - 1]) && isAlphanumeric(bytes[end + 1]);
}

/** Tells whether a hit is one word with a capital in the middle, such as `systemPrompt`; "iGnOrE" is none. */
function isCompound(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start + 2; at < end - 1; at++)
    if (isUpper(bytes[at]) && isLower(bytes[at - 1]) && isLower(bytes[at - 2]) && isLower(bytes[at + 1]))
      return true;
  return false;
}

const underscore = 0x5f;
const hyphen = 0x2d;
const exclamationMark = 0x21;

/** More bytes than the matcher's hits are out of order, and than a phrase begins before its core. */
const disorderBytes = 600;

/** Puts hits in order. It holds each back until none can come that begins before it. */
class HitLine {
  readonly #onHit: (hit: PhraseHit) => void;
  #waiting: PhraseHit[] = [];

  constructor(onHit: (hit: PhraseHit) => void) {
    this.#onHit = onHit;
  }

  add(hit: PhraseHit): void {
    const waiting = this.#waiting;
    if (waiting.length > 0 && hit.start - (waiting[0] as PhraseHit).start > 2 * disorderBytes)
      this.#release(hit.start - disorderBytes);
    this.#waiting.push(hit);
  }

  end(): void {
    this.#release(Number.POSITIVE_INFINITY);
  }

  #release(before: number): void {
    const sorted = this.#waiting.sort((a, b) => a.start - b.start || b.end - a.end);
    const next = sorted.findIndex((hit) => hit.start >= before);
    const count = next < 0 ? sorted.length : next;
    for (const hit of sorted.slice(0, count)) this.#onHit(hit);
    this.#waiting = sorted.slice(count);
  }
}
