import type { Charge } from '../../core/call.ts';
import { exceededOf } from '../rules/budgets.ts';
import { destinationName } from '../rules/destinations.ts';
import type { BudgetCharge, Store } from '../store.ts';
import type { Link } from './link/link.ts';
import type { CallNames } from './link/names.ts';

/*
 * Keeps charges to budgets in a hash for each day, which `admit.lua` adds to and `record.lua` takes back
 * from.
 */

/**
 * Returns the keys of the charged days, which scripts get behind their other keys. `numberOf` returns the
 * number of a charge's day among all keys.
 */
function daysOf(own: CallNames, charges: readonly Charge[], keysBefore: number) {
  const days = [...new Set(charges.map((it) => it.day))];
  return {
    keys: days.map(own.budgets),
    numberOf: ({ day }: Charge): number => keysBefore + days.indexOf(day) + 1,
  };
}

/** Returns the budgets of a call, as arguments of `admit.lua`. */
export const toBudgetArgs = (
  charges: readonly BudgetCharge[],
  numberOf: (charge: Charge) => number,
): readonly (string | number)[] => charges.flatMap((it) => [numberOf(it), it.name, it.amount, it.daily]);

/** Returns the amounts that calls give back, as arguments of `record.lua`. */
export function toGivenBackArgs(own: CallNames, calls: readonly (readonly Charge[])[], keysBefore: number) {
  const { keys, numberOf } = daysOf(own, calls.flat(), keysBefore);
  const argsOf = (charges: readonly Charge[]): (string | number)[] =>
    charges.flatMap((it) => [numberOf(it), it.name, it.amount]);
  return { keys, argsOf };
}

export function createStandings({ connection, names }: Link): Pick<Store, 'standingOf'> {
  return {
    async standingOf({ tenantId, agentId, destination, charges }) {
      const own = names.of(tenantId);
      const [score, ...used] = await Promise.all([
        connection.call('ZSCORE', own.destinations(agentId), destinationName(destination)),
        ...charges.map(({ name, day }) => connection.call('HGET', own.budgets(day), name)),
      ]);
      return {
        isNewDestination: score === null,
        exceededBudgets: exceededOf(charges, (_, at) => Number(used[at] ?? 0)),
      };
    },
  };
}
