import { Kernel, pieceBytesMax, tablesAt } from './kernel.ts';

/** The bytes of a piece that belong to the next one too, since an escape is looked at as a whole. */
const overlap = 16;
const stepBytes = pieceBytesMax - overlap;
/** These addresses are those of `src/inspect/kernel/assembly/unescape.ts`. */
const plainAt = tablesAt;
const piecesAt = plainAt + pieceBytesMax + 64;
const piecesMax = 8192;
const numbersPerPiece = 3;

const kernel = new Kernel(piecesAt + 4 * numbersPerPiece * piecesMax - tablesAt);

/** Receives the unescaped text, from left to right. */
export interface PlainText {
  /** The number of bytes received so far. */
  readonly length: number;
  /**
   * Receives bytes of the text and their pieces: the start of each, and the start and end of its source. Both
   * must be copied, because they lie in the kernel's memory.
   */
  append(bytes: Uint8Array, pieces: Int32Array): void;
  /**
   * Receives the place of the backslash of an escape that the kernel does not decode. Returns the end of the
   * escape, or the place behind the backslash if there is no escape.
   */
  appendOther(at: number): number;
}

/** Removes the escapes of JSON in one walk. `check` is called now and then and may throw. */
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
      // The kernel also stops where it has no more room.
      at = next < to && pieces < piecesMax - 2 ? plain.appendOther(next) : next;
    }
  }
}
