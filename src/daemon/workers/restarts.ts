/** A worker that served so long is well: what was before it does not count any more. */
const wellMs = 60_000;
/** Crashes of one slot in a row; the next one ends the daemon. */
const crashesMax = 5;
const firstDelayMs = 100;
const delayMsMax = 5_000;

/** How one place of the daemon fares, and when it gets its next worker. */
export interface Restarts {
  /** A worker of this place has ended. Answers in how many milliseconds the next one is due; undefined where it is enough. */
  crashed(servedMs: number): number | undefined;
  /** A worker could not be started for want of something that may come back. Answers the same; it is never enough. */
  delayed(): number;
}

export function createRestarts(): Restarts {
  let crashes = 0;
  let delays = 0;
  const delayMs = (count: number): number =>
    Math.min(delayMsMax, firstDelayMs * 2 ** Math.min(count - 1, 16));
  return {
    crashed(servedMs) {
      if (servedMs >= wellMs) crashes = 0;
      if (servedMs > 0) delays = 0;
      crashes += 1;
      return crashes > crashesMax ? undefined : delayMs(crashes);
    },
    delayed() {
      delays += 1;
      return delayMs(delays);
    },
  };
}
