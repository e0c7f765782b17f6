/** Waits for all, so that nothing goes on behind the back of whoever hears of the first error. */
export async function allOrFirstError<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(work);
  const failed = results.find((it) => it.status === 'rejected');
  if (failed) throw failed.reason;
  return results.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []));
}
