/** Bytes from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Which bytes of a text stand for which bytes of the text that it was decoded from. A text is a sequence of pieces: a literal
 * piece maps byte by byte, any other stands as a whole for a span of the source (an escape, an encoded run). What was dropped
 * has no piece; it belongs to every span that reaches across it. Three columns of numbers, because a text made of escapes has
 * a piece every few bytes; as arrays, because most texts have a few, and typed arrays of more than 64 bytes are allocated apart.
 */
export class SpanMap {
  readonly #starts: number[] = [];
  readonly #sourceStarts: number[] = [];
  /** End of what the piece stands for; 0 marks a literal piece. */
  readonly #sourceEnds: number[] = [];

  /** Of which the text consists. */
  get pieces(): number {
    return this.#starts.length;
  }

  /** From here on, the bytes of the text are those of the source from `sourceStart`. Pieces are added from left to right. */
  addLiteral(start: number, sourceStart: number): void {
    const last = this.#starts.length - 1;
    const isContinued =
      last >= 0 &&
      this.#sourceEnds[last] === 0 &&
      start - (this.#starts[last] ?? 0) === sourceStart - (this.#sourceStarts[last] ?? 0);
    if (!isContinued) this.#add(start, sourceStart, 0);
  }

  /** What follows in the text, up to the next piece, stands for the span `sourceStart`..`sourceEnd` as a whole. */
  addWhole(start: number, sourceStart: number, sourceEnd: number): void {
    this.#add(start, sourceStart, sourceEnd);
  }

  /** The smallest span of the source that holds everything which `start`..`end` of the text stands for. */
  toSource(start: number, end: number): Span {
    const first = this.#find(start);
    const last = this.#find(Math.max(start, end - 1));
    const sourceStart = this.#sourceStarts[first] ?? 0;
    const sourceEnd = this.#sourceEnds[last] ?? 0;
    return {
      start: this.#sourceEnds[first] === 0 ? sourceStart + start - (this.#starts[first] ?? 0) : sourceStart,
      end: sourceEnd === 0 ? (this.#sourceStarts[last] ?? 0) + end - (this.#starts[last] ?? 0) : sourceEnd,
    };
  }

  /** Whether the span and the byte on either side of it stand in the source exactly as they stand here. */
  isLiteral(start: number, end: number): boolean {
    const piece = this.#find(start);
    const next = this.#starts[piece + 1] ?? Number.POSITIVE_INFINITY;
    return this.#sourceEnds[piece] === 0 && start > (this.#starts[piece] ?? 0) && end < next;
  }

  /** The places where the text differs from its source: pieces that stand for something else, and gaps where something was dropped. */
  changes(length: number): readonly Span[] {
    const changes: Span[] = [];
    for (let i = 0; i < this.#starts.length; i++) {
      const start = this.#starts[i] as number;
      const isWhole = this.#sourceEnds[i] !== 0;
      // Where a literal piece follows another one, something between them was dropped.
      if (isWhole) changes.push({ start, end: this.#starts[i + 1] ?? length });
      else if ((i > 0 && this.#sourceEnds[i - 1] === 0) || (i === 0 && (this.#sourceStarts[0] as number) > 0))
        changes.push({ start, end: start });
    }
    return changes;
  }

  /** Adds the pieces of `from`..`to` to another map, in which that part of the text begins at `at`. */
  copyTo(map: SpanMap, from: number, to: number, at: number): void {
    for (let i = this.#find(from); i < this.#starts.length; i++) {
      const pieceStart = this.#starts[i] as number;
      if (pieceStart >= to) return;
      const start = Math.max(from, pieceStart);
      const sourceStart = this.#sourceStarts[i] as number;
      const sourceEnd = this.#sourceEnds[i] as number;
      if (sourceEnd === 0) map.addLiteral(at + start - from, sourceStart + start - pieceStart);
      else map.addWhole(at + start - from, sourceStart, sourceEnd);
    }
  }

  #add(start: number, sourceStart: number, sourceEnd: number): void {
    this.#starts.push(start);
    this.#sourceStarts.push(sourceStart);
    this.#sourceEnds.push(sourceEnd);
  }

  /** The piece that holds the byte at `at`; the first begins at 0. */
  #find(at: number): number {
    return lastAtOrBefore(this.#starts, at);
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
