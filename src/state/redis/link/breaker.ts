/**
 * Stops asking a state that is away, so that callers are answered at once. After `failuresMax` failures in a row one
 * question is let through each `probeIntervalMs`, until one succeeds.
 */
interface Breaker {
  mayTry(nowMs: number): boolean;
  succeeded(): void;
  failed(nowMs: number): void;
}

export const failuresMax = 3;
export const probeIntervalMs = 250;

export function createBreaker(): Breaker {
  let failures = 0;
  let nextProbeAtMs = 0;
  return {
    mayTry(nowMs) {
      if (failures < failuresMax) return true;
      if (nowMs < nextProbeAtMs) return false;
      nextProbeAtMs = nowMs + probeIntervalMs;
      return true;
    },
    succeeded() {
      failures = 0;
    },
    failed(nowMs) {
      failures += 1;
      nextProbeAtMs = nowMs + probeIntervalMs;
    },
  };
}
