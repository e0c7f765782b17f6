import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { type OpenCaller, reauthorize } from '../decision/reauthorize.ts';
import { createCache } from '../state/cache.ts';

/** The caller that has something open: a tunnel, or a call whose answer is under way. */
export type Owner = OpenCaller;

/**
 * Asks at each tick whether open connections may go on, since a call is judged once and might otherwise
 * outlive its key.
 */
export type AccessMonitor = ReturnType<typeof createStanding>;

/** Shorter than a tick, since one that comes early would otherwise ask nothing. */
const askAgainMs = 500;
/** Number of owners for whom the last answer is remembered. */
const ownersMax = 8_192;

interface Asked {
  readonly atMs: number;
  isAnswered: boolean;
  why: GatewayError | undefined;
}

export function createStanding(gate: () => EntranceGate, log: Log) {
  const asked = createCache<Asked>(ownersMax);

  async function answer(question: Asked, owner: Owner): Promise<void> {
    try {
      const { agentStatus } = await reauthorize(gate(), owner);
      if (agentStatus !== 'active') question.why = new GatewayError('FORBIDDEN', 'The agent is suspended.');
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (error.code === 'INTERNAL') log.error({ err: error.cause }, 'an owner cannot be asked for');
      else if (error.code !== 'STATE_UNAVAILABLE') question.why = error;
    } finally {
      question.isAnswered = true;
    }
  }

  return {
    /**
     * Returns why the owner may not go on with what was opened at `sinceMs` (of `performance.now()`);
     * undefined where nothing is known against it. It returns at once: the state is asked in the background,
     * once in a while for all that one owner has open. While the state is away, nobody is cut off for that.
     */
    whyEnded(owner: Owner, sinceMs: number) {
      const name = `${owner.key?.hash} ${owner.identity?.agentId} ${owner.clientAddress}`;
      const last = asked.get(name);
      // An older answer says nothing of a connection that was opened after it.
      const why = last && last.atMs >= sinceMs ? last.why : undefined;
      const nowMs = performance.now();
      if (!last || (last.isAnswered && nowMs - last.atMs >= askAgainMs)) {
        const question: Asked = { atMs: nowMs, isAnswered: false, why: undefined };
        asked.set(name, question);
        void answer(question, owner);
      }
      return why;
    },
  };
}
