import { usualBytes } from '../parts/scan-time.ts';
import { WorkDeadline } from './worked-ms.ts';

export interface ReadingTime {
  readonly isOver: () => boolean;
  /** Adds the time of bytes that were decoded. */
  readonly onDecoded: (bytes: number) => void;
}

/** Limits what decoded bytes add. Whoever ends stuck threads waits longer (`graceMs`). */
const addedMsMax = 750;

/** Begins a job's time. A small archive may hold megabytes of text, and gets the time of these. */
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
