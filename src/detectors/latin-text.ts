/** Bytes as strings, for patterns. Of most texts little is ever asked for; once it is more, the whole is made a string, so no byte is made one often. */
export class LatinText {
  readonly #bytes: Buffer;
  #whole: string | undefined;
  #slicedBytes = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  between(from: number, to: number): string {
    const bytes = this.#bytes;
    this.#slicedBytes += to - from;
    if (this.#whole === undefined && this.#slicedBytes <= bytes.length)
      return bytes.toString('latin1', from, to);
    this.#whole ??= bytes.toString('latin1');
    return this.#whole.slice(from, to);
  }
}
