import { byteSet, lowerCase, upperCase } from '../scan/bytes.ts';
import { blockFlags, stretchesOf } from '../scan/outline.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import { brokenToken, type Gap } from './broken-token.ts';
import type { Budget } from './budget.ts';
import { joinedParts } from './joined-parts.ts';
import { encodedAlphabet } from './runs.ts';

const space = 0x20;
/** Of the first part. */
const lengthMin = 14;
/** A block is told by the last byte of the first part, and the space is behind it. */
const margin = { before: 0, after: 1 };
const isLetter = byteSet(lowerCase + upperCase);
const isPrefixEnd = byteSet('_-');
const prefixLengthMin = 2;
const prefixLengthMax = 12;

const oneSpace: Gap = { partLengthMin: 6, endOf: (bytes, at) => (bytes[at] === space ? at + 1 : at) };

/** A token with a prefix (`ghp_…`, `sk-…`) that somebody has cut in two with a space. */
export const splitWords: BlockDecoder = {
  name: 'split-words',
  needs: blockFlags.word,
  *find({ bytes, outline }: EncodedText, budget: Budget): Iterable<Block> {
    let end = 0;
    for (const { from, to } of stretchesOf(outline, blockFlags.word, bytes.length, margin)) {
      for (let at = Math.max(from, end); at < to; at += 1) {
        if (bytes[at] !== space) continue;
        const start = runStart(bytes, at, end);
        budget.work(at - start);
        const isPrefixed = at - start >= lengthMin && hasPrefix(bytes, start);
        const parts = isPrefixed ? brokenToken(bytes, at, oneSpace) : undefined;
        if (!parts) continue;
        yield joinedParts(bytes, parts);
        end = parts.at(-1)?.end ?? at;
        at = end - 1;
      }
    }
  },
};

/** Where the run that ends there begins, at `from` at the earliest. */
function runStart(bytes: Buffer, end: number, from: number): number {
  let start = end;
  while (start > from && encodedAlphabet[bytes[start - 1] as number] === 1) start -= 1;
  return start;
}

function hasPrefix(bytes: Buffer, start: number): boolean {
  let at = start;
  while (at - start < prefixLengthMax && isLetter[bytes[at] ?? 0] === 1) at += 1;
  return at - start >= prefixLengthMin && isPrefixEnd[bytes[at] ?? 0] === 1;
}
