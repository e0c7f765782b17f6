import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { lineBreakEnd } from '../runs.ts';

const begin = Buffer.from('begin ');
const newline = 0x0a;
const carriageReturn = 0x0d;
const backquote = 0x60;
const space = 0x20;
const headBytesMax = 280;
/** The bits that a character stands for: six. A line stands for at most 63 bytes. */
const sixBits = 0x3f;
const lineBytesMax = 63;

/** Decodes the lines between `begin 644 name` and `end` (POSIX, uuencode). */
export const uuencode: BlockDecoder = {
  name: 'uuencode',
  signs: textFlags.uuencode,
  mayHold: ({ outline }) => (outline.flags & textFlags.uuencode) !== 0,
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let at = bytes.indexOf(begin);
    while (at >= 0) {
      const head = bytes.toString('latin1', at + begin.length, at + headBytesMax);
      const start = /^[0-7]{3,4} [^\r\n]+\r?\n/.exec(head)?.[0].length ?? 0;
      const content = start > 0 ? read(bytes, at + begin.length + start, budget) : undefined;
      if (content && content.bytes.length > 0) yield { ...content, isOne: true };
      budget.work(headBytesMax);
      at = bytes.indexOf(begin, content?.end ?? at + begin.length);
    }
  },
};

/** Decodes lines from `start` on, as long as each has the length that its first character says. */
function read(bytes: Buffer, start: number, budget: DecodeBudget): Block {
  const parts: Buffer[] = [];
  let end = start;
  for (let at = start; at < bytes.length; ) {
    const count = ((bytes[at] as number) - space) & sixBits;
    const lineEnd = endOfLine(bytes, at + 1, at + 2 + 4 * Math.ceil(lineBytesMax / 3));
    if (count === 0 || lineEnd - at - 1 < Math.ceil((4 * count) / 3)) break;
    parts.push(decode(bytes.subarray(at + 1, lineEnd)).subarray(0, count));
    budget.work(lineEnd - at);
    end = lineEnd;
    at = lineBreakEnd(bytes, lineEnd);
    if (at === lineEnd) break;
  }
  return { start, end, bytes: Buffer.concat(parts) };
}

function endOfLine(bytes: Buffer, start: number, limit: number): number {
  let at = start;
  while (at < limit && at < bytes.length && isOfLine(bytes[at] as number)) at += 1;
  return at;
}

const isOfLine = (byte: number): boolean =>
  byte !== newline && byte !== carriageReturn && byte >= space && byte <= backquote;

function decode(line: Buffer): Buffer {
  const decoded = Buffer.alloc(3 * Math.ceil(line.length / 4));
  for (let at = 0, length = 0; at < line.length; at += 4, length += 3) {
    let bits = 0;
    for (let next = at; next < at + 4; next += 1)
      bits = (bits << 6) | (((line[next] ?? backquote) - space) & sixBits);
    decoded.writeUIntBE(bits & 0xff_ffff, length, 3);
  }
  return decoded;
}
