import { isLetter } from '../kernel/bytes.ts';

/*
 * Words as they are compared with a text. A word of its own array would be two objects for the garbage collector, which goes through all
 * of them several times a second under load; so the words of a matcher, tens of thousands of them, stand in the same two arrays.
 */

const wordLengthMin = 2;
const noWords: ReadonlySet<string> = new Set();

export class Needles {
  /** A byte of the text, folded where the word has a letter, equals the value. */
  readonly values: Uint8Array;
  readonly folds: Uint8Array;
  /** Where each word begins, and behind all of them where the last one ends. */
  readonly starts: Int32Array;

  /** Words are read as UTF-8; those `inCase` are compared as they are written. Throws RangeError for one of less than two bytes. */
  constructor(words: readonly string[], inCase: ReadonlySet<string> = noWords) {
    this.starts = startsOf(words);
    const size = this.starts[words.length] as number;
    const bytes = Buffer.alloc(size);
    this.folds = new Uint8Array(size);
    words.forEach((word, index) => {
      const start = this.starts[index] as number;
      const end = start + bytes.write(word, start);
      if (inCase.has(word)) return;
      for (let at = start; at < end; at++) this.folds[at] = isLetter(bytes[at]) ? 0x20 : 0;
    });
    this.values = bytes.map((byte, at) => byte | (this.folds[at] as number));
  }

  /** The bytes of the n-th word, letters in lower case unless their case counts. */
  valuesOf(word: number): Uint8Array {
    return this.values.subarray(this.starts[word], this.starts[word + 1]);
  }

  foldsOf(word: number): Uint8Array {
    return this.folds.subarray(this.starts[word], this.starts[word + 1]);
  }

  /** Whether the n-th word stands in the text there, ASCII letters compared without case unless it counts. */
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
