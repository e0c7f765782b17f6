import { usualBytes } from '../parts/scan-time.ts';
import { WorkDeadline } from './worked-ms.ts';

export interface ReadingTime {
  readonly isOver: () => boolean;
  /** Adds time for bytes that were decoded. */
  readonly onDecoded: (bytes: number) => void;
}

/**
 * Bound on the time that decoded bytes add, in milliseconds. Whoever ends stuck threads waits longer
 * (`graceMs`).
 */
const addedMsMax = 750;

/** Begins the time of a job. A small archive may hold megabytes of text, and gets the time for these. */
export function readingTime(timeoutMs: number): ReadingTime {
  const deadline = new WorkDeadline(timeoutMs);
  let leftMs = addedMsMax;
  return {
    isOver: deadline.isOver,
    onDecoded(bytes) {
      // Each `usualBytes` that are decoded add the whole time once more.
      const addedMs = Math.min(leftMs, (timeoutMs * bytes) / usualBytes);
      leftMs -= addedMs;
      deadline.extend(addedMs);
    },
  };
}
