import { setImmediate as nextTurn } from 'node:timers/promises';

/** Cuts long work: `if (pace.isDue()) await pace.turn()` stands between its steps, each of which is short. */
export class Pace {
  readonly #sliceMs: number;
  #endsAtMs: number;

  /** Between slices of so many milliseconds, calls have their turn. */
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

/** `items`, each made into something; in slices. */
export async function mapInSlices<T, R>(items: readonly T[], make: (item: T) => R): Promise<R[]> {
  const pace = new Pace();
  const made: R[] = [];
  for (const item of items) {
    made.push(make(item));
    if (pace.isDue()) await pace.turn();
  }
  return made;
}
