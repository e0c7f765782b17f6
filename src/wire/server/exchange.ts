import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { GatewayError } from '../../core/errors.ts';
import type { Answer } from '../http1/answer.ts';
import type { Closable } from './closable.ts';
import type { BodyBounds } from './collect.ts';

/**
 * One request as a server has read it, and the answer to it. There are two: the one of an `AgentConnection`,
 * which speaks HTTP/1.1 on the listeners and inside tunnels, and the one on a stream of HTTP/2.
 */
export interface Exchange {
  readonly method: string;
  /** The target as it was sent (RFC 9112, 3.2), not parsed. */
  readonly target: string;
  /**
   * Flat [name, value, …] in the order and casing in which they came. They are slices of the head, so copy
   * one that is kept for long.
   */
  readonly fields: readonly string[];
  /** Tells whether a body is declared, in whatever way. */
  readonly hasBody: boolean;
  readonly socket: Socket;
  /** The exchange's own part of a shared connection, which closes with it. */
  readonly stream?: Closable;
  readonly answer: Answer;
  /**
   * Reads the body, once and within bounds. A client that waits to be asked for it is asked now.
   */
  collect(bounds: BodyBounds, into: Collected): void;
  /** Reads the body as it comes, in place of `collect`. Nothing of it is told before this returns. */
  receive(into: Receiver): Flow;
  /** Writes a whole answer. Unread body is not read any more: then the connection ends with it. */
  refuse(status: number, fields: string[], body: Buffer): void;
  /** Tells whether the client may ask for WebSocket, which `switchProtocols` answers. */
  readonly maySwitch: boolean;
  /**
   * Answers that WebSocket is spoken from now on, with these fields beside those that say it; hands over the
   * connection, or the stream. The answer is closed with it. Throws as `writeHead` of the answer does.
   */
  switchProtocols(fields: readonly string[]): Duplex;
}

/** Hears a body as it comes, and nothing after `ended` or `failed`. A leaving client may cause only that. */
export interface Receiver {
  /** How many messages of the body are whole, and whether another one has begun: each has its time. */
  readonly messages: number;
  readonly isMidway: boolean;
  data(chunk: Buffer): void;
  ended(): void;
  failed(error: GatewayError): void;
}

/** A body that comes. After `pause` a little of it may still come. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** Exactly one of the two is called, once; none when the client leaves before its body is there. */
export interface Collected {
  done(body: Buffer): void;
  failed(error: GatewayError): void;
}
