/** The length of a usual body, in bytes. So much is read within the tenant's `scan_timeout`. */
export const usualBytes = 256 * 1024;
const factorMax = 8;
/** The factor by which a content coding usually shortens text. */
const packedFactor = 4;

/**
 * Returns for how many milliseconds content may be read. Models take bodies of 32 MB, so longer bodies have
 * more time, up to eight times. `isPacked` tells that a content coding is still to be taken off.
 */
export function scanTimeMs(scanTimeoutMs: number, bytes: number, isPacked = false): number {
  const length = isPacked ? bytes * packedFactor : bytes;
  return scanTimeoutMs * Math.min(factorMax, Math.max(1, length / usualBytes));
}
