import { mayHave } from '../patterns/alphabet.ts';
import type { Detector } from '../patterns/detector.ts';

/**
 * Bound on the bytes from a word to the end of a match that it decides about. Only far-reaching words exceed
 * it.
 */
export const reachMax = 2560;

/**
 * A word whose match may end in another value far behind it. An example is the header of a private key whose
 * lines are list items.
 */
export interface FarReaching {
  /** The word in lower case. */
  readonly word: string;
  /** The number of bytes from the word to the end of its longest match. */
  readonly reach: number;
}

const quote = 0x22;
/** The least length of a far-reaching word, because shorter words stand in every text. */
const wordLengthMin = 8;

/**
 * Returns a detector's far-reaching words. Returns none where its matches end near their words or cannot go
 * on behind a quote. Throws RangeError where such a word is too short.
 */
export function farReachingOf({ id, alphabet, bounds, window, anchors, keywords }: Detector): FarReaching[] {
  const reach = bounds.reachMax + bounds.aheadMax + (anchors.length > 0 ? 0 : window.after);
  if (reach <= reachMax || !mayHave(alphabet, quote)) return [];
  const words = [...anchors, ...keywords];
  if (words.length === 0 || words.some(({ length }) => length < wordLengthMin))
    throw new RangeError(
      `detector ${id}: its matches may be so long that its words need ${wordLengthMin} letters`,
    );
  return words.map((word) => ({ word: word.toLowerCase(), reach }));
}
