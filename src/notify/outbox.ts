import type { CallBatch } from '../state/store.ts';
import { noticesOfCalls, type WantedDecisions } from './decision-notices.ts';
import type { Notice } from './notice.ts';

interface OutboxOptions {
  /** Undefined where there is nobody at all who might be told. */
  readonly wanted: () => WantedDecisions | undefined;
  /** Rejects where they are not in the queue. */
  readonly tell: (notices: readonly Notice[]) => Promise<void>;
}

/**
 * Takes batches of the journal to the state, and notices of their calls into the queue. The journal keeps a
 * batch until both are done, and else brings it again. The state takes calls, and the queue notices, once.
 */
export function createOutbox({ wanted, tell }: OutboxOptions) {
  return (record: (batch: CallBatch) => Promise<number>) =>
    async (batch: CallBatch): Promise<number> => {
      const decisions = wanted();
      if (!decisions) return record(batch);
      // Before that the driver may take the memory away.
      const notices = noticesOfCalls(batch.lines, decisions);
      const unreadable = await record(batch);
      if (notices.length > 0) await tell(notices);
      return unreadable;
    };
}
