import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { toGatewayError } from '../../core/errors.ts';
import type { Exchange } from './exchange.ts';
import { answerProblem } from './problem.ts';
import type { AllowedTicks, Served, ServingContext } from './serving-context.ts';
import { StreamExchange } from './stream-exchange.ts';
import { readStreamRequest, type StreamRequest } from './stream-request.ts';

/** Requests of one connection at once. */
const streamsMax = 100;
/** Memory kept for one connection, beside the windows of its streams. */
const sessionMegabytesMax = 4;
/** Pairs beyond the limit that are still read, so that the client is told; with more the stream is reset. */
const pairsBeyond = 8;

/**
 * The server's side of one HTTP/2 connection (RFC 9113). Node's own implementation, which is nghttp2's,
 * speaks it: it refuses what is malformed, and bounds floods of settings, pings, empty frames and resets.
 * Each stream is one exchange.
 */
export class AgentSession implements Served {
  slot = 0;
  readonly #socket: Socket;
  readonly #session: ServerHttp2Session;
  readonly #context: ServingContext;
  readonly #onExchange: (exchange: Exchange) => void;
  /** Those whose stream is open. */
  readonly #exchanges = new Set<StreamExchange>();
  /** When the connection began, or its last stream ended. */
  #sinceTick: number;
  #isFirst = true;

  constructor(socket: Socket, context: ServingContext, onExchange: (exchange: Exchange) => void) {
    const { maxHeaders, maxHeaderBytes } = context.limits();
    this.#socket = socket;
    this.#context = context;
    this.#onExchange = onExchange;
    this.#sinceTick = context.tick;
    this.#session = performServerHandshake(socket, {
      maxSessionMemory: sessionMegabytesMax,
      maxHeaderListPairs: maxHeaders + pairsBeyond,
      // An upstream's doubled field goes on, as over HTTP/1.1; by default Node throws.
      strictSingleValueFields: false,
      settings: {
        ...{ maxConcurrentStreams: streamsMax, maxHeaderListSize: maxHeaderBytes, enablePush: false },
        // RFC 8441, 3.
        enableConnectProtocol: true,
      },
    });
    this.#session.on('stream', (stream, _headers, _flags, raw) => this.#onStream(stream, raw));
    // The `close` that follows says all that matters.
    this.#session.on('error', () => this.#session.destroy());
    this.#session.on('close', () => context.delete(this));
    // A client that closes its side has left, as on HTTP/1.1: Node's session goes on until both are closed.
    socket.once('end', () => socket.destroy());
  }

  /** Lets the streams end that are open. */
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
    // Its `close` says all that matters.
    stream.on('error', () => stream.destroy());
    this.#isFirst = false;
    let request = unreadable;
    let failure: unknown;
    try {
      const { maxHeaders, maxHeaderBytes } = this.#context.limits();
      const scheme = 'encrypted' in this.#socket ? 'https' : 'http';
      request = readStreamRequest(raw, { scheme, fieldsMax: maxHeaders, bytesMax: maxHeaderBytes });
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

  /** Cuts off a client that does not close after our goodbye: Node would wait for it without end. */
  #leave(): void {
    if (this.#session.closed) this.#socket.destroy();
    else this.#session.close();
    this.#sinceTick = this.#context.tick;
  }
}

const unreadable: StreamRequest = {
  method: '',
  target: '',
  fields: [],
  contentLength: -1,
  expectsContinue: false,
  isConnect: false,
};
