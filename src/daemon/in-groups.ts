import { Pace } from '../util/pace.ts';
import { allOrFirstError } from './all-or-first-error.ts';

/** Thousands of entries are written, and each write waits for the disk, or the network: one by one they take minutes. */
const atOnce = 100;

/** Does the same for all items, so many at once that their writes share transactions, and few enough that calls have their turns. */
export async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const pace = new Pace();
  for (let from = 0; from < items.length; from += atOnce) {
    await allOrFirstError(items.slice(from, from + atOnce).map(work));
    if (pace.isDue()) await pace.turn();
  }
}
