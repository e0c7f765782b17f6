import { createMatcher } from '../detectors/matcher.ts';

/*
 * All phrases and field names that the rules of a set look for in bodies, so that one pass over a body answers for all of them.
 * The matcher compares ASCII without case; what it cannot take (one letter, or letters beyond ASCII, whose case only Unicode
 * knows) is looked for in the lower-cased text.
 */

/** Says which words stand in the texts: 1 at the index of each that does. */
export type WordFinder = (texts: readonly Buffer[]) => Uint8Array;

export class WordList {
  readonly #indexOf = new Map<string, number>();

  /** The index of a word, the same for the same word in any case. */
  add(word: string): number {
    const lower = fold(word);
    const known = this.#indexOf.get(lower);
    if (known !== undefined) return known;
    this.#indexOf.set(lower, this.#indexOf.size);
    return this.#indexOf.size - 1;
  }

  build(): WordFinder {
    const words = [...this.#indexOf.keys()];
    const isPlain = (word: string): boolean => /^[\x20-\x7e]{2,}$/.test(word);
    const findPlain = plainFinder(words.filter(isPlain), this.#indexOf);
    const others = words
      .filter((word) => !isPlain(word))
      .map((word) => ({ word, index: this.#indexOf.get(word) ?? 0 }));
    return (texts) => {
      const found = new Uint8Array(words.length);
      for (const text of texts) {
        findPlain?.(text, found);
        if (others.length === 0) continue;
        const lower = fold(text.toString('utf8'));
        for (const { word, index } of others)
          if (found[index] === 0 && lower.includes(word)) found[index] = 1;
      }
      return found;
    };
  }
}

function plainFinder(words: readonly string[], indexOf: ReadonlyMap<string, number>) {
  if (words.length === 0) return undefined;
  const matcher = createMatcher(words);
  const indexes = Uint32Array.from(words, (word) => indexOf.get(word) ?? 0);
  return (text: Buffer, found: Uint8Array): void =>
    matcher.scan(text, (word) => {
      found[indexes[word] ?? 0] = 1;
    });
}

/** Lower case, letters and their accents in one form whichever way they were typed. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase();
