import { bitCode, decodeBits, holdsText } from './bits.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';
import { byteSet } from './bytes.ts';
import { beginsCompressed } from './compression.ts';
import { findRun, runEnd, runLengthMin } from './runs.ts';

const code = bitCode(4, '0123456789abcdef', '0123456789ABCDEF');
/** Line ends, and the dots between the labels of a host name, may stand inside a value. */
const alphabet = byteSet('0123456789abcdefABCDEF\r\n.');
const textMin = 8;

/** Bytes as pairs of hexadecimal digits in either case. An odd digit may stand at either end. */
export const hex: BlockDecoder = {
  name: 'hex',
  needsRuns: true,
  *find({ bytes, runs }: EncodedText, budget: Budget): Iterable<Block> {
    let end = 0;
    for (const run of runs) {
      budget.work(run.end - run.start);
      const text = bytes.subarray(0, run.end);
      let start = findRun(text, Math.max(run.start, end), alphabet, runLengthMin);
      while (start >= 0) {
        end = runEnd(bytes, start, alphabet);
        for (let shift = 0; shift <= (end - start) % 2; shift += 1) {
          budget.work(end - start);
          const digits = bytes.subarray(start + shift, end);
          if (holdsText(digits, code, textMin) || beginsCompressed(digits, code))
            yield { start, end, bytes: decodeBits(digits, code) };
        }
        start = findRun(text, end, alphabet, runLengthMin);
      }
    }
  },
};
