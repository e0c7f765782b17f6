import type { Socket } from 'node:net';
import { MalformedMessage, type ResponseHead } from '../http1/head.ts';
import type { TurnEnd, TurnEndListener } from '../http1/turn-end.ts';
import type { Carrier, Outgoing, ResponseHandler } from './carrier.ts';
import { ConnectionEnded, isClosedByPeer } from './failures.ts';
import { RequestSender } from './request-sender.ts';
import { ResponseReader } from './response-reader.ts';

/** The keeper of a connection. */
export interface Home {
  /** Takes a connection that is ready: it may be asked, or put by with `keep`. */
  onReady(connection: Connection): void;
  /**
   * Notes that a connection is closed, for whatever reason. It is called once; where a failure closed it, its
   * exchange was told.
   */
  onGone(connection: Connection, reason: unknown): void;
}

/**
 * Carries one request and its answer, then the next, over one HTTP/1.1 connection to an upstream. It is ready
 * only in the turn of the event loop after the one in which it was opened or its last answer ended. Whatever
 * arrives until then, or while it waits, nobody asked for. That ends the connection, and never becomes the
 * answer to a later request.
 */
export class Connection implements Carrier, TurnEndListener {
  /**
   * Age of the connection. It is `new` until it is first ready, and `kept` once it was asked or put by: then
   * the upstream may close it.
   */
  age: 'new' | 'fresh' | 'kept' = 'new';
  /** Tick at which the connection's home closes it; `keep` writes it. */
  expiresTick = 0;
  readonly #socket: Socket;
  readonly #home: Home;
  readonly #turnEnd: TurnEnd;
  readonly #sender: RequestSender;
  readonly #reader: ResponseReader;
  #isOpen = true;
  #exchange: ResponseHandler | undefined;
  #wasKept = false;
  #hasBegun = false;

  /**
   * Hears all events of `socket`, which is connected, from now on. `unhintedKeptMs` is for upstreams that do
   * not say how long they keep connections.
   */
  constructor(socket: Socket, home: Home, turnEnd: TurnEnd, unhintedKeptMs: number) {
    this.#socket = socket;
    this.#home = home;
    this.#turnEnd = turnEnd;
    this.#sender = new RequestSender(socket);
    this.#reader = new ResponseReader(unhintedKeptMs);
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('end', () => this.#receiveEnd());
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new ConnectionEnded()));
    turnEnd.wait(this);
  }

  /** Returns how many milliseconds the connection may wait for its next request. */
  get keptMs(): number {
    return this.#reader.keptMs;
  }

  get moves(): number {
    return this.#sender.moves;
  }

  /** Tells whether a request may be sent. Returns false where the socket knows already that it is closing. */
  get isUsable(): boolean {
    return this.#isOpen && this.#socket.writable && !this.#socket.readableEnded;
  }

  /** Sends a request, whose answer `exchange` hears. The connection must be ready. */
  ask(outgoing: Outgoing, exchange: ResponseHandler): void {
    this.#exchange = exchange;
    this.#wasKept = this.age === 'kept';
    this.age = 'kept';
    this.#hasBegun = false;
    this.#reader.expect(outgoing);
    this.#sender.send(outgoing.head, outgoing.body);
  }

  /** Puts the connection by, since its home has no request for it now. */
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

  /** Closes the connection at once, without a word to the exchange. */
  destroy(): void {
    this.#exchange = undefined;
    this.#fail(new ConnectionEnded());
  }

  onTurnEnd(): void {
    if (!this.#isOpen) return;
    // The end of the socket may have come before anyone listened. A request that was answered before all of
    // it was sent stands in the way of the next one. A small request is known to be sent only at the end of
    // the turn, perhaps after its answer.
    if (!this.isUsable || this.#sender.isSending || this.#socket.writableLength > 0) {
      this.#fail(new ConnectionEnded());
      return;
    }
    if (this.age === 'new') this.age = 'fresh';
    this.#home.onReady(this);
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
      // Once the exchange is over, nobody else would hear of its error.
      if (!this.#exchange && !(error instanceof MalformedMessage)) throw error;
      this.#fail(error);
    }
  }

  #read(bytes: Buffer): void {
    const reader = this.#reader;
    let unread = bytes;
    if (!reader.isInBody) {
      const head = reader.readHead(bytes);
      if (!head) return;
      unread = reader.takeRest();
      if (head.status === 101) {
        this.#handOver(head, unread);
        return;
      }
      this.#exchange?.onHead(head);
    }
    const end = reader.readBody(unread, this.#handOn);
    if (reader.isDone) this.#finish(end === unread.length);
  }

  /** Hands content on. It does nothing once the exchange has let go, as it may do in any call. */
  readonly #handOn = (chunk: Buffer): void => this.#exchange?.onData(chunk);

  /** Hands the connection over, which counts as ours until it is closed. */
  #handOver(head: ResponseHead, unread: Buffer): void {
    const exchange = this.#exchange;
    const socket = this.#socket;
    this.#exchange = undefined;
    this.#isOpen = false;
    this.#sender.stop();
    socket.pause();
    for (const event of ['data', 'end', 'close']) socket.removeAllListeners(event);
    if (unread.length > 0) socket.unshift(unread);
    socket.once('close', () => this.#home.onGone(this, new ConnectionEnded()));
    exchange?.onSwitch(head, socket);
  }

  /** Ends the exchange with a whole answer. `isExact` says that nothing stands behind it. */
  #finish(isExact: boolean): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#exchange = undefined;
    const trailers = this.#reader.finish();
    if (!this.#reader.isPersistent || !isExact) this.destroy();
    else {
      if (this.#socket.isPaused()) this.#socket.resume();
      this.#turnEnd.wait(this);
    }
    exchange.onEnd(trailers);
  }

  #receiveEnd(): void {
    if (this.#reader.mayEndHere) this.#finish(true);
    else this.#fail(new ConnectionEnded());
  }

  #fail(error: unknown): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#sender.stop();
    this.#socket.destroy();
    exchange?.onFailure(error, this.#wasKept && !this.#hasBegun && isClosedByPeer(error));
    this.#home.onGone(this, error);
  }
}
