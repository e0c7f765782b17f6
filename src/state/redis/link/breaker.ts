/**
 * Whether it makes sense to ask at all. After `failuresMax` failures in a row nobody is let through but one at a time, each
 * `probeIntervalMs`, until one succeeds: while the state is away callers are answered at once instead of after a time-out each.
 */
export interface Breaker {
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
