import { Kernel, pieceBytesMax, tablesAt } from './kernel.ts';

/** What stands at a backslash is looked at with it; as much of a piece belongs to the next one. */
const overlap = 16;
const stepBytes = pieceBytesMax - overlap;
/** The same numbers as in `src/inspect/kernel/assembly/unescape.ts`. */
const plainAt = tablesAt;
const piecesAt = plainAt + pieceBytesMax + 64;
const piecesMax = 8192;
const numbersPerPiece = 3;

const kernel = new Kernel(piecesAt + 4 * numbersPerPiece * piecesMax - tablesAt);

/** Takes what was unescaped, from left to right. */
export interface PlainText {
  /** What the text so far stands for has so many bytes. */
  readonly length: number;
  /**
   * Bytes that the text stands for, and their pieces: where each begins, and the start and end of what it stands for. Both are to be
   * copied, for they lie in the kernel's memory.
   */
  append(bytes: Uint8Array, pieces: Int32Array): void;
  /** An escape that the kernel leaves alone, at its backslash. Answers where the text goes on; behind the backslash if it is none. */
  appendOther(at: number): number;
}

/** Takes the escapes of JSON off, all in one walk. `check` is called now and then and may throw. */
export function unescapeJsonInto(bytes: Uint8Array, plain: PlainText, check: () => void): void {
  const { exports } = kernel;
  const { length } = bytes;
  let at = 0;
  while (at < length) {
    const base = at;
    const end = Math.min(length, base + pieceBytesMax);
    kernel.take(end - base === length ? bytes : bytes.subarray(base, end));
    const to = end === length ? length : base + stepBytes;
    check();
    while (at < to) {
      const pieces = exports.unescapeJson(at - base, to - base, base, plain.length);
      if (pieces > 0)
        plain.append(
          kernel.bytes(plainAt, exports.unescapedLength()),
          kernel.numbersIn(piecesAt, numbersPerPiece * pieces),
        );
      const next = base + exports.unescapedTo();
      // It stops where it has no more room, too.
      at = next < to && pieces < piecesMax - 2 ? plain.appendOther(next) : next;
    }
  }
}
