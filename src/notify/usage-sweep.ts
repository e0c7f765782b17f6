import type { Config } from '../config/schema.ts';
import type { EventKind } from '../config/sections/notifications.ts';
import { alertPercents, periodOf } from '../state/rules/limits.ts';
import type { Store } from '../state/store.ts';

export interface UsageSweepOptions {
  /** Writes an alert on usage into the audit log. */
  readonly alertUsage: (tenantId: string, percent: number, used: number, quota: number) => Promise<void>;
  readonly store: Pick<Store, 'usageOf'>;
  readonly now: () => number;
  readonly wants: (kind: EventKind, tenantId: string) => boolean;
}

/** Tells of quotas that are used up to a threshold. It ends early once `isOver` returns true. */
export type UsageSweep = (
  tenantIds: readonly string[],
  configs: Pick<Config, 'tenants' | 'defaultTenant'>,
  isOver: () => boolean,
) => Promise<void>;

/** Returns a sweep for thresholds that a crash has passed over. Others are told when they are reached. */
export function createUsageSweep({ store, alertUsage, now, wants }: UsageSweepOptions): UsageSweep {
  /** Start of the period by tenant and threshold, for alerts that this process has sent already. */
  const alerted = new Map<string, number>();

  async function alertOnce(tenantId: string, percent: number, used: number, quota: number): Promise<void> {
    const { startMs } = periodOf(now());
    const name = `${tenantId} ${percent}`;
    if (alerted.get(name) === startMs) return;
    await alertUsage(tenantId, percent, used, quota);
    alerted.set(name, startMs);
  }

  return async (tenantIds, configs, isOver) => {
    for (const tenantId of tenantIds) {
      const { plan } = configs.tenants.get(tenantId) ?? configs.defaultTenant(tenantId);
      const quota = plan.scansPerMonth;
      if (quota === null || isOver() || !wants('usage.threshold', tenantId)) continue;
      const { scansUsed } = await store.usageOf(tenantId, now());
      for (const percent of alertPercents)
        if (scansUsed >= Math.ceil((quota * percent) / 100))
          await alertOnce(tenantId, percent, scansUsed, quota);
    }
  };
}
