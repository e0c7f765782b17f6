import { mayHave } from '../patterns/alphabet.ts';
import type { Detector } from '../patterns/detector.ts';

/** Limits the bytes from a word to the end of a match that it decides about, except for far-reaching words. */
export const reachMax = 2560;

/**
 * A word whose match may end in another value far behind it, such as the header of a private key with lines as list
 * items.
 */
export interface FarReaching {
  /** Is in lower case. */
  readonly word: string;
  /** Bytes from the word to the end of a match. */
  readonly reach: number;
}

const quote = 0x22;
/** Shorter words stand in every text. */
const wordLengthMin = 8;

/**
 * Returns a detector's far-reaching words; none where its matches end near them or cannot go on behind a quote.
 * Throws RangeError for short words.
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
