import { isDigit } from './bytes.ts';
import { blocksAt, Kernel, pieceBytesMax, tablesAt } from './kernel.ts';

/*
 * What a text consists of, told by one quick look at all of it: whether there are digits, long tokens, escapes, and in which blocks of 64
 * bytes. Nearly all of a text has nothing of what a reader looks for, and is not gone through again for each of them.
 */

export const blockBytes = 64;

/** What a block has; what a longer thing ends in has it too. The same numbers as in `src/scan/kernel/outline.ts`. */
export const blockFlags = {
  digit: 1,
  /** Eight bytes in a row that are digits, or a ` `, `-` or `.` behind one. */
  number: 2,
  /** Fourteen of letters, digits and `+/-_=.~:`. */
  token: 4,
  /** Twenty of letters, digits and `+/-_`. */
  encoded: 8,
  /**
   * Equal bytes: eight of them 2 bytes apart, seven 3, five 4; near a digit also four 5 or 9 bytes apart. They are neither letters nor
   * digits, and not fifteen in a row.
   */
  rhythm: 16,
  /**
   * The third of three equal signs, ` -./:` or newlines, 5 to 48 bytes apart, or the fifth of five 4 bytes apart, with what tokens have
   * between them; near a digit.
   */
  wide: 64,
  /** A backslash, `%`, `&`, a zero byte, an escape character, or a byte that is not ASCII. */
  escaped: 128,
} as const;

/** What a text has somewhere. */
export const textFlags = {
  ...blockFlags,
  backslash: 1 << 8,
  percent: 1 << 9,
  ampersand: 1 << 10,
  nul: 1 << 11,
  plus: 1 << 12,
  at: 1 << 13,
  parenthesis: 1 << 14,
  nonAscii: 1 << 15,
  newline: 1 << 16,
  escape: 1 << 17,
  lessThan: 1 << 18,
  equals: 1 << 19,
  bracket: 1 << 20,
  /** `eyJ` */
  jsonToken: 1 << 21,
  /** `-----BEGI` */
  armour: 1 << 22,
  /** `transfer-enco` in either case */
  transferField: 1 << 23,
  /** `=` before two hexadecimal digits or a line end. */
  quoted: 1 << 25,
  /** Two of them, at most 32 bytes apart. */
  quotedWord: 1 << 26,
  /** `[` before another one, or white space between them. */
  grid: 1 << 27,
  /** Of `encodedTexts` some. */
  encodedText: 1 << 28,
} as const;

/** Of every text, even of an empty one. */
export const anyFlag = 1 << 30;

export interface Outline {
  /** Of `textFlags`. */
  readonly flags: number;
  /** Of `blockFlags`, eight bits for each block of the text, four blocks in each number: the first of them in its lowest bits. */
  readonly blocks: Int32Array;
  /** The places of the numbers in `blocks` that are not 0, in order. Prose has few of them. */
  readonly marked: readonly number[];
  /** A bit for each byte of the text that is a newline, the first in the lowest bit; empty where there is none. */
  readonly breaks: Int32Array;
  /** The same of bytes that end twenty or more of letters, digits and `+/-_` which may stand for text in base64, or are many. */
  readonly encodedTexts: Int32Array;
}

/** Looked at in one step where most have nothing. */
const blocksPerWord = 4;
const wordOf = (block: number): number => block >> 2;
const bitsPerBlock = 8;

/** The same number as in `src/scan/kernel/memory.ts`. */
const breaksAt = tablesAt;
const bitmapBytes = pieceBytesMax / 8;
const encodedTextsAt = breaksAt + bitmapBytes;
const bitsPerWord = 32;
const tableBytes = 2048;
const kernel = new Kernel(2 * bitmapBytes + tableBytes);
/** A block is judged with those before and behind it, so each piece begins with the last ones of the piece before. */
const stepBytes = pieceBytesMax - 1024;
const noBits = new Int32Array(0);

const shiftOf = (block: number): number => (block % blocksPerWord) * bitsPerBlock;

