import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MaybePromise } from './maybe-promise.ts';

/**
 * Cuts long work into slices: `if (pace.isDue()) await pace.turn()` stands between its steps, each of which
 * is short.
 */
export class Pace {
  readonly #sliceMs: number;
  #endsAtMs: number;

  /**
   * Takes the length of a slice in milliseconds. Between two slices the event loop handles calls, and each of
   * them comes back to the loop some ten times.
   */
  constructor(sliceMs = 0.5) {
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

/** Takes each item, in slices, between which the event loop handles calls. */
export async function eachInSlices<T>(items: Iterable<T>, take: (item: T) => void): Promise<void> {
  const pace = new Pace();
  for (const item of items) {
    take(item);
    if (pace.isDue()) await pace.turn();
  }
}

/** Makes a value of each item, in slices. */
export async function mapInSlices<T, R>(items: Iterable<T>, make: (item: T) => R): Promise<R[]> {
  const made: R[] = [];
  await eachInSlices(items, (item) => made.push(make(item)));
  return made;
}

/**
 * Takes the steps of a work, each of which is short, in slices. The result of a work that one slice suffices
 * for is there at once.
 */
export function inSlices<R>(steps: Iterator<unknown, R>): MaybePromise<R> {
  const pace = new Pace();
  const slice = (): MaybePromise<R> => {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done) return step.value;
      if (pace.isDue()) return pace.turn().then(slice);
    }
  };
  return slice();
}
