/** Bytes from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const perPiece = 3;
/** Most texts have a few pieces, and typed arrays of more than 64 bytes are allocated apart. */
const firstNumbers = 5 * perPiece;

/**
 * Which bytes of a text stand for which bytes of the text that it was decoded from. A text is a sequence of pieces: a literal
 * piece maps byte by byte, any other stands as a whole for a span of the source (an escape, an encoded run). What was dropped
 * has no piece; it belongs to every span that reaches across it. Columns of numbers, because a text made of escapes has a piece
 * every few bytes.
 */
export class SpanMap {
  /** Of each piece its start, the start of what it stands for, and the end of that; 0 marks a literal piece. */
  #numbers = new Int32Array(firstNumbers);
  #length = 0;

  /** Forgets all pieces. Room for at most `numbersMax` numbers is kept for the next ones. */
  clear(numbersMax: number): void {
    this.#length = 0;
    if (this.#numbers.length > numbersMax) this.#numbers = new Int32Array(firstNumbers);
  }

  /** Of which the text consists. */
  get pieces(): number {
    return this.#length / perPiece;
  }

  /** From here on, the bytes of the text are those of the source from `sourceStart`. Pieces are added from left to right. */
  addLiteral(start: number, sourceStart: number): void {
    if (!this.#continues(start, sourceStart)) this.#add(start, sourceStart, 0);
  }

  /** What follows in the text, up to the next piece, stands for the span `sourceStart`..`sourceEnd` as a whole. */
  addWhole(start: number, sourceStart: number, sourceEnd: number): void {
    this.#add(start, sourceStart, sourceEnd);
  }

  /** Many pieces at once, as they are kept here; they are copied. */
  addAll(pieces: Int32Array): void {
    const isContinued = pieces[2] === 0 && this.#continues(pieces[0] as number, pieces[1] as number);
    const added = isContinued ? pieces.subarray(perPiece) : pieces;
    this.#reserve(added.length);
    this.#numbers.set(added, this.#length);
    this.#length += added.length;
  }

  /** The smallest span of the source that holds everything which `start`..`end` of the text stands for. */
  toSource(start: number, end: number): Span {
    const first = this.#find(start);
    const last = this.#find(Math.max(start, end - 1));
    const sourceStart = this.#sourceStart(first);
    const sourceEnd = this.#sourceEnd(last);
    return {
      start: this.#sourceEnd(first) === 0 ? sourceStart + start - this.#start(first) : sourceStart,
      end: sourceEnd === 0 ? this.#sourceStart(last) + end - this.#start(last) : sourceEnd,
    };
  }

  /** Whether the span and the byte on either side of it stand in the source exactly as they stand here. */
  isLiteral(start: number, end: number): boolean {
    const piece = this.#find(start);
    const next = piece + 1 < this.pieces ? this.#start(piece + 1) : Number.POSITIVE_INFINITY;
    return this.#sourceEnd(piece) === 0 && start > this.#start(piece) && end < next;
  }

  /** The places where the text differs from its source: pieces that stand for something else, and gaps where something was dropped. */
  changes(length: number): readonly Span[] {
    const changes: Span[] = [];
    for (let i = 0; i < this.pieces; i++) {
      const start = this.#start(i);
      // Where a literal piece follows another one, something between them was dropped.
      if (this.#sourceEnd(i) !== 0)
        changes.push({ start, end: i + 1 < this.pieces ? this.#start(i + 1) : length });
      else if (i > 0 ? this.#sourceEnd(i - 1) === 0 : this.#sourceStart(0) > 0)
        changes.push({ start, end: start });
    }
    return changes;
  }

  /** Adds the pieces of `from`..`to` to another map, in which that part of the text begins at `at`. */
  copyTo(map: SpanMap, from: number, to: number, at: number): void {
    for (let i = this.#find(from); i < this.pieces; i++) {
      const pieceStart = this.#start(i);
      if (pieceStart >= to) return;
      const start = Math.max(from, pieceStart);
      const sourceStart = this.#sourceStart(i);
      const sourceEnd = this.#sourceEnd(i);
      if (sourceEnd === 0) map.addLiteral(at + start - from, sourceStart + start - pieceStart);
      else map.addWhole(at + start - from, sourceStart, sourceEnd);
    }
  }

  /** Whether a literal piece that begins so only goes on with the last one. */
  #continues(start: number, sourceStart: number): boolean {
    const last = this.pieces - 1;
    return (
      last >= 0 &&
      this.#sourceEnd(last) === 0 &&
      start - this.#start(last) === sourceStart - this.#sourceStart(last)
    );
  }

  #add(start: number, sourceStart: number, sourceEnd: number): void {
    this.#reserve(perPiece);
    this.#numbers[this.#length] = start;
    this.#numbers[this.#length + 1] = sourceStart;
    this.#numbers[this.#length + 2] = sourceEnd;
    this.#length += perPiece;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#numbers.length) return;
    const larger = new Int32Array(Math.max(2 * this.#length, this.#length + count));
    larger.set(this.#numbers);
    this.#numbers = larger;
  }

  /** The last piece that begins at `at` or before it; the first begins at 0. -1 where there are none. */
  #find(at: number): number {
    let low = -1;
    let high = this.pieces - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#start(middle) <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #start(piece: number): number {
    return this.#numbers[piece * perPiece] ?? 0;
  }

  #sourceStart(piece: number): number {
    return this.#numbers[piece * perPiece + 1] ?? 0;
  }

  #sourceEnd(piece: number): number {
    return this.#numbers[piece * perPiece + 2] ?? 0;
  }
}

/** Index of the last of ascending numbers that is not above `limit`, or -1. */
export function lastAtOrBefore(ascending: readonly number[], limit: number): number {
  let low = -1;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((ascending[middle] ?? 0) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}
