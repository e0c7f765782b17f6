import type { Socket } from 'node:net';
import { withHead } from '../http1/head-room.ts';

/**
 * Bytes of the longest body that is copied behind its head. For a longer one, copying costs more than a
 * second write.
 */
const onePieceBytesMax = 16_384;

/** Bytes that are written at one go. To encrypt more would hold up other calls. */
export const pieceBytesMax = 1024 * 1024;

function joined(head: string, body: Buffer): Buffer {
  const whole = Buffer.allocUnsafe(head.length + body.length);
  whole.write(head, 0, 'latin1');
  body.copy(whole, head.length);
  return whole;
}

/** Writes requests to a connection: a small one in one piece, a large body in several. */
export class RequestSender {
  /** Number of pieces that have left. */
  moves = 0;
  readonly #socket: Socket;
  #isSending = false;
  #isStopped = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Tells whether a part of the body has not been written yet. */
  get isSending(): boolean {
    return this.#isSending;
  }

  send(head: string, body: Buffer | undefined): void {
    const socket = this.#socket;
    if (body === undefined) {
      socket.write(head, 'latin1');
      return;
    }
    const whole = body.length <= onePieceBytesMax ? joined(head, body) : withHead(head, body);
    if (whole) {
      this.#sendFrom(whole, 0);
      return;
    }
    socket.cork();
    socket.write(head, 'latin1');
    this.#sendFrom(body, 0);
    socket.uncork();
  }

  /** Writes no further piece. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Writes bytes from `from` on, each piece once the one before it has left. */
  #sendFrom(bytes: Buffer, from: number): void {
    const to = from + pieceBytesMax;
    this.#isSending = to < bytes.length;
    if (!this.#isSending) {
      this.#socket.write(from === 0 ? bytes : bytes.subarray(from));
      return;
    }
    this.#socket.write(bytes.subarray(from, to), (error) => {
      this.moves++;
      if (!error && !this.#isStopped) this.#sendFrom(bytes, to);
    });
  }
}
