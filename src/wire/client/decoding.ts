/** Takes the content codings off an answer as it comes; no faster than what is decoded is taken. */
export interface Decoding {
  /** False where it takes no more for now: `onFlow` follows. */
  write(chunk: Buffer): boolean;
  end(): void;
  /** After `take` has answered false: it takes more again. */
  resume(): void;
  /** Nobody wants it any more. */
  close(): void;
}

/** Takes what is decoded. One of `ended` and `broken` is called, once, unless it is closed before. */
interface Decoded {
  /** False where it takes no more until `resume`. */
  take(chunk: Buffer): boolean;
  onFlow(): void;
  ended(): void;
  /** It is not what its coding says. */
  broken(error: Error): void;
}

/** Undefined for a coding that is not known; `contentEncoding` is all of the field. */
export type OpenDecoding = (contentEncoding: string, decoded: Decoded) => Decoding | undefined;
