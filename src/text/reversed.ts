import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';

const override = Buffer.from('\u202e');
const pop = Buffer.from('\u202c');
/** What is reversed at most; the rest of a longer text is left to the other views. */
const lengthMax = 65_536;

/** Text behind a right-to-left override (U+202E), as a reader sees it: backwards, up to the end of its string. */
export const reversed: BlockDecoder = {
  name: 'bidi',
  *find({ bytes }: EncodedText, budget: Budget): Iterable<Block> {
    let at = bytes.indexOf(override);
    while (at >= 0) {
      const start = at + override.length;
      const end = endOf(bytes, start);
      budget.work(end - start + override.length);
      if (end > start) yield { start, end, bytes: reverse(bytes.subarray(start, end)) };
      at = bytes.indexOf(override, Math.max(start, end));
    }
  },
};

function endOf(bytes: Buffer, start: number): number {
  const limit = Math.min(bytes.length, start + lengthMax);
  const text = bytes.subarray(start, limit);
  const ends = [text.indexOf(pop), text.indexOf(0x22)].filter((end) => end >= 0);
  return start + Math.min(text.length, ...ends);
}

function reverse(text: Buffer): Buffer {
  return Buffer.from(Array.from(text.toString('utf8')).reverse().join(''));
}
