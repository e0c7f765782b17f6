/**
 * The writer of an answer to a client. Its names are those of `http.ServerResponse`. Nothing is sent before
 * `writeHead`; the head goes out with the first chunk, the end, or `flushHeaders`.
 */
export interface Answer {
  /** Tells whether a head was sent, or is about to be: there is no second one. */
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
  /** Tells whether the body may have trailers, as only one in chunks can. Known once the head is written. */
  readonly chunkedEncoding: boolean;
  /**
   * Makes the head; `fields` is flat [name, value, …]. Throws where a name or value has characters that no
   * head may have.
   */
  writeHead(status: number, fields: string[]): unknown;
  flushHeaders(): void;
  /** Writes a part of the body. Returns false where the writer should wait for `drain`. */
  write(chunk: Buffer): boolean;
  end(chunk?: Buffer): unknown;
  addTrailers(trailers: [string, string][]): void;
  /** Ends the connection: the answer is cut off, and does not look whole. */
  destroy(): unknown;
  on(event: 'drain', listener: () => void): unknown;
  off(event: 'drain', listener: () => void): unknown;
  /** Calls the listener once: after the last byte was handed over, or when the connection ends before. */
  once(event: 'close', listener: () => void): unknown;
}