/** Reads the text once. */
export function outlineOf(bytes: Uint8Array): Outline {
  const { length } = bytes;
  const blocks = new Int32Array(Math.ceil(length / (blockBytes * blocksPerWord)));
  const marked: number[] = [];
  let breaks: Int32Array = noBits;
  let encodedTexts: Int32Array = noBits;
  let flags = anyFlag;
  for (let from = 0; from < length; from += stepBytes) {
    const end = Math.min(length, from + pieceBytesMax);
    kernel.take(end - from === length ? bytes : bytes.subarray(from, end));
    const seen = kernel.exports.outline(end - from);
    flags |= seen;
    if ((seen & textFlags.newline) !== 0) breaks = withBits(breaks, breaksAt, { from, end, length });
    if ((seen & textFlags.encodedText) !== 0)
      encodedTexts = withBits(encodedTexts, encodedTextsAt, { from, end, length });
    const first = from / (blockBytes * blocksPerWord);
    const count = Math.ceil((end - from) / blockBytes);
    for (let block = 0, word = first; block < count; block += blocksPerWord, word++) {
      const four = kernel.view.getInt32(blocksAt + block, true);
      const rest = count - block;
      const some = rest < blocksPerWord ? four & ~(-1 << shiftOf(rest)) : four;
      if (some === 0) continue;
      // Where two pieces meet, both have something to say of a block.
      if (blocks[word] === 0) marked.push(word);
      blocks[word] = (blocks[word] as number) | some;
    }
    if (end === length) break;
  }
  return { flags, blocks, marked, breaks, encodedTexts };
}

/** The bits of a text with those of a piece of it, as they stand in the kernel's memory. */
function withBits(
  bits: Int32Array,
  at: number,
  { from, end, length }: { from: number; end: number; length: number },
): Int32Array {
  const all = bits === noBits ? new Int32Array(Math.ceil(length / bitsPerWord)) : bits;
  const some = kernel.numbers(at, Math.ceil((end - from) / bitsPerWord));
  const first = from / bitsPerWord;
  if (from === 0) all.set(some);
  // Of a run that begins in the piece before only that one knows.
  else
    for (let word = 0; word < some.length; word++)
      all[first + word] = (all[first + word] as number) | (some[word] as number);
  return all;
}

/** Whether the run that ends behind this byte may stand for text. */
export const mayBeText = ({ encodedTexts }: Outline, at: number): boolean =>
  (((encodedTexts[at >>> 5] ?? 0) >>> (at & 31)) & 1) === 1;

/** The next newline from `from` on, or -1. */
export function nextBreak({ breaks }: Outline, from: number): number {
  const { length } = breaks;
  let word = from >>> 5;
  if (word >= length) return -1;
  let bits = (breaks[word] as number) & (-1 << (from & 31));
  while (bits === 0) {
    word += 1;
    if (word >= length) return -1;
    bits = breaks[word] as number;
  }
  return word * bitsPerWord + 31 - Math.clz32(bits & -bits);
}

/** Bytes of a text: the first, and the one behind them. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** How far a stretch reaches over its blocks, in bytes. */
export interface Margin {
  readonly before: number;
  readonly after: number;
}

const none: readonly Stretch[] = Object.freeze([]);

/** The stretches of a text of `length` bytes whose blocks have the flag, from left to right; they do not overlap. */
export function stretchesOf(
  { flags, blocks, marked }: Outline,
  flag: number,
  length: number,
  { before, after }: Margin,
): readonly Stretch[] {
  if ((flags & flag) === 0) return none;
  const stretches: Stretch[] = [];
  const anyOfWord = flag * 0x01010101;
  let from = 0;
  let to = -1;
  for (const word of marked) {
    let rest = (blocks[word] as number) & anyOfWord;
    for (let block = word * blocksPerWord; rest !== 0; block++, rest >>>= bitsPerBlock) {
      if ((rest & flag) === 0) continue;
      const start = block * blockBytes - before;
      if (start > to) {
        if (to > from) stretches.push({ from, to });
        from = Math.max(0, start);
      }
      to = Math.min(length, (block + 1) * blockBytes + after);
    }
  }
  stretches.push({ from, to });
  return stretches;
}

/** The next digit from `from` on and before `to`; `to` where there is none. */
export function nextDigit(bytes: Uint8Array, { blocks }: Outline, from: number, to: number): number {
  let at = from;
  while (at < to) {
    const block = (at / blockBytes) | 0;
    const end = (block + 1) * blockBytes;
    if ((((blocks[wordOf(block)] as number) >> shiftOf(block)) & blockFlags.digit) !== 0)
      for (const stop = Math.min(end, to); at < stop; at++) if (isDigit(bytes[at])) return at;
    at = end;
  }
  return to;
}
