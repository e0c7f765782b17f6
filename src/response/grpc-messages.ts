import { GatewayError } from '../core/errors.ts';
import { isCompressedAt, isFlag, lengthAt, prefixBytes } from '../wire/grpc/grpc-prefix.ts';
import { Gathered } from '../wire/http1/gathered.ts';
import { tooLarge } from '../wire/server/collect.ts';

const noBytes = Buffer.alloc(0);

/** A message as it stands in a body. */
export interface GrpcMessage {
  /** Behind its prefix. Empty ones that stand next to each other are one frame: there is nothing in them to be read. */
  readonly frame: Buffer;
  /** Without it. */
  readonly payload: Buffer;
  readonly isCompressed: boolean;
}

/** Takes the messages out of a body of gRPC as it comes. Keeps one message that is not whole, and what was pushed and not yet asked for. */
export class MessageReader {
  readonly #bytesMax: number;
  #unread: Buffer = noBytes;
  #frame = new Gathered();
  #frameBytes = prefixBytes;

  /** `bytesMax` is that of one message. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** A message has begun that is not whole. */
  get isMidway(): boolean {
    return this.#frame.length > 0;
  }

  get hasUnread(): boolean {
    return this.#unread.length > 0;
  }

  push(chunk: Buffer): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
  }

  /** Undefined where more must come first. Throws PAYLOAD_TOO_LARGE, and VALIDATION_FAILED for what is no message. */
  next(): GrpcMessage | undefined {
    const empty = this.isMidway ? 0 : emptyMessageBytes(this.#unread);
    if (empty > 0) return { frame: this.#take(empty), payload: noBytes, isCompressed: false };
    while (this.#unread.length > 0) {
      this.#frame.add(this.#take(this.#frameBytes - this.#frame.length));
      if (this.#frame.length < this.#frameBytes) return undefined;
      if (this.#frameBytes === prefixBytes) this.#frameBytes += this.#payloadBytes();
      if (this.#frame.length === this.#frameBytes) return this.#whole();
    }
    return undefined;
  }

  #take(bytes: number): Buffer {
    const taken = this.#unread.subarray(0, bytes);
    this.#unread = this.#unread.subarray(taken.length);
    return taken;
  }

  #payloadBytes(): number {
    const prefix = this.#frame.peek();
    if (!isFlag(prefix[0] as number)) throw malformedGrpc('A message begins with an unknown flag.');
    const length = lengthAt(prefix, 0);
    if (length > this.#bytesMax) throw tooLarge(length, this.#bytesMax);
    return length;
  }

  #whole(): GrpcMessage {
    const frame = this.#frame.take();
    this.#frameBytes = prefixBytes;
    return { frame, payload: frame.subarray(prefixBytes), isCompressed: isCompressedAt(frame, 0) };
  }
}

/** How many bytes of empty messages stand at the beginning. */
function emptyMessageBytes(bytes: Buffer): number {
  let at = 0;
  while (at + prefixBytes <= bytes.length && isFlag(bytes[at] as number) && lengthAt(bytes, at) === 0)
    at += prefixBytes;
  return at;
}

/** A message that is not compressed, behind its prefix. */
export function frameOf(payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + payload.length);
  frame[0] = 0;
  frame.writeUInt32BE(payload.length, 1);
  payload.copy(frame, prefixBytes);
  return frame;
}

export const malformedGrpc = (why: string): GatewayError =>
  new GatewayError('VALIDATION_FAILED', `The body is not well-formed gRPC. ${why}`);
