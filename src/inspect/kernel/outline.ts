import { isDigit } from './bytes.ts';
import { blocksAt, Kernel, pieceBytesMax, tablesAt } from './kernel.ts';

/*
 * What a text consists of, told by one quick look at all of it: whether there are digits, long tokens, escapes, and in which blocks of 64
 * bytes. Nearly all of a text has nothing of what a reader looks for, and is not gone through again for each of them.
 */

export const blockBytes = 64;

/** What a block has; what a longer thing ends in has it too. The same numbers as in `src/inspect/kernel/assembly/outline.ts`. */
export const blockFlags = {
  digit: 1,
  /** Eight bytes in a row that are digits, or a ` `, `-` or `.` behind one. */
  number: 2,
  /** Twenty of letters, digits and `+/-_`. */
  encoded: 8,
  /**
   * Equal bytes: eight of them 2 bytes apart, seven 3, five 4; near a digit also four 5 or 9 bytes apart. They are neither letters nor
   * digits, and none stands between two of them.
   */
  rhythm: 16,
} as const;

/** What a text has somewhere. */
export const textFlags = {
  ...blockFlags,
  plus: 1 << 12,
  at: 1 << 13,
  parenthesis: 1 << 14,
  nonAscii: 1 << 15,
  /** U+202E */
  override: 1 << 16,
  /** `<![CDATA[` */
  cdata: 1 << 17,
  /** `eyJ` with four dots behind it, as a JWE has them. */
  encrypted: 1 << 21,
  /** `-----BEGI` */
  armour: 1 << 22,
  /** `transfer-enco` in either case */
  transferField: 1 << 23,
  /** `<td` or `<th` */
  cell: 1 << 24,
  /** `values (` */
  values: 1 << 25,
  /** Twice `=` before two hexadecimal digits or a line end, at most 32 bytes apart and in one word. */
  quotedWord: 1 << 26,
  /** `[` before another one, or white space between them. */
  grid: 1 << 27,
  /** `value"` or `values"` */
  valueName: 1 << 28,
} as const;

/** Of every text, even of an empty one. */
export const anyFlag = 1 << 30;

/** What a run may be: text or packed bytes in base64, and anything in other codes. The same numbers as in `src/inspect/kernel/assembly/runs.ts`. */
export const runKinds = { text: 1, packed: 2, hex: 4, base32: 8 } as const;
/** Bits of a number in `runs` that tell the kinds; the others tell where it begins. */
export const runKindBits = 4;

/**
 * Where something may be found, from left to right. Other places need not be looked at; most of these hold nothing either. In the order
 * of `src/inspect/kernel/assembly/places.ts`.
 */
export interface Places {
  /** Where runs of letters, digits and `+/-_` begin, of twenty or more, with their kinds. */
  readonly runs: Int32Array;
  /** Signs that may begin an escape. */
  readonly escapes: Int32Array;
  /** Line ends in which a token may be cut. */
  readonly cuts: Int32Array;
  /** Line ends of what may be the header of a table. */
  readonly headers: Int32Array;
  /** `<` between characters of a token. */
  readonly seams: Int32Array;
  /** Where runs begin that may be bytes as numbers. */
  readonly codes: Int32Array;
  /**
   * The third of three equal signs, ` -./:` or newlines, 5 to 48 bytes apart, or the fifth of five 4 bytes apart, with what tokens have
   * between them; near a digit.
   */
  readonly groups: Int32Array;
}

export interface Outline {
  /** Of `textFlags`. */
  readonly flags: number;
  /** Of `blockFlags`, eight bits for each block of the text, four blocks in each number: the first of them in its lowest bits. */
  readonly blocks: Int32Array;
  /** The places of the numbers in `blocks` that are not 0, in order. Prose has few of them. */
  readonly marked: readonly number[];
  readonly places: Places;
}

/** Looked at in one step where most have nothing. */
const blocksPerWord = 4;
const wordOf = (block: number): number => block >> 2;
const bitsPerBlock = 8;

/** The same numbers as in `src/inspect/kernel/assembly`. */
const knownBytes = 2560;
const listsAt = tablesAt + knownBytes;
const listBytes = 4 * (pieceBytesMax + 1);
const listsCount = 7;
const kernel = new Kernel(knownBytes + listsCount * listBytes);
/** A block is judged with those before and behind it, so each piece begins with the last ones of the piece before. */
const stepBytes = pieceBytesMax - 1024;
const nowhere = new Int32Array(0);
const groupsList = 6;
const placeMax = 2 ** 31 - 1;

const shiftOf = (block: number): number => (block % blocksPerWord) * bitsPerBlock;

/** Reads the text once. */
export function outlineOf(bytes: Uint8Array): Outline {
  const { length } = bytes;
  const blocks = new Int32Array(Math.ceil(length / (blockBytes * blocksPerWord)));
  const marked: number[] = [];
  let flags = anyFlag;
  for (let from = 0; from < length; from += stepBytes) {
    const end = Math.min(length, from + pieceBytesMax);
    kernel.take(end - from === length ? bytes : bytes.subarray(from, end));
    flags |= kernel.exports.outline(end - from);
    for (let list = 0; list < listsCount; list++)
      (lists[list] as PlaceList).add(list, list === 0 ? from << runKindBits : from);
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
  return { flags, blocks, marked, places: takePlaces() };
}

/** Places from left to right, of one piece after the other. */
class PlaceList {
  #places: Int32Array = nowhere;
  #length = 0;

  /** Adds what stands in the kernel's memory. Where two pieces meet, both tell of a place. */
  add(list: number, base: number): void {
    const at = listsAt + list * listBytes;
    const count = kernel.view.getInt32(at, true);
    if (count === 0) return;
    const some = kernel.numbers(at + 4, count);
    for (let i = 0; base > 0 && i < count; i++) some[i] = (some[i] as number) + base;
    // Spaces are gone through apart from the other signs.
    if (list === groupsList) some.sort();
    if (this.#length === 0) {
      this.#places = some;
      this.#length = count;
      return;
    }
    let from = this.#length;
    while (from > 0 && (this.#places[from - 1] as number) >= (some[0] as number)) from--;
    const tail = this.#places.slice(from, this.#length);
    this.#reserve(count);
    this.#length = from;
    for (let one = 0, other = 0; one < tail.length || other < count; ) {
      const mine = tail[one] ?? placeMax;
      const its = some[other] ?? placeMax;
      this.#places[this.#length++] = Math.min(mine, its);
      if (mine <= its) one++;
      if (its <= mine) other++;
    }
  }

  /** All that were added; the list is empty then. */
  take(): Int32Array {
    const places = this.#places;
    const length = this.#length;
    this.#places = nowhere;
    this.#length = 0;
    return length === places.length ? places : places.subarray(0, length);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#places.length) return;
    const larger = new Int32Array(2 * (this.#length + count));
    larger.set(this.#places);
    this.#places = larger;
  }
}

/** Of one text after the other. */
const lists = Array.from({ length: listsCount }, () => new PlaceList());

function takePlaces(): Places {
  const take = (list: number): Int32Array => (lists[list] as PlaceList).take();
  return {
    runs: take(0),
    escapes: take(1),
    cuts: take(2),
    headers: take(3),
    seams: take(4),
    codes: take(5),
    groups: take(groupsList),
  };
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
