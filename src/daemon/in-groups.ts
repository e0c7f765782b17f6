import { Pace } from '../util/pace.ts';
import { allOrFirstError } from './all-or-first-error.ts';

/**
 * Items whose writes are under way at once. There are thousands, and each waits for disk or network: one by
 * one they would take minutes.
 */
const atOnce = { besideCalls: 100, alone: 500 };

/**
 * Does the same work for all items, with so many at once that their writes share transactions. If calls are
 * served meanwhile (`hasCalls`), they get their turns. Throws the first error of a group when the whole group
 * has ended.
 */
export async function inGroups<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
  hasCalls: boolean,
): Promise<void> {
  const pace = new Pace();
  const size = hasCalls ? atOnce.besideCalls : atOnce.alone;
  let begun: Promise<void>[] = [];
  for (const item of items) {
    const one = work(item);
    // The error of one item is told with those of its group.
    one.catch(() => undefined);
    begun.push(one);
    if (begun.length === size) {
      await allOrFirstError(begun);
      begun = [];
    } else if (hasCalls && pace.isDue()) await pace.turn();
  }
  await allOrFirstError(begun);
}
