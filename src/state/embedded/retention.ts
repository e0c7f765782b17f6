import { historyKeptMs } from '../rules/habits.ts';
import { type StatInterval, statIntervalNames, statIntervals, statKeptMs } from '../traces/stats.ts';
import type { ResponseScans } from './response-scans.ts';
import type { Traces } from './traces/traces.ts';

/** Traces that are older than their tenant keeps them are not there any more, whether or not they are gone from the disk. */
interface Retention {
  /** `Store.keepTraces`. */
  keep(keptMsOf: (tenantId: string) => number): Promise<void>;
  /** The start of the kept time; earlier traces are not answered. */
  startMs(tenantId: string): number;
  /** Tells whether the last removal failed; the next one comes within the hour. */
  isFailing(): boolean;
  close(): void;
}

const everyMs = 3_600_000;

export function createRetention(
  traces: Pick<Traces, 'tenants' | 'removeBefore' | 'removeStatsBefore' | 'forgetIdle'>,
  scans: Pick<ResponseScans, 'removeBefore'>,
): Retention {
  let keptMsOf: (tenantId: string) => number = () => Number.POSITIVE_INFINITY;
  let last: Promise<void> = Promise.resolve();
  let isFailing = false;

  const startMs = (tenantId: string): number => Date.now() - keptMsOf(tenantId);

  /** The last bucket that began before then may have ended later. */
  function statsStartMs(tenantId: string, interval: StatInterval): number {
    const keptMs = interval === 'day' ? keptMsOf(tenantId) : statKeptMs[interval];
    return Math.max(0, Date.now() - keptMs - statIntervals[interval]);
  }

  async function removeOld(): Promise<void> {
    for (const tenantId of traces.tenants()) {
      const ms = startMs(tenantId);
      for (const interval of statIntervalNames)
        await traces.removeStatsBefore(tenantId, interval, statsStartMs(tenantId, interval));
      if (ms <= 0) continue;
      // In this order: whoever is interrupted finds the tenant again by its traces.
      await scans.removeBefore(tenantId, ms);
      await traces.removeBefore(tenantId, ms);
    }
    await traces.forgetIdle(Date.now() - historyKeptMs);
  }

  async function run(): Promise<void> {
    try {
      await removeOld();
      isFailing = false;
    } catch (error) {
      isFailing = true;
      throw error;
    }
  }

  /** One after the other. */
  function runNext(): Promise<void> {
    const next = last.then(run);
    // `isFailing` tells of it.
    last = next.catch(() => undefined);
    return next;
  }

  const timer = setInterval(() => runNext().catch(() => undefined), everyMs).unref();

  return {
    keep(next) {
      keptMsOf = next;
      return runNext();
    },
    startMs,
    isFailing: () => isFailing,
    close: () => clearInterval(timer),
  };
}
