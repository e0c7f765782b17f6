import { join } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Habits, TrustMark } from '../../src/core/history.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import { openRedisStore } from '../../src/state/redis/store.ts';
import { habitsWindowMs } from '../../src/state/rules/habits.ts';
import { trustPartsMax } from '../../src/state/rules/trust.ts';
import type { RecordedCall, Store, TrustRecord } from '../../src/state/store.ts';
import { startRedis } from '../support/redis.ts';
import { callBatch, noonMs } from './records.ts';
import { admitted, callOf, endCalls } from './suite/history.ts';
import { admitRequest, openLab, type SuiteHints, type Tenant } from './suite/lab.ts';
import { markOf } from './suite/trust.ts';

const hints: SuiteHints = { clock: 'argument' };
const hourMs = 3_600_000;

/** An embedded store, and what makes another one on the same folder once it is closed. */
async function openOnDisk(t: Test) {
  const dir = join(t.testdir(), 'state');
  const lab = await openLab(t, () => openEmbeddedStore({ dir }), hints);
  const acme = await lab.tenant();
  const key = await acme.key();
  const reopen = async () => {
    await lab.store.close();
    const store = await openEmbeddedStore({ dir });
    t.teardown(() => store.close());
    return store;
  };
  return { store: lab.store, acme, reopen, request: admitRequest(acme, key, { counts: 'rate' }) };
}

async function standingOf(store: Store, acme: Tenant, request: ReturnType<typeof admitRequest>) {
  const { habits, trust } = await admitted(store, request);
  const [record] = await store.trustOf(acme.tenantId, [acme.agent.agentId]);
  return { habits, trust, record };
}

t.test('what is usual for agents and what their trust has come to survives a restart', async (t) => {
  const { store, acme, reopen, request } = await openOnDisk(t);
  const { tenantId, agent } = acme;
  await endCalls(store, [
    ...Array.from({ length: 70 }, (_, at) =>
      callOf(acme, { sizeClass: at, atMs: noonMs + at * habitsWindowMs }),
    ),
    callOf(acme, {
      decision: 'DENY',
      marks: [markOf(), markOf({ cause: 'threat' })],
      atMs: noonMs + 99 * habitsWindowMs,
    }),
    callOf(acme, { sizeClass: 9, names: [ownName('tool:x')], atMs: noonMs + 100 * habitsWindowMs }),
  ]);
  await store.markTrust(tenantId, agent.agentId, markOf({ cause: 'analyst-denial', parts: 1 }));
  const before = await standingOf(store, acme, request);
  t.match(before, { habits: { calls: 71 }, record: { parts: 8_999, marks: { length: 3 } } });
  const again = await reopen();
  t.same(await standingOf(again, acme, request), before);
  t.same((await admitted(again, { ...request, names: ['tool:x', 'tool:y'] })).newNames, ['tool:y']);
  await again.resetTrust(tenantId, agent.agentId, acme.event());
  const forgiven = await standingOf(again, acme, request);
  t.match(forgiven, { habits: before.habits, record: { parts: trustPartsMax, marks: [] } });
});

t.test('a restart makes the same of calls, however they were shipped', async (t) => {
  const clean = (acme: Tenant, atMs: number, count: number) =>
    Array.from({ length: count }, () => callOf(acme, { atMs }));
  const denied = (acme: Tenant, atMs: number) =>
    callOf(acme, { atMs, decision: 'DENY', marks: [markOf({ atMs })] });
  const cases: readonly { name: string; calls: (acme: Tenant) => RecordedCall[] }[] = [
    {
      name: 'hours apart',
      calls: (acme) => [
        denied(acme, noonMs),
        ...clean(acme, noonMs + 1.5 * hourMs, 60),
        ...clean(acme, noonMs + 7 * hourMs, 60),
      ],
    },
    {
      name: 'clean calls around a denial',
      calls: (acme) => [...clean(acme, noonMs, 30), denied(acme, noonMs + 1), ...clean(acme, noonMs + 2, 30)],
    },
    {
      name: 'clean calls that bring trust back between denials',
      calls: (acme) => [
        ...clean(acme, noonMs, 1),
        denied(acme, noonMs + 1),
        ...clean(acme, noonMs + 2, 100),
        denied(acme, noonMs + 3),
        ...clean(acme, noonMs + 4, 10),
      ],
    },
    {
      name: 'a call that comes late',
      calls: (acme) => [...clean(acme, noonMs + habitsWindowMs, 1), ...clean(acme, noonMs, 1)],
    },
  ];
  for (const { name, calls } of cases)
    await t.test(name, async (t) => {
      for (const atOnce of [1, 1_000]) {
        const { store, acme, reopen, request } = await openOnDisk(t);
        const all = calls(acme);
        await standingOf(store, acme, request);
        for (const call of all) store.noteCall(call);
        for (let at = 0; at < all.length; at += atOnce)
          await store.recordCalls(callBatch(all.slice(at, at + atOnce)));
        const asked = { ...request, nowMs: noonMs + 9 * hourMs };
        const before = await standingOf(store, acme, asked);
        t.same(await standingOf(await reopen(), acme, asked), before, `${atOnce} at once`);
      }
    });
});

