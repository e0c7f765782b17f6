import { kept } from '../../util/kept.ts';

/* Numbers that are counted on the way of a call. They are plain, so that counting allocates nothing. */

/** Bounds in seconds of every histogram of times. */
export const secondBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/** Counts times by `secondBounds`. */
export class Histogram {
  /**
   * Counts of the times up to each bound and above the one before; the last counts those above all bounds.
   */
  readonly counts = new Float64Array(secondBounds.length + 1);
  sum = 0;

  observe(seconds: number): void {
    let at = 0;
    while (at < secondBounds.length && seconds > (secondBounds[at] as number)) at += 1;
    this.counts[at] = (this.counts[at] as number) + 1;
    this.sum += seconds;
  }

  /** Counts the time since `startMs`, as `performance.now()` tells it. */
  observeSince(startMs: number): void {
    this.observe((performance.now() - startMs) / 1000);
  }
}

/** Counts by a name of a fixed list; any other name counts as `OTHER`. */
export class NamedCounts {
  readonly values: Float64Array;
  readonly #places: ReadonlyMap<string, number>;
  readonly #other: number;

  constructor(names: Iterable<string>) {
    this.#places = new Map([...new Set([...names, 'OTHER'])].map((name, at) => [name, at]));
    this.#other = this.#places.size - 1;
    this.values = new Float64Array(this.#places.size);
  }

  add(name: string, count = 1): void {
    const at = this.#places.get(name) ?? this.#other;
    this.values[at] = (this.values[at] as number) + count;
  }

  /** Yields the names that were counted at least once. */
  *entries(): Iterable<readonly [name: string, count: number]> {
    for (const [name, at] of this.#places) {
      const count = this.values[at] as number;
      if (count > 0) yield [name, count];
    }
  }
}

/** Counts times by a name of a fixed list. */
export class NamedHistograms {
  readonly #histograms = new Map<string, Histogram>();

  /**
   * Returns the histogram of a name, made when it is first asked for. Callers ask once for each name, at the
   * start.
   */
  of(name: string): Histogram {
    return kept(this.#histograms, name, () => new Histogram());
  }

  entries(): Iterable<readonly [string, Histogram]> {
    return this.#histograms;
  }
}
