import t from 'tap';
import type { Operation } from '../../../src/core/call.ts';
import { type CallHistory, type Habits, noHabits, sizeClassOf } from '../../../src/core/history.ts';
import { baseline, callsMin, hourKnownMs, sizeBytesMin } from '../../../src/risk/signals/baseline.ts';
import {
  burstCallsMin,
  burstFrom,
  isVolumeBurst,
  volumeBurst,
  windowsMin,
} from '../../../src/risk/signals/volume-burst.ts';
import { callOf } from '../../support/call.ts';

const nowMs = Date.UTC(2026, 2, 4, 3, 15);
const usualBytes = 1_000;

/** Of an agent that is known for a week, and calls at all hours with bodies that are all alike. */
const settled = (fields: Partial<Habits> = {}): Habits => {
  const sizeClass = sizeClassOf(usualBytes);
  return {
    ...noHabits,
    ...{ calls: 1_000, firstMs: nowMs - 7 * 86_400_000, callsAroundHour: 100 },
    ...{ sized: 500, sizeSum: 500 * sizeClass, sizeSquares: 500 * sizeClass ** 2 },
    ...{ windows: 200, windowCalls: 1_000, lately: 1 },
    ...fields,
  };
};

interface Case {
  readonly name: string;
  readonly habits?: Partial<Habits>;
  readonly call?: Partial<Pick<CallHistory, 'isNewHost' | 'isNewOperation'>>;
  readonly bodyBytes?: number;
  /** Undefined: there is no signal. */
  readonly score: number | undefined;
}

function baselineOf({ habits = {}, call: fields = {}, bodyBytes = 0 }: Case) {
  const operation: Operation = {
    ...{ toolName: 'github', name: 'create_issue', category: 'issues', verb: 'WRITE' },
    ...{ resource: {}, principals: [] },
  };
  const body = Buffer.alloc(bodyBytes);
  const call = callOf({ receivedAtMs: nowMs, body, operation, habits: settled(habits), ...fields });
  return baseline.assess(call, call.evidence);
}

const isNewHost = { isNewHost: true };
const isNewOperation = { isNewOperation: true };
const seldom = { callsAroundHour: 9 };
/** Eight times the usual size is 24 classes more: that is not yet much larger. */
const eightfold = 8 * (usualBytes + 1) - 1;
/** Sizes from 1 byte to a megabyte: the mean is 80, the deviation about 57. */
const wide = { sized: 100, sizeSum: 100 * 80, sizeSquares: 50 * (23 ** 2 + 137 ** 2) };

const cases: readonly Case[] = [
  { name: 'nothing new', score: undefined },
  { name: 'a new host', call: isNewHost, score: 0.5 },
  { name: 'a new operation of a tool', call: isNewOperation, score: 0.3 },
  { name: 'both', call: { ...isNewHost, ...isNewOperation }, score: 0.65 },
  { name: 'an hour at which it hardly calls', habits: seldom, score: 0.4 },
  { name: 'an hour of ten calls', habits: { callsAroundHour: 10 }, score: undefined },
  { name: 'an hour of a busy agent', habits: { calls: 9_000, callsAroundHour: 89 }, score: 0.4 },
  { name: 'one call of it in a hundred', habits: { calls: 9_000, callsAroundHour: 90 }, score: undefined },
  { name: 'an hour at which it never calls', habits: { callsAroundHour: 0 }, score: 0.4 },
  {
    name: 'an hour of an agent that is known for less than three days',
    habits: { ...seldom, firstMs: nowMs - hourKnownMs + 1 },
    score: undefined,
  },
  {
    name: 'an hour of one that is known so long',
    habits: { ...seldom, firstMs: nowMs - hourKnownMs },
    score: 0.4,
  },
  { name: 'a body eight times as large', bodyBytes: eightfold, score: undefined },
  { name: 'a body that is larger than that', bodyBytes: Math.ceil(1.1 * eightfold), score: 0.6 },
  {
    name: 'a large body of an agent that sends all sizes',
    habits: wide,
    bodyBytes: 1_000_000,
    score: undefined,
  },
  {
    name: 'a small body, whatever is usual',
    habits: { sizeSum: 500, sizeSquares: 500 },
    bodyBytes: sizeBytesMin - 1,
    score: undefined,
  },
  {
    name: 'one that is not small',
    habits: { sizeSum: 500, sizeSquares: 500 },
    bodyBytes: sizeBytesMin,
    score: 0.6,
  },
  {
    name: 'a body of an agent that has sent few',
    habits: { sized: 19, sizeSum: 19, sizeSquares: 19 },
    bodyBytes: 1_000_000,
    score: undefined,
  },
  {
    name: 'all at once',
    habits: seldom,
    call: { ...isNewHost, ...isNewOperation },
    bodyBytes: 1_000_000,
    score: 0.92,
  },
  {
    name: 'all at once from an agent that nobody knows yet',
    habits: { ...seldom, calls: callsMin - 1, callsAroundHour: 0 },
    call: { ...isNewHost, ...isNewOperation },
    bodyBytes: 1_000_000,
    score: undefined,
  },
  { name: 'the first call that is compared', habits: { calls: callsMin }, call: isNewHost, score: 0.5 },
];

