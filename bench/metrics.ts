// What counting adds to a call, in nanoseconds: the measured recorder, loop, stages and state around ones that do nothing.
// `node bench/metrics.ts`

import { Counters } from '../src/daemon/metrics/counters.ts';
import {
  countedRecorder,
  measuredInspect,
  measuredStages,
  measuredStore,
} from '../src/daemon/metrics/measured.ts';
import { Stages } from '../src/decision/pipeline.ts';
import type { Store } from '../src/state/store.ts';
import { callOf } from '../test/support/call.ts';

const call = callOf();
const done = Promise.resolve();
const judged = Promise.resolve(call);
const names = ['identify', 'classify', 'admit', 'inspect', 'mark', 'assess', 'decide', 'bind'];
const idle = (name: string) => ({ name, run: (it: object) => it });
const [first = idle('none'), ...others] = names.map(idle);
const stages = others.reduce((all, it) => all.andThen(it), Stages.first(first));
const counters = new Counters();
const store = { admit: () => call, identify: () => call } as unknown as Store;

const plain = {
  record: () => done,
  inspect: () => judged,
  stages,
  store,
};
const measured = {
  record: countedRecorder(plain.record, counters),
  inspect: measuredInspect(plain.inspect, counters),
  stages: measuredStages(stages, counters),
  store: measuredStore(store, counters),
};

async function nsPerCall(it: typeof plain): Promise<number> {
  const calls = 500_000;
  const startMs = performance.now();
  for (let i = 0; i < calls; i += 1) {
    const inspected = it.inspect();
    for (const stage of it.stages.all) stage.run(call as never);
    (it.store.admit as () => unknown)();
    (it.store.identify as () => unknown)();
    await (it.record as (call: unknown, refusal: undefined) => Promise<void>)(call, undefined);
    await inspected;
  }
  return ((performance.now() - startMs) * 1e6) / calls;
}

for (let round = 0; round < 4; round += 1) {
  const [without, withAll] = [await nsPerCall(plain), await nsPerCall(measured as typeof plain)];
  console.log(`${Math.round(withAll - without)} ns a call more`);
}
