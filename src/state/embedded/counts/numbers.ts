import { kept } from '../../../util/kept.ts';
import {
  type Bucket,
  hourOf,
  hoursInDay,
  type LimitRefusal,
  limitsOf,
  periodOf,
  refusalOf,
  type Taking,
  withoutToken,
} from '../../rules/limits.ts';
import type { KeyRecord, KeyUsage, TenantTerms, TenantUsage } from '../../store.ts';
import { type CounterReader, monthNumberOf } from './counters.ts';
import { createSlidingCount, type SlidingCount } from './sliding-count.ts';

/*
 * Keeps quotas, buckets, uses and counts. Memory is authoritative, and the disk follows with the batches of
 * the journal. A number is read from disk when its key or tenant is first used. Numbers that are idle and on
 * disk are forgotten. After a restart quotas, uses and counts are as they were, since every call that was let
 * out is in the journal. Buckets start full, and the rate of the last minute starts at zero.
 */

type Taken = { readonly ok: true; readonly scansUsed: number } | LimitRefusal;

interface KeyNumbers {
  uses: number;
  blocked: number;
  lastSeenAtMs: number | null;
  readonly byHour: SlidingCount;
  bucket: Bucket | undefined;
  /** The time of the last use by the clock of this process, which may differ from that of the calls. */
  touchedAt: number;
}

interface TenantNumbers {
  /** The calls by month, at most `monthsMax` months. */
  readonly months: Map<number, number>;
  readonly limitedByHour: SlidingCount;
  readonly recent: SlidingCount;
  bucket: Bucket | undefined;
}

interface Month {
  readonly startMs: number;
  readonly endMs: number;
  readonly number: number;
}

interface NumbersOptions {
  /** Tells whether finished calls may still be on their way to the disk, however long ago that was. */
  readonly isDiskBehind: () => boolean;
  /** A monotonic clock in milliseconds; `performance.now` by default. */
  readonly clock?: () => number;
  /** The number of keys above which those idle for `idleMs` are forgotten. Keys in use never are. */
  readonly keysMax?: number;
}

/**
 * How long a key is idle before it may be forgotten, in milliseconds. A decided call is on the disk a quarter
 * of a second later, so this is ample.
 */
const idleMs = 15 * 60_000;
const recentSlotMs = 10_000;
const recentSlots = 6;
/**
 * The limit of months in memory. A clock that is set back finds earlier months; those before them are read
 * again.
 */
const monthsMax = 12;

export class Numbers {
  readonly #stored: CounterReader;
  readonly #isDiskBehind;
  readonly #clock;
  readonly #keysMax;
  readonly #keys = new Map<string, KeyNumbers>();
  /** The numbers of tenants. They have no bound, since administrators make tenants, and not many. */
  readonly #tenants = new Map<string, TenantNumbers>();
  #sweepAtSize;
  /** The month of the last call, which is nearly always that of the next. */
  #month: Month = { startMs: 0, endMs: 0, number: 0 };

  constructor(stored: CounterReader, options: NumbersOptions) {
    this.#stored = stored;
    const { isDiskBehind, clock = () => performance.now(), keysMax = 32_768 } = options;
    this.#isDiskBehind = isDiskBehind;
    this.#clock = clock;
    this.#keysMax = keysMax;
    this.#sweepAtSize = keysMax;
  }

  /**
   * Takes what the call counts for from quota, uses and buckets. Where one of them refuses (`refusalOf`), it
   * takes nothing.
   */
  take(key: KeyRecord, terms: TenantTerms, nowMs: number, counts: Taking): Taken {
    const tenant = this.#tenantOf(key.tenantId, nowMs);
    const holder = this.#keyOf(key.keyId, nowMs);
    // A key and all keys that were made with it have one bucket.
    const spender = key.parentKeyId === null ? holder : this.#keyOf(key.parentKeyId, nowMs);
    const { number } = this.#monthOf(nowMs);
    const inMonth = this.#usedIn(key.tenantId, tenant, number);
    const limits = limitsOf(key, terms);
    const used = { inMonth, uses: holder.uses, tenantBucket: tenant.bucket, keyBucket: spender.bucket };
    const refusal = refusalOf(used, limits, counts, nowMs);
    if (refusal?.code === 'RATE_LIMITED') tenant.limitedByHour.add(hourOf(nowMs), 1);
    if (refusal) return refusal;
    if (counts === 'nothing') return { ok: true, scansUsed: inMonth };
    const { tenantRate, keyRate } = limits;
    if (tenantRate) tenant.bucket = withoutToken(tenant.bucket, tenantRate, nowMs);
    if (keyRate) spender.bucket = withoutToken(spender.bucket, keyRate, nowMs);
    if (counts === 'rate') return { ok: true, scansUsed: inMonth };
    tenant.months.set(number, inMonth + 1);
    tenant.recent.add(Math.floor(nowMs / recentSlotMs), 1);
    holder.uses += 1;
    holder.byHour.add(hourOf(nowMs), 1);
    holder.lastSeenAtMs = Math.max(holder.lastSeenAtMs ?? nowMs, nowMs);
    return { ok: true, scansUsed: inMonth + 1 };
  }

