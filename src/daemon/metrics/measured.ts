import type { CallWatch } from '../../decision/call-watch.ts';
import type { Inspect, Recorder, Stages } from '../../decision/pipeline.ts';
import type { Store } from '../../state/store.ts';
import type { UpstreamWatch } from '../../wire/client/relay.ts';
import { type Counters, classOf } from './counters.ts';

/* Counts what parts of the gateway do by wrapping them, so that none of them knows of it. */

/**
 * Counts every recorded call and tells watchers of it. A call that cannot be recorded is also counted as
 * such.
 */
export const countedRecorder =
  (record: Recorder, counters: Counters, watch?: CallWatch): Recorder =>
  (call, refusal) => {
    counters.count(call, refusal);
    const recorded = record(call, refusal);
    if (watch) recorded.then(() => watch.decided(call, refusal)).catch(ignored);
    recorded.catch(() => {
      counters.unrecorded += 1;
    });
    return recorded;
  };

/** Measures the time until a decision is recorded. */
export const measuredInspect =
  (inspect: Inspect, { judgement }: Counters): Inspect =>
  (call) => {
    const startMs = performance.now();
    const judged = inspect(call);
    const done = (): void => judgement.observeSince(startMs);
    judged.then(done, done);
    return judged;
  };

/** Measures each stage by its name. */
export const measuredStages = <In, Out extends object>(
  stages: Stages<In, Out>,
  { stages: times }: Counters,
): Stages<In, Out> =>
  stages.map((stage) => {
    const time = times.of(stage.name);
    return {
      name: stage.name,
      run(call) {
        const startMs = performance.now();
        const judged = stage.run(call);
        if (judged instanceof Promise) {
          const done = (): void => time.observeSince(startMs);
          judged.then(done, done);
        } else time.observeSince(startMs);
        return judged;
      },
    };
  });

/** Counts answers and failures of upstreams, and measures the time until the heads of answers. */
export const upstreamWatch = ({ upstream, upstreamAnswers, upstreamFailures }: Counters): UpstreamWatch => ({
  answered(status, ms) {
    upstream.observe(ms / 1000);
    upstreamAnswers.add(classOf(status));
  },
  failed: ({ code }) => upstreamFailures.add(code),
});

const ignored = (): void => {};

type Operation = (...args: unknown[]) => unknown;

/** Measures operations of the store that must be waited for: an answer from memory is no round trip. */
export function measuredStore(store: Store, counters: Counters): Store {
  const measured = (name: string, run: Operation): Operation => {
    const counts = { ok: 0, failed: 0 };
    counters.stateOk.set(name, counts);
    return (...args) => {
      const startMs = performance.now();
      const result = run(...args);
      if (!(result instanceof Promise)) return result;
      result.then(
        () => {
          counts.ok += 1;
          counters.state.observeSince(startMs);
        },
        () => {
          counts.failed += 1;
          counters.state.observeSince(startMs);
        },
      );
      return result;
    };
  };
  const operations = Object.entries(store).map(([name, run]) => [
    name,
    unmeasured.has(name) ? run : measured(name, run as Operation),
  ]);
  return Object.fromEntries(operations) as Store;
}

/** Operations that take long or are local: they tell nothing of how the state does. */
const unmeasured: ReadonlySet<string> = new Set(['close', 'noteCall', 'noteSighting', 'recall', 'trouble']);