for (const it of cases) {
  t.test(`unlike what the agent has done: ${it.name}`, async (t) => {
    const signal = baselineOf(it);
    t.equal(signal?.score, it.score);
    if (signal)
      t.match(signal, { engine: 'baseline', name: 'BASELINE_ANOMALY', details: /^[^;]+(?:; [^;]+){0,3}$/ });
  });
}

t.test('it says what is unusual, in the words of people', async (t) => {
  const all = {
    name: '',
    habits: seldom,
    call: { ...isNewHost, ...isNewOperation },
    bodyBytes: 1e6,
    score: 1,
  };
  t.equal(
    baselineOf(all)?.details,
    'the agent has never called this host; the agent knows github, but has never done this with it; ' +
      'the agent hardly ever calls around 3:00 UTC (9 of 1000 calls); ' +
      'a body of 1000000 bytes, where 1024 are usual for the agent',
  );
});

t.test('sizes are told apart by a tenth, from none to the largest', async (t) => {
  t.equal(sizeClassOf(0), 0);
  t.equal(sizeClassOf(1), 8);
  for (const bytes of [10, 1_000, 1e6, 1e12]) {
    t.equal(sizeClassOf(2 * bytes + 1) - sizeClassOf(bytes), 8);
    t.ok(sizeClassOf(1.2 * bytes) > sizeClassOf(bytes));
  }
  t.ok(Number.isSafeInteger(sizeClassOf(Number.MAX_SAFE_INTEGER)));
});

const bursts: readonly { name: string; habits: Partial<Habits>; from: number | undefined }[] = [
  { name: 'of a new agent nobody knows', habits: { windows: 0, windowCalls: 0, lately: 3 }, from: undefined },
  { name: 'after too few windows', habits: { windows: windowsMin - 1, windowCalls: 5_000 }, from: undefined },
  { name: 'after too few calls', habits: { windows: 200, windowCalls: callsMin - 1 }, from: undefined },
  { name: 'of an agent that seldom calls', habits: { windows: 50, windowCalls: 50 }, from: burstCallsMin },
  { name: 'as soon as it is known', habits: { windows: windowsMin, windowCalls: 60 }, from: 50 },
  { name: 'exactly five times the normal', habits: { windows: 200, windowCalls: 2_000 }, from: 50 },
  { name: 'at least five times the normal', habits: { windows: 7, windowCalls: 100 }, from: 72 },
  { name: 'of a busy agent', habits: { windows: 1_008, windowCalls: 1_008e6 }, from: 5e6 },
];

for (const { name, habits, from } of bursts) {
  t.test(`from how many calls it is a burst: ${name}`, async (t) => {
    const known = settled(habits);
    t.equal(burstFrom(known), from);
    const weighed = (lately: number) => {
      const call = callOf({ habits: { ...known, lately } });
      const signal = volumeBurst.assess(call, call.evidence);
      t.equal(signal !== undefined, isVolumeBurst(call.history.habits));
      return signal;
    };
    if (from === undefined) {
      t.same([3, 1_000, 1e9].map(weighed), [undefined, undefined, undefined]);
      return;
    }
    t.equal(weighed(from - 1), undefined);
    for (const lately of [from, from + 1, 1e9])
      t.match(weighed(lately), {
        engine: 'baseline',
        name: 'VOLUME_BURST',
        score: 0.8,
        details: String(lately),
      });
  });
}
