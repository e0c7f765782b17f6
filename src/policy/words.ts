import { createMatcher, type Matcher } from '../detectors/matcher.ts';

/*
 * All phrases and field names that the rules of a set look for in bodies, so that one pass over a body answers for all of them.
 * The matcher compares ASCII without case; what it cannot take (one letter, or letters beyond ASCII, whose case only Unicode
 * knows) is looked for in the lower-cased text.
 */

/** The words of a set, ready to be looked for. */
export interface Words {
  /** 1 at the index of each word that stands in the texts; empty where none does. */
  find(texts: readonly Buffer[]): Uint8Array;
}

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

  build(): Words {
    const entries = [...this.#indexOf].map(([word, index]) => ({ word, index }));
    const plain = entries.filter(({ word }) => isPlain(word));
    const others = entries.filter(({ word }) => !isPlain(word));
    const plainWords = plain.map(({ word }) => word);
    let matcher: Matcher | undefined;
    return {
      find(texts) {
        // Made for the first one: most bodies have none.
        let found: Uint8Array | undefined;
        const add = (index: number): void => {
          found ??= new Uint8Array(entries.length);
          found[index] = 1;
        };
        const mark = (place: number): void => add(plain[place]?.index ?? 0);
        if (plain.length > 0) {
          matcher ??= createMatcher(plainWords);
          for (const text of texts) matcher.scan(text, mark);
        }
        for (const text of others.length > 0 ? texts : []) {
          const lower = fold(text.toString('utf8'));
          for (const { word, index } of others) if (lower.includes(word)) add(index);
        }
        return found ?? noneFound;
      },
    };
  }
}

const noneFound = new Uint8Array(0);

const isPlain = (word: string): boolean => /^[\x20-\x7e]{2,}$/.test(word);

/** Lower case, letters and their accents in one form whichever way they were typed, and a sigma the same at the end of a word. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ');
