import type { Socket } from 'node:net';
import { type GatewayError, toGatewayError } from '../errors.ts';
import type { SessionStore } from './connect.ts';
import { Connection, type Home } from './connection.ts';
import type { Deadlines } from './deadlines.ts';
import { toExchangeFailure } from './failures.ts';
import type { TurnEnd } from './turn-end.ts';

/** A request that wants a connection. */
export interface Waiting {
  /** A kept connection was lost under it: another one could be lost as well. */
  readonly needsFresh: boolean;
  sendOn(connection: Connection): void;
  fail(error: GatewayError): void;
}

/** What all origins share. */
export interface OriginContext {
  readonly deadlines: Deadlines;
  readonly turnEnd: TurnEnd;
  readonly connectionsMax: number;
  readonly keptMs: number;
}

/**
 * The connections to one scheme, host and port. A request takes the one that was used last, so that those too many grow old and are
 * closed; where there is none it waits, and for each that waits a connection is opened, up to the limit. Whichever is ready first serves
 * whoever waited longest.
 */
export class Origin implements Home {
  /** Requests that have a connection or wait for one. */
  running = 0;
  usedTick = 0;
  readonly #context: OriginContext;
  readonly #dial: (session: SessionStore) => Promise<Socket>;
  readonly #session: SessionStore = { session: undefined };
  /** The one that was used last stands last. */
  readonly #idle: Connection[] = [];
  /** Those that need a fresh connection stand first; each of them has one on its way. */
  readonly #waiting: Waiting[] = [];
  /** Connections that stand or are being opened. */
  #open = 0;
  /** Those of them that have not been ready yet. */
  #opening = 0;
  #isRetired = false;

  constructor(context: OriginContext, dial: (session: SessionStore) => Promise<Socket>) {
    this.#context = context;
    this.#dial = dial;
  }

  /** Each is answered by one `release`. */
  dispatch(request: Waiting): void {
    this.running++;
    const connection = this.#takeIdle();
    if (connection) request.sendOn(connection);
    else {
      this.#waiting.push(request);
      this.#openAsNeeded();
    }
  }

  /** Once more for a request whose kept connection was lost, on a fresh one, which takes the place of that. */
  repeat(request: Waiting): void {
    this.#waiting.unshift(request);
    this.#openOne();
  }

  /** The request is over, or waits no longer. */
  release(request: Waiting, tick: number): void {
    this.running--;
    this.usedTick = tick;
    if (this.#waiting.length > 0) remove(this.#waiting, request);
  }

  /** Keeps no connection any more; those that run are closed when their requests are over. */
  retire(): void {
    this.#isRetired = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Closes the connections that have waited for too long. */
  sweep(tick: number): void {
    for (const connection of this.#idle.filter(({ expiresTick }) => expiresTick <= tick))
      connection.destroy();
  }

  onReady(connection: Connection): void {
    if (connection.age === 'fresh') this.#opening--;
    const next = this.#takeWaiting(connection.age === 'kept');
    if (next) {
      next.sendOn(connection);
      return;
    }
    const { deadlines } = this.#context;
    const keptTicks = deadlines.toTicksWithin(connection.keptMs);
    if (this.#isRetired || keptTicks === 0) connection.destroy();
    else {
      connection.keep(deadlines.tick + keptTicks);
      this.#idle.push(connection);
    }
  }

  onGone(connection: Connection, reason: unknown): void {
    if (connection.age === 'new') {
      this.#notOpened(toExchangeFailure(reason, false));
      return;
    }
    remove(this.#idle, connection);
    this.#open--;
    this.#openAsNeeded();
  }

  #takeIdle(): Connection | undefined {
    for (let last = this.#idle.pop(); last; last = this.#idle.pop()) {
      if (last.isUsable) return last;
      last.destroy();
    }
    return undefined;
  }

  #takeWaiting(isKept: boolean): Waiting | undefined {
    const at = isKept ? this.#waiting.findIndex(({ needsFresh }) => !needsFresh) : 0;
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
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
    this.#waiting.shift()?.fail(error);
    this.#openAsNeeded();
  }
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
}
