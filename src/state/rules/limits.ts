import type { KeyRecord, TenantTerms } from '../store.ts';

/*
 * Rates, quotas and windows. All numbers are integers, so that a bucket is exact to the token on any driver; where a driver computes in
 * Lua it does the same steps in the same order, and the contract suite holds both to it.
 */

/** Parts of a token: at a rate of n a minute, n parts flow in with each millisecond. */
export const partsPerToken = 60_000;

export interface Rate {
  readonly perMinute: number;
  /** Tokens. */
  readonly capacity: number;
}

/** A bucket that was never used is full. */
export interface Bucket {
  /** Parts of tokens. */
  level: number;
  atMs: number;
}

/** The rate of a tenant: the bucket holds about twice its steady rate. */
export const rateOf = ({ scansPerMinute, burst }: TenantTerms): Rate | undefined =>
  scansPerMinute === null ? undefined : { perMinute: scansPerMinute, capacity: burst ?? scansPerMinute * 2 };

/** The rate of a key by itself: its own, else the one that the plan gives to each. */
export function keyRateOf({ perMinute }: KeyRecord, { perKeyScansPerMinute }: TenantTerms): Rate | undefined {
  const rate = perMinute ?? perKeyScansPerMinute;
  return rate === null ? undefined : { perMinute: rate, capacity: rate * 2 };
}

/** The level of a bucket at that time. A clock that runs backwards brings nothing. */
export const levelAt = ({ level, atMs }: Bucket, { perMinute, capacity }: Rate, nowMs: number): number =>
  Math.min(capacity * partsPerToken, level + Math.max(0, nowMs - atMs) * perMinute);

/** Whole seconds until a token is there, at least 1. */
export const secondsUntilToken = (level: number, { perMinute }: Rate): number =>
  Math.max(1, Math.ceil((partsPerToken - level) / perMinute / 1000));

export const hourMs = 3_600_000;
export const hourOf = (ms: number): number => Math.floor(ms / hourMs);
/** Hours that a sliding day looks back, the running one included. */
export const hoursInDay = 24;

export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** Quotas count by calendar months in UTC. */
export function periodOf(ms: number): Period {
  const date = new Date(ms);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { startMs: Date.UTC(year, month, 1), endMs: Date.UTC(year, month + 1, 1) };
}

/** The expected use of the month at the present pace: linear, rounded, never below the present use. */
export function forecast(used: number, { startMs, endMs }: Period, nowMs: number): number {
  const passed = Math.max(1, nowMs - startMs);
  return Math.max(used, Math.round((used * (endMs - startMs)) / passed));
}

/** Percentages of the monthly quota at which an alert is due. */
export const alertPercents = [80, 90, 100] as const;

/** The alert that the call with this count sets off: each one once in a month, whatever node counted. */
export const alertAt = (used: number, quota: number): (typeof alertPercents)[number] | undefined =>
  alertPercents.findLast((percent) => used === Math.ceil((quota * percent) / 100));
