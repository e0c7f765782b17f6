import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import { byteSet, digits, lowerCase, upperCase } from './bytes.ts';

const newline = 0x0a;
/** Line lengths of a token cut into pieces; longer ones are base64 as it is usually wrapped. */
const lengthMin = 3;
const lengthMax = 40;
const linesMin = 2;
const isToken = byteSet(`${digits}${lowerCase}${upperCase}+/=-_.`);

/** A token cut into lines of one length, put together again. Told by two whole lines of one length without a space in them. */
export const splitLines: BlockDecoder = {
  name: 'split-lines',
  *find({ bytes }: EncodedText): Iterable<Block> {
    let lineStart = bytes.indexOf(newline) + 1;
    while (lineStart > 0) {
      const lineEnd = bytes.indexOf(newline, lineStart);
      if (lineEnd < 0) return;
      const length = lineEnd - lineStart;
      let next = lineEnd + 1;
      if (length >= lengthMin && length <= lengthMax && isTokenSpan(bytes, lineStart, lineEnd)) {
        let lines = 1;
        while (bytes[next + length] === newline && isTokenSpan(bytes, next, next + length)) {
          next += length + 1;
          lines += 1;
        }
        if (lines >= linesMin) yield join(bytes, lineStart, next, length);
      }
      lineStart = next;
    }
  },
};

function isTokenSpan(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if (isToken[bytes[at] ?? 0] === 0) return false;
  }
  return true;
}

/** The whole lines from `start` to `end`, with the end of the line before and the beginning of the one behind. */
function join(bytes: Buffer, start: number, end: number, length: number): Block {
  let from = start - 1;
  while (from > 0 && start - 1 - from < length && isToken[bytes[from - 1] ?? 0] === 1) from -= 1;
  let to = end;
  while (to < bytes.length && to - end < length && isToken[bytes[to] ?? 0] === 1) to += 1;
  return {
    start: from,
    end: to,
    bytes: Buffer.from(bytes.subarray(from, to).filter((byte) => byte !== newline)),
  };
}
