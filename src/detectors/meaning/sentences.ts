import { byteSet } from '../../scan/bytes.ts';
import { addressAt, isSetuidMode } from './addresses.ts';
import { Kind, kinds, withoutAccent } from './letters.ts';
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
  const scan = new SentenceScan(bytes, to, onSentence, isStopped);
  for (let at = from; at < to && !scan.isStopped; ) at = scan.step(at);
  if (!scan.isStopped) scan.end();
}

class SentenceScan implements Sentence {
  readonly words = new Int32Array(sentenceWordsMax);
  readonly opens = new Uint8Array(sentenceWordsMax);
  count = 0;
  isStopped = false;
  readonly #bytes: Buffer;
  readonly #to: number;
  readonly #onSentence: (sentence: Sentence) => void;
  readonly #isStopped: () => boolean;
  /** Whether the next word begins something. */
  #isOpening = true;
  /** Words of this sentence that the piece before had, too. */
  #shared = 0;

  constructor(bytes: Buffer, to: number, onSentence: (sentence: Sentence) => void, isStopped: () => boolean) {
    this.#bytes = bytes;
    this.#to = to;
    this.#onSentence = onSentence;
    this.#isStopped = isStopped;
  }

  /** Reads a word or a mark, and answers where the next one begins. */
  step(at: number): number {
    const kind = kinds[this.#bytes[at] as number] as number;
    if (kind >= Kind.lower) return this.#readWord(at, kind);
    switch (kind) {
      case Kind.end:
        if (afterEnd[this.#bytes[at + 1] ?? space]) this.end();
        return at + 1;
      case Kind.line:
        return this.#readLineEnd(at + 1);
      case Kind.backslash:
        return this.#readEscape(at);
      case Kind.opening:
        this.#isOpening = true;
        return at + 1;
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
        return at + 1;
    }
  }

  end(): void {
    if (this.count > this.#shared) this.#hand();
    this.count = 0;
    this.#shared = 0;
    this.#isOpening = true;
  }

  #hand(): void {
    this.#onSentence(this);
    this.isStopped = this.#isStopped();
  }

  #add(word: number): void {
    if (this.count === sentenceWordsMax) this.#continue();
    this.words[this.count] = word;
    this.opens[this.count] = this.#isOpening ? 1 : 0;
    this.count += 1;
    this.#isOpening = false;
  }

  #continue(): void {
    this.#hand();
    this.words.copyWithin(0, sentenceWordsMax - sharedWords);
    this.opens.copyWithin(0, sentenceWordsMax - sharedWords);
    this.count = sharedWords;
    this.#shared = sharedWords;
  }

  #readWord(start: number, first: number): number {
    const bytes = this.#bytes;
    if (first === Kind.digit) {
      const address = addressAt(bytes, start);
      if (address) {
        this.#add(numberOfMark[address.mark]);
        return address.end;
      }
    }
    let hash = emptyHash;
    let at = start;
    for (let before = first; at < this.#to; at += 1) {
      const byte = bytes[at] as number;
      const kind = kinds[byte] as number;
      if (kind < Kind.lower || (kind === Kind.upper && before === Kind.lower)) break;
      before = kind;
      if (kind === Kind.upper) hash = mix(hash, byte | 0x20);
      else if (kind === Kind.accented) hash = mix(hash, withoutAccent(bytes[++at] ?? 0));
      else if (kind === Kind.accent) at += 1;
      else hash = mix(hash, byte);
    }
    this.#add(
      first === Kind.digit && isSetuidMode(bytes, start, at) ? numberOfMark.setuidMode : toNumber(hash),
    );
    return at;
  }

  /** A line that goes on with a letter or a quote belongs to the sentence: prose is wrapped, and SQL and JSON are written so. */
  #readLineEnd(start: number): number {
    let at = start;
    while (spaces[this.#bytes[at] ?? lineFeed]) at += 1;
    const next = kindAt(this.#bytes, at);
    if (next < Kind.lower ? next !== Kind.opening && next !== Kind.apostrophe : next === Kind.digit)
      this.end();
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
