import type { Config } from '../config/schema.ts';
import type { EventKind } from '../config/sections/notifications.ts';
import { alertPercents, periodOf } from '../state/rules/limits.ts';
import type { Store } from '../state/store.ts';

export interface UsageSweepOptions {
  /** Sends alerts on usage. */
  readonly alertUsage: (tenantId: string, percent: number, used: number, quota: number) => Promise<void>;
  readonly store: Pick<Store, 'usageOf'>;
  readonly now: () => number;
  readonly wants: (kind: EventKind, tenantId: string) => boolean;
}

/** Tells of quotas used up to a threshold. It ends early once `isOver` answers true. */
export type UsageSweep = (
  tenantIds: readonly string[],
  configs: Pick<Config, 'tenants' | 'defaultTenant'>,
  isOver: () => boolean,
) => Promise<void>;

/** Counts are told when they are reached; of those that a crash has passed over it is told here. */
export function createUsageSweep({ store, alertUsage, now, wants }: UsageSweepOptions): UsageSweep {
  /** Alerts that this process has sent need no look at the state. */
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
