import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';
import { byteSet, digits, lowerCase, upperCase } from './bytes.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;
/** Line lengths of a token cut into pieces; longer ones are base64 as it is usually wrapped. */
const lengthMin = 3;
const lengthMax = 40;
const linesMin = 2;
const isToken = byteSet(`${digits}${lowerCase}${upperCase}+/=-_.`);

/** A token cut into lines of one length, put together again. Told by two whole lines of one length without a space in them. */
export const splitLines: BlockDecoder = {
  name: 'split-lines',
  *find({ bytes }: EncodedText, budget: Budget): Iterable<Block> {
    let lineStart = bytes.indexOf(newline) + 1;
    while (lineStart > 0) {
      const newlineAt = bytes.indexOf(newline, lineStart);
      if (newlineAt < 0) return;
      budget.work(newlineAt + 1 - lineStart);
      const breakLength = bytes[newlineAt - 1] === carriageReturn ? 2 : 1;
      const length = newlineAt + 1 - breakLength - lineStart;
      let next = newlineAt + 1;
      if (length >= lengthMin && length <= lengthMax && isTokenSpan(bytes, lineStart, lineStart + length)) {
        let lines = 1;
        while (endsLine(bytes, next + length, breakLength) && isTokenSpan(bytes, next, next + length)) {
          next += length + breakLength;
          lines += 1;
          budget.work(length);
        }
        if (lines >= linesMin) yield join(bytes, lineStart - breakLength, next, length);
      }
      lineStart = next;
    }
  },
};

function endsLine(bytes: Buffer, at: number, breakLength: number): boolean {
  return bytes[at + breakLength - 1] === newline && (breakLength === 1 || bytes[at] === carriageReturn);
}

function isTokenSpan(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if (isToken[bytes[at] ?? 0] === 0) return false;
  }
  return true;
}

/** The whole lines from the line break at `start` to `end`, with the end of the line before and the beginning of the one behind. */
function join(bytes: Buffer, start: number, end: number, length: number): Block {
  let from = start;
  while (from > 0 && start - from < length && isToken[bytes[from - 1] ?? 0] === 1) from -= 1;
  let to = end;
  while (to < bytes.length && to - end < length && isToken[bytes[to] ?? 0] === 1) to += 1;
  return { start: from, end: to, bytes: withoutBreaks(bytes.subarray(from, to)) };
}

/** A loop, because `filter` calls a function for each byte. */
function withoutBreaks(lines: Buffer): Buffer {
  const joined = Buffer.allocUnsafe(lines.length);
  let length = 0;
  for (let at = 0; at < lines.length; at += 1) {
    const byte = lines[at] ?? 0;
    joined[length] = byte;
    if (byte !== newline && byte !== carriageReturn) length += 1;
  }
  return joined.subarray(0, length);
}
