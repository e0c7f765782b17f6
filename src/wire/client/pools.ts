import { GatewayError } from '../../core/errors.ts';
import { type Target, toAuthority } from '../../core/target.ts';
import type { Origin, OriginContext } from './carrier.ts';
import type { Dialer, Endpoint, Protocol, TlsSessionStore } from './connect.ts';
import { shuttingDown } from './failures.ts';
import { ConnectionOrigin } from './origin.ts';
import type { Guard } from './reach/guard.ts';
import { SessionOrigin } from './session-origin.ts';

/*
 * The connections of each tenant to each origin. Tenants share none: where an upstream loses count of what it
 * was sent, its answers stay with whoever sent it. Agents choose the origins, so their number is bounded. The
 * least recently used one is let go when there are too many, and so is one that idles.
 */

interface PoolsOptions extends Omit<OriginContext, 'idleChanged'> {
  readonly guard: Guard;
  readonly dialer: Dialer;
  /** Tells whether origins that speak HTTP/2 alone are spoken to in HTTP/2. */
  readonly mayFallBack: boolean;
  readonly originsMax: number;
  /** Number of requests that may wait for one origin. */
  readonly waitingMax: number;
  readonly idleTicks: number;
  /** Number of connections that may wait for their next request, of all origins together. */
  readonly idleMax: number;
}

/**
 * The use of connections. Those that stay open for hours do not take the places of those that calls take
 * turns on.
 */
type Purpose = 'calls' | 'websocket';

/**
 * Number of WebSockets that one tenant may have to one origin, at least: no fewer than connections for calls.
 */
const webSocketsLeast = 1_024;

export class Pools {
  readonly #options: PoolsOptions;
  readonly #requestsMax;
  readonly #webSocketsMax;
  /** Origins by their key, in the order of their last use, to the tick. */
  readonly #origins = new Map<string, Origin>();
  /** Connections that wait for their next request. */
  #idle = 0;
  #isDestroyed = false;

  constructor(options: PoolsOptions) {
    this.#options = options;
    this.#requestsMax = options.connectionsMax + options.waitingMax;
    this.#webSocketsMax = Math.max(webSocketsLeast, options.connectionsMax);
  }

  /**
   * Returns the tenant's origin of a web target, made where it is new. Throws VALIDATION_FAILED for other
   * schemes, EGRESS_BLOCKED where the guard refuses the host, GATEWAY_BUSY where too many requests wait
   * already.
   */
  take(tenantId: string, target: Target, protocol: Protocol, purpose: Purpose, tick: number): Origin {
    const key = keyOf(tenantId, target, protocol, purpose);
    const origin = this.#origins.get(key) ?? this.#create(key, target, protocol, purpose);
    if (origin.running >= (purpose === 'calls' ? this.#requestsMax : this.#webSocketsMax)) {
      throw new GatewayError('GATEWAY_BUSY', 'Too many requests wait for this upstream.', {
        retryAfterSeconds: 1,
      });
    }
    if (origin.usedTick !== tick) {
      origin.usedTick = tick;
      this.#origins.delete(key);
      this.#origins.set(key, origin);
    }
    return origin;
  }

  /** Closes the connections, and lets go of the origins, that were idle for too long. */
  sweep(tick: number): void {
    for (const [key, origin] of this.#origins) {
      origin.sweep(tick);
      if (origin.running === 0 && tick - origin.usedTick >= this.#options.idleTicks) this.#drop(key, origin);
    }
  }

  /** Keeps no connection any more. Requests that run or wait go on. */
  close(): void {
    for (const [key, origin] of this.#origins) this.#drop(key, origin);
  }

  /** Keeps no connection any more, and dials none. */
  destroy(): void {
    this.#isDestroyed = true;
    this.close();
  }

  async #dial(endpoint: Endpoint, protocol: Protocol, session: TlsSessionStore) {
    if (this.#isDestroyed) throw shuttingDown();
    const socket = await this.#options.dialer.dial(endpoint, protocol, session);
    if (!this.#isDestroyed) return socket;
    socket.destroy();
    throw shuttingDown();
  }

  #drop(key: string, origin: Origin): void {
    this.#origins.delete(key);
    origin.retire();
  }

  /** Where too many connections wait, closes the oldest one of the origin that was used longest ago. */
  readonly #idleChanged = (more: number): void => {
    this.#idle += more;
    if (more < 0 || this.#idle <= this.#options.idleMax) return;
    for (const origin of this.#origins.values()) if (origin.dropIdle()) return;
  };

  #evict(): void {
    const idle = [...this.#origins].find(([, origin]) => origin.running === 0);
    const [key, origin] = idle ?? ([...this.#origins][0] as [string, Origin]);
    this.#drop(key, origin);
  }

  #create(key: string, { scheme, host, port }: Target, protocol: Protocol, purpose: Purpose): Origin {
    if (scheme !== 'http' && scheme !== 'https') {
      throw new GatewayError('VALIDATION_FAILED', 'Only http and https URLs can be forwarded.');
    }
    // The dialer asks the guard, too. Asked here, it keeps a refused host from taking the place of another.
    this.#options.guard.checkHost(host, port);
    if (this.#origins.size >= this.#options.originsMax) this.#evict();
    const endpoint: Endpoint = { scheme, host, port };
    const ofAll = { ...this.#options, idleChanged: this.#idleChanged };
    const context =
      purpose === 'calls' ? ofAll : { ...ofAll, connectionsMax: this.#webSocketsMax, awaitsSettings: true };
    const withSessions = (): Origin =>
      new SessionOrigin(context, (session) => this.#dial(endpoint, 'h2', session));
    const withConnections = (): Origin => {
      const successor = this.#options.mayFallBack ? withSessions : undefined;
      return new ConnectionOrigin(context, (session) => this.#dial(endpoint, 'http/1.1', session), successor);
    };
    const origin = protocol === 'h2' ? withSessions() : withConnections();
    this.#origins.set(key, origin);
    return origin;
  }
}

const keyOf = (
  tenantId: string,
  { scheme, host, port }: Target,
  protocol: Protocol,
  purpose: Purpose,
): string => `${tenantId} ${purpose} ${protocol} ${scheme}://${toAuthority(scheme, host, port)}`;
