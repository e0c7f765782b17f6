import type { CallBatch } from '../state/store.ts';
import { noticesOfCalls, type WantedDecisions } from './decision-notices.ts';
import type { Notice } from './notice.ts';

interface OutboxOptions {
  /** Returns the decisions to tell of; undefined where there is nobody at all who might be told. */
  readonly wanted: () => WantedDecisions | undefined;
  /** Puts notices into the queue. Rejects where they are not in it. */
  readonly tell: (notices: readonly Notice[]) => Promise<void>;
}

/**
 * Returns a shipper that takes batches of the journal to the state, and notices of their calls into the
 * queue. The journal keeps a batch until both are done, and else brings it again. The state takes a call
 * once, and the queue a notice once.
 */
export function createOutbox({ wanted, tell }: OutboxOptions) {
  return (record: (batch: CallBatch) => Promise<number>) =>
    async (batch: CallBatch): Promise<number> => {
      const decisions = wanted();
      if (!decisions) return record(batch);
      // Notices are made first, since recording may take the memory away.
      const notices = noticesOfCalls(batch.lines, decisions);
      const unreadable = await record(batch);
      if (notices.length > 0) await tell(notices);
      return unreadable;
    };
}
