import { byteSet } from '../scan/bytes.ts';
import { blockFlags, stretchesOf } from '../scan/outline.ts';
import { bitCode, decodeBits, holdsText } from './bits.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';
import { findRun, runEnd } from './runs.ts';

const code = bitCode(1, '01');
/** A space or a line end may stand between the bytes. */
const alphabet = byteSet('01 \r\n');
const textMin = 8;
const runLengthMin = 8 * textMin;
const margin = { before: runLengthMin, after: runLengthMin };

/** Bytes as eight binary digits each: `0111001101101011`, `01110011 01101011`. */
export const binaryDigits: BlockDecoder = {
  name: 'binary-digits',
  needs: blockFlags.digit,
  *find({ bytes, outline }: EncodedText, budget: Budget): Iterable<Block> {
    let end = 0;
    for (const { from, to } of stretchesOf(outline, blockFlags.digit, bytes.length, margin)) {
      let start = findRun(bytes, Math.max(from, end), alphabet, runLengthMin, to);
      while (start >= 0) {
        end = runEnd(bytes, start, alphabet);
        budget.work(2 * (end - start));
        const first = firstDigit(bytes, start, end);
        if (holdsText(bytes, { start: first, end }, code, textMin))
          yield { start: first, end, bytes: decodeBits(bytes.subarray(first, end), code) };
        start = findRun(bytes, Math.max(from, end), alphabet, runLengthMin, to);
      }
    }
  },
};

function firstDigit(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && code.values[bytes[at] as number] === 255) at += 1;
  return at;
}
