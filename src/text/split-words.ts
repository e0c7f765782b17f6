import { byteSet, lowerCase, upperCase } from '../scan/bytes.ts';
import { blockFlags, stretchesOf } from '../scan/outline.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import { brokenToken, type Gap } from './broken-token.ts';
import type { Budget } from './budget.ts';
import { joinedParts } from './joined-parts.ts';
import { encodedAlphabet, findRun, runEnd } from './runs.ts';

const space = 0x20;
/** Of the first part. */
const lengthMin = 14;
/** A stretch is told by the last byte of a run of that length. */
const margin = { before: lengthMin - 1, after: 0 };
const isLetter = byteSet(lowerCase + upperCase);
const isPrefixEnd = byteSet('_-');
const prefixLengthMin = 2;
const prefixLengthMax = 12;

const oneSpace: Gap = { partLengthMin: 6, endOf: (bytes, at) => (bytes[at] === space ? at + 1 : at) };

/** A token with a prefix (`ghp_…`, `sk-…`) that somebody has cut in two with a space. */
export const splitWords: BlockDecoder = {
  name: 'split-words',
  needs: blockFlags.token,
  *find({ bytes, outline }: EncodedText, budget: Budget): Iterable<Block> {
    let end = 0;
    for (const { from, to } of stretchesOf(outline, blockFlags.token, bytes.length, margin)) {
      let start = findRun(bytes, Math.max(from, end), encodedAlphabet, lengthMin, to);
      while (start >= 0) {
        end = runEnd(bytes, start, encodedAlphabet);
        budget.work(end - start);
        const parts = hasPrefix(bytes, start) ? brokenToken(bytes, end, oneSpace) : undefined;
        if (parts) {
          yield joinedParts(bytes, parts);
          end = parts.at(-1)?.end ?? end;
        }
        start = findRun(bytes, Math.max(from, end), encodedAlphabet, lengthMin, to);
      }
    }
  },
};

function hasPrefix(bytes: Buffer, start: number): boolean {
  let at = start;
  while (at - start < prefixLengthMax && isLetter[bytes[at] ?? 0] === 1) at += 1;
  return at - start >= prefixLengthMin && isPrefixEnd[bytes[at] ?? 0] === 1;
}
