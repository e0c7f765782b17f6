import { prepared } from '../../util/prepared.ts';
import { isAlphanumeric, isLower, isUpper } from '../kernel/bytes.ts';
import { createMatcher } from '../match/matcher.ts';

/*
 * Finds phrases of many languages in one pass over bytes. The matcher looks for the longest word of each
 * phrase; only there are its ends and the other words compared. Line ends, marks and quotes may stand between
 * the words, as in wrapped and decorated texts.
 */

/** A phrase that was found: its bytes in the text, and its number. */
export interface PhraseHit {
  readonly phrase: number;
  readonly start: number;
  readonly end: number;
}

export interface PhraseFinder {
  /**
   * Calls `onHit` for the phrases of a region, in the order of their starts; of those with one start the
   * longest comes first. A phrase may reach out of the region.
   */
  scan(bytes: Buffer, region: Region, onHit: (hit: PhraseHit) => void, isStopped: () => boolean): void;
}

/** First byte of a region, and the byte behind it. */
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

/** Requirement on one side of a core: other words, the end of a word, or anything. */
interface Side {
  /** Words from the core outwards, each in all its spellings, in lower case. */
  readonly words: readonly (readonly string[])[];
  /** The word next to the core; empty where it has more than ASCII letters. */
  readonly nearest: string;
  /** Bytes in which the words must stand. */
  readonly reach: number;
  readonly endsWord: boolean;
}

/** Matches scripts without visible ends of words: no spaces, or words with articles and endings. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Devanagari}]/u;
const isWordSign = /[\p{L}\p{N}]/u;
const endsInWordSign = /[\p{L}\p{N}]$/u;
const startsWithWordSign = /^[\p{L}\p{N}]/u;
/** Limits the characters between two words of a phrase. */
const gapMax = 4;
const characterBytesMax = 4;

/**
 * Builds a finder of phrases, which hits name by their index. A word that ends in `*` stands for all with
 * that start. `isShipped` says that the phrases come with the program, see `prepared`.
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

/** Chooses the longest word as the core, of several the last, because articles and pronouns stand first. */
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

/** Makes a side of words from the core outwards. */
type SideOf = (words: readonly string[], endsWord: boolean) => Side;

/** Creates each side once, because thousands of phrases share a few hundred. */
function sidesOnce(): SideOf {
  const made = new Map<string, Side>();
  return (words, endsWord) => {
    const key = `${endsWord} ${words.join(' ')}`;
    const side = made.get(key) ?? toSide(words, endsWord);
    made.set(key, side);
    return side;
  };
}

const toSide: SideOf = (words, endsWord) => {
  const nearest = words[0]?.toLowerCase() ?? '';
  const characters = words.join('').length + (words.length + 1) * gapMax + 1;
  return {
    words: words.map((word) => compositions(word.toLowerCase())),
    nearest: /^[a-z]+$/.test(nearest) ? nearest : '',
    reach: words.length === 0 ? 0 : characters * (isAscii(words.join('')) ? 2 : characterBytesMax),
    endsWord,
  };
};

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** Returns the spellings that a matcher needs, which folds only the case of ASCII. */
export function spellings(text: string): Set<string> {
  const lower = text.toLowerCase();
  if (isAscii(lower)) return new Set([lower]);
  const capitalised = lower.charAt(0).toUpperCase() + lower.slice(1);
  return new Set([lower, capitalised, lower.toUpperCase()].flatMap(compositions));
}

/** Returns both forms of letters with a mark: one character, or two. */
const compositions = (text: string): string[] =>
  isAscii(text) ? [text] : [...new Set([text, text.normalize('NFC'), text.normalize('NFD')])];

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

/** Tells a part of a name in code, such as `ignore_previous`, or of an option, such as `--ignore`. */
function isName(bytes: Buffer, { start, end }: PhraseHit): boolean {
  const [before, last] = [bytes[start - 1], bytes[end]];
  if (before === underscore && isAlphanumeric(bytes[start - 2])) return true;
  if (before === hyphen && bytes[start - 2] === hyphen && bytes[start - 3] !== exclamationMark) return true;
  if (isCompound(bytes, start, end)) return true;
  return last === underscore && isAlphanumeric(bytes[end - 1]) && isAlphanumeric(bytes[end + 1]);
}

/** Tells one word with a capital in the middle, such as `systemPrompt`; "iGnOrE" is none. */
function isCompound(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start + 2; at < end - 1; at++)
    if (isUpper(bytes[at]) && isLower(bytes[at - 1]) && isLower(bytes[at - 2]) && isLower(bytes[at + 1]))
      return true;
  return false;
}

const underscore = 0x5f;
const hyphen = 0x2d;
const exclamationMark = 0x21;

