import { setImmediate } from 'node:timers/promises';
import { GatewayError } from '../core/errors.ts';

/** Milliseconds that a request may take. It counts as a single one, though it does the work of many. */
const workMsMax = 20_000;

/**
 * Returns a function that pauses a long request between its pieces, so that others have their turn. It
 * rejects with GATEWAY_BUSY where the request took too much time, or nobody waits for it. `clock` is
 * monotonic, in milliseconds.
 */
export function createPause(signal: AbortSignal, clock = () => performance.now()): () => Promise<void> {
  const endsAt = clock() + workMsMax;
  return async () => {
    await setImmediate();
    if (!signal.aborted && clock() <= endsAt) return;
    throw new GatewayError('GATEWAY_BUSY', 'The request takes too long; ask for less at once.', {
      retryAfterSeconds: 1,
    });
  };
}
