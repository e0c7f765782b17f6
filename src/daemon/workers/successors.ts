import type { Member } from './member.ts';
import { Restarts } from './restarts.ts';

/** Starts workers in the place of those that ended, after the delay that the past of each slot allows. */
export class Successors {
  readonly #start: (slot: number) => void;
  readonly #restarts = new Map<number, Restarts>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(start: (slot: number) => void) {
    this.#start = start;
  }

  /**
   * Plans the successor of a worker. Returns false, and plans none, where the worker of this slot ends again
   * and again.
   */
  follow({ slot, isWaiting }: Pick<Member, 'slot' | 'isWaiting'>, servedMs: number): boolean {
    const restarts = this.#restarts.get(slot) ?? new Restarts();
    this.#restarts.set(slot, restarts);
    // Without the state the others may still serve, and it may come back: such a failure is no crash.
    const delayMs = isWaiting ? restarts.delayed() : restarts.crashed(servedMs);
    if (delayMs === undefined) return false;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#start(slot);
    }, delayMs);
    this.#timers.add(timer);
    return true;
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
