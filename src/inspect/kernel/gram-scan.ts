import { endianness } from 'node:os';
import { Kernel, pieceBytesMax, tablesAt } from './kernel.ts';

/** What is looked for, as `src/inspect/kernel/assembly/match.ts` reads it. */
export interface GramTables {
  /** For each slot the kinds of byte that may follow, by the three lowest of their bits. */
  readonly filter: Uint8Array;
  /** The same of grams of six bytes, by three bits of their hash. */
  readonly longFilter: Uint8Array;
  /** Where the list of each slot begins, in bytes. */
  readonly slots: Int32Array;
  readonly longSlots: Int32Array;
  /**
   * Lists of entries. First stand eight numbers: by the five lowest bits which bytes may stand before its grams, as their fourth byte and
   * behind that; how many bytes the list has; and what its entries have in common of what each of them has: the bytes of a word from two
   * before the gram on to the eighth, and which bits of them count. Behind that an entry has the word, and the gram's place in it.
   */
  readonly entries: Int32Array;
  /** Entries of the longest list. */
  readonly entriesPerListMax: number;
  /** The words, as `Needles` has them. */
  readonly starts: Int32Array;
  readonly values: Uint8Array;
  readonly folds: Uint8Array;
  /** What each word needs beside it: of `Beside` in matcher.ts. */
  readonly needs: Uint8Array;
  readonly multiplier: number;
  readonly shift: number;
  /** 0 where there are no grams of six bytes. */
  readonly longShift: number;
  /** Grams are looked for at each position of a text that this divides. */
  readonly stride: 2 | 4;
}

/** Called with a word that may stand in the text, and where; `isSure` where it does. */
export type OnCandidate = (word: number, start: number, isSure: boolean) => void;

/** Candidates of one call, and comparisons; where there may be more it goes on in another one. */
const hitsPerCall = 4096;
const comparisonsPerCall = 65_536;
const hitBytes = 8;
/** The kernel's memory never is. */
const isBigEndian = endianness() === 'BE';
/** A gram reaches over the end of a piece. What is looked at in one step divides it. */
const stepBytes = pieceBytesMax - 16;

/**
 * A memory of the kernel reserves gigabytes of addresses, so only large tables have one of their own. Small ones, of which there are as many
 * as tenants, take turns in one that all share; to put them there takes some microseconds.
 */
const sharedBytesMax = 327_680;
let shared: Kernel | undefined;
/** Whose tables are in the shared memory, and whether a scan is under way with them. */
let filledBy: GramScan | undefined;
let isBusy = false;

/** Looks for grams in texts, one text at a time. */
export class GramScan {
  readonly #tables: GramTables;
  readonly #hitsAt: number;
  /** Undefined for small tables. */
  readonly #own: Kernel | undefined;

  constructor(tables: GramTables) {
    this.#tables = tables;
    this.#hitsAt = roundedUp(contentsOf(tables).reduce((at, { byteLength }) => at + byteLength, tablesAt));
    // The kernel asks whether there is room before the two lists of each place, all entries of which may be hits.
    const size = this.#hitsAt - tablesAt + hitBytes * (hitsPerCall + 1 + 2 * tables.entriesPerListMax);
    if (size <= sharedBytesMax) return;
    this.#own = new Kernel(size);
    this.#fill(this.#own);
  }

  /** Calls `take` for all candidates from left to right. Once `isStopped` says yes, which it is asked again and again as long as there is something to compare, it ends. */
  scan(bytes: Uint8Array, take: OnCandidate, isStopped: () => boolean): void {
    if (this.#own) this.#scanWith(this.#own, bytes, take, isStopped);
    else this.#scanShared(bytes, take, isStopped);
  }

  #scanShared(bytes: Uint8Array, take: OnCandidate, isStopped: () => boolean): void {
    if (isBusy) throw new Error('a scan began within another one');
    shared ??= new Kernel(sharedBytesMax);
    if (filledBy !== this) this.#fill(shared);
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

  #fill({ exports, view }: Kernel): void {
    const { multiplier, shift, longShift, stride } = this.#tables;
    let at = tablesAt;
    const [, ...places] = contentsOf(this.#tables).map((content) => {
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

/** In the order in which they stand in the memory: the kernel knows where the filter begins, and it is so long that the numbers stand at multiples of four. */
const contentsOf = (tables: GramTables) => {
  const { filter, longFilter, slots, longSlots, entries, starts, values, folds, needs } = tables;
  return [filter, longFilter, slots, longSlots, entries, starts, values, folds, needs];
};

const roundedUp = (at: number): number => Math.ceil(at / hitBytes) * hitBytes;
