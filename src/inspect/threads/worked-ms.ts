const usPerMs = 1000;
/** The least step by which the system's clock of a thread moves, in milliseconds. */
const stepMs = 1;

let askedAtMs = Number.NEGATIVE_INFINITY;
let lastMs = 0;

/**
 * Returns the processor time of this thread in milliseconds, at most one millisecond old. Reading is bounded
 * by it, so that no call is denied because the machine is busy.
 */
export function workedMs(): number {
  const nowMs = performance.now();
  if (nowMs - askedAtMs < stepMs) return lastMs;
  const { user, system } = process.threadCpuUsage();
  askedAtMs = nowMs;
  lastMs = (user + system) / usPerMs;
  return lastMs;
}

/**
 * Creates a test whether this thread has worked for so many milliseconds from now on. It looks at wall-clock
 * time first, because that is cheap and never less than processor time.
 */
export const workDeadline = (ms: number): (() => boolean) => new WorkDeadline(ms).isOver;

/**
 * Tells when this thread has worked for so many milliseconds. Content that turns out to be longer may be
 * given more time.
 */
export class WorkDeadline {
  readonly #startMs = performance.now();
  readonly #startWorkedMs = workedMs();
  #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  readonly isOver = (): boolean =>
    performance.now() - this.#startMs > this.#ms && workedMs() - this.#startWorkedMs > this.#ms;

  /** Puts the end off. */
  extend(ms: number): void {
    this.#ms += ms;
  }
}
