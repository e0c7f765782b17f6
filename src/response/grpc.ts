import { codingsOf } from '../inspect/decode/packed/inflate.ts';
import { frameOf, isCompressedAt, prefixBytes } from '../wire/grpc/grpc-prefix.ts';
import { MessageFrames } from '../wire/grpc/message-frames.ts';
import { Gathered } from '../wire/http1/gathered.ts';
import type { HeaderNames } from '../wire/server/decision-headers.ts';
import { failureFields } from '../wire/server/grpc/answer.ts';
import type { Framing, Splitter, StreamEvent, StreamHead } from './framing.ts';

/** Stands for a coding that nobody knows, so that content in it is unreadable. */
const unsaid = 'unsaid';

/** Frames the messages of an answer of gRPC, each behind its prefix. */
export function grpcFraming(
  { contentType, bytesMax, grpcEncoding, isFixed }: StreamHead,
  names: HeaderNames,
): Framing {
  const messageCoding = codingsOf(grpcEncoding).length > 0 ? grpcEncoding : unsaid;
  return {
    splitter: () => new GrpcSplitter(bytesMax),
    pieceOf({ bytes, isPart }) {
      if (isPart) return { bytes, contentType, isPart, isFixed: true };
      const contentEncoding = isCompressedAt(bytes, 0) ? messageCoding : '';
      return { bytes: bytes.subarray(prefixBytes), contentType, contentEncoding, isFixed };
    },
    join: ({ isPart }, bytes) => (isPart ? bytes : frameOf(bytes)),
    lastWords: (error) => ({ trailers: failureFields(error, names) }),
  };
}

/**
 * Takes the messages out of an answer of gRPC as it comes, each with its prefix; a message of more than
 * `bytesMax` comes in parts.
 */
export class GrpcSplitter implements Splitter {
  readonly #bytesMax: number;
  readonly #frames = new MessageFrames();
  readonly #pending = new Gathered();
  #isContinued = false;

  constructor(bytesMax: number) {
    this.#bytesMax = Math.max(bytesMax, prefixBytes);
  }

  get pendingBytes(): number {
    return this.#pending.length;
  }

  push(chunk: Buffer): StreamEvent[] {
    const events: StreamEvent[] = [];
    for (let at = 0; at < chunk.length; ) {
      const room = this.#bytesMax - this.#pending.length;
      const end = this.#frames.partEnd(chunk.subarray(0, at + room), at);
      this.#pending.add(chunk.subarray(at, end));
      at = end;
      const { isAtEnd } = this.#frames;
      if (isAtEnd || this.#pending.length >= this.#bytesMax) events.push(this.#take(isAtEnd));
    }
    return events;
  }

  end(): StreamEvent | undefined {
    return this.#pending.length === 0 ? undefined : this.#take(false);
  }

  #take(isEnd: boolean): StreamEvent {
    const isPart = this.#isContinued || !isEnd;
    this.#isContinued = !isEnd;
    const isCoded = isPart && this.#frames.flag !== 0;
    return { bytes: this.#pending.take(), isPart, ...(isCoded ? { isCoded } : {}) };
  }
}
