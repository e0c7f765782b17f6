import { byteSet, isDigit } from '../../scan/bytes.ts';
import { addressAt, isSetuidMode } from './addresses.ts';
import { firstLetters, furtherLetters, gap, Kind, kinds, noLetter, withoutAccent } from './letters.ts';
import type { PhraseFilter } from './phrase-filter.ts';
import { emptyHash, markNamed, mix, numberOfMark, toNumber } from './word-numbers.ts';

/*
 * One pass over a text: its words as numbers, sentence by sentence.
 *
 * Marks and spaces between words say nothing, so that `--no-preserve-root`, `force-push` and "force push" are read alike, and names in
 * code are taken apart: `deleteAllUsers`. Accents and case are folded. Of the marks stay a `*` for anything, the `@` before a file, a `/`
 * alone, the parenthesis of a call, and the backtick before code.
 */

/** Words that are looked at together. What has more is read in pieces, each with the last words of the one before. */
const sentenceWordsMax = 64;
const sharedWords = 16;

/** Valid until the next one is read. */
export interface Sentence {
  /** The first `count` of them. */
  readonly words: Int32Array;
  /** 1 for a word that begins a sentence, a line, a quotation, a value or a command. */
  readonly opens: Uint8Array;
  readonly count: number;
}

const space = 0x20;
const slash = 0x2f;
const dot = 0x2e;
const lineFeed = 0x0a;
const spaces = byteSet(' \t\r');
/** Behind the mark that ends a sentence; the backslash is that of an escaped line end or quote. */
const afterEnd = byteSet(' \t\r\n\\"');
const afterRoot = byteSet(' \n\\"\'*;');
const beforeAnything = byteSet('"\'.:[');
const afterAnything = byteSet(' \n\\"\',.;:]');
const [escapedLine, escapedTab, escapedReturn] = Buffer.from('ntr') as unknown as [number, number, number];

/** The words of a phrase as they are read in a text. Throws an Error for a mark that there is not. */
export function wordsOf(phrase: string): number[] {
  const words: number[] = [];
  for (const part of phrase.split(' ')) {
    const mark = markNamed(part);
    if (mark !== undefined) words.push(mark);
    else
      readSentences(
        Buffer.from(part),
        0,
        Buffer.byteLength(part),
        (sentence) => words.push(...sentence.words.subarray(0, sentence.count)),
        () => false,
      );
  }
  return words;
}

/** Calls `onSentence` for each sentence between two places of a text. Linear. `isStopped` is asked once a sentence. */
export function readSentences(
  bytes: Buffer,
  from: number,
  to: number,
  onSentence: (sentence: Sentence) => void,
  isStopped: () => boolean,
): void {
  new SentenceReader(onSentence).read(bytes, from, to, isStopped);
}

const nothing = Buffer.alloc(0);

/** Reads one text at a time. */
export class SentenceReader implements Sentence {
  readonly words = new Int32Array(sentenceWordsMax);
  readonly opens = new Uint8Array(sentenceWordsMax);
  count = 0;
  readonly #onSentence: (sentence: Sentence) => void;
  readonly #filter: PhraseFilter | undefined;
  #bytes: Buffer = nothing;
  #to = 0;
  #isStopped: () => boolean = () => false;
  #hasStopped = false;
  /** Whether the next word begins something. */
  #isOpening = true;
  /** Words of this sentence that the piece before had, too. */
  #shared = 0;
  /** Behind the last of its words that passed the filter. */
  #passedTo = 0;

  /** With a filter, sentences without a word that passes it are not handed on. */
  constructor(onSentence: (sentence: Sentence) => void, filter?: PhraseFilter) {
    this.#onSentence = onSentence;
    this.#filter = filter;
  }

