import assert from 'node:assert/strict';
import { endianness } from 'node:os';
import { byteSet } from '../kernel/bytes.ts';
import { Kernel, pieceBytesMax, tablesAt } from '../kernel/kernel.ts';
import { firstLetters, furtherLetters, kinds, lettersWithoutAccents } from './letters.ts';
import type { PhraseFilter } from './phrase-filter.ts';
import { markNamed, numberOfMark } from './word-numbers.ts';

/*
 * Reads a text's words as numbers, sentence by sentence, in one pass. `src/inspect/kernel/assembly/words.ts`
 * walks the bytes.
 *
 * Marks and spaces between words say nothing, so `--no-preserve-root`, `force-push` and "force push" are read
 * alike. Names in code are taken apart: `deleteAllUsers`. Accents and case are folded. Some marks stay: a `*`
 * for anything, the `@` before a file, a `/` alone, the parenthesis of a call, and the backtick before code.
 * IPv4 addresses become marks of their networks, and file modes that lend rights become a mark.
 */

/**
 * Bound on the words that are looked at together. Longer sentences are read in pieces, each with the last
 * sixteen words of the one before.
 */
const sentenceWordsMax = 64;

/** A sentence, valid until the next one is read. */
export interface Sentence {
  /** The words as numbers; the first `count` are valid. */
  readonly words: Int32Array;
  /** 1 for a word that begins a sentence, a line, a quotation, a value or a command; 0 for all others. */
  readonly opens: Uint8Array;
  readonly count: number;
}

/** Further traits of bytes, one bit each, as in `words.ts`. */
const signs = [
  byteSet(' \t\r'),
  // These stand behind the mark that ends a sentence; the backslash belongs to an escaped line end or quote.
  byteSet(' \t\r\n\\"'),
  // These stand behind a `/` that is a whole path, or `/*`.
  byteSet(' \n\\"\'*;'),
  // These and the next stand before and behind a `*` of a policy, unlike that of bold text, a list or a
  // product.
  byteSet('"\'.:['),
  byteSet(' \n\\"\',.;:]'),
].reduce((all, set, bit) => all.map((flags, byte) => flags | ((set[byte] as number) << bit)));

// Addresses of the tables, with the numbers of `words.ts`.
const wordsAt = tablesAt + 1_104;
const opensAt = tablesAt + 1_360;
const filterAt = tablesAt + 1_424;
/** Tells whether this machine is big-endian, unlike the kernel's memory. */
const isBigEndian = endianness() === 'BE';
/** The number of slots of the largest filter. */
const slotsMax = 16_384;

const kernel = kernelWithTables();
const wordsInKernel = new Int32Array(kernel.view.buffer, wordsAt, sentenceWordsMax);
const opensInKernel = new Uint8Array(kernel.view.buffer, opensAt, sentenceWordsMax);
/** The filter that is in the memory, and below it whether a text is being read. */
let filledWith: PhraseFilter | undefined;
let isBusy = false;

function kernelWithTables(): Kernel {
  const kernel = new Kernel(filterAt - tablesAt + 2 * 8_192 + 4 * slotsMax);
  const marks = Buffer.concat(Object.values(numberOfMark).map(bytesOf));
  const tables = Buffer.concat([kinds, firstLetters, furtherLetters, signs, lettersWithoutAccents, marks]);
  Buffer.from(kernel.view.buffer).set(tables, tablesAt);
  kernel.exports.useWordTables(tablesAt, 0);
  return kernel;
}

function bytesOf(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(number);
  return bytes;
}

function fill(filter: PhraseFilter | undefined): void {
  if (filter === filledWith) return;
  const { view, exports } = kernel;
  const { firstWords = [], beginningBits = [], beginnings = [] } = filter ?? {};
  assert(beginnings.length <= slotsMax, 'the lexicon has too many phrases');
  let at = filterAt;
  for (const numbers of [firstWords, beginningBits, beginnings])
    for (const number of numbers) {
      view.setInt32(at, number, true);
      at += 4;
    }
  exports.useWordTables(tablesAt, beginnings.length);
  filledWith = filter;
}

/** Returns the words of a phrase as they are read in a text. Throws an Error for an unknown mark. */
export function wordsOf(phrase: string): number[] {
  const words: number[] = [];
  const take = (sentence: Sentence): number => words.push(...sentence.words.subarray(0, sentence.count));
  for (const part of phrase.split(' ')) {
    const mark = markNamed(part);
    if (mark === undefined) readSentences(Buffer.from(part), take, () => false);
    else words.push(mark);
  }
  return words;
}

/** Calls `onSentence` for each sentence of a text. See `SentenceReader`. */
export function readSentences(
  bytes: Buffer,
  onSentence: (sentence: Sentence) => void,
  isStopped: () => boolean,
): void {
  new SentenceReader(onSentence).read(bytes, isStopped);
}

/** Reads the sentences of one text at a time. */
export class SentenceReader implements Sentence {
  readonly words = isBigEndian ? new Int32Array(sentenceWordsMax) : wordsInKernel;
  readonly opens = opensInKernel;
  count = 0;
  readonly #onSentence: (sentence: Sentence) => void;
  readonly #filter: PhraseFilter | undefined;

  /** Creates a reader. With a filter, it hands on only sentences with a word that passes. */
  constructor(onSentence: (sentence: Sentence) => void, filter?: PhraseFilter) {
    this.#onSentence = onSentence;
    this.#filter = filter;
  }

  /**
   * Hands on the sentences of a text of up to 64 KB, in linear time. `isStopped` is called after each of
   * them, and every few kilobytes.
   */
  read(bytes: Uint8Array, isStopped: () => boolean): void {
    assert(bytes.length <= pieceBytesMax && !isBusy, 'one text at a time, of 64 KB at most');
    isBusy = true;
    try {
      fill(this.#filter);
      kernel.take(bytes);
      kernel.exports.beginWords(bytes.length);
      for (let count = kernel.exports.nextSentence(); count >= 0; count = kernel.exports.nextSentence()) {
        if (count > 0) this.#hand(count);
        if (isStopped()) return;
      }
    } finally {
      isBusy = false;
    }
  }

  #hand(count: number): void {
    if (isBigEndian)
      for (let index = 0; index < count; index += 1)
        this.words[index] = kernel.view.getInt32(wordsAt + 4 * index, true);
    this.count = count;
    this.#onSentence(this);
  }
}
