import { overridingMethods } from '../catalogue/overriding-method.ts';
import type { BudgetConfig, TenantConfig } from '../config/schema.ts';
import type { BodyValue, ClassifiedCall, Identity, OperationPart } from '../core/call.ts';
import { compileMatch, type MatchFacts, PlaceTree, parsePath } from '../policy/index.ts';
import type { BudgetCharge } from '../state/store.ts';
import type { Tenants } from '../tenants/tenants.ts';
import { kept } from '../util/kept.ts';
import { bodyValue } from './facts/body.ts';
import { toRequest } from './request.ts';

/**
 * The parts of a unit of money. Sums are counted in millionths, so that they are exact: 0.1 has no double of
 * its own.
 */
const partsPerUnit = 1_000_000;

/**
 * Returns the charge of a call to each budget of its tenant. It is 0 where the call does not count for the
 * budget.
 */
export type ChargesOf = (call: ClassifiedCall, identity: Identity) => readonly BudgetCharge[];

interface CompiledBudget {
  readonly name: string;
  readonly daily: number;
  readonly day: ZoneDay;
  readonly isCounted: (facts: MatchFacts) => boolean;
  readonly amountOf: (call: ClassifiedCall) => number;
}

/**
 * Returns a function that tells charges; undefined where no tenant has a budget. Then no call pays for
 * budgets, nor do calls of later tenants.
 */
export function createCharges(tenants: Pick<Tenants, 'find' | 'ids'>): ChargesOf | undefined {
  if (tenants.ids().every((id) => tenants.find(id)?.budgets.length === 0)) return undefined;
  const compiled = new WeakMap<TenantConfig, readonly CompiledBudget[]>();
  return (call, identity) => {
    const tenant = tenants.find(identity.tenantId);
    if (!tenant || tenant.budgets.length === 0) return noCharges;
    const budgets = kept(compiled, tenant, () => compileBudgets(tenant));
    const whole = toFacts(call, identity, tenant);
    const parts = call.operation.parts ?? [];
    const facts = [whole, ...parts.map((part) => factsOfPart(whole, part))];
    return budgets.map((it) => chargeOf(it, call, facts));
  };
}

const noCharges: readonly BudgetCharge[] = [];

/**
 * Returns the charge to one budget. If one operation of several counts, the call counts. A sum over the day's
 * budget is charged as all of it, so that sums stay exact.
 */
const chargeOf = (
  budget: CompiledBudget,
  call: ClassifiedCall,
  facts: readonly MatchFacts[],
): BudgetCharge => ({
  name: budget.name,
  day: budget.day.of(call.receivedAtMs),
  amount: facts.some(budget.isCounted) ? Math.min(budget.amountOf(call), budget.daily) : 0,
  daily: budget.daily,
});

function compileBudgets(tenant: TenantConfig): readonly CompiledBudget[] {
  const days = new Map<string, ZoneDay>();
  return tenant.budgets.map((budget) => ({
    name: budget.name,
    daily: dailyParts(budget),
    day: kept(days, budget.tz, () => new ZoneDay(budget.tz)),
    isCounted: compileMatch(budget.match),
    amountOf: amountReader(budget, tenant),
  }));
}

function dailyParts({ unit, daily }: BudgetConfig): number {
  const parts = unit === 'amount' ? Math.round(daily * partsPerUnit) : Math.ceil(daily);
  return Math.min(Math.max(1, parts), Number.MAX_SAFE_INTEGER);
}

function amountReader(
  { unit, amountPath }: BudgetConfig,
  tenant: TenantConfig,
): (call: ClassifiedCall) => number {
  if (unit === 'calls') return () => 1;
  if (unit === 'bytes') return ({ body }) => body.length;
  const steps = parsePath(amountPath ?? '');
  if (!steps) throw new TypeError('A budget has an amount path that was not validated.');
  const tree = new PlaceTree();
  const { index } = tree.add(steps);
  const sumOf = (readings: readonly unknown[]): number => tree.read(readings)[index]?.values.sum() ?? 0;
  return (call) => {
    const bodies = [bodyValue(call.received, tenant.maxDecodedBytes), ...bodiesOfParts(call)];
    return bodies.reduce((sum, body) => sum + amountIn(body, sumOf), 0);
  };
}

/** Returns the bodies of a batch, each with an amount of its own. */
const bodiesOfParts = ({ operation }: ClassifiedCall): BodyValue[] =>
  operation.parts?.flatMap(({ body }) => body ?? []) ?? [];

/**
 * Returns an amount in parts. Several readings add up, since lines are payments. An unclear body counts as
 * infinite, since it may say any sum.
 */
function amountIn(body: BodyValue, sumOf: (readings: readonly unknown[]) => number): number {
  if (body.kind === 'none') return 0;
  if (body.kind === 'unclear') return Number.POSITIVE_INFINITY;
  const sum = sumOf(body.readings);
  // A payment of less than a part counts as one, so that many of them are not free.
  return sum === 0 ? 0 : Math.max(1, Math.round(sum * partsPerUnit));
}

const toFacts = (
  { operation, received }: ClassifiedCall,
  identity: Identity,
  tenant: TenantConfig,
): MatchFacts => ({
  envName: identity.envName,
  operation,
  method: received.method,
  overridingMethods: overridingMethods(toRequest(received, tenant.maxDecodedBytes)),
  target: received.target,
  agentId: identity.agentId,
  runtimeType: received.claimed.runtimeType,
  ownAgent: identity.ownAgent,
});

const factsOfPart = (whole: MatchFacts, { operation, method, target }: OperationPart): MatchFacts => ({
  ...whole,
  operation,
  method: method ?? whole.method,
  target: target ?? whole.target,
});

const minuteMs = 60_000;

/**
 * Tells the date in a zone, such as `2026-11-21`. It formats once a minute, because no zone's midnight lies
 * within one.
 */
export class ZoneDay {
  readonly #format: Intl.DateTimeFormat;
  #minute = Number.NaN;
  #day = '';

  constructor(zone: string) {
    const [year, month, day] = ['numeric', '2-digit', '2-digit'] as const;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      year,
      month,
      day,
    });
  }

  of(nowMs: number): string {
    const minute = Math.floor(nowMs / minuteMs);
    if (minute !== this.#minute) {
      const parts = this.#format.formatToParts(minute * minuteMs);
      const part = (type: string): string => parts.find((it) => it.type === type)?.value ?? '';
      this.#day = `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
      this.#minute = minute;
    }
    return this.#day;
  }
}
