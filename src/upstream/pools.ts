import { Client, type Dispatcher, Pool } from 'undici';
import { GatewayError } from '../errors.ts';
import { type Target, toAuthority } from '../target.ts';
import { type Dialer, toConnector } from './connect.ts';
import type { Guard } from './guard.ts';

/*
 * One pool of connections for each origin. Agents choose the origins, so their number is bounded: the least recently used pool
 * is closed when there are too many, and one that idles is dropped.
 */

export interface PoolsOptions {
  readonly guard: Guard;
  readonly dialer: Dialer;
  readonly poolsMax: number;
  /** For each origin. Further requests wait, at most `waitingMax` of them. */
  readonly connectionsMax: number;
  readonly waitingMax: number;
  readonly idleTicks: number;
}

export interface Pools {
  /**
   * The origin of a web target, made where it is new. Throws VALIDATION_FAILED for other schemes, EGRESS_BLOCKED where the guard
   * refuses the host, GATEWAY_BUSY where too many requests wait already.
   */
  take(target: Target, tick: number): Origin;
  /** Drops the pools that were idle for too long. */
  sweep(tick: number): void;
  /** Takes no more requests; resolves once those that run are over. */
  close(): Promise<void>;
  destroy(): void;
}

const responseHeadBytesMax = 65_536;
/** Without a hint of the upstream's own; below what servers and load balancers keep (60 s and more). */
const keepAliveMs = 30_000;
const keepAliveMsMax = 300_000;

// allowH2 is true by default in undici 8, and HTTP/2 costs twice as much; its timers are replaced by deadlines.ts.
const clientOptions = {
  pipelining: 1,
  allowH2: false,
  headersTimeout: 0,
  bodyTimeout: 0,
  maxHeaderSize: responseHeadBytesMax,
  keepAliveTimeout: keepAliveMs,
  keepAliveMaxTimeout: keepAliveMsMax,
} as const;

/** The connections to one scheme, host and port. */
export class Origin {
  /** Requests that run or wait. */
  running = 0;
  usedTick = 0;
  readonly pool: Pool;
  readonly #url: string;
  readonly #connect: ReturnType<typeof toConnector>;
  readonly #retire: (dispatcher: Dispatcher) => void;

  constructor(
    url: string,
    connect: ReturnType<typeof toConnector>,
    connections: number,
    retire: (dispatcher: Dispatcher) => void,
  ) {
    this.#url = url;
    this.#connect = connect;
    this.#retire = retire;
    this.pool = new Pool(url, { ...clientOptions, connections, connect });
  }

  /** Each dispatch is answered by one `release`. */
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.running++;
    this.pool.dispatch(request, handler);
  }

  /** Over a new connection that serves this request alone: kept ones may all have been closed by now. */
  dispatchAlone(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const client = new Client(this.#url, { ...clientOptions, connect: this.#connect });
    client.dispatch(request, handler);
    this.#retire(client);
  }

  release(tick: number): void {
    this.running--;
    this.usedTick = tick;
  }
}

export function createPools(options: PoolsOptions): Pools {
  const requestsMax = options.connectionsMax + options.waitingMax;
  /** In the order of use, to the tick. */
  const origins = new Map<string, Origin>();
  const retiring = new Map<Dispatcher, Promise<void>>();

  function retire(dispatcher: Dispatcher): void {
    const closed = new Promise<void>((resolve) => {
      dispatcher.close(() => {
        retiring.delete(dispatcher);
        resolve();
      });
    });
    retiring.set(dispatcher, closed);
  }

  function drop(key: string, origin: Origin): void {
    origins.delete(key);
    retire(origin.pool);
  }

  function evict(): void {
    const idle = [...origins].find(([, origin]) => origin.running === 0);
    const [key, origin] = idle ?? ([...origins][0] as [string, Origin]);
    drop(key, origin);
  }

  function create(key: string, { scheme, host, port }: Target): Origin {
    if (scheme !== 'http' && scheme !== 'https') {
      throw new GatewayError('VALIDATION_FAILED', 'Only http and https URLs can be forwarded.');
    }
    // The dialer asks too; here it keeps a refused host from taking the place of another.
    options.guard.checkHost(host, port);
    if (origins.size >= options.poolsMax) evict();
    const connect = toConnector(options.dialer, { scheme, host, port });
    const origin = new Origin(key, connect, options.connectionsMax, retire);
    origins.set(key, origin);
    return origin;
  }

  return {
    take(target, tick) {
      const key = keyOf(target);
      const origin = origins.get(key) ?? create(key, target);
      if (origin.running >= requestsMax) {
        throw new GatewayError('GATEWAY_BUSY', 'Too many requests wait for this upstream.', {
          retryAfterSeconds: 1,
        });
      }
      if (origin.usedTick !== tick) {
        origin.usedTick = tick;
        origins.delete(key);
        origins.set(key, origin);
      }
      return origin;
    },
    sweep(tick) {
      for (const [key, origin] of origins) {
        if (origin.running === 0 && tick - origin.usedTick >= options.idleTicks) drop(key, origin);
      }
    },
    async close() {
      for (const [key, origin] of origins) drop(key, origin);
      // Again, because a request that fails while we wait may be repeated on a client of its own.
      while (retiring.size > 0) await Promise.all(retiring.values());
    },
    destroy() {
      for (const [key, origin] of origins) drop(key, origin);
      for (const dispatcher of retiring.keys()) dispatcher.destroy(() => {});
    },
  };
}

const keyOf = ({ scheme, host, port }: Target): string => `${scheme}://${toAuthority(scheme, host, port)}`;
