import type { Duplex } from 'node:stream';
import type { GatewayError } from '../../core/errors.ts';
import type { Target } from '../../core/target.ts';
import type { ResponseHead } from '../http1/head.ts';
import type { TurnEnd } from '../http1/turn-end.ts';
import type { Deadlines } from './deadlines.ts';

/** A request as it is sent. */
export interface Outgoing {
  readonly method: string;
  readonly target: Target;
  /** Flat, with its Host: made by `toUpstreamHeaders`. */
  readonly headers: readonly string[];
  /** The same as text, for HTTP/1.1: made by `toRequestHead`. */
  readonly head: string;
  readonly body: Buffer | undefined;
  /** In place of `body`, for carriers that can send and be answered at the same time. */
  readonly messages: StreamedBody | undefined;
  /** Asks to go on in WebSocket. */
  readonly isWebSocket: boolean;
  /** No other request follows on its connection: its body may be taken for one. */
  readonly isAlone: boolean;
  /** Its connection may be its sender's from then on (RFC 4559). */
  readonly isAuthenticating: boolean;
}

/** A body that is sent as it comes, or as it is let through. */
export interface StreamedBody {
  /** Counts all that comes and goes: while it changes, the call is alive. */
  readonly moves: number;
  /** Its end was sent. */
  readonly isEnded: boolean;
  /** Called once, when there is something to write to. */
  start(sink: BodySink): void;
  /** The sink takes more. */
  drained(): void;
}

/** Takes nothing any more, and says nothing, once the exchange is over. */
export interface BodySink {
  /** False where it should wait for `drained`. */
  write(chunk: Buffer): boolean;
  end(): void;
}

/** Hears a request's answer, and nothing after `onEnd`, `onFailure`, or once it destroyed the carrier. */
export interface ResponseHandler {
  onHead(head: ResponseHead): void;
  /** The exchange gets the connection or stream for WebSocket. Nothing more is heard after it. */
  onSwitch(head: ResponseHead, connection: Duplex): void;
  onData(chunk: Buffer): void;
  /** The answer is whole; `trailers` is flat. */
  onEnd(trailers: readonly string[]): void;
  /** `isLost`: before a byte of the answer came, so that the request may never have been read. */
  onFailure(error: unknown, isLost: boolean): void;
}

/** Carries a request to an upstream and its answer back: an HTTP/1.1 connection, or a stream of HTTP/2. */
export interface Carrier {
  ask(outgoing: Outgoing, exchange: ResponseHandler): void;
  pause(): void;
  resume(): void;
  /** At once, without a word to the exchange. */
  destroy(): void;
}

/** A request that wants a carrier. */
export interface Waiting {
  /** A kept connection was lost under it: another one could be lost as well. */
  readonly needsFresh: boolean;
  sendOn(carrier: Carrier): void;
  fail(error: GatewayError): void;
}

/** Carries requests to one scheme, host and port. */
export interface Origin {
  /** Requests that have a carrier or wait for one. */
  readonly running: number;
  usedTick: number;
  /** Each is answered by one `release`. */
  dispatch(request: Waiting): void;
  /** Once more for a request whose carrier was lost, on another one. */
  repeat(request: Waiting): void;
  /** The request is over, or waits no longer. */
  release(request: Waiting, tick: number): void;
  /** Keeps no connection any more; those that run are closed when their requests are over. */
  retire(): void;
  /** Closes the connections that have waited for too long. */
  sweep(tick: number): void;
}

/** State that all origins share. */
export interface OriginContext {
  readonly deadlines: Deadlines;
  readonly turnEnd: TurnEnd;
  readonly connectionsMax: number;
  readonly keptMs: number;
  /** Waits for the settings of an HTTP/2 session: the first request must know what the upstream can do. */
  readonly awaitsSettings?: boolean;
}
