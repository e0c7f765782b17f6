import type { AdmitRequest, KeyRecord, NotAdmitted, TenantTerms } from '../store.ts';

/*
 * Counts rates, quotas and windows. All numbers are integers, so that a bucket is exact to the token on any
 * driver. `admit.lua` does the same steps in the same order, and `test/state/agreement` compares both.
 */

/** The parts of a token. At a rate of n a minute, n parts flow in with each millisecond. */
export const partsPerToken = 60_000;

export interface Rate {
  readonly perMinute: number;
  /** The tokens that a full bucket holds. */
  readonly capacity: number;
}

/** The level of a bucket at a time. A bucket that was never used is full, and has no record. */
export interface Bucket {
  /** The level in parts of tokens. */
  level: number;
  atMs: number;
}

/**
 * How far ahead the time of a bucket may be, in milliseconds. Beyond that, the clock that set it was wrong.
 */
const aheadMsMax = 3_600_000;
const isFarAhead = (atMs: number, nowMs: number): boolean => atMs - nowMs > aheadMsMax;

/**
 * Returns the rate of a tenant; undefined where it is unlimited. The bucket holds twice the steady rate,
 * unless the plan says how much.
 */
const rateOf = ({ scansPerMinute, burst }: TenantTerms): Rate | undefined =>
  scansPerMinute === null ? undefined : { perMinute: scansPerMinute, capacity: burst ?? scansPerMinute * 2 };

/**
 * Returns the rate of a key by itself: its own, else the one that the plan gives to each. Undefined where it
 * is unlimited.
 */
function keyRateOf({ perMinute }: KeyRecord, { perKeyScansPerMinute }: TenantTerms): Rate | undefined {
  const rate = perMinute ?? perKeyScansPerMinute;
  return rate === null ? undefined : { perMinute: rate, capacity: rate * 2 };
}

/**
 * Returns the level of a bucket at a time. A clock that runs backwards brings nothing. A bucket whose time is
 * too far ahead counts as full, or it would stay empty until that time.
 */
export function levelAt({ level, atMs }: Bucket, { perMinute, capacity }: Rate, nowMs: number): number {
  const full = capacity * partsPerToken;
  return isFarAhead(atMs, nowMs) ? full : Math.min(full, level + Math.max(0, nowMs - atMs) * perMinute);
}

/** Returns the whole seconds until a token is there, at least 1. */
export const secondsUntilToken = (level: number, { perMinute }: Rate): number =>
  Math.max(1, Math.ceil((partsPerToken - level) / perMinute / 1000));

/**
 * Takes a token from a bucket, changes the bucket in place and returns it. So the hot path makes no new
 * bucket with each call.
 */
export function withoutToken(bucket: Bucket | undefined, rate: Rate, nowMs: number): Bucket {
  if (!bucket) return { level: (rate.capacity - 1) * partsPerToken, atMs: nowMs };
  bucket.level = levelAt(bucket, rate, nowMs) - partsPerToken;
  // A clock that is set back must not fill the bucket twice.
  bucket.atMs = isFarAhead(bucket.atMs, nowMs) ? nowMs : Math.max(bucket.atMs, nowMs);
  return bucket;
}

/** The limits for the calls of a key; null and undefined stand for no limit. */
interface Limits {
  readonly quota: number | null;
  /** Whether calls beyond the quota are let in and counted. */
  readonly overage: boolean;
  readonly maxUses: number | null;
  readonly tenantRate: Rate | undefined;
  readonly keyRate: Rate | undefined;
}

export const limitsOf = (key: KeyRecord, terms: TenantTerms): Limits => ({
  quota: terms.scansPerMonth,
  overage: terms.overage,
  maxUses: key.maxUses,
  tenantRate: rateOf(terms),
  keyRate: keyRateOf(key, terms),
});

/** The amounts that earlier calls have used. A bucket that was never used is undefined. */
interface Used {
  readonly inMonth: number;
  readonly uses: number;
  readonly tenantBucket: Bucket | undefined;
  readonly keyBucket: Bucket | undefined;
}

/** `call` and `rate` are as in `AdmitRequest.counts`; `nothing` is a call that is only checked. */
export type Taking = AdmitRequest['counts'] | 'nothing';

export type LimitRefusal = Omit<NotAdmitted, 'identity'>;

/**
 * Returns why a call is not let in; undefined where it is. It looks at quota, uses, the tenant's rate, then
 * the key's rate.
 */
export function refusalOf(
  used: Used,
  limits: Limits,
  counts: Taking,
  nowMs: number,
): LimitRefusal | undefined {
  const { quota, overage, maxUses, tenantRate, keyRate } = limits;
  if (counts !== 'rate' && quota !== null && used.inMonth >= quota && !overage)
    return overQuota(Math.max(1, Math.ceil((periodOf(nowMs).endMs - nowMs) / 1000)));
  if (maxUses !== null && used.uses >= maxUses) return usedUp;
  return (
    limitedBy('tenant', used.tenantBucket, tenantRate, nowMs) ??
    limitedBy('key', used.keyBucket, keyRate, nowMs)
  );
}

function limitedBy(
  whose: 'tenant' | 'key',
  bucket: Bucket | undefined,
  rate: Rate | undefined,
  nowMs: number,
): LimitRefusal | undefined {
  if (!rate) return undefined;
  const level = bucket ? levelAt(bucket, rate, nowMs) : rate.capacity * partsPerToken;
  return level >= partsPerToken ? undefined : overRate(whose, secondsUntilToken(level, rate), rate.perMinute);
}

export const overQuota = (retryAfterSeconds: number): LimitRefusal => ({
  ok: false,
  code: 'QUOTA_EXCEEDED',
  detail: 'The calls that the plan grants for this month are used up.',
  retryAfterSeconds,
});

export const usedUp: LimitRefusal = Object.freeze({
  ok: false,
  code: 'INVALID_KEY',
  detail: 'The key is used up.',
});

export const overRate = (whose: string, retryAfterSeconds: number, perMinute: number): LimitRefusal => ({
  ok: false,
  code: 'RATE_LIMITED',
  detail: `The ${whose} makes more calls than its rate of ${perMinute} a minute allows.`,
  retryAfterSeconds,
});

export const hourMs = 3_600_000;
export const hourOf = (ms: number): number => Math.floor(ms / hourMs);
/** The hours that a sliding day looks back, the running one included. */
export const hoursInDay = 24;

interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** Returns the period of a quota: the calendar month in UTC. */
export function periodOf(ms: number): Period {
  const date = new Date(ms);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { startMs: Date.UTC(year, month, 1), endMs: Date.UTC(year, month + 1, 1) };
}

/** Returns the month's expected use at the present pace: linear, rounded, never below the present one. */
export function forecast(used: number, { startMs, endMs }: Period, nowMs: number): number {
  const passed = Math.max(1, nowMs - startMs);
  return Math.max(used, Math.round((used * (endMs - startMs)) / passed));
}

/** The percentages of the monthly quota at which an alert is due. */
export const alertPercents = [80, 90, 100] as const;

/**
 * Returns the percentage of the quota that the call with this count reaches; undefined where it reaches none.
 * A count occurs once on all nodes, so each alert is due once a month.
 */
export const alertAt = (used: number, quota: number): (typeof alertPercents)[number] | undefined =>
  alertPercents.findLast((percent) => used === Math.ceil((quota * percent) / 100));

/** Tells whether an alert of this month is news: none was told for this month or a later one. */
export const isAlertNews = (toldOfMs: number | undefined, periodStartMs: number): boolean =>
  toldOfMs === undefined || periodStartMs > toldOfMs;
