import type { Socket } from 'node:net';
import { BodyReader, chunked, untilClose } from '../http1/body.ts';
import { isPersistent, MalformedMessage, type ResponseHead } from '../http1/head.ts';
import { ResponseHeadReader } from '../http1/head-reader.ts';
import { withHead } from '../http1/head-room.ts';
import type { TurnEnd, TurnEndListener } from '../http1/turn-end.ts';
import type { Carrier, Outgoing, ResponseHandler } from './carrier.ts';
import { ConnectionEnded, isClosedByPeer } from './failures.ts';
import { keptMs } from './keep-alive.ts';

/** Whose connection it is. */
export interface Home {
  /** It may be asked, or put by with `keep`. */
  onReady(connection: Connection): void;
  /** It is closed, for whatever reason; where that was a failure, its exchange was told. Called once. */
  onGone(connection: Connection, reason: unknown): void;
}

/** Above this, copying head and body into one piece costs more than a second write. */
const onePieceBytesMax = 16_384;

/** To encrypt more at one go holds up other calls. */
const pieceBytesMax = 1024 * 1024;

function joined(head: string, body: Buffer): Buffer {
  const whole = Buffer.allocUnsafe(head.length + body.length);
  whole.write(head, 0, 'latin1');
  body.copy(whole, head.length);
  return whole;
}

/** Servers read the bodies of these. One that does not read that of a GET would take it for the next request. */
const bodyMethods: ReadonlySet<string> = new Set([
  'POST',
  'PUT',
  'PATCH',
  'QUERY',
  'DELETE',
  'PROPFIND',
  'REPORT',
  'SEARCH',
]);

/**
 * One HTTP/1.1 connection to an upstream: one request, then its answer, then the next. It is ready only in the turn of the event loop
 * after the one in which it stood or its last answer ended. Whatever arrives until then, or while it waits, nobody asked for; it ends
 * the connection, and never becomes the answer to a later request.
 */
export class Connection implements Carrier, TurnEndListener {
  /** `new` until it is ready for the first time, `kept` once it was asked or put by: then the upstream may be about to close it. */
  age: 'new' | 'fresh' | 'kept' = 'new';
  /** When its home closes it, in ticks; written by `keep`. */
  expiresTick = 0;
  /** For how long it may wait for its next request. */
  keptMs: number;
  readonly #socket: Socket;
  readonly #home: Home;
  readonly #turnEnd: TurnEnd;
  readonly #unhintedKeptMs: number;
  #isOpen = true;
  #isSending = false;
  #exchange: ResponseHandler | undefined;
  #wasKept = false;
  #hasBegun = false;
  #isHeadRequest = false;
  #maySwitch = false;
  #mayBeUnread = false;
  #isPersistent = true;
  #headReader = new ResponseHeadReader();
  #body: BodyReader | undefined;

