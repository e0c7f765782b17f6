/** A value that may be there at once. */
export type MaybePromise<T> = T | Promise<T>;

/** What `next` makes of a value: at once where the value is there, so that nothing waits that need not. Throws then what `next` throws. */
export function after<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
