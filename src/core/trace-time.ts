/* The time in the ids of traces, without the random part that needs Node: the console's page has it, too. */

const timeMsMax = 2 ** 48 - 1;

/** Returns how ids of that time begin: not above any of them, and above all older ones. */
export function traceIdsFrom(ms: number): string {
  const time = Math.max(0, Math.min(Math.floor(ms), timeMsMax))
    .toString(16)
    .padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}
