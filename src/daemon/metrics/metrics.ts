import type { MetricsPort } from '../../decision/gate.ts';
import { collect, type Source } from './collect.ts';
import { Counters } from './counters.ts';
import { createSnapshot, type Snapshot, toMetricsText } from './exposition.ts';
import type { Family } from './families.ts';

/** Takes the metrics of all processes of a daemon, this one included. */
export type Gather = () => Promise<readonly Snapshot[]>;

/** Counts for one process, and shows the metrics. */
export interface Metrics extends MetricsPort {
  readonly counters: Counters;
  /** Asks this source too, at every collection. */
  watch(source: Source): void;
  /** The metrics of this process but those of Node. */
  families(): Promise<Family[]>;
  /** All metrics of this process. */
  snapshot(): Promise<Snapshot>;
}

export function createMetrics(gather?: Gather): Metrics {
  const counters = new Counters();
  const sources: Source[] = [];
  const families = (): Promise<Family[]> => collect(counters, sources);
  const snapshot = createSnapshot(families);
  let underWay: Promise<string> | undefined;
  const write = async (): Promise<string> => {
    try {
      return await toMetricsText(gather ? await gather() : [await snapshot()]);
    } finally {
      underWay = undefined;
    }
  };
  return {
    counters,
    watch: (source) => void sources.push(source),
    families,
    snapshot,
    text() {
      // However many ask at once, the work is done once.
      underWay ??= write();
      return underWay;
    },
  };
}
