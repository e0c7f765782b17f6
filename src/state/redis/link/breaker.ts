export const failuresMax = 3;
export const probeIntervalMs = 250;

/**
 * Stops asking a state that is away, so that callers are answered at once. After `failuresMax` failures in a
 * row it lets one question through each `probeIntervalMs`, until one succeeds.
 */
export class Breaker {
  #failures = 0;
  #nextProbeAtMs = 0;

  mayTry(nowMs: number): boolean {
    if (this.#failures < failuresMax) return true;
    if (nowMs < this.#nextProbeAtMs) return false;
    this.#nextProbeAtMs = nowMs + probeIntervalMs;
    return true;
  }

  /** Notes a success. Returns whether the state was taken for away until now. */
  succeeded(): boolean {
    const wasAway = this.#failures >= failuresMax;
    this.#failures = 0;
    return wasAway;
  }

  failed(nowMs: number): void {
    this.#failures += 1;
    this.#nextProbeAtMs = nowMs + probeIntervalMs;
  }
}
