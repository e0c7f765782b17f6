import type { Member } from './member.ts';
import { Restarts } from './restarts.ts';

/** Has workers that ended followed by others, each after the delay that its slot's past allows. */
export class Successors {
  readonly #start: (slot: number) => void;
  readonly #restarts = new Map<number, Restarts>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(start: (slot: number) => void) {
    this.#start = start;
  }

  /** Returns false, and starts nobody, where the worker of this slot ends again and again. */
  follow({ slot, isWaiting }: Pick<Member, 'slot' | 'isWaiting'>, servedMs: number): boolean {
    const restarts = this.#restarts.get(slot) ?? new Restarts();
    this.#restarts.set(slot, restarts);
    // The others may serve without the state, and it may come back.
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
