import type { Socket } from 'node:net';
import { type GatewayError, toGatewayError } from '../../core/errors.ts';
import type { Origin, OriginContext, Waiting } from './carrier.ts';
import type { TlsSessionStore } from './connect.ts';
import { Connection, type Home } from './connection.ts';
import { isProtocolRefused, toExchangeFailure } from './failures.ts';
import { IdleConnections } from './idle-connections.ts';

/**
 * Sends requests over HTTP/1.1 connections to one scheme, host and port. A request takes the connection that
 * was used last, so that surplus ones grow old and are closed. A request that finds none free waits, and a
 * connection is opened for it, up to the limit. The first connection that becomes ready serves the request
 * that has waited longest.
 */
export class ConnectionOrigin implements Origin, Home {
  /** Requests that have a connection or wait for one. */
  running = 0;
  usedTick = 0;
  readonly #context: OriginContext;
  readonly #dial: (session: TlsSessionStore) => Promise<Socket>;
  readonly #makeSuccessor: (() => Origin) | undefined;
  /** Origin that takes all requests since the upstream has said that it does not speak HTTP/1.1. */
  #successor: Origin | undefined;
  readonly #session: TlsSessionStore = { session: undefined };
  readonly #idle: IdleConnections;
  /**
   * Requests without a connection. Those that need a fresh one stand first; each of them has one on its way.
   */
  readonly #waiting: Waiting[] = [];
  /** Connections that stand or are being opened. */
  #open = 0;
  /** Connections of `#open` that have not been ready yet. */
  #opening = 0;
  #isRetired = false;

  constructor(
    context: OriginContext,
    dial: (session: TlsSessionStore) => Promise<Socket>,
    makeSuccessor?: () => Origin,
  ) {
    this.#context = context;
    this.#idle = new IdleConnections(context.idleChanged);
    this.#dial = dial;
    this.#makeSuccessor = makeSuccessor;
  }

  /** Sends a request, or keeps it until a connection is ready. Each call is answered by one `release`. */
  dispatch(request: Waiting): void {
    this.running++;
    if (this.#successor) {
      this.#successor.dispatch(request);
      return;
    }
    const connection = this.#idle.take();
    if (connection) request.sendOn(connection);
    else {
      this.#waiting.push(request);
      this.#openAsNeeded();
    }
  }

  /** Sends a request once more that lost its kept connection, on a fresh one in place of that. */
  repeat(request: Waiting): void {
    if (this.#successor) {
      this.#successor.repeat(request);
      return;
    }
    this.#waiting.unshift(request);
    this.#openOne();
  }

  /** Notes that a request is over, or waits no longer. */
  release(request: Waiting, tick: number): void {
    this.running--;
    this.usedTick = tick;
    if (this.#successor) this.#successor.release(request, tick);
    else if (this.#waiting.length > 0) remove(this.#waiting, request);
  }

  /** Keeps no connection any more. Those in use are closed when their requests are over. */
  retire(): void {
    this.#isRetired = true;
    this.#successor?.retire();
    this.#idle.close();
  }

  /** Closes the connections that have waited for too long. */
  sweep(tick: number): void {
    this.#successor?.sweep(tick);
    this.#idle.sweep(tick);
  }

  dropIdle(): boolean {
    return this.#idle.dropOldest();
  }

  onReady(connection: Connection): void {
    if (connection.age === 'fresh') this.#opening--;
    const next = takeNext(this.#waiting, connection.age === 'kept');
    if (next) {
      next.sendOn(connection);
      return;
    }
    const { deadlines } = this.#context;
    const keptTicks = deadlines.toTicksWithin(connection.keptMs);
    if (this.#isRetired || keptTicks === 0) connection.destroy();
    else {
      connection.keep(deadlines.tick + keptTicks);
      this.#idle.add(connection);
    }
  }

  onGone(connection: Connection, reason: unknown): void {
    if (connection.age === 'new') {
      this.#notOpened(toExchangeFailure(reason, false));
      return;
    }
    this.#idle.remove(connection);
    this.#open--;
    this.#openAsNeeded();
  }

  #openAsNeeded(): void {
    while (this.#opening < this.#waiting.length && this.#open < this.#context.connectionsMax) this.#openOne();
  }

  #openOne(): void {
    this.#open++;
    this.#opening++;
    const { turnEnd, keptMs } = this.#context;
    this.#dial(this.#session).then(
      (socket) => new Connection(socket, this, turnEnd, keptMs),
      (error: unknown) => this.#notOpened(toGatewayError(error)),
    );
  }

  #notOpened(error: GatewayError): void {
    this.#open--;
    this.#opening--;
    if (isProtocolRefused(error) && this.#makeSuccessor) {
      this.#succeed(this.#makeSuccessor);
      return;
    }
    this.#waiting.shift()?.fail(error);
    this.#openAsNeeded();
  }

  /**
   * Hands all requests to a successor. Connections that are still being opened fail in the same way, and find
   * nobody waiting.
   */
  #succeed(makeSuccessor: () => Origin): void {
    this.#successor ??= makeSuccessor();
    for (const request of this.#waiting.splice(0)) this.#successor.dispatch(request);
    if (this.#isRetired) this.#successor.retire();
  }
}

/**
 * Takes the request that has waited longest. For a kept connection it takes only one that needs no fresh one.
 */
function takeNext(waiting: Waiting[], isKept: boolean): Waiting | undefined {
  const at = isKept ? waiting.findIndex(({ needsFresh }) => !needsFresh) : 0;
  return at < 0 ? undefined : waiting.splice(at, 1)[0];
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
}