  /**
   * Hands on the sentences between two places of a text. Linear. `isStopped` is asked once a sentence, also of those that are not handed on.
   */
  read(bytes: Buffer, from: number, to: number, isStopped: () => boolean): void {
    this.#bytes = bytes;
    this.#to = to;
    this.#isStopped = isStopped;
    this.#hasStopped = false;
    this.#forget();
    // Tables of another module are looked up anew for each byte; this saves 7 % of the time.
    const [firsts, furthers] = [firstLetters, furtherLetters];
    for (let at = from; at < to && !this.#hasStopped; ) {
      const first = firsts[bytes[at] as number] as number;
      if (first <= noLetter) {
        at = first === gap ? at + 1 : this.#readOther(at);
        continue;
      }
      // Nearly all words are of small letters, but for the first one; this loop is where the time goes.
      const start = at;
      let hash = emptyHash;
      let letter = first;
      do {
        hash = mix(hash, letter);
        at += 1;
        letter = at < to ? (furthers[bytes[at] as number] as number) : gap;
      } while (letter > noLetter);
      if (letter === noLetter) at = this.#readRest(start, at, hash);
      else if (isDigit(first)) at = this.#addNumber(start, at, hash);
      else this.#add(toNumber(hash));
    }
    if (!this.#hasStopped) this.#end();
    this.#bytes = nothing;
  }

  /** Reads a mark, or a word that does not begin with a plain letter, and answers where what follows begins. */
  #readOther(at: number): number {
    switch (kindAt(this.#bytes, at)) {
      case Kind.opening:
        this.#isOpening = true;
        return at + 1;
      case Kind.end:
        if (afterEnd[this.#bytes[at + 1] ?? space]) this.#end();
        return at + 1;
      case Kind.line:
        return this.#readLineEnd(at + 1);
      case Kind.backslash:
        return this.#readEscape(at);
      case Kind.star:
        if (isAnything(this.#bytes, at)) this.#add(numberOfMark.anything);
        return at + 1;
      case Kind.at:
        if (kindAt(this.#bytes, at - 1) < Kind.lower) this.#add(numberOfMark.fileAt);
        return at + 1;
      case Kind.slash:
        if (isRoot(this.#bytes, at)) this.#add(numberOfMark.rootPath);
        if (this.#bytes[at + 1] === slash) this.#isOpening = false;
        return at + 1;
      case Kind.apostrophe:
        if (kindAt(this.#bytes, at - 1) < Kind.lower) this.#isOpening = true;
        return at + 1;
      case Kind.hash:
        this.#isOpening = false;
        return at + 1;
      case Kind.parenthesis:
        if (kindAt(this.#bytes, at - 1) >= Kind.lower) this.#add(numberOfMark.call);
        return at + 1;
      case Kind.backtick:
        if (kindAt(this.#bytes, at - 1) < Kind.lower && kindAt(this.#bytes, at + 1) >= Kind.lower)
          this.#add(numberOfMark.code);
        return at + 1;
      case Kind.mark:
        return at + 2;
      case Kind.longMark:
        this.#isOpening = true;
        return at + 3;
      default:
        return this.#readRest(at, at, emptyHash);
    }
  }

  #end(): void {
    if (this.count > this.#shared) this.#hand();
    this.#forget();
  }

  #forget(): void {
    this.count = 0;
    this.#shared = 0;
    this.#passedTo = 0;
    this.#isOpening = true;
  }

  #hand(): void {
    if (!this.#filter || this.#passedTo > 0) this.#onSentence(this);
    this.#hasStopped = this.#isStopped();
  }

  #add(word: number): void {
    if (this.count === sentenceWordsMax) this.#continue();
    this.words[this.count] = word;
    this.opens[this.count] = this.#isOpening ? 1 : 0;
    this.count += 1;
    this.#isOpening = false;
    if (this.#filter?.passes(word)) this.#passedTo = this.count;
  }

  #continue(): void {
    this.#hand();
    this.words.copyWithin(0, sentenceWordsMax - sharedWords);
    this.opens.copyWithin(0, sentenceWordsMax - sharedWords);
    this.count = sharedWords;
    this.#shared = sharedWords;
    this.#passedTo -= sentenceWordsMax - sharedWords;
  }

  /** Reads what a word has from `at` on; `hash` is that of what stands before. */
  #readRest(start: number, from: number, hashBefore: number): number {
    const bytes = this.#bytes;
    let hash = hashBefore;
    let before = from === start ? Kind.gap : (kinds[bytes[from - 1] as number] as number);
    let at = from;
    while (at < this.#to) {
      const byte = bytes[at] as number;
      const kind = kinds[byte] as number;
      if (kind < Kind.lower || (kind === Kind.upper && before === Kind.lower)) break;
      if (kind <= Kind.digit) hash = mix(hash, kind === Kind.upper ? byte | 0x20 : byte);
      else if (kind === Kind.accented) hash = mix(hash, withoutAccent(bytes[++at] ?? 0));
      else if (kind === Kind.accent) at += 1;
      else hash = mix(hash, byte);
      before = kind;
      at += 1;
    }
    if (isDigit(bytes[start])) return this.#addNumber(start, at, hash);
    this.#add(toNumber(hash));
    return at;
  }

  /** Adds what begins with a digit, and answers where it ends: an address ends behind the word that it begins with. */
  #addNumber(start: number, end: number, hash: number): number {
    const bytes = this.#bytes;
    const address = bytes[end] === dot ? addressAt(bytes, start) : undefined;
    if (address) this.#add(numberOfMark[address.mark]);
    else this.#add(isSetuidMode(bytes, start, end) ? numberOfMark.setuidMode : toNumber(hash));
    return address?.end ?? end;
  }

  /** A line that goes on with a letter or a quote belongs to the sentence: prose is wrapped, and SQL and JSON are written so. */
  #readLineEnd(start: number): number {
    let at = start;
    while (spaces[this.#bytes[at] ?? lineFeed]) at += 1;
    const next = kindAt(this.#bytes, at);
    if (next < Kind.lower ? next !== Kind.opening && next !== Kind.apostrophe : next === Kind.digit)
      this.#end();
    this.#isOpening = true;
    return at;
  }

  /** Escapes of JSON for spaces and line ends. */
  #readEscape(at: number): number {
    const escaped = this.#bytes[at + 1];
    if (escaped === escapedLine) return this.#readLineEnd(at + 2);
    return escaped === escapedTab || escaped === escapedReturn ? at + 2 : at + 1;
  }
}

const kindAt = (bytes: Buffer, at: number): number => kinds[bytes[at] ?? space] as number;

/** A `*` as policies have it: not of bold text, a list or a product. */
const isAnything = (bytes: Buffer, at: number): boolean =>
  beforeAnything[bytes[at - 1] ?? space] === 1 && afterAnything[bytes[at + 1] ?? space] === 1;

/** A `/` that is a whole path, or `/*`. */
const isRoot = (bytes: Buffer, at: number): boolean =>
  bytes[at - 1] === space && afterRoot[bytes[at + 1] ?? space] === 1;
