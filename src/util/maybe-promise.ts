/** A value that may be there at once. */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `next` to a value, at once where the value is there already. It throws what `next` throws. */
export function after<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Returns what `work` does or, where it fails at once or later, what `instead` makes of the error. */
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
