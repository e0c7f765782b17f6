/**
 * Gathers bytes. They are copied at once, because joining a million parts at the end would take longer than the
 * interval between time checks.
 */
export class GrowingBytes {
  #room = Buffer.allocUnsafe(256);
  length = 0;

  /** Returns what was gathered. It is valid until more is appended. */
  get bytes(): Buffer {
    return this.#room.subarray(0, this.length);
  }

  append(source: Buffer, start = 0, end = source.length): void {
    const needed = this.length + end - start;
    if (needed > this.#room.length) {
      const larger = Buffer.allocUnsafe(2 * needed);
      this.#room.copy(larger, 0, 0, this.length);
      this.#room = larger;
    }
    this.length += source.copy(this.#room, this.length, start, end);
  }
}
