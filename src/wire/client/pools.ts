import { GatewayError } from '../../core/errors.ts';
import { type Target, toAuthority } from '../../core/target.ts';
import type { Origin, OriginContext } from './carrier.ts';
import type { Dialer, Endpoint, Protocol, TlsSessionStore } from './connect.ts';
import { shuttingDown } from './failures.ts';
import { ConnectionOrigin } from './origin.ts';
import type { Guard } from './reach/guard.ts';
import { SessionOrigin } from './session-origin.ts';

/*
 * The connections of each tenant to each origin: where an upstream loses count of what it was sent, its answers stay with whoever sent it.
 * Agents choose the origins, so their number is bounded: the least recently used one is let go when
 * there are too many, and so is one that idles.
 */

export interface PoolsOptions extends OriginContext {
  readonly guard: Guard;
  readonly dialer: Dialer;
  /** Origins that speak HTTP/2 alone are spoken to in it. */
  readonly mayFallBack: boolean;
  readonly originsMax: number;
  /** Requests that may wait for one origin. */
  readonly waitingMax: number;
  readonly idleTicks: number;
}

/** Connections that stay open for hours do not take the places of those that calls take turns on. */
export type Purpose = 'calls' | 'websocket';

/** WebSockets of one tenant to one origin. */
const webSocketsMax = 1_024;

export interface Pools {
  /**
   * The tenant's origin of a web target, made where it is new. Throws VALIDATION_FAILED for other schemes, EGRESS_BLOCKED where the guard
   * refuses the host, GATEWAY_BUSY where too many requests wait already.
   */
  take(tenantId: string, target: Target, protocol: Protocol, purpose: Purpose, tick: number): Origin;
  /** Closes the connections, and lets go of the origins, that were idle for too long. */
  sweep(tick: number): void;
  /** Keeps no connection any more; those that run or wait go on. */
  close(): void;
  /** The same, and nothing is dialled any more. */
  destroy(): void;
}

export function createPools(options: PoolsOptions): Pools {
  const requestsMax = options.connectionsMax + options.waitingMax;
  /** Origins in the order of their last use, to the tick. */
  const origins = new Map<string, Origin>();
  /** The origin of the last request. The next one nearly always goes there too, and needs no key made. */
  let last: Taken | undefined;
  let isDestroyed = false;

  async function dial(endpoint: Endpoint, protocol: Protocol, session: TlsSessionStore) {
    if (isDestroyed) throw shuttingDown();
    const socket = await options.dialer.dial(endpoint, protocol, session);
    if (!isDestroyed) return socket;
    socket.destroy();
    throw shuttingDown();
  }

  function drop(key: string, origin: Origin): void {
    if (last?.origin === origin) last = undefined;
    origins.delete(key);
    origin.retire();
  }

  function evict(): void {
    const idle = [...origins].find(([, origin]) => origin.running === 0);
    const [key, origin] = idle ?? ([...origins][0] as [string, Origin]);
    drop(key, origin);
  }

  function create(key: string, { scheme, host, port }: Target, protocol: Protocol, purpose: Purpose): Origin {
    if (scheme !== 'http' && scheme !== 'https') {
      throw new GatewayError('VALIDATION_FAILED', 'Only http and https URLs can be forwarded.');
    }
    // The dialer asks too; here it keeps a refused host from taking the place of another.
    options.guard.checkHost(host, port);
    if (origins.size >= options.originsMax) evict();
    const endpoint: Endpoint = { scheme, host, port };
    const context =
      purpose === 'calls' ? options : { ...options, connectionsMax: webSocketsMax, awaitsSettings: true };
    const withSessions = (): Origin => new SessionOrigin(context, (session) => dial(endpoint, 'h2', session));
    const withConnections = (): Origin => {
      const successor = options.mayFallBack ? withSessions : undefined;
      return new ConnectionOrigin(context, (session) => dial(endpoint, 'http/1.1', session), successor);
    };
    const origin = protocol === 'h2' ? withSessions() : withConnections();
    origins.set(key, origin);
    return origin;
  }

  function find(tenantId: string, target: Target, protocol: Protocol, purpose: Purpose): Taken {
    const key = keyOf(tenantId, target, protocol, purpose);
    const origin = origins.get(key) ?? create(key, target, protocol, purpose);
    const { scheme, host, port } = target;
    return { tenantId, scheme, host, port, protocol, purpose, key, origin };
  }

  function close(): void {
    for (const [key, origin] of origins) drop(key, origin);
  }

  return {
    take(tenantId, target, protocol, purpose, tick) {
      last =
        takenBefore(last, tenantId, target, protocol, purpose) ?? find(tenantId, target, protocol, purpose);
      const { key, origin } = last;
      if (origin.running >= (purpose === 'calls' ? requestsMax : webSocketsMax)) {
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
        origin.sweep(tick);
        if (origin.running === 0 && tick - origin.usedTick >= options.idleTicks) drop(key, origin);
      }
    },
    close,
    destroy() {
      isDestroyed = true;
      close();
    },
  };
}

/** An origin with all that its key is made of. */
interface Taken extends Pick<Target, 'scheme' | 'host' | 'port'> {
  readonly tenantId: string;
  readonly protocol: Protocol;
  readonly purpose: Purpose;
  readonly key: string;
  readonly origin: Origin;
}

const takenBefore = (
  last: Taken | undefined,
  tenantId: string,
  { scheme, host, port }: Target,
  protocol: Protocol,
  purpose: Purpose,
): Taken | undefined =>
  last?.tenantId === tenantId &&
  last.host === host &&
  last.port === port &&
  last.scheme === scheme &&
  last.protocol === protocol &&
  last.purpose === purpose
    ? last
    : undefined;

const keyOf = (
  tenantId: string,
  { scheme, host, port }: Target,
  protocol: Protocol,
  purpose: Purpose,
): string => `${tenantId} ${purpose} ${protocol} ${scheme}://${toAuthority(scheme, host, port)}`;
