import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Cuts long work into slices: `if (pace.isDue()) await pace.turn()` stands between its steps, each of which
 * is short.
 */
export class Pace {
  readonly #sliceMs: number;
  #endsAtMs: number;

  /** Takes the length of a slice in milliseconds. Between two slices the event loop handles calls. */
  constructor(sliceMs = 2) {
    this.#sliceMs = sliceMs;
    this.#endsAtMs = performance.now() + sliceMs;
  }

  isDue(): boolean {
    return performance.now() >= this.#endsAtMs;
  }

  async turn(): Promise<void> {
    await nextTurn();
    this.#endsAtMs = performance.now() + this.#sliceMs;
  }
}

/** Makes a value of each item, in slices, between which the event loop handles calls. */
export async function mapInSlices<T, R>(items: readonly T[], make: (item: T) => R): Promise<R[]> {
  const pace = new Pace();
  const made: R[] = [];
  for (const item of items) {
    made.push(make(item));
    if (pace.isDue()) await pace.turn();
  }
  return made;
}
