import type { Duplex } from 'node:stream';
import { Receiver, Sender } from 'ws';

/*
 * One end of a WebSocket connection (RFC 6455, 5). What comes is asked for message by message, and while
 * nobody asks nothing more is read. The frames are read by the parser of `ws`, without any extension: bits
 * that an extension would set are an error.
 */

export type Incoming =
  | { readonly kind: 'message'; readonly data: Buffer; readonly isBinary: boolean }
  | { readonly kind: 'ping' | 'pong'; readonly data: Buffer }
  /** A close frame. `code` is 1005 where the frame has none. Nothing follows. */
  | { readonly kind: 'close'; readonly code: number; readonly reason: Buffer }
  /** Bytes that are no WebSocket, or too many; `code` is the one to close with. Nothing follows. */
  | { readonly kind: 'broken'; readonly code: number }
  /** The end of a connection without a close frame. Nothing follows. */
  | { readonly kind: 'gone' };

interface PeerOptions {
  /**
   * Tells whether we are the server: then what comes must be masked, and what goes is not (RFC 6455, 5.1).
   */
  readonly isServer: boolean;
  readonly maxMessageBytes: number;
  /** Takes room for so many bytes, which are all that is held of messages now; false where there is none. */
  keep(bytes: number): boolean;
}

const noStatus = 1005;
const protocolError = 1002;
const tryAgainLater = 1013;
const codes: Readonly<Record<string, number>> = {
  WS_ERR_INVALID_UTF8: 1007,
  WS_ERR_TOO_MANY_BUFFERED_PARTS: 1009,
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: 1009,
  WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH: 1009,
};
const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
export const controlBytesMax = 125;
/** Bytes of the text behind a close frame's code. */
export const reasonBytesMax = controlBytesMax - 2;
/** Frames that one message may have. Each costs memory beside its bytes. */
const fragmentsMax = 8_192;
/** Pieces in which a message may come. Each costs memory beside its bytes. */
const chunksMin = 8_192;
/** Bytes of a piece, of which a large message may have more than `chunksMin`. */
const chunkBytes = 512;

export class Peer {
  readonly #socket: Duplex;
  readonly #isServer: boolean;
  readonly #receiver: Receiver;
  readonly #keep: PeerOptions['keep'];
  /** Bytes of the message that is not whole. */
  #partBytes = 0;
  /** Bytes of the message that was given out last: it is held until the next one is asked for. */
  #givenBytes = 0;
  /** Messages and the like that came in one chunk, and that nobody has asked for yet. */
  readonly #waiting: Incoming[] = [];
  #wanted: ((incoming: Incoming) => void) | undefined;
  /**
   * Tells whether nothing more is taken in: the last thing was queued or handed out, or our side has ended.
   */
  #isOver = false;
  #hasClosed = false;

  /** Hears all events of the connection from now on. */
  constructor(socket: Duplex, { isServer, maxMessageBytes, keep }: PeerOptions) {
    socket.pause();
    this.#socket = socket;
    this.#isServer = isServer;
    this.#keep = keep;
    this.#receiver = new Receiver({
      isServer,
      maxPayload: maxMessageBytes,
      maxFragments: fragmentsMax,
      maxBufferedChunks: Math.max(chunksMin, Math.ceil(maxMessageBytes / chunkBytes)),
    });
    this.#receiver.on('message', (data, isBinary) => this.#take({ kind: 'message', data, isBinary }));
    this.#receiver.on('ping', (data) => this.#take({ kind: 'ping', data }));
    this.#receiver.on('pong', (data) => this.#take({ kind: 'pong', data }));
    this.#receiver.on('conclude', (code, reason) => this.#last({ kind: 'close', code, reason }));
    this.#receiver.on('error', (error) =>
      this.#last({
        kind: 'broken',
        code: codes[(error as NodeJS.ErrnoException).code ?? ''] ?? protocolError,
      }),
    );
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('end', () => this.#last({ kind: 'gone' }));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#last({ kind: 'gone' }));
  }

  /** Returns the next message. Messages are asked for one at a time, and none after the last. */
  next(): Promise<Incoming> {
    const incoming = this.#waiting.shift();
    this.#given(incoming);
    if (incoming) return Promise.resolve(incoming);
    if (this.#socket.destroyed) return Promise.resolve({ kind: 'gone' });
    return new Promise((resolve) => {
      this.#wanted = resolve;
      this.#socket.resume();
    });
  }

  /** Sends a message. Resolves when the connection takes more, or is gone. */
  send(data: Buffer, isBinary: boolean): Promise<void> {
    return this.#write(isBinary ? opcodes.binary : opcodes.text, data);
  }

  /** Sends a ping. `data` has at most `controlBytesMax` bytes. */
  ping(data: Buffer): Promise<void> {
    return this.#write(opcodes.ping, data);
  }

  pong(data: Buffer): Promise<void> {
    return this.#write(opcodes.pong, data);
  }

  /** Sends a close frame, once; nothing goes out behind it. `reason` has at most `reasonBytesMax` bytes. */
  close(code: number, reason: Buffer): void {
    if (this.#hasClosed) return;
    const status = Buffer.alloc(2);
    status.writeUInt16BE(code);
    const payload = code === noStatus ? Buffer.alloc(0) : Buffer.concat([status, reason]);
    // Nobody waits until this is sent: a peer that does not read is cut off in the end.
    void this.#write(opcodes.close, payload);
    this.#hasClosed = true;
  }

  /** Closes our side of the connection and reads no more than it takes to see the other one closed. */
  end(): void {
    this.#isOver = true;
    this.#socket.resume();
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  onceClosed(listener: () => void): void {
    if (this.#socket.closed) listener();
    else this.#socket.once('close', listener);
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    // The frames of one chunk all arrive at once. The next chunk can be put off until somebody asks for it.
    this.#socket.pause();
    this.#partBytes += chunk.length;
    this.#receiver.write(chunk);
    if (!this.#keep(this.#givenBytes + this.#partBytes)) this.#last({ kind: 'broken', code: tryAgainLater });
    if (this.#wanted && !this.#isOver && !this.#receiver.errored) this.#socket.resume();
  }

  #last(incoming: Incoming): void {
    if (this.#isOver) return;
    this.#take(incoming);
    this.#isOver = true;
  }

  #take(incoming: Incoming): void {
    if (this.#isOver) return;
    const wanted = this.#wanted;
    this.#wanted = undefined;
    this.#partBytes = 0;
    if (!wanted) this.#waiting.push(incoming);
    else {
      this.#given(incoming);
      wanted(incoming);
    }
  }

  /** Counts a message that is given out, in place of the one before it. */
  #given(incoming: Incoming | undefined): void {
    this.#givenBytes = incoming?.kind === 'message' ? incoming.data.length : 0;
    this.#keep(this.#givenBytes + this.#partBytes);
  }

  #write(opcode: number, data: Buffer): Promise<void> {
    const socket = this.#socket;
    if (this.#hasClosed || !socket.writable) return done;
    const frame = Sender.frame(data, {
      ...{ fin: true, opcode, rsv1: false, readOnly: true },
      mask: !this.#isServer,
    });
    socket.cork();
    for (const part of frame) socket.write(part);
    socket.uncork();
    if (!socket.writableNeedDrain) return done;
    return new Promise((resolve) => {
      const settle = (): void => {
        socket.off('drain', settle).off('close', settle);
        resolve();
      };
      socket.on('drain', settle).on('close', settle);
    });
  }
}

const done = Promise.resolve();
