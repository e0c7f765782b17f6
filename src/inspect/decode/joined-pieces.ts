import { lastAtOrBefore, type Span } from './span-map.ts';

/** Joins pieces of a text, and maps places in them back to it. */
export class JoinedPieces {
  readonly bytes: Buffer;
  readonly #pieces: readonly Span[];
  /** The start of each piece in the joined bytes. */
  readonly #starts: readonly number[];

  constructor(source: Buffer, pieces: readonly Span[]) {
    let length = 0;
    this.#pieces = pieces;
    this.#starts = pieces.map(({ start, end }) => {
      length += end - start;
      return length - (end - start);
    });
    this.bytes = Buffer.concat(pieces.map(({ start, end }) => source.subarray(start, end)));
  }

  /** Maps a span to the source: one span in each piece that overlaps it. */
  toSource(start: number, end: number): Span[] {
    const spans: Span[] = [];
    for (
      let index = Math.max(0, lastAtOrBefore(this.#starts, start));
      index < this.#pieces.length;
      index += 1
    ) {
      const at = this.#starts[index] ?? 0;
      const piece = this.#pieces[index];
      if (!piece || at >= end) break;
      spans.push({
        start: piece.start + Math.max(0, start - at),
        end: Math.min(piece.end, piece.start + end - at),
      });
    }
    return spans;
  }
}
