import { bitCode, decodeBits, holdsText } from './bits.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';
import { byteSet, lowerCase, upperCase } from './bytes.ts';
import { findRun, runEnd } from './runs.ts';

const code = bitCode(5, `${upperCase}234567`, `${lowerCase}234567`);
/** Line ends, and the dots between the labels of a host name, may stand inside a value. */
const alphabets = [byteSet(`${upperCase}234567\r\n.`), byteSet(`${lowerCase}234567\r\n.`)];
const lengthMin = 24;
const textMin = 12;

/** base32 (RFC 4648) in one case throughout, as it also fits into host names. */
export const base32: BlockDecoder = {
  name: 'base32',
  needsRuns: true,
  *find({ bytes, runs }: EncodedText, budget: Budget): Iterable<Block> {
    for (const alphabet of alphabets) {
      let end = 0;
      for (const run of runs) {
        budget.work(run.end - run.start);
        const text = bytes.subarray(0, run.end);
        let start = findRun(text, Math.max(run.start, end), alphabet, lengthMin);
        while (start >= 0) {
          end = runEnd(bytes, start, alphabet);
          budget.work(end - start);
          const characters = bytes.subarray(start, end);
          if (holdsText(characters, code, textMin)) yield { start, end, bytes: decodeBits(characters, code) };
          start = findRun(text, end, alphabet, lengthMin);
        }
      }
    }
  },
};
