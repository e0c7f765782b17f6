import { collect, type Source } from './collect.ts';
import { Counters } from './counters.ts';
import { createSnapshot, type Snapshot, toMetricsText } from './exposition.ts';
import type { Family } from './families.ts';

/** Takes the metrics of all processes of a daemon, this one included. */
export type Gather = () => Promise<readonly Snapshot[]>;

/** The counters of one process, and what shows the metrics. */
export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(gather?: Gather) {
  const counters = new Counters();
  const sources: Source[] = [];
  /** Returns the metrics of this process without those of Node. */
  const families = (): Promise<Family[]> => collect(counters, sources);
  /** Returns all metrics of this process. */
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
    /** Adds a source, which is asked at every collection. */
    watch: (source: Source) => void sources.push(source),
    families,
    snapshot,
    text() {
      // Callers that ask at the same time share one collection.
      underWay ??= write();
      return underWay;
    },
  };
}
