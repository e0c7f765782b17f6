/**
 * Time for which a connection is kept. It is below what servers and load balancers keep by themselves (60 s
 * and more).
 */
export const keptMsDefault = 30_000;
const keptMsMax = 300_000;
/** Time that is taken off, since the upstream counts from when it sent, and we from when we received. */
const marginMs = 1000;

const timeout = /(?:^|,)[\t ]*timeout[\t ]*=[\t ]*"?(\d{1,9})/i;

/**
 * Returns how many milliseconds a connection may wait for its next request. That is a second less than the
 * upstream says in `Keep-Alive: timeout=N` (RFC 2068, 19.7.1.1), between 0 and 300 s. It is `unhintedMs`
 * where the upstream says nothing. `fields` is flat.
 */
export function keptMs(fields: readonly string[], unhintedMs: number): number {
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (name.length !== 10 || name.toLowerCase() !== 'keep-alive') continue;
    const seconds = timeout.exec(fields[i + 1] as string)?.[1];
    if (seconds !== undefined) return Math.min(Math.max(Number(seconds) * 1000 - marginMs, 0), keptMsMax);
  }
  return unhintedMs;
}