/** Returns how many bytes of the phrase stand before its core; -1 where something else does. */
function lengthBefore(bytes: Buffer, { words, nearest, reach, endsWord }: Side, at: number): number {
  const byte = bytes[at - 1] ?? 0;
  if (words.length > 0) {
    if (isAlphanumeric(byte) || isOther(bytes, at - 2, nearest, -1)) return -1;
    const text = bytes.toString('utf8', Math.max(0, at - reach), at);
    const start = startOf(text, words, endsWord);
    return start < 0 ? -1 : Buffer.byteLength(text.slice(start));
  }
  if (!endsWord) return 0;
  if (byte < 0x80) return isAlphanumeric(byte) ? -1 : 0;
  return endsInWordSign.test(bytes.toString('utf8', Math.max(0, at - characterBytesMax), at)) ? -1 : 0;
}

function lengthAfter(bytes: Buffer, { words, nearest, reach, endsWord }: Side, at: number): number {
  const byte = bytes[at] ?? 0;
  if (words.length > 0) {
    if (isAlphanumeric(byte) || isOther(bytes, at + 1, nearest, 1)) return -1;
    const text = bytes.toString('utf8', at, at + reach);
    const end = endOf(text, words, endsWord);
    return end < 0 ? -1 : Buffer.byteLength(text.slice(0, end));
  }
  if (!endsWord) return 0;
  if (byte < 0x80) return isAlphanumeric(byte) ? -1 : 0;
  return startsWithWordSign.test(bytes.toString('utf8', at, at + characterBytesMax)) ? -1 : 0;
}

/** Returns the start of the words that end at the end of the text; -1 where others do. */
function startOf(text: string, words: Side['words'], endsWord: boolean): number {
  let at = text.length;
  for (const spellings of words) {
    const behind = at;
    while (at > 0 && isGap(text[at - 1])) at--;
    if (at === behind || behind - at > gapMax || isNameMark(text.slice(at, behind))) return -1;
    const found = spellings.find((word) => isSame(text.slice(Math.max(0, at - word.length), at), word));
    if (found === undefined) return -1;
    at -= found.length;
  }
  return endsWord && at > 0 && endsInWordSign.test(text.slice(Math.max(0, at - 2), at)) ? -1 : at;
}

/** Returns the end of the words that begin at the start of the text; -1 where others do. */
function endOf(text: string, words: Side['words'], endsWord: boolean): number {
  let at = 0;
  for (const spellings of words) {
    const before = at;
    while (isGap(text[at])) at++;
    if (at === before || at - before > gapMax || isNameMark(text.slice(before, at))) return -1;
    const found = spellings.find((word) => isSame(text.slice(at, at + word.length), word));
    if (found === undefined) return -1;
    at += found.length;
  }
  return endsWord && startsWithWordSign.test(text.slice(at, at + 2)) ? -1 : at;
}

/** Compares without case; most words differ in the first letter already. */
function isSame(written: string, word: string): boolean {
  const [code, other] = [written.charCodeAt(0), word.charCodeAt(0)];
  if (code < asciiEnd && other < asciiEnd && (code | 0x20) !== (other | 0x20)) return false;
  return written.toLowerCase().replaceAll('\u2019', "'") === word;
}

/**
 * Tells what may stand between the words of a phrase. The end of a sentence or statement may not, since
 * another phrase begins behind it.
 */
function isGap(character: string | undefined): boolean {
  if (character === undefined) return false;
  const code = character.charCodeAt(0);
  return code < asciiEnd ? asciiGaps[code] === 1 : !isWordSign.test(character);
}

const asciiEnd = 0x80;
/** Is 1 for the ASCII characters of gaps. */
const asciiGaps = Uint8Array.from({ length: asciiEnd }, (_, code) => {
  const character = String.fromCharCode(code);
  return '.!?;={}'.includes(character) || isWordSign.test(character) ? 0 : 1;
});

/** Tells what stands between the parts of a name in code or in a path. */
const isNameMark = (gap: string): boolean => gap === '_' || gap === '-';

/**
 * Tells that another word begins at a place behind the one space that nearly always separates two words; `step`
 * leads away from the core. Comparing bytes saves making a string of them.
 */
function isOther(bytes: Buffer, at: number, nearest: string, step: 1 | -1): boolean {
  if (bytes[at - step] !== 0x20 || !isAlphanumeric(bytes[at])) return false;
  let index = step > 0 ? 0 : nearest.length - 1;
  for (let count = 0; count < nearest.length; count++, index += step)
    if (((bytes[at + count * step] ?? 0) | 0x20) !== nearest.charCodeAt(index)) return true;
  return false;
}

/**
 * Exceeds the distance by which the matcher's hits are out of order, and by which a phrase begins before its
 * core.
 */
const disorderBytes = 600;

/** Puts hits in order, by holding each back until none can come that begins before it. */
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
