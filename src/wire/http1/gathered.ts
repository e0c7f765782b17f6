import { allocateRoomy } from './head-room.ts';

const empty = Buffer.alloc(0);
const capacityMin = 1024;

/**
 * Joins bytes that arrive in pieces. However small the pieces are, each costs its own length only. A single
 * one, which is the rule, is not copied at all.
 */
export class Gathered {
  readonly #expectedBytes: number;
  #bytes: Buffer = empty;
  #length = 0;

  /** Makes room for `expectedBytes` at once where they come in pieces, with room for a head before them. */
  constructor(expectedBytes = 0) {
    this.#expectedBytes = expectedBytes;
  }

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    if (this.#length === 0) {
      this.#bytes = piece;
      this.#length = piece.length;
      return;
    }
    const length = this.#length + piece.length;
    // A piece that was not copied leaves no room behind it, so that nothing is ever written into memory of
    // others.
    if (length > this.#bytes.length) {
      const isExpected = length <= this.#expectedBytes;
      const grown = isExpected
        ? allocateRoomy(this.#expectedBytes)
        : Buffer.allocUnsafeSlow(Math.max(length * 2, capacityMin));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  /** Returns all bytes, which stay. */
  peek(): Buffer {
    return this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
  }

  /** Returns all bytes. What comes after that begins anew. */
  take(): Buffer {
    const bytes = this.peek();
    this.#bytes = empty;
    this.#length = 0;
    return bytes;
  }
}
