import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../core/log.ts';
import type { Store } from '../../state/store.ts';

interface ApprovalSweepOptions {
  readonly store: Pick<Store, 'expireApprovals'>;
  readonly log: Pick<Log, 'warn'>;
  /** The time between two looks, give or take a quarter, because several daemons look at the same state. */
  readonly everyMs?: number;
}

/** The bound of steps in one look, so that a state that takes nothing is not asked without end. */
const stepsMax = 100;

/**
 * Has the state write down approvals that nobody has decided in time. They end by the clock alone. This tells
 * of each end once, however many daemons look.
 */
export function createApprovalSweep({ store, log, everyMs = 5_000 }: ApprovalSweepOptions) {
  const closing = new AbortController();

  async function look(): Promise<void> {
    for (let step = 0; step < stepsMax && !closing.signal.aborted; step += 1)
      if ((await store.expireApprovals(Date.now())).length === 0) return;
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await look();
      } catch (err) {
        // The approvals stay where they are until the state is back.
        log.warn({ err }, 'expired approvals could not be written down');
      }
      const pauseMs = everyMs * (0.75 + Math.random() / 2);
      await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => {
        // The sweep is closed, and the loop ends.
      });
    }
  }

  const running = run();
  return {
    /** Ends the sweep, and waits for what is under way. */
    async close() {
      closing.abort();
      await running;
    },
  };
}
