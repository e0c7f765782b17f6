import type { Charge } from '../../../core/call.ts';
import { exceededOf, firstDayKept, givenBack } from '../../rules/budgets.ts';
import { wasLetOut } from '../../rules/destinations.ts';
import type { BudgetCharge, RecordedCall } from '../../store.ts';
import type { Database } from '../sqlite.ts';
import type { CallTally } from './counters.ts';

/*
 * Counts charges to budgets. Memory is authoritative, and the disk follows with the batches of the journal. A
 * budget is read when it is first asked for on a day. The disk has what finished calls have spent, memory
 * also what running calls may yet spend.
 */

export type BudgetReader = ReturnType<typeof createBudgetReader>;

export type Budgets = ReturnType<typeof createEmbeddedBudgets>;

type Day = Map<string, number>;

export function createEmbeddedBudgets(stored: BudgetReader) {
  /** The days of each tenant, each with the amounts by budget. */
  const tenants = new Map<string, Map<string, Day>>();

  function dayOf(tenantId: string, day: string): Day {
    const days = tenants.get(tenantId) ?? new Map<string, Day>();
    tenants.set(tenantId, days);
    const known = days.get(day);
    if (known) return known;
    forgetDays(days);
    const added: Day = new Map();
    days.set(day, added);
    return added;
  }

  const known = (tenantId: string, { name, day }: Charge): number | undefined =>
    tenants.get(tenantId)?.get(day)?.get(name);

  const usedOf = (tenantId: string, it: Charge): number =>
    known(tenantId, it) ?? stored.usedOf(tenantId, it.name, it.day);

  function load(tenantId: string, it: Charge): number {
    const used = usedOf(tenantId, it);
    if (known(tenantId, it) === undefined) dayOf(tenantId, it.day).set(it.name, used);
    return used;
  }

  function add(tenantId: string, it: Charge, amount: number): void {
    const before = known(tenantId, it);
    if (before !== undefined) dayOf(tenantId, it.day).set(it.name, Math.max(0, before + amount));
  }

  return {
    /** Returns the names of the budgets that are used up. */
    exceeded: (tenantId: string, charges: readonly BudgetCharge[]) =>
      exceededOf(charges, (it) => load(tenantId, it)),
    /** Returns the same as `exceeded`, for any day, and keeps nothing in memory for it. */
    peek: (tenantId: string, charges: readonly BudgetCharge[]) =>
      exceededOf(charges, (it) => usedOf(tenantId, it)),
    /** Charges budgets that `exceeded` was asked about in the same turn. Never throws. */
    charge(tenantId: string, charges: readonly BudgetCharge[]) {
      for (const it of charges) add(tenantId, it, it.amount);
    },
    /** Gives back the charges of a call that has ended and was not let out. Never throws. */
    note(call: RecordedCall) {
      for (const it of givenBack(call)) add(call.tenantId, it, -it.amount);
    },
  };
}

/** Forgets the days that are long over; it is called when another day begins. */
function forgetDays(days: Map<string, Day>): void {
  const newest = [...days.keys()].sort().at(-1);
  if (newest === undefined) return;
  const first = firstDayKept(newest);
  for (const day of days.keys()) if (day < first) days.delete(day);
}

export function createBudgetReader(db: Database) {
  const find = db.prepare('SELECT used FROM budgets WHERE tenant_id = ? AND day = ? AND name = ?');
  return {
    usedOf: (tenantId: string, name: string, day: string) =>
      Number(find.get(tenantId, day, name)?.['used'] ?? 0),
  };
}

/** Returns a function that adds what let-out calls have spent, in the running transaction. */
export function createBudgetWriter(db: Database): (tallies: readonly CallTally[]) => void {
  const add = db.prepare(`
    INSERT INTO budgets (tenant_id, day, name, used) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET used = used + excluded.used
  `);
  const forget = db.prepare('DELETE FROM budgets WHERE tenant_id = ? AND day < ?');
  return (tallies) => {
    for (const { origin, count } of tallies) {
      if (!origin.charges || !wasLetOut(origin)) continue;
      for (const { name, day, amount } of origin.charges) {
        add.run(origin.tenantId, day, name, amount * count);
        forget.run(origin.tenantId, firstDayKept(day));
      }
    }
  };
}
