/*
 * The time in the ids of traces. The random part needs Node and is elsewhere, because the console's page uses
 * this file, too.
 */

const timeMsMax = 2 ** 48 - 1;

/**
 * Returns the beginning of the trace ids of a time. In text order it is not above any of them, and above all
 * older ids.
 */
export function traceIdsFrom(ms: number): string {
  const time = Math.max(0, Math.min(Math.floor(ms), timeMsMax))
    .toString(16)
    .padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}
