import { MessageFrames } from '../../grpc/message-frames.ts';
import type { ScrubbedBody } from './scrub.ts';

/**
 * Scrubs a body of gRPC as it streams. Each message is looked through by itself, and must not wait for the
 * next one: that may come only when the client has answered.
 */
export class MessageScrub implements ScrubbedBody {
  readonly #message: ScrubbedBody;
  readonly #frames = new MessageFrames();

  /** Scrubs each message by `message`, which begins anew after each `end`. */
  constructor(message: ScrubbedBody) {
    this.#message = message;
  }

  push(chunk: Buffer): Buffer {
    const sent: Buffer[] = [];
    for (let at = 0; at < chunk.length; ) {
      const end = this.#frames.partEnd(chunk, at);
      sent.push(this.#message.push(chunk.subarray(at, end)));
      if (this.#frames.isAtEnd) sent.push(this.#message.end());
      at = end;
    }
    return Buffer.concat(sent);
  }

  end(): Buffer {
    return this.#message.end();
  }
}
