import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { toGatewayError } from '../../core/errors.ts';
import type { Exchange } from './exchange.ts';
import { StreamExchange } from './http2/stream-exchange.ts';
import { readStreamRequest, type StreamRequest } from './http2/stream-request.ts';
import type { Begins, StreamTurns } from './http2/stream-turns.ts';
import { answerProblem } from './problem.ts';
import type { AllowedTicks, Served, ServingContext } from './serving-context.ts';

/** Requests that one connection may have at once. */
const streamsMax = 100;
/** Megabytes of memory for one connection, beside the windows of its streams. */
const sessionMegabytesMax = 4;
/** Fields beyond the limit that are still read, so that the client is told. With more the stream is reset. */
const pairsBeyond = 8;

/**
 * Serves one HTTP/2 connection (RFC 9113). Node's own implementation, which is nghttp2's, speaks it: it
 * refuses what is malformed, and bounds floods of settings, pings, empty frames and resets. Each stream is
 * one exchange.
 */
export class AgentSession implements Served, Begins {
  slot = 0;
  readonly #socket: Socket;
  readonly #session: ServerHttp2Session;
  readonly #scheme: string;
  readonly #context: ServingContext;
  readonly #onExchange: (exchange: Exchange) => void;
  readonly #turns: StreamTurns;
  /** Streams that have not begun. The bound on streams holds for them, too. */
  readonly #waiting: { readonly stream: ServerHttp2Stream; readonly raw: readonly string[] }[] = [];
  /** Exchanges whose stream is open. */
  readonly #exchanges = new Set<StreamExchange>();
  /** Tick at which the connection began, or its last stream ended. */
  #sinceTick: number;
  #isFirst = true;

  constructor(
    socket: Socket,
    context: ServingContext,
    turns: StreamTurns,
    onExchange: (exchange: Exchange) => void,
  ) {
    const { maxHeaders, maxHeaderBytes } = context.limits();
    this.#socket = socket;
    this.#context = context;
    this.#turns = turns;
    this.#onExchange = onExchange;
    this.#sinceTick = context.tick;
    this.#session = performServerHandshake(socket, {
      maxSessionMemory: sessionMegabytesMax,
      maxHeaderListPairs: maxHeaders + pairsBeyond,
      // A doubled field of an upstream is passed on, as over HTTP/1.1. By default Node throws.
      strictSingleValueFields: false,
      settings: {
        ...{ maxConcurrentStreams: streamsMax, maxHeaderListSize: maxHeaderBytes, enablePush: false },
        // This offers WebSocket on streams (RFC 8441, 3).
        enableConnectProtocol: true,
      },
    });
    // TLS that did not agree on HTTP/2 is that of the listener, and the tunnel in it has none.
    this.#scheme = 'encrypted' in socket && agreedOnHttp2(socket) ? 'https' : 'http';
    this.#session.on('stream', (stream, _headers, _flags, raw) => this.#onStream(stream, raw));
    // The `close` that follows says all that matters.
    this.#session.on('error', () => this.#session.destroy());
    this.#session.on('close', () => context.delete(this));
    // A client that closes its side has left, as on HTTP/1.1: Node's session goes on until both are closed.
    socket.once('end', () => socket.destroy());
  }

  /** Ends the connection once the streams that are open have ended. */
  drain(): void {
    this.#session.close();
  }

  checkDeadline(allowed: AllowedTicks): void {
    const { tick } = this.#context;
    if (this.#exchanges.size === 0) {
      const limit = this.#isFirst ? allowed.head : allowed.idle;
      if (tick - this.#sinceTick >= limit) this.#leave();
    }
    for (const exchange of this.#exchanges) exchange.checkDeadline(allowed);
  }

  #onStream(stream: ServerHttp2Stream, raw: readonly string[]): void {
    // The `close` of the stream says all that matters.
    stream.on('error', () => stream.destroy());
    this.#isFirst = false;
    this.#waiting.push({ stream, raw });
    this.#turns.wait(this);
  }

  beginNext(): boolean {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if (!next.stream.closed) {
        this.#begin(next.stream, next.raw);
        return this.#waiting.length > 0;
      }
      // Node keeps a stream that the client has reset until it is read to its end.
      next.stream.destroy();
    }
    return false;
  }

  #begin(stream: ServerHttp2Stream, raw: readonly string[]): void {
    let request = unreadable;
    let failure: unknown;
    try {
      const { maxHeaders, maxHeaderBytes } = this.#context.limits();
      request = readStreamRequest(raw, {
        scheme: this.#scheme,
        fieldsMax: maxHeaders,
        bytesMax: maxHeaderBytes,
      });
    } catch (error) {
      failure = error;
    }
    const exchange = new StreamExchange(stream, request, this.#socket, this.#context);
    this.#exchanges.add(exchange);
    stream.once('close', () => {
      this.#exchanges.delete(exchange);
      this.#sinceTick = this.#context.tick;
    });
    if (failure === undefined) this.#onExchange(exchange);
    else answerProblem(exchange, toGatewayError(failure), []);
  }

  /**
   * Says goodbye to an idle client. Cuts it off where it did not close after that: Node would wait for it
   * without end.
   */
  #leave(): void {
    if (this.#session.closed) this.#socket.destroy();
    else this.#session.close();
    this.#sinceTick = this.#context.tick;
  }
}

/** Tells whether the TLS handshake of a connection agreed on HTTP/2. */
export const agreedOnHttp2 = (socket: Socket): boolean =>
  'alpnProtocol' in socket && socket.alpnProtocol === 'h2';

const unreadable: StreamRequest = {
  method: '',
  target: '',
  fields: [],
  contentLength: -1,
  expectsContinue: false,
  isConnect: false,
};
