import { lengthAt, prefixBytes } from '../http1/grpc-prefix.ts';
import type { ScrubbedBody } from './scrub.ts';

/**
 * A body of gRPC as it streams. Each message is looked through by itself, and must not wait for the next one: that may come only when the
 * client has answered.
 */
export class MessageScrub implements ScrubbedBody {
  readonly #message: ScrubbedBody;
  readonly #prefix = Buffer.alloc(prefixBytes);
  #prefixBytes = 0;
  /** Of the message whose prefix was read. */
  #bytesLeft = 0;

  /** `message` begins anew at each of its ends. */
  constructor(message: ScrubbedBody) {
    this.#message = message;
  }

  push(chunk: Buffer): Buffer {
    const sent: Buffer[] = [];
    for (let at = 0; at < chunk.length; ) {
      const end = this.#partEnd(chunk, at);
      sent.push(this.#message.push(chunk.subarray(at, end)));
      if (this.#isAtEnd) {
        sent.push(this.#message.end());
        this.#prefixBytes = 0;
      }
      at = end;
    }
    return Buffer.concat(sent);
  }

  end(): Buffer {
    return this.#message.end();
  }

  get #isAtEnd(): boolean {
    return this.#prefixBytes === prefixBytes && this.#bytesLeft === 0;
  }

  /** Reads on in a prefix, or passes over what there is of a message. */
  #partEnd(chunk: Buffer, at: number): number {
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
