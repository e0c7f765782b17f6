import type { Detector } from '../patterns/detector.ts';
import { mayHave } from '../patterns/makeup.ts';

/** From a word to the end of a match that it decides about, in bytes; all detectors keep to it but for those below. */
export const reachMax = 2560;

/** A word that begins what may end in another value far behind it: the header of a private key whose lines are items of a list. */
export interface FarReaching {
  /** In lower case. */
  readonly word: string;
  /** From the word to the end of a match. */
  readonly reach: number;
}

const quote = 0x22;
/** Shorter ones stand in every text. */
const wordLengthMin = 8;

/** Empty for a detector whose matches end near its words, or cannot go on behind a quote. Throws RangeError where its words are too short. */
export function farReachingOf({ id, makeup, bounds, window, anchors, keywords }: Detector): FarReaching[] {
  const reach = bounds.reachMax + bounds.aheadMax + (anchors.length > 0 ? 0 : window.after);
  if (reach <= reachMax || !mayHave(makeup, quote)) return [];
  const words = [...anchors, ...keywords];
  if (words.length === 0 || words.some(({ length }) => length < wordLengthMin))
    throw new RangeError(
      `detector ${id}: its matches may be so long that its words need ${wordLengthMin} letters`,
    );
  return words.map((word) => ({ word: word.toLowerCase(), reach }));
}
