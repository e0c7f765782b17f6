const usPerMs = 1000;
/** The system's clock of a thread moves in steps of this size and more, so asking more often tells nothing. */
const stepMs = 1;

let askedAtMs = Number.NEGATIVE_INFINITY;
let lastMs = 0;

/**
 * How long the processor has worked for this thread, in milliseconds, as of at most one millisecond ago. Reading is bounded by it, so that
 * nobody's call is denied because the machine is busy with something else.
 */
export function workedMs(): number {
  const nowMs = performance.now();
  if (nowMs - askedAtMs < stepMs) return lastMs;
  const { user, system } = process.threadCpuUsage();
  askedAtMs = nowMs;
  lastMs = (user + system) / usPerMs;
  return lastMs;
}

/**
 * Answers whether this thread has worked for so many milliseconds from now on. The clock on the wall is asked first: no thread works for
 * longer than has passed.
 */
export function workDeadline(ms: number): () => boolean {
  const startMs = performance.now();
  const startWorkedMs = workedMs();
  return () => performance.now() - startMs > ms && workedMs() - startWorkedMs > ms;
}
