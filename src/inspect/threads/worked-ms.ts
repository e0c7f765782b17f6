const usPerMs = 1000;

/**
 * How long the processor has worked for this thread, in milliseconds. Reading is bounded by it, so that nobody's call is denied because the
 * machine is busy with something else. A look takes a microsecond.
 */
export function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / usPerMs;
}

/**
 * Answers whether this thread has worked for so many milliseconds from now on. The clock on the wall is asked first: no thread works for
 * longer than has passed, and a look at it costs a fifth.
 */
export function workDeadline(ms: number): () => boolean {
  const startMs = performance.now();
  const startWorkedMs = workedMs();
  return () => performance.now() - startMs > ms && workedMs() - startWorkedMs > ms;
}
