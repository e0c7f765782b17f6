import { GatewayError } from '../../../core/errors.ts';
import { isCompressedAt, isFlag, lengthAt, prefixBytes } from '../../grpc/grpc-prefix.ts';
import { MessageFrames } from '../../grpc/message-frames.ts';
import { Gathered } from '../../http1/gathered.ts';
import { tooLarge } from '../collect.ts';

const noBytes = Buffer.alloc(0);

/** A message of gRPC as it stands in a body. */
export interface GrpcMessage {
  /**
   * Prefix and payload. Empty messages that follow each other are one frame, as there is nothing to read in
   * them.
   */
  readonly frame: Buffer;
  /** The message without its prefix. */
  readonly payload: Buffer;
  readonly isCompressed: boolean;
}

/**
 * Takes the messages out of a body of gRPC as it comes. It keeps one message that is not whole, and what was
 * pushed and not yet asked for.
 */
export class MessageReader {
  readonly #bytesMax: number;
  readonly #frames = new MessageFrames();
  readonly #frame = new Gathered();
  #unread: Buffer = noBytes;

  /** Reads messages of which each payload has at most `bytesMax` bytes. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Tells whether a message has begun that is not whole. */
  get isMidway(): boolean {
    return this.#frame.length > 0;
  }

  get hasUnread(): boolean {
    return this.#unread.length > 0;
  }

  get heldBytes(): number {
    return this.#frame.length + this.#unread.length;
  }

  push(chunk: Buffer): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
  }

  /**
   * Returns the next whole message, or undefined until more comes. Throws PAYLOAD_TOO_LARGE, and
   * VALIDATION_FAILED for what is not gRPC.
   */
  next(): GrpcMessage | undefined {
    const empty = this.isMidway ? 0 : emptyMessageBytes(this.#unread);
    if (empty > 0) return { frame: this.#take(empty), payload: noBytes, isCompressed: false };
    while (this.#unread.length > 0) {
      this.#frame.add(this.#take(this.#frames.partEnd(this.#unread, 0)));
      if (this.#frame.length === prefixBytes) this.#check();
      if (this.#frames.isAtEnd) return this.#whole();
    }
    return undefined;
  }

  #take(bytes: number): Buffer {
    const taken = this.#unread.subarray(0, bytes);
    this.#unread = this.#unread.subarray(taken.length);
    return taken;
  }

  #check(): void {
    const { flag, bytesLeft } = this.#frames;
    if (!isFlag(flag)) throw malformedGrpc('A message begins with an unknown flag.');
    if (bytesLeft > this.#bytesMax) throw tooLarge(bytesLeft, this.#bytesMax);
  }

  #whole(): GrpcMessage {
    const frame = this.#frame.take();
    return { frame, payload: frame.subarray(prefixBytes), isCompressed: isCompressedAt(frame, 0) };
  }
}

/** Returns how many bytes the empty messages at the beginning take up. */
function emptyMessageBytes(bytes: Buffer): number {
  let at = 0;
  while (at + prefixBytes <= bytes.length && isFlag(bytes[at] as number) && lengthAt(bytes, at) === 0)
    at += prefixBytes;
  return at;
}

export const malformedGrpc = (why: string): GatewayError =>
  new GatewayError('VALIDATION_FAILED', `The body is not well-formed gRPC. ${why}`);
