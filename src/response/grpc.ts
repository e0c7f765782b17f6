import { codingsOf } from '../inspect/decode/packed/inflate.ts';
import { isCompressedAt, lengthAt, prefixBytes } from '../wire/grpc/grpc-prefix.ts';
import { Gathered } from '../wire/http1/gathered.ts';
import type { HeaderNames } from '../wire/server/decision-headers.ts';
import type { Framing, Splitter, StreamEvent, StreamHead } from './framing.ts';
import { failureFields } from './grpc-answer.ts';
import { frameOf } from './grpc-messages.ts';

/** A coding that nobody knows. */
const unsaid = 'unsaid';

/** The messages of an answer of gRPC, each behind its prefix. */
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

/** Takes the messages out of an answer of gRPC as it comes, each with its prefix; a message of more than `bytesMax` comes in parts. */
export class GrpcSplitter implements Splitter {
  readonly #bytesMax: number;
  readonly #pending = new Gathered();
  /** The bytes that the present message still lacks; negative while its prefix is incomplete. */
  #missingBytes = -1;
  #isContinued = false;
  #isCoded = false;

  constructor(bytesMax: number) {
    this.#bytesMax = Math.max(bytesMax, prefixBytes);
  }

  get pendingBytes(): number {
    return this.#pending.length;
  }

  push(chunk: Buffer): StreamEvent[] {
    const events: StreamEvent[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      const wanted = this.#missingBytes < 0 ? prefixBytes - this.#pending.length : this.#missingBytes;
      const taken = rest.subarray(0, Math.min(wanted, this.#bytesMax - this.#pending.length));
      rest = rest.subarray(taken.length);
      this.#pending.add(taken);
      if (this.#missingBytes >= 0) this.#missingBytes -= taken.length;
      else if (this.#pending.length === prefixBytes) {
        const prefix = this.#pending.peek();
        this.#isCoded = prefix[0] !== 0;
        this.#missingBytes = lengthAt(prefix, 0);
      }
      if (this.#missingBytes === 0 || this.#pending.length >= this.#bytesMax) events.push(this.#take());
    }
    return events;
  }

  end(): StreamEvent | undefined {
    return this.#pending.length === 0 ? undefined : this.#take();
  }

  #take(): StreamEvent {
    const isEnd = this.#missingBytes === 0;
    const isPart = this.#isContinued || !isEnd;
    this.#isContinued = !isEnd;
    if (isEnd) this.#missingBytes = -1;
    return { bytes: this.#pending.take(), isPart, ...(isPart && this.#isCoded ? { isCoded: true } : {}) };
  }
}
