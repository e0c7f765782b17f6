import { isDeepStrictEqual } from 'node:util';
import type { InboundRoute } from '../config/schema.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { recheckMs } from '../decision/message.ts';

/**
 * Returns a check that rejects once a route is not what it was when the call came. It asks the state once in
 * `recheckMs`. While the state is away, the key of the call decides alone.
 */
export function createRouteCheck(gate: () => EntranceGate, route: InboundRoute): () => Promise<void> {
  let checkedAtMs = performance.now();
  return async () => {
    const nowMs = performance.now();
    if (nowMs - checkedAtMs < recheckMs) return;
    try {
      // Another reading of the same configuration is the same route.
      if (!isDeepStrictEqual(await gate().routes.find(route.prefix), route))
        throw new GatewayError('NOT_FOUND', 'The route was changed.');
    } catch (error) {
      if (toGatewayError(error).code !== 'STATE_UNAVAILABLE') throw error;
    }
    checkedAtMs = nowMs;
  };
}
