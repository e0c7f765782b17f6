/** Takes the content codings off an answer as it comes; no faster than what is decoded is taken. */
export interface Decoding {
  /** Decodes a chunk. Returns false where it takes no more for now; `onFlow` follows. */
  write(chunk: Buffer): boolean;
  end(): void;
  /** Goes on after `take` has returned false, since more is taken again. */
  resume(): void;
  /** Ends the decoding: nobody wants the rest any more. */
  close(): void;
}

/**
 * Takes what is decoded. One of `ended` and `broken` is called, once, unless the decoding is closed before.
 */
interface Decoded {
  /** Takes a decoded chunk. Returns false where no more is taken until `resume`. */
  take(chunk: Buffer): boolean;
  /** Notes that `write` takes more again. */
  onFlow(): void;
  ended(): void;
  /** Notes that the body is not what its coding says. */
  broken(error: Error): void;
}

/**
 * Opens a decoding, or returns undefined for a coding that is not known. `contentEncoding` is the whole
 * field.
 */
export type OpenDecoding = (contentEncoding: string, decoded: Decoded) => Decoding | undefined;
