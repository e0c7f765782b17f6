/**
 * The time that a worker must have served for its slot's earlier crashes to be forgotten, in milliseconds.
 */
const wellMs = 60_000;
/** Bound on the crashes of one slot in a row; the next one ends the daemon. */
const crashesMax = 5;
const firstDelayMs = 100;
const delayMsMax = 5_000;

/** Remembers the crashes of one slot, and says when it gets its next worker. */
export class Restarts {
  #crashes = 0;
  #delays = 0;

  /**
   * Notes a worker's end after it served for `servedMs`. Returns the milliseconds until the next one is due;
   * undefined for none.
   */
  crashed(servedMs: number): number | undefined {
    if (servedMs >= wellMs) this.#crashes = 0;
    if (servedMs > 0) this.#delays = 0;
    this.#crashes += 1;
    return this.#crashes > crashesMax ? undefined : this.#delayMs(this.#crashes);
  }

  /**
   * Notes a start that failed for want of something that may return. Returns the milliseconds until the next
   * one.
   */
  delayed(): number {
    this.#delays += 1;
    return this.#delayMs(this.#delays);
  }

  #delayMs(count: number): number {
    return Math.min(delayMsMax, firstDelayMs * 2 ** Math.min(count - 1, 16));
  }
}
