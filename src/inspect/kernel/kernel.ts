import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { programFile } from '../../util/program-files.ts';

/*
 * Runs the innermost loops, compiled from `src/inspect/kernel/assembly` to WebAssembly. They classify sixteen
 * bytes at once, without checks of indices. `npm run build:kernel` compiles them; a test compares the binary
 * with its source.
 */

/**
 * Bound on the bytes looked at in one call. Handling the hits of a piece drives the tables out of the nearest
 * cache.
 */
export const pieceBytesMax = 65_536;
const textAt = 64;
/** The address of the flags that `outline` writes, a byte for each 64 bytes of the piece. */
export const blocksAt = textAt + pieceBytesMax + 64;
/** The address of the lists of places that the kernel writes. */
export const placesAt = blocksAt + pieceBytesMax / 64;
const listBytes = 20_672;
/** The address of the tables of a user, such as a matcher. */
export const tablesAt = placesAt + listBytes;
const pageBytes = 65_536;

interface Exports {
  readonly memory: WebAssembly.Memory;
  outline(length: number): number;
  useTables(
    ...places: [
      longFilter: number,
      slots: number,
      longSlots: number,
      entries: number,
      starts: number,
      values: number,
      folds: number,
      needs: number,
      hits: number,
      hitsMax: number,
      comparisonsMax: number,
      multiplier: number,
      shift: number,
      longShift: number,
      stride: number,
    ]
  ): void;
  match(from: number, to: number, length: number): number;
  position(): number;
  unescapeJson(from: number, to: number, base: number, plainBase: number): number;
  unescapedTo(): number;
  unescapedLength(): number;
  beginStrings(far: number, long: number): void;
  stringEnds(length: number, base: number): number;
  seriesSigns(length: number): number;
  longStrings(length: number, base: number, isChecked: boolean): number;
  useWordTables(at: number, slots: number): void;
  beginWords(length: number): void;
  nextSentence(): number;
}

const isBigEndian = endianness() === 'BE';

const compiled = new WebAssembly.Module(readFileSync(programFile('inspect/kernel/kernel.wasm')));

/** Runs a kernel with its own memory, which holds one piece of text at a time. */
export class Kernel {
  readonly exports: Exports;
  /** A view of all its memory, whose numbers are little-endian. */
  readonly view: DataView;
  readonly #bytes: Uint8Array;
  readonly #numbers: Int32Array;

  /** Creates a kernel with room for so many bytes of tables. */
  constructor(tableBytes = 0) {
    this.exports = Object(new WebAssembly.Instance(compiled).exports);
    const { memory } = this.exports;
    const pages = Math.ceil((tablesAt + tableBytes) / pageBytes) - memory.buffer.byteLength / pageBytes;
    if (pages > 0) memory.grow(pages);
    this.view = new DataView(memory.buffer);
    this.#bytes = new Uint8Array(memory.buffer);
    this.#numbers = new Int32Array(memory.buffer);
  }

  /**
   * Takes up to `pieceBytesMax` bytes of a text. The 64 bytes behind them become bytes that are in no word
   * and no class.
   */
  take(piece: Uint8Array): void {
    this.#bytes.set(piece, textAt);
    const end = textAt + piece.length;
    this.#bytes.fill(1, end, end + 64);
  }

  /** Returns bytes of the memory, valid until it is written again. */
  bytes(at: number, length: number): Uint8Array {
    return this.#bytes.subarray(at, at + length);
  }

  /** Returns a copy of numbers in the memory; `at` is a multiple of four. */
  numbers(at: number, count: number): Int32Array {
    const numbers = this.#numbers.slice(at / 4, at / 4 + count);
    if (isBigEndian) Buffer.from(numbers.buffer).swap32();
    return numbers;
  }

  /** Returns numbers without a copy, valid until the memory is written again. */
  numbersIn(at: number, count: number): Int32Array {
    return isBigEndian ? this.numbers(at, count) : this.#numbers.subarray(at / 4, at / 4 + count);
  }
}
