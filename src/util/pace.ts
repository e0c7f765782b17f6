import { setImmediate as nextTurn } from 'node:timers/promises';

/** Long work is done in slices of so many milliseconds; between them, calls have their turn. */
const sliceMs = 2;

/** Cuts long work: `if (pace.isDue()) await pace.turn()` stands between its steps, each of which is short. */
export class Pace {
  #endsAtMs = performance.now() + sliceMs;

  isDue(): boolean {
    return performance.now() >= this.#endsAtMs;
  }

  async turn(): Promise<void> {
    await nextTurn();
    this.#endsAtMs = performance.now() + sliceMs;
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
