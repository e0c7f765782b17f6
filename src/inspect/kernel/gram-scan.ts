import { endianness } from 'node:os';
import { Kernel, pieceBytesMax, tablesAt } from './kernel.ts';

/** Tables of a matcher, as `src/inspect/kernel/assembly/match.ts` reads them. */
export interface GramTables {
  /** For each slot, the kinds of byte that may follow, by the three lowest of their bits. */
  readonly filter: Uint8Array;
  /** For each slot of grams of six bytes, the grams that fall into it, by three bits of their hash. */
  readonly longFilter: Uint8Array;
  /** The byte offset of each slot's list. */
  readonly slots: Int32Array;
  readonly longSlots: Int32Array;
  /**
   * The lists of entries. A list begins with eight numbers. Three are sets of bytes, by their five lowest
   * bits. They hold the bytes that may stand before its grams, as the fourth byte of these, and behind that
   * byte. The fourth number is the length of the list in bytes, and the others are what its entries share.
   *
   * An entry has eight bytes of a word, from two before the gram on, and a mask of the bits that count. It
   * also has the word's index and the gram's place in the word.
   */
  readonly entries: Int32Array;
  /** The number of entries in the longest list. */
  readonly entriesPerListMax: number;
  /** The words, as `Needles` has them. */
  readonly starts: Int32Array;
  readonly values: Uint8Array;
  readonly folds: Uint8Array;
  /** For each word what must stand beside it, as a number of `Beside` in matcher.ts. */
  readonly needs: Uint8Array;
  readonly multiplier: number;
  readonly shift: number;
  /** The shift for the hash of six bytes; 0 where there are no such grams. */
  readonly longShift: number;
  /** The distance between the positions at which grams are looked for, in bytes. */
  readonly stride: 2 | 4;
}

/**
 * Receives the index of a word that may stand in the text, and its place. `isSure` tells that it does stand
 * there.
 */
export type OnCandidate = (word: number, start: number, isSure: boolean) => void;

/** Bounds on the candidates and comparisons of one call of the kernel. The scan goes on in another call. */
const hitsPerCall = 4096;
const comparisonsPerCall = 65_536;
const hitBytes = 8;
/** Tells whether this machine is big-endian, as the kernel's memory is not. */
const isBigEndian = endianness() === 'BE';
/**
 * The distance from piece to piece, in bytes. It is less than a piece, since a gram reaches over a piece's
 * end. The scan's step divides it.
 */
const stepBytes = pieceBytesMax - 16;

/**
 * Bound on the tables that share one memory, in bytes. A kernel's memory reserves gigabytes of addresses, so
 * only large tables have their own. Small ones, of which there are as many as tenants, are copied into a
 * shared one, which takes microseconds.
 */
const sharedBytesMax = 327_680;
let shared: Kernel | undefined;
/** The scan whose tables are in the shared memory, and whether a scan is under way. */
let filledBy: GramScan | undefined;
let isBusy = false;

/** Looks for grams in texts, one text at a time. */
export class GramScan {
  readonly #hitsAt: number;
  /**
   * The memory that large tables were copied into; undefined for small ones, which are copied when they are
   * used.
   */
  readonly #own: Kernel | undefined;
  readonly #small: GramTables | undefined;

  constructor(tables: GramTables) {
    this.#hitsAt = roundedUp(contentsOf(tables).reduce((at, { byteLength }) => at + byteLength, tablesAt));
    // The kernel checks for room before it takes the two lists of a place, all entries of which may be hits.
    const size = this.#hitsAt - tablesAt + hitBytes * (hitsPerCall + 1 + 2 * tables.entriesPerListMax);
    if (size <= sharedBytesMax) {
      this.#small = tables;
      return;
    }
    this.#own = new Kernel(size);
    this.#fill(this.#own, tables);
  }

  /**
   * Calls `take` for all candidates from left to right, until `isStopped` returns true. `isStopped` is called
   * again and again, as long as there is something to compare.
   */
  scan(bytes: Uint8Array, take: OnCandidate, isStopped: () => boolean): void {
    if (this.#own) this.#scanWith(this.#own, bytes, take, isStopped);
    else this.#scanShared(bytes, take, isStopped);
  }

  #scanShared(bytes: Uint8Array, take: OnCandidate, isStopped: () => boolean): void {
    if (isBusy) throw new Error('a scan began within another one');
    shared ??= new Kernel(sharedBytesMax);
    if (filledBy !== this && this.#small) this.#fill(shared, this.#small);
    filledBy = this;
    isBusy = true;
    try {
      this.#scanWith(shared, bytes, take, isStopped);
    } finally {
      isBusy = false;
    }
  }

  #scanWith(kernel: Kernel, bytes: Uint8Array, take: OnCandidate, isStopped: () => boolean): void {
    const { exports, view } = kernel;
    const { length } = bytes;
    for (let from = 0; from < length; from += stepBytes) {
      const end = Math.min(length, from + pieceBytesMax);
      kernel.take(end - from === length ? bytes : bytes.subarray(from, end));
      const to = Math.min(length - from, stepBytes);
      for (let at = 0; at < to; at = exports.position()) {
        const count = exports.match(at, to, end - from);
        const hitsEnd = this.#hitsAt + hitBytes * count;
        for (let hit = this.#hitsAt; hit < hitsEnd; hit += hitBytes) {
          const word = view.getInt32(hit, true);
          const start = from + view.getInt32(hit + 4, true);
          if (word < 0) take(~word, start, false);
          else take(word, start, true);
        }
        if ((count > 0 || exports.position() < to) && isStopped()) return;
      }
    }
  }

  #fill({ exports, view }: Kernel, tables: GramTables): void {
    const { multiplier, shift, longShift, stride } = tables;
    let at = tablesAt;
    const [, ...places] = contentsOf(tables).map((content) => {
      const place = at;
      const bytes = Buffer.from(view.buffer, place, content.byteLength);
      bytes.set(new Uint8Array(content.buffer, content.byteOffset, content.byteLength));
      if (isBigEndian && content instanceof Int32Array) bytes.swap32();
      at += content.byteLength;
      return place;
    }) as [number, number, number, number, number, number, number, number, number];
    exports.useTables(
      ...places,
      this.#hitsAt,
      ...[hitsPerCall, comparisonsPerCall],
      ...[multiplier, shift, longShift, stride],
    );
  }
}

/**
 * Returns the tables in the order of the memory. The kernel knows where the filter begins; its length puts
 * the numbers behind it at multiples of four.
 */
const contentsOf = (tables: GramTables) => {
  const { filter, longFilter, slots, longSlots, entries, starts, values, folds, needs } = tables;
  return [filter, longFilter, slots, longSlots, entries, starts, values, folds, needs];
};

const roundedUp = (at: number): number => Math.ceil(at / hitBytes) * hitBytes;
