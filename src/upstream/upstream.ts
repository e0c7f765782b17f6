import { GatewayError, toGatewayError } from '../errors.ts';
import type { Target } from '../target.ts';
import { createDialer } from './connect.ts';
import { createDeadlines } from './deadlines.ts';
import type { Guard } from './guard.ts';
import { createHeldHeads } from './held-heads.ts';
import { createPools, type Origin } from './pools.ts';
import { type Forwarding, Relay, type RelayContext, type RelayOptions } from './relay.ts';
import type { Resolver } from './resolve.ts';

/*
 * Sends requests that may go and relays the answers. Measured against undici's other calls, `Pool.dispatch` with a handler of
 * our own is the cheapest by a third, and `fetch` costs six times as much.
 */

export interface UpstreamOptions {
  readonly guard: Guard;
  readonly resolver: Resolver;
  /** PEM certificates of the authorities that upstreams may lead to: see `loadRoots`. */
  readonly roots: readonly string[];
  /** DNS, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** From `forward` to the head of the answer. */
  readonly responseTimeoutMs: number;
  /** Between bytes after that, in either direction. */
  readonly idleTimeoutMs: number;
  /** Beginning, in lower case, of the header names in which the gateway speaks (`x-service-`). */
  readonly ownPrefix: string;
  readonly poolsMax?: number;
  readonly connectionsMax?: number;
  readonly waitingMax?: number;
  readonly poolIdleMs?: number;
}

export interface UpstreamRequest {
  readonly target: Target;
  readonly method: string;
  /** Flat and ready to send: made by `toUpstreamHeaders`. */
  readonly headers: string[];
  readonly body: Buffer | undefined;
}

export interface Upstream {
  /**
   * Sends the request and relays its answer. Follows no redirect. Repeats a request once when a kept connection was closed under
   * it, if its method is idempotent. The request has been judged: nothing of it is judged here but where it leads.
   */
  forward(request: UpstreamRequest, options: RelayOptions): Forwarding;
  /** Takes no more requests (SHUTTING_DOWN); resolves when those that run are over. Bounded by the caller, with `destroy`. */
  close(): Promise<void>;
  /** Ends all requests at once. */
  destroy(): void;
}

export function createUpstream(options: UpstreamOptions): Upstream {
  const { guard, poolsMax = 256, connectionsMax = 128, waitingMax = 1024, poolIdleMs = 300_000 } = options;
  const shortestMs = Math.min(options.responseTimeoutMs, options.idleTimeoutMs, poolIdleMs);
  const deadlines = createDeadlines(shortestMs, (tick) => pools.sweep(tick));
  const pools = createPools({
    guard,
    dialer: createDialer(options),
    poolsMax,
    connectionsMax,
    waitingMax,
    idleTicks: deadlines.toTicks(poolIdleMs),
  });
  const context: RelayContext = {
    deadlines,
    heldHeads: createHeldHeads(),
    responseTicks: deadlines.toTicks(options.responseTimeoutMs),
    idleTicks: deadlines.toTicks(options.idleTimeoutMs),
    ownPrefix: options.ownPrefix,
  };
  let isClosing = false;

  function take(target: Target): Origin {
    if (isClosing) throw new GatewayError('SHUTTING_DOWN', 'The gateway is shutting down.');
    return pools.take(target, deadlines.tick);
  }

  return {
    forward({ target, method, headers, body }, relayOptions) {
      let origin: Origin;
      try {
        origin = take(target);
      } catch (error) {
        relayOptions.onError(toGatewayError(error));
        return nothingSent;
      }
      const request = { path: target.path, method, headers, body: body ?? null };
      const relay = new Relay(request, relayOptions, context, origin);
      relay.start();
      return relay;
    },
    async close() {
      isClosing = true;
      await pools.close();
      deadlines.close();
    },
    destroy() {
      isClosing = true;
      pools.destroy();
      deadlines.close();
    },
  };
}

const nothingSent: Forwarding = { abort: () => {} };
