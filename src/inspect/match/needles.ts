import { isLetter } from '../kernel/bytes.ts';

/*
 * Keeps words as they are compared with a text. All words of a matcher stand in the same two arrays. Two
 * objects for each of tens of thousands of words would cost the garbage collector much under load.
 */

const wordLengthMin = 2;
const noWords: ReadonlySet<string> = new Set();

type NeedleArrays = Pick<Needles, 'values' | 'folds' | 'starts'>;

export class Needles {
  /**
   * The bytes of the words, and the bits by which each is folded. A byte of the text, folded where the word
   * has a letter, must equal the value.
   */
  readonly values: Uint8Array;
  readonly folds: Uint8Array;
  /** The start of each word; the last entry is the end of the last word. */
  readonly starts: Int32Array;

  /** Copies the arrays. Those of kept tables are parts of a file, all of which they would keep in memory. */
  constructor({ values, folds, starts }: NeedleArrays) {
    this.values = new Uint8Array(values);
    this.folds = new Uint8Array(folds);
    this.starts = new Int32Array(starts);
  }

  /**
   * Creates needles of words, as UTF-8. Those `inCase` are compared as written. Throws RangeError for a word
   * of less than two bytes.
   */
  static of(words: readonly string[], inCase: ReadonlySet<string> = noWords): Needles {
    const starts = startsOf(words);
    const size = starts[words.length] as number;
    const bytes = Buffer.alloc(size);
    const folds = new Uint8Array(size);
    words.forEach((word, index) => {
      const start = starts[index] as number;
      const end = start + bytes.write(word, start);
      if (inCase.has(word)) return;
      for (let at = start; at < end; at++) folds[at] = isLetter(bytes[at]) ? 0x20 : 0;
    });
    return new Needles({ values: bytes.map((byte, at) => byte | (folds[at] as number)), folds, starts });
  }

  /** Returns the bytes of a word by its index. Letters are in lower case unless their case counts. */
  valuesOf(word: number): Uint8Array {
    return this.values.subarray(this.starts[word], this.starts[word + 1]);
  }

  foldsOf(word: number): Uint8Array {
    return this.folds.subarray(this.starts[word], this.starts[word + 1]);
  }

  /**
   * Tells whether the word with this index stands there. ASCII letters are compared without case unless it
   * counts.
   */
  standsAt(word: number, text: Uint8Array, start: number): boolean {
    const from = this.starts[word] as number;
    const length = (this.starts[word + 1] as number) - from;
    if (start < 0 || start + length > text.length) return false;
    const values = this.values;
    const folds = this.folds;
    for (let index = 0; index < length; index++) {
      if (((text[start + index] as number) | (folds[from + index] as number)) !== values[from + index])
        return false;
    }
    return true;
  }
}

function startsOf(words: readonly string[]): Int32Array {
  const starts = new Int32Array(words.length + 1);
  words.forEach((word, index) => {
    const length = Buffer.byteLength(word);
    if (length < wordLengthMin) throw new RangeError(`A word needs at least ${wordLengthMin} bytes.`);
    starts[index + 1] = (starts[index] as number) + length;
  });
  return starts;
}
