import type { Duplex } from 'node:stream';
import type { GatewayError } from '../../core/errors.ts';
import type { Target } from '../../core/target.ts';
import type { ResponseHead } from '../http1/head.ts';
import type { TurnEnd } from '../http1/turn-end.ts';
import type { Deadlines } from './deadlines.ts';

/** A request as it is sent. */
export interface Outgoing {
  /** Agent that shares its HTTP/2 sessions with no other one. */
  readonly agentId: string;
  readonly method: string;
  readonly target: Target;
  /** Flat fields with the Host: made by `toUpstreamHeaders`. */
  readonly headers: readonly string[];
  /** Head of the request as text, for HTTP/1.1: made by `toRequestHead`. */
  readonly head: string;
  readonly body: Buffer | undefined;
  /**
   * Body that is sent as it comes, in place of `body`, on carriers that can send and be answered at the same
   * time.
   */
  readonly messages: StreamedBody | undefined;
  /** Tells whether the request asks to go on in WebSocket. */
  readonly isWebSocket: boolean;
  /** Tells whether no other request may follow on the connection, because the body may be taken for one. */
  readonly isAlone: boolean;
  /**
   * Tells whether the request may authenticate its connection, which is the sender's from then on (RFC 4559).
   */
  readonly isAuthenticating: boolean;
}

/** A body that is sent as it comes, or as it is let through. */
export interface StreamedBody {
  /** Count of all that comes and goes: while it changes, the call is alive. */
  readonly moves: number;
  /** Tells whether the end of the body was sent. */
  readonly isEnded: boolean;
  /** Takes what the body is to be written to. It is called once. */
  start(sink: BodySink): void;
  /** Notes that the sink takes more. */
  drained(): void;
}

/**
 * Takes the bytes of a streamed body. Once the exchange is over it takes nothing any more, and says nothing.
 */
export interface BodySink {
  /** Writes a chunk. Returns false where the body should wait for `drained`. */
  write(chunk: Buffer): boolean;
  end(): void;
}

/**
 * Hears the answer to a request. It hears nothing after `onEnd` or `onFailure`, or once it has destroyed the
 * carrier.
 */
export interface ResponseHandler {
  onHead(head: ResponseHead): void;
  /** Takes over the connection or stream for WebSocket. Nothing more is heard after it. */
  onSwitch(head: ResponseHead, connection: Duplex): void;
  onData(chunk: Buffer): void;
  /** Notes that the answer is whole; `trailers` is flat. */
  onEnd(trailers: readonly string[]): void;
  /**
   * Notes that the exchange failed. `isLost` says that no byte of the answer came, so that the request may
   * never have been read.
   */
  onFailure(error: unknown, isLost: boolean): void;
}

/** Carries a request to an upstream and its answer back: an HTTP/1.1 connection, or a stream of HTTP/2. */
export interface Carrier {
  /** Count of what has left of the request: while it changes, the call is alive. */
  readonly moves: number;
  ask(outgoing: Outgoing, exchange: ResponseHandler): void;
  pause(): void;
  resume(): void;
  /** Ends the carrying at once, without a word to the exchange. */
  destroy(): void;
}

/** A request that wants a carrier. */
export interface Waiting {
  readonly agentId: string;
  /** Tells whether a kept connection was lost under the request: another one could be lost as well. */
  readonly needsFresh: boolean;
  sendOn(carrier: Carrier): void;
  fail(error: GatewayError): void;
}

/** Carries requests to one scheme, host and port. */
export interface Origin {
  /** Number of requests that have a carrier or wait for one. */
  readonly running: number;
  usedTick: number;
  /** Sends a request, or keeps it until there is a carrier. Each call is answered by one `release`. */
  dispatch(request: Waiting): void;
  /** Sends a request once more whose carrier was lost, on another one. */
  repeat(request: Waiting): void;
  /** Notes that a request is over, or waits no longer. */
  release(request: Waiting, tick: number): void;
  /** Keeps no connection any more. Those in use are closed when their requests are over. */
  retire(): void;
  /** Closes the connections that have waited for too long. */
  sweep(tick: number): void;
  /** Closes the connection that has waited longest for a request. Returns false where none waits. */
  dropIdle(): boolean;
}

/** State that all origins share. */
export interface OriginContext {
  readonly deadlines: Deadlines;
  readonly turnEnd: TurnEnd;
  readonly connectionsMax: number;
  readonly keptMs: number;
  /** Notes how many more connections, or fewer, wait for their next request. */
  readonly idleChanged: (more: number) => void;
  /**
   * Tells whether requests wait for the settings of an HTTP/2 session: the first one must know what the
   * upstream can do.
   */
  readonly awaitsSettings?: boolean;
}
