import { codingsOf } from '../inspect/decode/packed/inflate.ts';
import { type GrpcMessage, MessageReader, malformedGrpc } from '../wire/server/grpc/messages.ts';

/** Coding of a message that has none. */
export const identity = '';

export interface CodedMessagesOptions {
  /** Bytes that one message may have. */
  readonly bytesMax: number;
  /** Value of the field `grpc-encoding`. */
  readonly encoding: string;
}

/** Takes the messages out of the body of a call, counts them, and knows how they are coded. */
export class CodedMessages {
  count = 0;
  /** Bytes of the message that was asked for last: it is judged and sent before the next one. */
  #takenBytes = 0;
  readonly #encoding: string;
  readonly #reader: MessageReader;

  constructor({ bytesMax, encoding }: CodedMessagesOptions) {
    this.#encoding = encoding;
    this.#reader = new MessageReader(bytesMax);
  }

  get isMidway(): boolean {
    return this.#reader.isMidway;
  }

  /** Tells whether all that came was asked for, and no message is cut. */
  get isUsedUp(): boolean {
    return !this.#reader.hasUnread && !this.isMidway;
  }

  get heldBytes(): number {
    return this.#takenBytes + this.#reader.heldBytes;
  }

  push(chunk: Buffer): void {
    this.#reader.push(chunk);
  }

  next(): GrpcMessage | undefined {
    const message = this.#reader.next();
    this.#takenBytes = message?.frame.length ?? 0;
    if (message) this.count++;
    return message;
  }

  /**
   * Returns the coding of a message. Throws where a message says that it is compressed, and the call does not
   * say how.
   */
  codingOf({ isCompressed, payload }: GrpcMessage): string {
    if (!isCompressed || payload.length === 0) return identity;
    if (codingsOf(this.#encoding).length !== 1)
      throw malformedGrpc('A message is compressed in a way that is not said.');
    return this.#encoding;
  }
}
