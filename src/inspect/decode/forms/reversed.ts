import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { searchForwards } from './search-forwards.ts';

const override = Buffer.from('\u202e');
const pop = Buffer.from('\u202c');
const quote = Buffer.from('"');
/** Bound on the bytes that are reversed; the rest of a longer text is left to the other views. */
const lengthMax = 65_536;

/**
 * Decodes text behind a right-to-left override (U+202E) as a reader sees it: backwards, up to the end of its
 * string.
 */
export const reversed: BlockDecoder = {
  name: 'bidi',
  signs: textFlags.override,
  mayHold: ({ outline }) => (outline.flags & textFlags.override) !== 0,
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    const nextPop = searchForwards(bytes, pop, budget);
    const nextQuote = searchForwards(bytes, quote, budget);
    let at = bytes.indexOf(override);
    while (at >= 0) {
      const start = at + override.length;
      const end = Math.min(bytes.length, start + lengthMax, nextPop(start), nextQuote(start));
      budget.work(end - at);
      if (end > start) yield { start, end, bytes: reverse(bytes.subarray(start, end)) };
      at = bytes.indexOf(override, end);
    }
  },
};

function reverse(text: Buffer): Buffer {
  return Buffer.from(Array.from(text.toString('utf8')).reverse().join(''));
}
