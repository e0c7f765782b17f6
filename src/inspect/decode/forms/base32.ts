import { byteSet, digits, lowerCase, upperCase } from '../../kernel/bytes.ts';
import { runKinds } from '../../kernel/outline.ts';
import { type BitCode, bitCode, decodeBits, holdsText } from '../bits.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { isCompressedStart, mayInflateUnmarked } from '../packed/compression.ts';
import { findRun, runEnd } from '../runs.ts';

/** The alphabets of RFC 4648, 6 and 7. */
export const base32Code = bitCode(5, `${upperCase}234567`, `${lowerCase}234567`);
export const base32HexCode = bitCode(
  5,
  `${digits}${upperCase.slice(0, 22)}`,
  `${digits}${lowerCase.slice(0, 22)}`,
);
/** Characters that may stand inside a value: line ends, and the dots between labels of a host name. */
const inside = '\r\n.';
const alphabets = [
  { code: base32Code, has: byteSet(`${upperCase}234567${inside}`) },
  { code: base32Code, has: byteSet(`${lowerCase}234567${inside}`) },
  { code: base32HexCode, has: byteSet(`${digits}${upperCase.slice(0, 22)}${inside}`) },
  { code: base32HexCode, has: byteSet(`${digits}${lowerCase.slice(0, 22)}${inside}`) },
];
const lengthMin = 24;
const textMin = 12;

/** Decodes base32 and base32hex (RFC 4648, 6 and 7) in one case throughout, which fits host names, too. */
export const base32: BlockDecoder = {
  name: 'base32',
  mayHold: (text) => (text.runKinds & runKinds.base32) !== 0,
  *find({ bytes, runs: all }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    const runs = all.filter(({ kinds }) => (kinds & runKinds.base32) !== 0);
    for (const { code, has } of alphabets) {
      let end = 0;
      for (const run of runs) {
        budget.work(run.end - run.start);
        let start = findRun(bytes, Math.max(run.start, end), has, lengthMin, run.end);
        while (start >= 0) {
          end = runEnd(bytes, start, has);
          budget.work(end - start);
          const characters = bytes.subarray(start, end);
          if (isEncoded(characters, code)) yield { start, end, bytes: decodeBits(characters, code) };
          else if (mayInflateUnmarked(characters, { start: 0, end: characters.length }, code))
            yield { start, end, bytes: decodeBits(characters, code), isGuess: true };
          start = findRun(bytes, end, has, lengthMin, run.end);
        }
      }
    }
  },
};

const isEncoded = (run: Buffer, code: BitCode): boolean =>
  holdsText(run, { start: 0, end: run.length }, code, textMin) ||
  isCompressedStart(run, { start: 0, end: run.length }, code);