type Step =
  | { readonly kind: 'ask'; readonly mutations: number; readonly toolName: string }
  | { readonly kind: 'end'; readonly calls: readonly Partial<RecordedCall>[] }
  | { readonly kind: 'mark'; readonly mark: TrustMark }
  | { readonly kind: 'reset' | 'again' };

const amount = fc.oneof({ weight: 3, arbitrary: fc.nat(600) }, { weight: 1, arbitrary: fc.nat(12_000) });
const mark = fc
  .record({
    cause: fc.constantFrom<TrustMark['cause'][]>('denial', 'analyst-denial', 'threat', 'anomaly'),
    parts: amount,
    traceId: fc.string({ unit: 'binary', maxLength: 8 }),
  })
  .map((it) => markOf({ ...it, traceId: it.traceId.toWellFormed() }));
const call = fc.record({
  decision: fc.constantFrom<RecordedCall['decision'][]>(
    'ALLOW',
    'ALLOW',
    'SANITIZE',
    'DENY',
    'REQUIRE_APPROVAL',
  ),
  sizeClass: fc.nat(400),
  marks: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(mark, { maxLength: 2 }) },
  ),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('ask' as const),
    mutations: fc.nat(4),
    toolName: fc.constantFrom('github', 'x y\0'),
  }),
  fc.record({ kind: fc.constant('end' as const), calls: fc.array(call, { maxLength: 40 }) }),
  fc.record({ kind: fc.constant('mark' as const), mark }),
  fc.record({ kind: fc.constantFrom('reset' as const, 'again' as const) }),
);
/** Mostly a moment, at times hours or days; now and then back. */
const gapMs = fc.oneof(
  { weight: 4, arbitrary: fc.nat(90_000) },
  { weight: 2, arbitrary: fc.nat(3 * habitsWindowMs) },
  { weight: 1, arbitrary: fc.nat(40 * hourMs) },
  { weight: 1, arbitrary: fc.integer({ min: -30_000, max: 0 }) },
);

const write = (afterMs: number): [number, Step] => [
  afterMs,
  { kind: 'ask', mutations: 1, toolName: 'github' },
];

/** A step in one store; answers what it told. */
async function take(
  store: Store,
  acme: Tenant,
  request: ReturnType<typeof admitRequest>,
  atMs: number,
  step: Step,
) {
  const { tenantId, agent } = acme;
  if (step.kind === 'mark') await store.markTrust(tenantId, agent.agentId, { ...step.mark, atMs });
  if (step.kind === 'reset') await store.resetTrust(tenantId, agent.agentId, acme.event());
  if (step.kind === 'end')
    await endCalls(
      store,
      step.calls.map((it) =>
        callOf(acme, { ...it, atMs, marks: it.marks?.map((of) => ({ ...of, atMs })) ?? [] }),
      ),
    );
  const asked = step.kind === 'ask' ? ({ ...step, counts: 'call' } as const) : {};
  const { habits, trust } = await admitted(store, { ...request, ...asked, nowMs: atMs });
  const { parts, clean, atMs: lastMs } = trust;
  return {
    habits,
    trust: { parts, clean, atMs: lastMs },
    standing: await store.trustOf(tenantId, [agent.agentId]),
  };
}

t.test('both drivers make the same of any calls', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const log = { warn: () => undefined };
  const open = () =>
    openRedisStore({
      ...redis.address,
      prefix: 'p:',
      timeoutMs: 10_000,
      ca: undefined,
      log,
      clock: 'caller',
    });
  const labs = [
    await openLab(t, () => openEmbeddedStore({ dir: join(t.testdir(), 'state') }), hints),
    await openLab(t, open, hints),
  ];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(gapMs, step), { minLength: 1, maxLength: 20 }), async (steps) => {
      const told: {
        habits: Habits;
        trust: Omit<TrustRecord, 'marks'>;
        standing: readonly TrustRecord[];
      }[][] = [];
      for (const { tenant, store } of labs) {
        const acme = await tenant();
        const request = admitRequest(acme, await acme.key(), { counts: 'rate' });
        const answers = [];
        let nowMs = noonMs;
        for (const [gap, it] of steps) {
          nowMs += gap;
          answers.push(await take(store, acme, request, nowMs, it));
        }
        told.push(answers);
      }
      const [embedded = [], shared = []] = told;
      for (const [at, answer] of embedded.entries())
        if (JSON.stringify(answer) !== JSON.stringify(shared[at]))
          throw new Error(`step ${at}: ${JSON.stringify(answer)} is not ${JSON.stringify(shared[at])}`);
    }),
    {
      numRuns: 30,
      // A clock that was set back by a moment, to when a write of a minute ago counted still.
      examples: [[[write(0), write(60_000), write(-1)]]],
    },
  );
});
