/**
 * The length in bytes above which a text is made a string piece by piece. Slicing a string costs a fraction
 * of making one of bytes.
 */
const wholeBytesMax = 262_144;

/**
 * Makes strings of bytes, for patterns. Of most long texts little is asked for; once more is, the whole is
 * made a string.
 */
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
