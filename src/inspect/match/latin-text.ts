/** So much is made a string at once; to cut a piece out of a string costs a fraction of making one of bytes. */
const wholeBytesMax = 262_144;

/** Bytes as strings, for patterns. Of most long texts little is ever asked for; once it is more, the whole is made a string, so no byte is made one often. */
export class LatinText {
  readonly #bytes: Buffer;
  #whole: string | undefined;
  #slicedBytes = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  between(from: number, to: number): string {
    if (this.#whole !== undefined) return this.#whole.slice(from, to);
    const bytes = this.#bytes;
    this.#slicedBytes += to - from;
    if (bytes.length > wholeBytesMax && this.#slicedBytes <= bytes.length)
      return bytes.toString('latin1', from, to);
    this.#whole = bytes.toString('latin1');
    return this.#whole.slice(from, to);
  }
}
