import { Pace } from '../util/pace.ts';
import { allOrFirstError } from './all-or-first-error.ts';

/** Thousands of entries are written, and each waits for disk or network: one by one they take minutes. */
const atOnce = { besideCalls: 100, alone: 500 };

/**
 * Does the same for all items, so many at once that their writes share transactions. Where calls are served
 * meanwhile (`hasCalls`), they have their turns.
 */
export async function inGroups<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  hasCalls: boolean,
): Promise<void> {
  const pace = new Pace();
  const size = hasCalls ? atOnce.besideCalls : atOnce.alone;
  for (let from = 0; from < items.length; from += size) {
    const begun: Promise<void>[] = [];
    for (const item of items.slice(from, from + size)) {
      const one = work(item);
      // Its error is told with the group's.
      one.catch(() => undefined);
      begun.push(one);
      if (hasCalls && pace.isDue()) await pace.turn();
    }
    await allOrFirstError(begun);
  }
}
