import { timeOfTraceId } from '../../core/ids.ts';
import { historyKeptMs } from '../rules/habits.ts';
import type { TraceFilter } from '../store.ts';
import { type StatInterval, statIntervalNames, statIntervals, statKeptMs } from '../traces/stats.ts';
import type { ResponseScans } from './response-scans.ts';
import type { Traces } from './traces/traces.ts';

const everyMs = 3_600_000;

/**
 * Removes traces that are older than their tenant keeps them. Such a trace counts as gone, whether or not it
 * is still on the disk.
 */
export class Retention {
  readonly #traces: Pick<Traces, 'tenants' | 'removeBefore' | 'removeStatsBefore' | 'forgetIdle'>;
  readonly #scans: Pick<ResponseScans, 'removeBefore'>;
  #keptMsOf: (tenantId: string) => number = () => Number.POSITIVE_INFINITY;
  #last: Promise<void> = Promise.resolve();
  #isFailing = false;
  readonly #timer;

  constructor(
    traces: Pick<Traces, 'tenants' | 'removeBefore' | 'removeStatsBefore' | 'forgetIdle'>,
    scans: Pick<ResponseScans, 'removeBefore'>,
  ) {
    this.#traces = traces;
    this.#scans = scans;
    this.#timer = setInterval(() => this.#runNext().catch(() => undefined), everyMs).unref();
  }

  /** Sets how long traces are kept, and removes older ones: see `Store.keepTraces`. */
  keep(next: (tenantId: string) => number): Promise<void> {
    this.#keptMsOf = next;
    return this.#runNext();
  }

  /** Tells whether a trace is from before the kept time. Such a trace is not returned. */
  isOld(tenantId: string, traceId: string): boolean {
    return (timeOfTraceId(traceId) ?? 0) < this.#startMs(tenantId);
  }

  /** Returns the filter, narrowed to the kept time. */
  keptOf(tenantId: string, filter: TraceFilter): TraceFilter {
    return {
      ...filter,
      fromMs: Math.max(filter.fromMs ?? 0, this.#startMs(tenantId)),
    };
  }

  /** Tells whether the last removal failed; the next one comes within the hour. */
  isFailing(): boolean {
    return this.#isFailing;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #startMs(tenantId: string): number {
    return Date.now() - this.#keptMsOf(tenantId);
  }

  /**
   * Returns the time before which buckets are removed, by their beginning. It is one interval before the kept
   * time, since a bucket ends that much later.
   */
  #statsStartMs(tenantId: string, interval: StatInterval): number {
    const keptMs = interval === 'day' ? this.#keptMsOf(tenantId) : statKeptMs[interval];
    return Math.max(0, Date.now() - keptMs - statIntervals[interval]);
  }

  async #removeOld(): Promise<void> {
    for (const tenantId of this.#traces.tenants()) {
      const ms = this.#startMs(tenantId);
      for (const interval of statIntervalNames)
        await this.#traces.removeStatsBefore(tenantId, interval, this.#statsStartMs(tenantId, interval));
      if (ms <= 0) continue;
      // Scans go before traces. Where this is interrupted, the next run finds the tenant by its traces.
      await this.#scans.removeBefore(tenantId, ms);
      await this.#traces.removeBefore(tenantId, ms);
    }
    await this.#traces.forgetIdle(Date.now() - historyKeptMs);
  }

  async #run(): Promise<void> {
    try {
      await this.#removeOld();
      this.#isFailing = false;
    } catch (error) {
      this.#isFailing = true;
      throw error;
    }
  }

  /** Runs the next removal once the last one has ended. */
  #runNext(): Promise<void> {
    const next = this.#last.then(() => this.#run());
    // `isFailing` tells of the failure.
    this.#last = next.catch(() => undefined);
    return next;
  }
}
