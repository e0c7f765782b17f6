import type { Charge } from '../../core/call.ts';
import type { BudgetCharge, RecordedCall } from '../store.ts';
import { wasLetOut } from './destinations.ts';

/* The arithmetic of budgets, the same for every driver. */

/** The days before the newest that are kept: the zones of the world have three dates at a time. */
const daysKept = 2;
const dayMs = 86_400_000;

/** Returns the first day that is kept once something is charged to `day`. */
export const firstDayKept = (day: string): string =>
  new Date(Date.parse(day) - daysKept * dayMs).toISOString().slice(0, 10);

export const none: readonly never[] = Object.freeze([]);

/** Returns the charges above 0; the others were only asked about. */
export const charged = (charges: readonly BudgetCharge[]): readonly Charge[] =>
  charges.filter(({ amount }) => amount > 0).map(({ name, day, amount }) => ({ name, day, amount }));

/** Returns the names of the budgets of which nothing is left, as `used` tells. */
export const exceededOf = (
  charges: readonly BudgetCharge[],
  used: (charge: BudgetCharge, at: number) => number,
): readonly string[] => charges.filter((it, at) => used(it, at) >= it.daily).map(({ name }) => name);

/** Returns the charges that an admitted call gives back when it is not let out. */
export const givenBack = (call: Pick<RecordedCall, 'charges' | 'decision'>): readonly Charge[] =>
  call.charges === undefined || wasLetOut(call) ? none : call.charges;

const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Returns charges in the form of a journal line. */
export const chargesText = (charges: readonly Charge[]): readonly unknown[] =>
  charges.map(({ name, day, amount }) => [name, day, amount]);

/** Parses what `chargesText` makes. Throws a `TypeError` for anything else. */
export function parseCharges(list: unknown): readonly Charge[] {
  if (!Array.isArray(list)) throw new TypeError('charges are a list');
  return list.map((it: unknown) => {
    const [name, day, amount] = Array.isArray(it) ? (it as unknown[]) : [];
    if (typeof name !== 'string' || typeof day !== 'string' || !isDay(day))
      throw new TypeError('a charge has a name and a day');
    if (typeof amount !== 'number' || !Number.isFinite(amount) || amount < 0)
      throw new TypeError('a charge has an amount');
    return { name, day, amount };
  });
}
