import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import { toGatewayError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { Restarts } from './workers/restarts.ts';

/** The number of times `state.timeout` for which a start goes on trying: half a minute by default. */
const timeoutsMax = 30;
/**
 * The number of attempts that are made however long they take. On a busy machine the start itself may use the
 * time up.
 */
const attemptsMin = 3;

/**
 * Does what needs the state, again and again until it answers. After too long it rejects as `attempt` does.
 */
export async function untilStateAnswers<T>(
  { state }: Config,
  log: Log,
  attempt: () => Promise<T>,
): Promise<T> {
  const delays = new Restarts();
  const endAtMs = performance.now() + timeoutsMax * state.timeoutMs;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const { code, extra } = toGatewayError(error);
      // A failure without a time to retry is final: another daemon has the lock, or a file is missing.
      const isAway = code === 'STATE_UNAVAILABLE' && extra.retryAfterSeconds !== undefined;
      const delayMs = delays.delayed();
      const isOver = attempts >= attemptsMin && performance.now() + delayMs >= endAtMs;
      if (!isAway || isOver) throw error;
      log.warn({ err: error, retry_in_ms: delayMs }, 'the state does not answer; the start goes on trying');
      await sleep(delayMs);
    }
  }
}
