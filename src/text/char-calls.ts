import { byteSet, digits } from '../scan/bytes.ts';
import { blockFlags, stretchesOf, textFlags } from '../scan/outline.ts';
import { isTextByte } from './bits.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';

/** `chr(103)`, as scripts and queries write one character: Python, PHP, Perl, Visual Basic, SQL, JavaScript. */
const call =
  /(?:(?:\bString\.)?\b(?:fromCharCode|fromCodePoint)|\b(?:uni)?chr[bw]?\$?|\bn?char) ?\( ?(?:(\d{2,3})|0x([0-9a-f]{2})) ?\)/gi;
const needed = textFlags.parenthesis | textFlags.digit;
const parenthesis = 0x28;
const endsName = byteSet('rRbBwWeEtT$ ');
const beginsCode = byteSet(`${digits} `);
const margin = { before: 2, after: 0 };
const codesMin = 8;
/** Between two calls: `+`, `.`, `||`, `&`, `,`, or `; s +=`. */
const gapBytesMax = 16;

/** A text put together of calls which make one character each: `chr(103)+chr(104)+…`. */
export const charCalls: BlockDecoder = {
  name: 'char-calls',
  needs: textFlags.parenthesis,
  *find(text: EncodedText, budget: Budget): Iterable<Block> {
    const { bytes, outline } = text;
    if ((outline.flags & needed) !== needed || !mayHold(text)) return;
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

/** Whether there are parentheses for enough calls. A call needs its digits near: a look at the blocks with one is enough. */
function mayHold({ bytes, outline }: EncodedText): boolean {
  let count = 0;
  for (const { from, to } of stretchesOf(outline, blockFlags.digit, bytes.length, margin)) {
    for (let at = from; at < to; at += 1) {
      if (
        bytes[at] === parenthesis &&
        endsName[bytes[at - 1] ?? 0] === 1 &&
        beginsCode[bytes[at + 1] ?? 0] === 1
      )
        count += 1;
    }
    if (count >= codesMin) return true;
  }
  return false;
}
