import type { Log } from '../../core/log.ts';
import { periodOf } from '../../state/rules/limits.ts';
import type { AuditEvent, Store, UsageAlert } from '../../state/store.ts';

/**
 * Receives what happens beside a call, without anybody waiting for it, and makes audit entries of it.
 * Channels tell people of the audit log.
 */
export type Events = ReturnType<typeof createEvents>;

interface Usage {
  readonly tenantId: string;
  readonly atMs: number;
  /** The part of the quota that is used up, in percent. */
  readonly percent: number;
  readonly used: number;
  readonly quota: number;
}

export function createEvents(store: Pick<Store, 'alertUsage'>, log: Log) {
  return {
    /** Tells of used quota once for each part and period, however many nodes notice it. */
    tellUsage(usage: Usage) {
      const { alert, event } = usageAlert(usage);
      store.alertUsage(usage.tenantId, alert, event).catch((error: unknown) => {
        // The log keeps what the audit log could not take.
        log.error({ err: error, event }, 'an event could not be written to the audit log');
      });
    },
  };
}

export function usageAlert({ tenantId, atMs, percent, used, quota }: Usage): {
  readonly alert: UsageAlert;
  readonly event: AuditEvent;
} {
  const { startMs, endMs } = periodOf(atMs);
  const details = {
    percent,
    scans_used: used,
    scans_quota: quota,
    period_start: new Date(startMs).toISOString(),
    period_end: new Date(endMs).toISOString(),
  };
  const operator = 'gateway';
  return {
    alert: { periodStartMs: startMs, percent },
    event: { tenantId, atMs, kind: 'usage.threshold', operator, subject: tenantId, details },
  };
}
