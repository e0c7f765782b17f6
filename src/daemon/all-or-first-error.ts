/**
 * Waits for all work and returns its results. Throws the first error only then, so that nothing still runs
 * when its caller hears of it.
 */
export async function allOrFirstError<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(work);
  const failed = results.find((it) => it.status === 'rejected');
  if (failed) throw failed.reason;
  return results.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []));
}
