/** Resolves after `ms` milliseconds. Rejects with the signal's reason when it aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const leave = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, ms);
    signal?.addEventListener('abort', leave, { once: true });
  });
}

/** Returns `Retry-After` (seconds or a date; RFC 9110, 10.2.3) in milliseconds; undefined for other texts. */
export function readRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const atMs = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** Returns the number of an option. Throws a RangeError with the option's name where it is out of bounds. */
export function within(name: string, value: number, min: number, max: number): number {
  if (!(Number.isSafeInteger(value) && value >= min && value <= max))
    throw new RangeError(`${name} must be a whole number from ${min} to ${max}.`);
  return value;
}
