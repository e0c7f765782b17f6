import { isLetter } from '../scan/bytes.ts';

/*
 * Words as they are compared with a text. A word of its own array would be two objects for the garbage collector, which goes through all
 * of them several times a second under load; so the words of a matcher, tens of thousands of them, stand in the same two arrays.
 */

const wordLengthMin = 2;

export class Needles {
  /** A byte of the text, folded where the word has a letter, equals the value. */
  readonly values: Uint8Array;
  readonly folds: Uint8Array;
  /** Where each word begins, and behind all of them where the last one ends. */
  readonly starts: Int32Array;

  /** Words are read as UTF-8. Throws RangeError for one of less than two bytes. */
  constructor(words: readonly string[]) {
    this.starts = startsOf(words);
    const size = this.starts[words.length] as number;
    const bytes = Buffer.alloc(size);
    for (let word = 0; word < words.length; word++)
      bytes.write(words[word] as string, this.starts[word] as number);
    this.values = new Uint8Array(size);
    this.folds = new Uint8Array(size);
    for (let at = 0; at < size; at++) {
      const byte = bytes[at] as number;
      const fold = isLetter(byte) ? 0x20 : 0;
      this.folds[at] = fold;
      this.values[at] = byte | fold;
    }
  }

  /** The bytes of the n-th word, letters in lower case. */
  valuesOf(word: number): Uint8Array {
    return this.values.subarray(this.starts[word], this.starts[word + 1]);
  }

  /** Whether the n-th word stands in the text there, ASCII letters compared without case. */
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
