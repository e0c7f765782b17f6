/** A value that may be there already, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Applies `next` to a value, at once where the value is no promise. What `next` then throws is thrown, not
 * rejected.
 */
export function after<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/**
 * Returns what `work` returns. Where `work` throws or its promise is rejected, it returns what `instead`
 * makes of the error.
 */
export function orElse<T, U>(
  work: () => MaybePromise<T>,
  instead: (error: unknown) => U,
): MaybePromise<T | U> {
  try {
    const done = work();
    return done instanceof Promise ? done.catch(instead) : done;
  } catch (error) {
    return instead(error);
  }
}
