import { isCompressedAt, lengthAt, prefixBytes } from './grpc-prefix.ts';

/** Tells where the messages of a body in envelopes end, as it streams. */
export class MessageFrames {
  readonly #prefix = Buffer.alloc(prefixBytes);
  #prefixBytes = 0;
  /** Bytes left of the message whose prefix was read. */
  #bytesLeft = 0;

  /** Tells whether the last skipped part was the end of a message. */
  get isAtEnd(): boolean {
    return this.#prefixBytes === prefixBytes && this.#bytesLeft === 0;
  }

  /** Tells whether the message whose prefix was read says that it is compressed. */
  get isCompressed(): boolean {
    return this.#prefixBytes === prefixBytes && this.#bytesLeft > 0 && isCompressedAt(this.#prefix, 0);
  }

  /** Returns the flag of the message, once its first byte was read. */
  get flag(): number {
    return this.#prefix[0] as number;
  }

  /** Returns the bytes that the message still lacks, once its prefix was read. */
  get bytesLeft(): number {
    return this.#bytesLeft;
  }

  /** Reads on from `at`: in a prefix, or over what there is of a message. Returns where that part ends. */
  partEnd(chunk: Buffer, at: number): number {
    if (this.isAtEnd) this.#prefixBytes = 0;
    if (this.#prefixBytes < prefixBytes) {
      const read = chunk.copy(this.#prefix, this.#prefixBytes, at, at + prefixBytes - this.#prefixBytes);
      this.#prefixBytes += read;
      if (this.#prefixBytes === prefixBytes) this.#bytesLeft = lengthAt(this.#prefix, 0);
      return at + read;
    }
    const end = Math.min(chunk.length, at + this.#bytesLeft);
    this.#bytesLeft -= end - at;
    return end;
  }
}
