const usPerMs = 1000;

/**
 * How long the processor has worked for this thread, in milliseconds. Reading is bounded by it, so that nobody's call is denied because the
 * machine is busy with something else. A look takes a microsecond.
 */
export function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / usPerMs;
}
