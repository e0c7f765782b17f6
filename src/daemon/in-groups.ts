import { Pace } from '../util/pace.ts';
import { allOrFirstError } from './all-or-first-error.ts';

/** Thousands of entries are written, and each write waits for the disk, or the network: one by one they take minutes. */
const atOnce = 100;

/** Does the same for all items, so many at once that their writes share transactions, and few enough that calls have their turns. */
export async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const pace = new Pace();
  for (let from = 0; from < items.length; from += atOnce) {
    const begun: Promise<void>[] = [];
    for (const item of items.slice(from, from + atOnce)) {
      const one = work(item);
      // Its error is told with the group's.
      one.catch(() => undefined);
      begun.push(one);
      if (pace.isDue()) await pace.turn();
    }
    await allOrFirstError(begun);
  }
}
