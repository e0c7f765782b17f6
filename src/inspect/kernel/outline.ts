import { isDigit } from './bytes.ts';
import { blocksAt, Kernel, pieceBytesMax, tablesAt } from './kernel.ts';

/*
 * Outlines a text in one quick pass. It tells whether the text has digits, long tokens or escapes, and in
 * which blocks of 64 bytes. Nearly all of a text has nothing that a decoder looks for, and need not be walked
 * for each decoder.
 */

export const blockBytes = 64;

/**
 * Flags of a block for what stands in it, or ends in it. The numbers are those of
 * `src/inspect/kernel/assembly/outline.ts`.
 */
export const blockFlags = {
  digit: 1,
  /** Eight bytes in a row that are digits, or a ` `, `-` or `.` behind one. */
  number: 2,
  /** Twenty letters, digits and `+/-_` in a row. */
  encoded: 8,
  /**
   * Equal signs that are no letters or digits, with no such sign between two of them. It takes eight that are
   * 2 bytes apart, seven that are 3, or five that are 4. Near a digit, four that are 5 or 9 bytes apart
   * suffice.
   */
  rhythm: 16,
} as const;

/** Flags of a text for what stands somewhere in it. */
export const textFlags = {
  ...blockFlags,
  /** A place of `seams`. */
  seams: 1 << 8,
  plus: 1 << 12,
  at: 1 << 13,
  parenthesis: 1 << 14,
  nonAscii: 1 << 15,
  /** Right-to-left override, U+202E. */
  override: 1 << 16,
  /** `<![CDATA[`. */
  cdata: 1 << 17,
  /** `?=`, white space and `=?`, as between two encoded words (RFC 2047). */
  encodedWords: 1 << 18,
  /** `*0=` or `*0*=`, as at the first piece of a parameter (RFC 2231). */
  parameterPieces: 1 << 19,
  /** `<~`, as before Ascii85. */
  ascii85: 1 << 20,
  /** `eyJ` with four dots behind it, as a JWE has. */
  encrypted: 1 << 21,
  /** `-----BEGI`. */
  armour: 1 << 22,
  /** `transfer-enco`, in either case. */
  transferField: 1 << 23,
  /** `<td` or `<th`. */
  cell: 1 << 24,
  /** `values (`, in either case. */
  values: 1 << 25,
  /** Two `=` at most 32 bytes apart and in one word, each before two hexadecimal digits or a line end. */
  quotedWord: 1 << 26,
  /** `[` before another one, perhaps with white space between them. */
  grid: 1 << 27,
  /** `value"` or `values"`. */
  valueName: 1 << 28,
  /** `end` behind a line of at most one character, as behind uuencoded content. */
  uuencode: 1 << 29,
} as const;

/** The flag of every text, even of an empty one. */
export const anyFlag = 1 << 30;

/**
 * The kinds of a run: text or packed bytes in base64, and anything in other codes. The numbers are those of
 * `src/inspect/kernel/assembly/runs.ts`.
 */
export const runKinds = { text: 1, packed: 2, hex: 4, base32: 8 } as const;
/** The number of bits in an entry of `runs` that are its kinds; the others are its start. */
export const runKindBits = 4;

/**
 * Places where something may be found, from left to right. The lists are in the order of
 * `src/inspect/kernel/assembly/places.ts`. Most of these places have nothing; other places need no look.
 */
export interface Places {
  /** The starts of runs of twenty or more letters, digits and `+/-_`, with their kinds. */
  readonly runs: Int32Array;
  /** Signs that may begin an escape. */
  readonly escapes: Int32Array;
  /** Line ends at which a token may be cut. */
  readonly cuts: Int32Array;
  /** Line ends of what may be a table header. */
  readonly headers: Int32Array;
  /** `<` between characters of a token. */
  readonly markup: Int32Array;
  /** The starts of runs that may be bytes written as numbers. */
  readonly codes: Int32Array;
  /**
   * Signs of groups near a digit. Equal signs (space, `-./:` or newline) stand in a row, with token
   * characters between them. Each listed sign is the last of three that are 5 to 48 bytes apart, or of five
   * that are 4 bytes apart.
   */
  readonly groups: Int32Array;
  /** Closing quotes of literals that another literal may continue. */
  readonly seams: Int32Array;
}

