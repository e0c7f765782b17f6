import { GrowingBytes } from '../../../util/growing-bytes.ts';
import { lastAtOrBefore, type Span } from '../span-map.ts';

const between = Buffer.from(': ');
/**
 * Bounds on the bytes of a value: shorter ones are flags and counts, longer ones are texts that need no name.
 */
const valueBytesMin = 3;
const valueBytesMax = 1024;

/** Joins cells of tables as `name: value`, with their places in the source. */
export class LabelledCells {
  readonly #source: Buffer;
  readonly #separator: Buffer;
  readonly #cells = new GrowingBytes();
  /** The start of each cell, and the places of its name and its value in the source. */
  readonly #starts: number[] = [];
  readonly #names: Span[] = [];
  readonly #values: Span[] = [];

  /** Joins cells with `separator` behind each. */
  constructor(source: Buffer, separator: Buffer) {
    this.#source = source;
    this.#separator = separator;
  }

  get length(): number {
    return this.#cells.length;
  }

  /** Adds a cell and returns the number of bytes added; 0 for a value that is too short or too long. */
  add(name: Span, value: Span): number {
    const valueLength = value.end - value.start;
    if (name.end === name.start || valueLength < valueBytesMin || valueLength > valueBytesMax) return 0;
    const start = this.length;
    this.#starts.push(start);
    this.#names.push(name);
    this.#values.push(value);
    this.#cells.append(this.#source, name.start, name.end);
    this.#cells.append(between);
    this.#cells.append(this.#source, value.start, value.end);
    this.#cells.append(this.#separator);
    return this.length - start;
  }

  bytes(): Buffer {
    return this.#cells.bytes;
  }

  /**
   * Maps a span to the source. A span within a name maps to that name, any other to values alone: a cut must
   * leave the names.
   */
  toSource(start: number, end: number): Span {
    const first = Math.max(0, lastAtOrBefore(this.#starts, start));
    const last = Math.max(first, lastAtOrBefore(this.#starts, end - 1));
    const name = this.#names[first] as Span;
    const nameAt = this.#starts[first] as number;
    if (end - nameAt <= name.end - name.start)
      return { start: name.start + start - nameAt, end: name.start + end - nameAt };
    return { start: this.#valueOffset(first, start), end: this.#valueOffset(last, end) };
  }

  #valueOffset(cell: number, at: number): number {
    const name = this.#names[cell] as Span;
    const value = this.#values[cell] as Span;
    const valueAt = (this.#starts[cell] as number) + name.end - name.start + between.length;
    return Math.min(value.end, value.start + Math.max(0, at - valueAt));
  }
}
