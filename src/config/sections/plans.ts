import type * as z from 'zod';
import type { TenantTerms } from '../../state/store.ts';
import { day, dottedName, duration, flag, integer, megabyte, size } from '../scalars.ts';
import { orNull, section } from '../section.ts';

const count = integer(0, Number.MAX_SAFE_INTEGER);

/** A plan as the file writes it. A value that is null comes from the plan that it extends. */
export const plan = section({
  extends: orNull(dottedName).describe(
    'Plan whose values stand where this one says nothing; null: the built-in one of this name, else free.',
  ),
  scans_per_month: orNull(count).describe('Monthly quota of calls.'),
  scans_per_minute: orNull(integer(1, 100_000_000)).describe('Steady rate of the token bucket.'),
  burst: orNull(integer(1, 200_000_000)).describe('Capacity of the bucket; null: twice the rate.'),
  max_body_bytes: orNull(size()).describe('Body limit of tenants on this plan.'),
  retention: orNull(duration(day, 3650 * day)).describe('How long traces are kept.'),
  overage: orNull(flag).describe('Whether calls beyond the quota go on and are only counted.'),
  per_key_scans_per_minute: orNull(integer(1, 100_000_000)).describe(
    'Rate of each key by itself; null: only the tenant has one.',
  ),
}).prefault({});

type WrittenPlan = z.output<typeof plan>;

/** The limits of a plan. */
export interface Plan extends TenantTerms {
  readonly name: string;
  readonly maxBodyBytes: number;
  readonly bodyLimitSetBy: BodyLimitSetBy;
  readonly retentionMs: number;
}

/** The place where the body limit is written; null for none, so that the catalogue may raise it. */
export type BodyLimitSetBy = 'tenant' | 'plan' | 'limits' | null;

type Grant = Omit<Plan, 'name' | 'maxBodyBytes' | 'bodyLimitSetBy'>;

const grant = (
  scansPerMonth: number | null,
  scansPerMinute: number | null,
  retentionDays: number,
): Grant => ({
  scansPerMonth,
  scansPerMinute,
  burst: scansPerMinute === null ? null : scansPerMinute * 2,
  retentionMs: retentionDays * day,
  overage: false,
  perKeyScansPerMinute: null,
});

const builtIn: ReadonlyMap<string, Grant> = new Map([
  ['free', grant(1000, 60, 7)],
  ['solo', grant(50_000, 600, 30)],
  ['team', grant(200_000, 2000, 30)],
  ['pro', grant(1_000_000, 10_000, 90)],
  ['enterprise', grant(null, null, 365)],
]);

export const builtInPlans: readonly string[] = [...builtIn.keys()];

/** Returns the name of the plan that `name` extends; undefined for a built-in one that extends no other. */
export const basePlan = (name: string, written: string | null | undefined): string | undefined =>
  written ?? (builtIn.has(name) ? undefined : 'free');

/** The body limit of `limits`, and whether it is written there or in MAX_BODY_BYTES. */
interface DaemonBodyLimit {
  readonly maxBodyBytes: number;
  readonly isWritten: boolean;
}

/**
 * Returns all plans, those of the file laid over those that they extend. A plan's own body limit holds for
 * its tenants. Without it the daemon's limit holds, which on `pro` is at least 1 MB. Unknown bases and cycles
 * have been refused before.
 */
export function resolvePlans(
  written: ReadonlyMap<string, WrittenPlan>,
  { maxBodyBytes, isWritten }: DaemonBodyLimit,
): ReadonlyMap<string, Plan> {
  const plans = new Map<string, Plan>();
  const original = (name: string): Plan => ({
    name,
    ...(builtIn.get(name) as Grant),
    maxBodyBytes: name === 'pro' ? Math.max(maxBodyBytes, megabyte) : maxBodyBytes,
    bodyLimitSetBy: isWritten ? 'limits' : null,
  });
  const resolve = (name: string): Plan => {
    const done = plans.get(name);
    if (done) return done;
    const own = written.get(name);
    const baseName = basePlan(name, own?.extends);
    const base = baseName === undefined ? original(name) : resolve(baseName);
    const plan = Object.freeze(own ? layOver(base, name, own) : base);
    plans.set(name, plan);
    return plan;
  };
  for (const name of [...builtIn.keys(), ...written.keys()]) resolve(name);
  return plans;
}

function layOver(base: Plan, name: string, own: WrittenPlan): Plan {
  return {
    name,
    scansPerMonth: own.scansPerMonth ?? base.scansPerMonth,
    scansPerMinute: own.scansPerMinute ?? base.scansPerMinute,
    // A bucket holds about twice its rate, unless the plan says otherwise.
    burst: own.burst ?? (own.scansPerMinute === null ? base.burst : own.scansPerMinute * 2),
    maxBodyBytes: own.maxBodyBytes ?? base.maxBodyBytes,
    bodyLimitSetBy: own.maxBodyBytes === null ? base.bodyLimitSetBy : 'plan',
    retentionMs: own.retentionMs ?? base.retentionMs,
    overage: own.overage ?? base.overage,
    perKeyScansPerMinute: own.perKeyScansPerMinute ?? base.perKeyScansPerMinute,
  };
}
