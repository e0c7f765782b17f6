import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';
import { byteSet, digits, lowerCase, upperCase } from './bytes.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;
/** Line lengths of a token cut into pieces; longer ones are base64 as it is usually wrapped. */
const lengthMin = 3;
const lengthMax = 40;
/** Of the first of two. */
const pairLengthMin = 8;
const isToken = byteSet(`${digits}${lowerCase}${upperCase}+/=-_.`);
/** Numbers are written in groups, and addresses have an `@`. */
const isSpacedToken = byteSet(`${digits}${lowerCase}${upperCase}+/=-_. @`);
const quote = 0x22;

/**
 * A text cut into lines of one length, put together again. Told by two whole lines of one length without a space in them; where the first
 * line has that length too, by one in a string, and by two with spaces elsewhere.
 */
export const splitLines: BlockDecoder = {
  name: 'split-lines',
  *find({ bytes }: EncodedText, budget: Budget): Iterable<Block> {
    let lineStart = bytes.indexOf(newline) + 1;
    while (lineStart > 0) {
      const pair = linePair(bytes, lineStart);
      if (pair) yield pair;
      const newlineAt = bytes.indexOf(newline, lineStart);
      if (newlineAt < 0) return;
      budget.work(newlineAt + 1 - lineStart);
      const breakLength = bytes[newlineAt - 1] === carriageReturn ? 2 : 1;
      const length = newlineAt + 1 - breakLength - lineStart;
      let next = newlineAt + 1;
      if (length >= lengthMin && length <= lengthMax && isMadeOf(isSpacedToken, bytes, lineStart, length)) {
        const first = firstLine(bytes, lineStart - breakLength, length);
        const alphabet = first === undefined ? isToken : isSpacedToken;
        let lines = isMadeOf(alphabet, bytes, lineStart, length) ? 1 : 0;
        while (
          lines > 0 &&
          endsLine(bytes, next + length, breakLength) &&
          isMadeOf(alphabet, bytes, next, length)
        ) {
          next += length + breakLength;
          lines += 1;
          budget.work(length);
        }
        const linesMin = first === 'of a string' ? 1 : 2;
        if (lines >= linesMin) yield join(bytes, lineStart - breakLength, next, { length, alphabet });
      }
      lineStart = next;
    }
  },
};

/** A string of two lines, of which the first is not the shorter one. */
function linePair(bytes: Buffer, lineStart: number): Block | undefined {
  if (isToken[bytes[lineStart] ?? 0] === 0) return undefined;
  const end = lineStart - (bytes[lineStart - 2] === carriageReturn ? 2 : 1);
  let start = end;
  while (end - start <= lengthMax && isToken[bytes[start - 1] ?? 0] === 1) start -= 1;
  const length = end - start;
  if (bytes[start - 1] !== quote || length < pairLengthMin) return undefined;
  let last = lineStart;
  while (last - lineStart <= length && isToken[bytes[last] ?? 0] === 1) last += 1;
  if (bytes[last] !== quote || last === lineStart) return undefined;
  return { start, end: last, bytes: withoutBreaks(bytes.subarray(start, last)) };
}

function endsLine(bytes: Buffer, at: number, breakLength: number): boolean {
  return bytes[at + breakLength - 1] === newline && (breakLength === 1 || bytes[at] === carriageReturn);
}

/** Whether the line that ends at `end` has that length as well, and whether a string begins with it. */
function firstLine(bytes: Buffer, end: number, length: number): 'of a string' | 'of a text' | undefined {
  const start = end - length;
  if (start < 0 || !isMadeOf(isSpacedToken, bytes, start, length)) return undefined;
  if (bytes[start - 1] === quote) return 'of a string';
  return start === 0 || bytes[start - 1] === newline ? 'of a text' : undefined;
}

function isMadeOf(alphabet: Uint8Array, bytes: Buffer, start: number, length: number): boolean {
  for (let at = start; at < start + length; at += 1) {
    if (alphabet[bytes[at] ?? 0] === 0) return false;
  }
  return true;
}

/** The whole lines from the line break at `start` to `end`, with the end of the line before and the beginning of the one behind. */
function join(
  bytes: Buffer,
  start: number,
  end: number,
  { length, alphabet }: { length: number; alphabet: Uint8Array },
): Block {
  let from = start;
  while (from > 0 && start - from < length && alphabet[bytes[from - 1] ?? 0] === 1) from -= 1;
  let to = end;
  while (to < bytes.length && to - end < length && alphabet[bytes[to] ?? 0] === 1) to += 1;
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
