import type { AdmitRequest, KeyRecord, NotAdmitted, TenantTerms } from '../store.ts';

/*
 * Rates, quotas and windows. All numbers are integers, so that a bucket is exact to the token on any driver.
 * `admit.lua` does the same steps in the same order, and `test/state/agreement` compares both.
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

/** A bucket that was taken from later than this was so by a clock that was wrong. */
const aheadMsMax = 3_600_000;
const isFarAhead = (atMs: number, nowMs: number): boolean => atMs - nowMs > aheadMsMax;

/** Returns the rate of a tenant: the bucket holds about twice its steady rate. */
const rateOf = ({ scansPerMinute, burst }: TenantTerms): Rate | undefined =>
  scansPerMinute === null ? undefined : { perMinute: scansPerMinute, capacity: burst ?? scansPerMinute * 2 };

/** Returns the rate of a key by itself: its own, else the one that the plan gives to each. */
function keyRateOf({ perMinute }: KeyRecord, { perKeyScansPerMinute }: TenantTerms): Rate | undefined {
  const rate = perMinute ?? perKeyScansPerMinute;
  return rate === null ? undefined : { perMinute: rate, capacity: rate * 2 };
}

/**
 * Returns the level of a bucket at that time. A clock that runs backwards brings nothing. After one that was
 * far ahead the bucket is as if it was never used, or it would stay empty until that time has come.
 */
export function levelAt({ level, atMs }: Bucket, { perMinute, capacity }: Rate, nowMs: number): number {
  const full = capacity * partsPerToken;
  return isFarAhead(atMs, nowMs) ? full : Math.min(full, level + Math.max(0, nowMs - atMs) * perMinute);
}

/** Whole seconds until a token is there, at least 1. */
export const secondsUntilToken = (level: number, { perMinute }: Rate): number =>
  Math.max(1, Math.ceil((partsPerToken - level) / perMinute / 1000));

/** Takes a token from the bucket in place: the hot path makes no new bucket with each call. */
export function withoutToken(bucket: Bucket | undefined, rate: Rate, nowMs: number): Bucket {
  if (!bucket) return { level: (rate.capacity - 1) * partsPerToken, atMs: nowMs };
  bucket.level = levelAt(bucket, rate, nowMs) - partsPerToken;
  // A clock that is set back must not fill the bucket twice.
  bucket.atMs = isFarAhead(bucket.atMs, nowMs) ? nowMs : Math.max(bucket.atMs, nowMs);
  return bucket;
}

/** Limits for the calls of a key. null and undefined are without a limit. */
interface Limits {
  readonly quota: number | null;
  /** Calls beyond the quota are let in and counted. */
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

/** Amounts that earlier calls have used. A bucket that was never used is undefined. */
interface Used {
  readonly inMonth: number;
  readonly uses: number;
  readonly tenantBucket: Bucket | undefined;
  readonly keyBucket: Bucket | undefined;
}

/** `call` and `rate` are as in `AdmitRequest.counts`; `nothing` is a call that is only checked. */
export type Taking = AdmitRequest['counts'] | 'nothing';

export type LimitRefusal = Omit<NotAdmitted, 'identity'>;

/** Says why a call is not let in, if so: by quota, uses, the tenant's rate, then the key's. */
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
/** Hours that a sliding day looks back, the running one included. */
export const hoursInDay = 24;

interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** Quotas count by calendar months in UTC. */
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

/** Percentages of the monthly quota at which an alert is due. */
export const alertPercents = [80, 90, 100] as const;

/** Returns the alert that the call with this count sets off: each once a month on all nodes. */
export const alertAt = (used: number, quota: number): (typeof alertPercents)[number] | undefined =>
  alertPercents.findLast((percent) => used === Math.ceil((quota * percent) / 100));

/** Tells whether an alert of this month is news: neither this month nor a later one was told of before. */
export const isAlertNews = (toldOfMs: number | undefined, periodStartMs: number): boolean =>
  toldOfMs === undefined || periodStartMs > toldOfMs;
