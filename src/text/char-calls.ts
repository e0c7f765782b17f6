import { textFlags } from '../scan/outline.ts';
import { isTextByte } from './bits.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';

/** `chr(103)`, as scripts and queries write one character: Python, PHP, Perl, Visual Basic, SQL, JavaScript. */
const call =
  /(?:(?:\bString\.)?\b(?:fromCharCode|fromCodePoint)|\b(?:uni)?chr[bw]?\$?|\bn?char) ?\( ?(?:(\d{2,3})|0x([0-9a-f]{2})) ?\)/gi;
const codesMin = 8;
/** Between two calls: `+`, `.`, `||`, `&`, `,`, or `; s +=`. */
const gapBytesMax = 16;

/** A text put together of calls which make one character each: `chr(103)+chr(104)+…`. */
export const charCalls: BlockDecoder = {
  name: 'char-calls',
  needs: textFlags.charCalls,
  *find({ bytes }: EncodedText, budget: Budget): Iterable<Block> {
    let codes: number[] = [];
    let start = 0;
    let end = 0;
    budget.work(bytes.length);
    for (const found of bytes.toString('latin1').matchAll(call)) {
      budget.work(found[0].length);
      const code = found[2] === undefined ? Number(found[1]) : Number.parseInt(found[2], 16);
      const isNext = codes.length > 0 && found.index - end <= gapBytesMax && isTextByte[code] === 1;
      if (!isNext) {
        if (codes.length >= codesMin) yield { start, end, bytes: Buffer.from(codes) };
        codes = [];
        start = found.index;
      }
      if (isTextByte[code] === 1) codes.push(code);
      end = found.index + found[0].length;
    }
    if (codes.length >= codesMin) yield { start, end, bytes: Buffer.from(codes) };
  },
};