  /** Counts a call with this key from an address outside its allowlist. */
  block(keyId: string, nowMs: number): void {
    this.#keyOf(keyId, nowMs).blocked += 1;
  }

  /** Returns the usage of each key, in the order of the ids. */
  keyUsage(keyIds: readonly string[], nowMs: number): readonly KeyUsage[] {
    const unread = keyIds.filter((it) => !this.#keys.has(it));
    const loaded = this.#loadKeys(unread, nowMs);
    const read = new Map(unread.map((it, at) => [it, loaded[at]]));
    return keyIds.map((it) => toUsage(this.#keys.get(it) ?? read.get(it) ?? this.#neverUsed(), nowMs));
  }

  tenantUsage(tenantId: string, nowMs: number): TenantUsage {
    const tenant = this.#tenants.get(tenantId) ?? this.#loadTenant(tenantId, nowMs);
    return {
      scansUsed: this.#usedIn(tenantId, tenant, this.#monthOf(nowMs).number),
      rateLimitHits24h: tenant.limitedByHour.sum(hourOf(nowMs)),
      currentRatePerMin: tenant.recent.sum(Math.floor(nowMs / recentSlotMs)),
    };
  }

  #monthOf(ms: number): Month {
    if (ms < this.#month.startMs || ms >= this.#month.endMs)
      this.#month = { ...periodOf(ms), number: monthNumberOf(ms) };
    return this.#month;
  }

  #neverUsed(): KeyNumbers {
    return {
      uses: 0,
      blocked: 0,
      lastSeenAtMs: null,
      byHour: createSlidingCount(hoursInDay),
      bucket: undefined,
      touchedAt: this.#clock(),
    };
  }

  /** Returns the numbers of each key, in the order of the ids. */
  #loadKeys(keyIds: readonly string[], nowMs: number): KeyNumbers[] {
    return this.#stored.ofKeys(keyIds, hourOf(nowMs) - hoursInDay + 1).map(({ callsByHour, ...counts }) => {
      const numbers = { ...this.#neverUsed(), ...counts };
      for (const [hour, count] of callsByHour) numbers.byHour.add(hour, count);
      return numbers;
    });
  }

  #keyOf(keyId: string, nowMs: number): KeyNumbers {
    const known = this.#keys.get(keyId);
    if (known) {
      known.touchedAt = this.#clock();
      return known;
    }
    const [loaded = this.#neverUsed()] = this.#loadKeys([keyId], nowMs);
    if (this.#keys.size >= this.#sweepAtSize) this.#forgetIdleKeys();
    this.#keys.set(keyId, loaded);
    return loaded;
  }

  #forgetIdleKeys(): void {
    const before = this.#clock() - idleMs;
    if (!this.#isDiskBehind())
      for (const [keyId, { touchedAt }] of this.#keys) if (touchedAt < before) this.#keys.delete(keyId);
    // Keys in use stay. The next sweep comes at twice as many keys, so that a busy day is not spent on
    // sweeping.
    this.#sweepAtSize = Math.max(this.#keysMax, this.#keys.size * 2);
  }

  #loadTenant(tenantId: string, nowMs: number): TenantNumbers {
    const limitedByHour = createSlidingCount(hoursInDay);
    for (const [hour, count] of this.#stored.limitedOf(tenantId, hourOf(nowMs) - hoursInDay + 1))
      limitedByHour.add(hour, count);
    return { months: new Map(), limitedByHour, recent: createSlidingCount(recentSlots), bucket: undefined };
  }

  #tenantOf(tenantId: string, nowMs: number): TenantNumbers {
    return kept(this.#tenants, tenantId, () => this.#loadTenant(tenantId, nowMs));
  }

  #usedIn(tenantId: string, { months }: TenantNumbers, number: number): number {
    const known = months.get(number);
    if (known !== undefined) return known;
    const used = this.#stored.callsInMonth(tenantId, number);
    const [oldest] = months.keys();
    if (months.size >= monthsMax && oldest !== undefined) months.delete(oldest);
    months.set(number, used);
    return used;
  }
}

const toUsage = ({ lastSeenAtMs, byHour, blocked, uses }: KeyNumbers, nowMs: number): KeyUsage => ({
  lastSeenAtMs,
  calls24h: byHour.sum(hourOf(nowMs)),
  blockedAttempts: blocked,
  uses,
});