export interface Outline {
  /** Flags of the text, of `textFlags`. */
  readonly flags: number;
  /**
   * Flags of the blocks, of `blockFlags`: eight bits for each block and four blocks in each number, the first
   * in its lowest bits.
   */
  readonly blocks: Int32Array;
  /** Indices of the numbers in `blocks` that are not 0, in ascending order. Prose has few. */
  readonly marked: readonly number[];
  readonly places: Places;
}

/** The number of blocks looked at in one step, since most have nothing. */
const blocksPerWord = 4;
const wordOf = (block: number): number => block >> 2;
const bitsPerBlock = 8;

/** These addresses are those of `src/inspect/kernel/assembly`. */
const knownBytes = 2560;
const listsAt = tablesAt + knownBytes;
const listBytes = 4 * (pieceBytesMax + 1);
const listsCount = 8;
/** The number of lists that most texts have something in. */
const usualLists = 7;
const kernel = new Kernel(knownBytes + listsCount * listBytes);
/**
 * The distance from piece to piece, in bytes. A block is judged with its neighbours, so each piece begins
 * with the last blocks of the one before.
 */
const stepBytes = pieceBytesMax - 1024;
const nowhere = new Int32Array(0);
const groupsList = 6;
const seamsList = 7;
const placeMax = 2 ** 31 - 1;

const shiftOf = (block: number): number => (block % blocksPerWord) * bitsPerBlock;

/** Returns the outline of a text, which is read once. */
export function outlineOf(bytes: Uint8Array): Outline {
  const { length } = bytes;
  const blocks = new Int32Array(Math.ceil(length / (blockBytes * blocksPerWord)));
  const marked: number[] = [];
  let flags = anyFlag;
  for (let from = 0; from < length; from += stepBytes) {
    const end = Math.min(length, from + pieceBytesMax);
    kernel.take(end - from === length ? bytes : bytes.subarray(from, end));
    const some = kernel.exports.outline(end - from);
    flags |= some;
    for (let list = 0; list < usualLists; list++)
      (lists[list] as PlaceList).add(list, list === 0 ? from << runKindBits : from);
    if ((some & textFlags.seams) !== 0) (lists[seamsList] as PlaceList).add(seamsList, from);
    const first = from / (blockBytes * blocksPerWord);
    const count = Math.ceil((end - from) / blockBytes);
    for (let block = 0, word = first; block < count; block += blocksPerWord, word++) {
      const four = kernel.view.getInt32(blocksAt + block, true);
      const rest = count - block;
      const some = rest < blocksPerWord ? four & ~(-1 << shiftOf(rest)) : four;
      if (some === 0) continue;
      // Both pieces report on a block where they meet.
      if (blocks[word] === 0) marked.push(word);
      blocks[word] = (blocks[word] as number) | some;
    }
    if (end === length) break;
  }
  return { flags, blocks, marked, places: takePlaces(flags) };
}

/** Collects places from left to right, piece by piece. */
class PlaceList {
  #places: Int32Array = nowhere;
  #length = 0;

  /**
   * Adds a list from the kernel's memory. Where two pieces meet, both report the same places, which are added
   * once.
   */
  add(list: number, base: number): void {
    const at = listsAt + list * listBytes;
    const count = kernel.view.getInt32(at, true);
    if (count === 0) return;
    const some = kernel.numbers(at + 4, count);
    for (let i = 0; base > 0 && i < count; i++) some[i] = (some[i] as number) + base;
    // The kernel lists spaces apart from other signs.
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

  /** Returns all added places and empties the list. */
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

/** The lists of the text that is being outlined. */
const lists = Array.from({ length: listsCount }, () => new PlaceList());

function takePlaces(flags: number): Places {
  const take = (list: number): Int32Array => (lists[list] as PlaceList).take();
  return {
    runs: take(0),
    escapes: take(1),
    cuts: take(2),
    headers: take(3),
    markup: take(4),
    codes: take(5),
    groups: take(groupsList),
    seams: (flags & textFlags.seams) === 0 ? nowhere : take(seamsList),
  };
}

/** A stretch of a text: its first byte, and the byte behind it. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** How many bytes a stretch reaches over its blocks. */
export interface Margin {
  readonly before: number;
  readonly after: number;
}

const none: readonly Stretch[] = Object.freeze([]);

/**
 * Returns the stretches of a text of `length` bytes whose blocks have the flag, from left to right and
 * without overlaps.
 */
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

/** Returns the place of the next digit from `from` on and before `to`; `to` where there is none. */
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
