import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { GatewayError } from '../../core/errors.ts';
import type { Answer } from '../http1/answer.ts';
import type { Closable } from './closable.ts';
import type { BodyBounds } from './collect.ts';

/**
 * One request as a server has read it, and the answer to it. There are two kinds: that of an
 * `AgentConnection`, which speaks HTTP/1.1 on the listeners and inside tunnels, and that on a stream of
 * HTTP/2.
 */
export interface Exchange {
  readonly method: string;
  /** The target (RFC 9112, 3.2), not parsed, with bytes beyond ASCII percent-encoded. */
  readonly target: string;
  /**
   * Flat [name, value, …] in the order and casing in which they came. They are slices of the head, so copy
   * one that is kept for long.
   */
  readonly fields: readonly string[];
  /** Tells whether a body is declared, in whatever way. */
  readonly hasBody: boolean;
  readonly socket: Socket;
  /**
   * Stream of HTTP/2 that the exchange has to itself; it closes with the exchange. Undefined over HTTP/1.1.
   */
  readonly stream?: Closable;
  readonly answer: Answer;
  /** Reads the body, once and within bounds. A client that waits to be asked for it is asked now. */
  collect(bounds: BodyBounds, into: Collected): void;
  /** Reads the body as it comes, in place of `collect`. `into` is told nothing before this returns. */
  receive(into: Receiver): Flow;
  /**
   * Writes a whole answer. A body that is unread is not read any more; the connection or stream then ends
   * with the answer.
   */
  refuse(status: number, fields: string[], body: Buffer): void;
  /** Tells whether the client may ask for WebSocket, which `switchProtocols` answers. */
  readonly maySwitch: boolean;
  /**
   * Answers that WebSocket is spoken from now on, and adds these fields. Hands over the connection, or the
   * stream, with whose end the answer is closed. Throws as `writeHead` of the answer does.
   */
  switchProtocols(fields: readonly string[]): Duplex;
}

/**
 * Hears a body as it comes, and nothing after `ended` or `failed`. Where the client leaves, `failed` may be
 * all that comes.
 */
export interface Receiver {
  /** Number of messages of the body that are whole. Each message has its own time. */
  readonly messages: number;
  /** Tells whether a message has begun that is not whole. */
  readonly isMidway: boolean;
  data(chunk: Buffer): void;
  ended(): void;
  failed(error: GatewayError): void;
}

/** A body that comes, and may be stopped. After `pause` a little of it may still come. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/**
 * Takes a body that was collected, or the reason why not. One of the two is called, once; perhaps none where
 * the client leaves before its body is there.
 */
export interface Collected {
  done(body: Buffer): void;
  failed(error: GatewayError): void;
}
