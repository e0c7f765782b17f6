/** Bytes from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const perPiece = 3;
/**
 * The numbers that there is room for at first. Most texts have a few pieces, and V8 allocates typed arrays of
 * more than 64 bytes apart.
 */
const firstNumbers = 5 * perPiece;

/**
 * Maps the bytes of a text to those of its source. A text is a sequence of pieces. A literal piece maps byte
 * by byte. Any other, such as an escape or an encoded run, stands as a whole for a span of the source.
 * Dropped bytes have no piece and belong to every span across them. Pieces are columns of numbers, because a
 * text of escapes has one every few bytes.
 */
export class SpanMap {
  /**
   * Three numbers for each piece: its start, the start of its source, and the end of its source. The end is 0
   * for a literal piece.
   */
  #numbers = new Int32Array(firstNumbers);
  #length = 0;

  /** Forgets all pieces. It keeps memory for at most `numbersMax` numbers. */
  clear(numbersMax: number): void {
    this.#length = 0;
    if (this.#numbers.length > numbersMax) this.#numbers = new Int32Array(firstNumbers);
  }

  /** Returns the number of pieces. */
  get pieces(): number {
    return this.#length / perPiece;
  }

  /**
   * Adds a literal piece: from `start` on, the text equals the source from `sourceStart` on. Pieces are added
   * from left to right.
   */
  addLiteral(start: number, sourceStart: number): void {
    if (!this.#continues(start, sourceStart)) this.#add(start, sourceStart, 0);
  }

  /** Adds a piece that stands, up to the next piece, for a span of the source as a whole. */
  addWhole(start: number, sourceStart: number, sourceEnd: number): void {
    this.#add(start, sourceStart, sourceEnd);
  }

  /** Adds copies of many pieces, which have the form of `#numbers`. */
  addAll(pieces: Int32Array): void {
    const isContinued = pieces[2] === 0 && this.#continues(pieces[0] as number, pieces[1] as number);
    const added = isContinued ? pieces.subarray(perPiece) : pieces;
    this.#reserve(added.length);
    this.#numbers.set(added, this.#length);
    this.#length += added.length;
  }

  /** Returns the smallest span of the source that holds everything that the span of the text stands for. */
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

  /** Tells whether the span, with a byte on either side, stands in the source unchanged. */
  isLiteral(start: number, end: number): boolean {
    const piece = this.#find(start);
    const next = piece + 1 < this.pieces ? this.#start(piece + 1) : Number.POSITIVE_INFINITY;
    return this.#sourceEnd(piece) === 0 && start > this.#start(piece) && end < next;
  }

  /**
   * Returns the places where the text differs from its source: pieces that are not literal, and gaps where
   * something was dropped.
   */
  changes(length: number): readonly Span[] {
    const changes: Span[] = [];
    for (let i = 0; i < this.pieces; i++) {
      const start = this.#start(i);
      // Between two literal pieces something was dropped.
      if (this.#sourceEnd(i) !== 0)
        changes.push({ start, end: i + 1 < this.pieces ? this.#start(i + 1) : length });
      else if (i > 0 ? this.#sourceEnd(i - 1) === 0 : this.#sourceStart(0) > 0)
        changes.push({ start, end: start });
    }
    return changes;
  }

  /** Adds the pieces of a span to another map, where it begins at `at`. */
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

  /** Tells whether a literal piece that begins at these places only continues the last one. */
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

  /** Returns the last piece that begins at or before `at`; -1 if there is none. The first begins at 0. */
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

/** Returns the index of the last of ascending numbers that is not above `limit`; -1 where there is none. */
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
