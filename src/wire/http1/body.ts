import assert from 'node:assert/strict';
import { Gathered } from './gathered.ts';
import { MalformedMessage, parseTrailers, textChars, tokenChars } from './head.ts';

/**
 * Lengths of bodies that end with their last chunk, or with the connection. Neither is -1, which stands for
 * no declared length in a head.
 */
export const chunked = -2;
export const untilClose = -3;

/** Bytes of the line with a chunk's size and its extensions. */
const sizeLineBytesMax = 256;
const trailersBytesMax = 16_384;
const trailersFieldsMax = 100;

const token = `[${tokenChars}]+`;
const quoted = String.raw`"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[${textChars}])*"`;
/**
 * Matches the size of a chunk and its extensions (RFC 9112, 7.1 and 7.1.1). It leaves out the white space
 * around `;` and `=` that the RFC calls bad. Twelve hexadecimal digits are 256 TB, and exact in a number. The
 * extensions are dropped, but what could be read as something else is refused.
 */
const sizeLine = new RegExp(`^([0-9A-Fa-f]{1,12})(?:;${token}(?:=(?:${token}|${quoted}))?)*$`);

const cr = 0x0d;
const lf = 0x0a;

type State = 'size' | 'data' | 'data-end' | 'trailers' | 'done';

/**
 * Cuts the body of one message out of the bytes of a connection (RFC 9112, 6.3 and 7.1). Of what came in it
 * keeps only the beginning of a size line or of the trailers, as a copy and within bounds.
 */
export class BodyReader {
  /** Trailers of a chunked body, flat; empty until the body is whole. */
  trailers: readonly string[] = [];
  readonly #isChunked: boolean;
  #state: State;
  /** Bytes to come, of the body or of the chunk; infinite where the body ends with the connection. */
  #left: number;
  /** The beginning of a line whose end has not come yet, or of the trailers. */
  #held: Gathered | undefined;

  /** Reads a body of `length` bytes, or one that is `chunked`, or goes on `untilClose`. */
  constructor(length: number) {
    assert(length >= 0 || length === chunked || length === untilClose);
    this.#isChunked = length === chunked;
    this.#left = length === untilClose ? Number.POSITIVE_INFINITY : Math.max(length, 0);
    this.#state = this.#isChunked ? 'size' : length === 0 ? 'done' : 'data';
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Tells whether the body is whole where the connection ends here, and not cut. */
  get mayEndHere(): boolean {
    return this.isDone || this.#left === Number.POSITIVE_INFINITY;
  }

  /**
   * Takes the bytes that arrived, from `at` on, and hands their data to `onData` in one piece. The data of
   * several chunks is moved together within `bytes`. So a body of tiny chunks costs neither a view nor a
   * write for each. Returns where the body ended: the next message begins there, untouched. Throws
   * `MalformedMessage`, after which nothing of the connection can be trusted.
   */
  read(bytes: Buffer, at: number, onData: (data: Buffer) => void): number {
    let from = at;
    let dataAt = at;
    let dataEnd = at;
    while (from < bytes.length && this.#state !== 'done') {
      if (this.#state !== 'data') {
        from = this.#readLine(bytes, from);
        continue;
      }
      const end = this.#takeData(bytes.length, from);
      if (dataEnd === dataAt) dataAt = dataEnd = from;
      else bytes.copyWithin(dataEnd, from, end);
      dataEnd += end - from;
      from = end;
    }
    if (dataEnd > dataAt) {
      onData(dataAt === 0 && dataEnd === bytes.length ? bytes : bytes.subarray(dataAt, dataEnd));
    }
    return from;
  }

  /** Returns where the data that begins at `from` ends, as far as it is there. */
  #takeData(available: number, from: number): number {
    const end = Math.min(available, from + this.#left);
    this.#left -= end - from;
    if (this.#left === 0) this.#state = this.#isChunked ? 'data-end' : 'done';
    return end;
  }

  /**
   * Reads a line, or as much of it as is there, and returns where that ends. Most lines arrive whole and are
   * read in place. A line that comes in pieces is put together first.
   */
  #readLine(bytes: Buffer, from: number): number {
    const newlineAt = bytes.indexOf(lf, from);
    const end = newlineAt < 0 ? bytes.length : newlineAt + 1;
    const max = this.#state === 'trailers' ? trailersBytesMax : sizeLineBytesMax;
    if ((this.#held?.length ?? 0) + end - from > max) {
      throw new MalformedMessage('A line between chunks, or the trailers, are too long.', true);
    }
    if (this.#held === undefined && newlineAt >= 0 && this.#takeLine(bytes, from, end)) return end;
    this.#held ??= new Gathered();
    // This is a copy: the bytes belong to the connection, which may write over them.
    this.#held.add(Buffer.from(bytes.subarray(from, end)));
    const line = this.#held.peek();
    if (newlineAt >= 0 && this.#takeLine(line, 0, line.length)) this.#held = undefined;
    return end;
  }

  /**
   * Takes a line, or the section of trailers so far, which ends in LF. Returns false where more lines belong
   * to it.
   */
  #takeLine(bytes: Buffer, from: number, end: number): boolean {
    if (end - from < 2 || bytes[end - 2] !== cr) {
      throw new MalformedMessage('A line between chunks does not end in CRLF.');
    }
    if (this.#state === 'trailers') return this.#takeTrailers(bytes, from, end);
    if (this.#state === 'size') this.#takeSize(bytes.toString('latin1', from, end - 2));
    else if (end - from === 2) this.#state = 'size';
    else throw new MalformedMessage('A chunk is longer than its size.');
    return true;
  }

  #takeSize(text: string): void {
    const digits = sizeLine.exec(text)?.[1];
    if (digits === undefined) throw new MalformedMessage('The size of a chunk is malformed.');
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'data';
  }

  /**
   * Takes the section of trailers, which is kept until its empty line: that makes one bound, and one parse.
   * Returns false before that line.
   */
  #takeTrailers(bytes: Buffer, from: number, end: number): boolean {
    const isLast = end - from === 2 || (end - from > 3 && bytes[end - 3] === lf && bytes[end - 4] === cr);
    if (!isLast) return false;
    this.trailers = parseTrailers(bytes.toString('latin1', from, end - 2), trailersFieldsMax);
    this.#state = 'done';
    return true;
  }
}
