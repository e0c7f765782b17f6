import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';

/*
 * The innermost loops, compiled from `src/inspect/kernel/assembly` to WebAssembly: sixteen bytes are classified at once, and no index is checked
 * against bounds that the kernel's memory has anyway. `npm run build:kernel` compiles them; a test holds the two against each other.
 */

/** Bytes of a text that are looked at in one call. What is done with the hits of a piece drives the tables out of the nearest cache. */
export const pieceBytesMax = 65_536;
const textAt = 64;
/** A byte of flags for each 64 of the piece, as `outline` has written them. */
export const blocksAt = textAt + pieceBytesMax + 64;
/** Where the kernel writes lists of places. */
export const placesAt = blocksAt + pieceBytesMax / 64;
const listBytes = 20_672;
/** Where a user's tables may begin; those of a matcher do. */
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
  longStrings(length: number, base: number): number;
  useWordTables(at: number, slots: number): void;
  beginWords(length: number): void;
  nextSentence(): number;
}

const isBigEndian = endianness() === 'BE';

const compiled = new WebAssembly.Module(readFileSync(new URL('kernel.wasm', import.meta.url)));

/** A kernel with a memory of its own. It holds one piece of text at a time. */
export class Kernel {
  readonly exports: Exports;
  /** Of all its memory, whose numbers are little-endian. */
  readonly view: DataView;
  readonly #bytes: Uint8Array;
  readonly #numbers: Int32Array;

  /** With room for so many bytes of tables. */
  constructor(tableBytes = 0) {
    this.exports = new WebAssembly.Instance(compiled).exports as Exports;
    const { memory } = this.exports;
    const pages = Math.ceil((tablesAt + tableBytes) / pageBytes) - memory.buffer.byteLength / pageBytes;
    if (pages > 0) memory.grow(pages);
    this.view = new DataView(memory.buffer);
    this.#bytes = new Uint8Array(memory.buffer);
    this.#numbers = new Int32Array(memory.buffer);
  }

  /** Takes up to `pieceBytesMax` bytes of a text; behind them stand 64 bytes that no word has and that are of no class. */
  take(piece: Uint8Array): void {
    this.#bytes.set(piece, textAt);
    const end = textAt + piece.length;
    this.#bytes.fill(1, end, end + 64);
  }

  /** Of the memory, as long as nothing else is written there. */
  bytes(at: number, length: number): Uint8Array {
    return this.#bytes.subarray(at, at + length);
  }

  /** A copy of numbers in the memory, from a multiple of four on. */
  numbers(at: number, count: number): Int32Array {
    const numbers = this.#numbers.slice(at / 4, at / 4 + count);
    if (isBigEndian) Buffer.from(numbers.buffer).swap32();
    return numbers;
  }

  /** The same without a copy, as long as nothing else is written there. */
  numbersIn(at: number, count: number): Int32Array {
    return isBigEndian ? this.numbers(at, count) : this.#numbers.subarray(at / 4, at / 4 + count);
  }
}