  /** `socket` is connected; all of its events are heard here from now on. */
  constructor(socket: Socket, home: Home, turnEnd: TurnEnd, unhintedKeptMs: number) {
    this.#socket = socket;
    this.#home = home;
    this.#turnEnd = turnEnd;
    this.keptMs = unhintedKeptMs;
    this.#unhintedKeptMs = unhintedKeptMs;
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('end', () => this.#receiveEnd());
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new ConnectionEnded()));
    turnEnd.wait(this);
  }

  /** False where the socket knows already that it is closing. */
  get isUsable(): boolean {
    return this.#isOpen && this.#socket.writable && !this.#socket.readableEnded;
  }

  /** Only when it is ready. */
  ask({ method, head, body, isWebSocket }: Outgoing, exchange: ResponseHandler): void {
    this.#exchange = exchange;
    this.#wasKept = this.age === 'kept';
    this.age = 'kept';
    this.#hasBegun = false;
    this.#isHeadRequest = method === 'HEAD';
    this.#maySwitch = isWebSocket;
    this.#mayBeUnread = body !== undefined && !bodyMethods.has(method);
    this.#send(head, body);
  }

  /** Its home has nobody for it now. */
  keep(expiresTick: number): void {
    this.age = 'kept';
    this.expiresTick = expiresTick;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** At once, without a word to the exchange. */
  destroy(): void {
    this.#exchange = undefined;
    this.#fail(new ConnectionEnded());
  }

  onTurnEnd(): void {
    if (!this.#isOpen) return;
    // Its end may have come before anyone listened. A request that was answered before all of it was sent stands in the way of the next
    // one; that a small one was sent is known at the end of the turn, and its answer may be here before.
    if (!this.isUsable || this.#isSending || this.#socket.writableLength > 0) {
      this.#fail(new ConnectionEnded());
      return;
    }
    if (this.age === 'new') this.age = 'fresh';
    this.#home.onReady(this);
  }

  #send(head: string, body: Buffer | undefined): void {
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

  /** Each piece is written once the one before it has left. */
  #sendFrom(bytes: Buffer, from: number): void {
    const to = from + pieceBytesMax;
    this.#isSending = to < bytes.length;
    if (!this.#isSending) {
      this.#socket.write(from === 0 ? bytes : bytes.subarray(from));
      return;
    }
    this.#socket.write(bytes.subarray(from, to), (error) => {
      if (!error && this.#isOpen) this.#sendFrom(bytes, to);
    });
  }

  #receive(bytes: Buffer): void {
    if (!this.#isOpen) return;
    if (!this.#exchange) {
      this.#fail(new MalformedMessage('It sent bytes that nobody asked for.'));
      return;
    }
    this.#hasBegun = true;
    try {
      this.#read(bytes);
    } catch (error) {
      // An exchange that is over has nobody else to hear its error.
      if (!this.#exchange && !(error instanceof MalformedMessage)) throw error;
      this.#fail(error);
    }
  }

  #read(bytes: Buffer): void {
    let unread = bytes;
    if (!this.#body) {
      const head = this.#headReader.read(bytes, this.#maySwitch);
      if (!head) return;
      unread = this.#headReader.rest;
      if (head.status === 101) {
        this.#handOver(head, unread);
        return;
      }
      // For the next answer; this one holds on to the bytes that it read.
      this.#headReader = new ResponseHeadReader();
      this.#begin(head);
    }
    const body = this.#body as BodyReader;
    const end = body.read(unread, 0, this.#handOn);
    if (body.isDone) this.#finish(body, end === unread.length);
  }

  /** Without effect once the exchange has let go: it may do so in any call. */
  readonly #handOn = (chunk: Buffer): void => this.#exchange?.onData(chunk);

  #begin(head: ResponseHead): void {
    const length = bodyLength(head, this.#isHeadRequest);
    this.#isPersistent = isPersistent(head) && length !== untilClose && !this.#mayBeUnread;
    this.keptMs = keptMs(head.fields, this.#unhintedKeptMs);
    this.#body = new BodyReader(length);
    this.#exchange?.onHead(head);
  }

  /** Counts as ours until it is closed. */
  #handOver(head: ResponseHead, unread: Buffer): void {
    const exchange = this.#exchange;
    const socket = this.#socket;
    this.#exchange = undefined;
    this.#isOpen = false;
    socket.pause();
    for (const event of ['data', 'end', 'close']) socket.removeAllListeners(event);
    if (unread.length > 0) socket.unshift(unread);
    socket.once('close', () => this.#home.onGone(this, new ConnectionEnded()));
    exchange?.onSwitch(head, socket);
  }

  /** `isExact`: nothing stands behind the answer. */
  #finish(body: BodyReader, isExact: boolean): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#exchange = undefined;
    this.#body = undefined;
    if (!this.#isPersistent || !isExact) this.destroy();
    else {
      if (this.#socket.isPaused()) this.#socket.resume();
      this.#turnEnd.wait(this);
    }
    exchange.onEnd(body.trailers);
  }

  #receiveEnd(): void {
    const body = this.#body;
    if (body?.mayEndHere) this.#finish(body, true);
    else this.#fail(new ConnectionEnded());
  }

  #fail(error: unknown): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#socket.destroy();
    exchange?.onFailure(error, this.#wasKept && !this.#hasBegun && isClosedByPeer(error));
    this.#home.onGone(this, error);
  }
}

/** RFC 9112, 6.3. */
function bodyLength(head: ResponseHead, isHeadRequest: boolean): number {
  if (isHeadRequest || head.status === 204 || head.status === 304) return 0;
  if (head.isChunked) return chunked;
  return head.contentLength >= 0 ? head.contentLength : untilClose;
}
