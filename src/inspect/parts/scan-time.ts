/** The default limit of a body: as much is read within the tenant's `scan_timeout`. */
const usualBytes = 256 * 1024;
const factorMax = 8;
/** By which a content coding makes text shorter. */
const packedFactor = 4;

/**
 * How long a content of so many bytes may be read, in milliseconds: models take bodies of 32 MB, and who sends more than usual has as many
 * times more, up to eight. `isPacked` where a content coding is still to be taken off.
 */
export function scanTimeMs(scanTimeoutMs: number, bytes: number, isPacked = false): number {
  const length = isPacked ? bytes * packedFactor : bytes;
  return scanTimeoutMs * Math.min(factorMax, Math.max(1, length / usualBytes));
}
