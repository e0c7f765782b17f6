import { noHabits } from '../../../src/core/history.ts';
import { newTraceId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { destinationsMax } from '../../../src/state/rules/destinations.ts';
import { habitsWindowMs, mutationsMax, windowsMax } from '../../../src/state/rules/habits.ts';
import type { AdmitRequest, Admitted, RecordedCall, Store } from '../../../src/state/store.ts';
import { callBatch, noonMs, pastMs, recordedCall } from '../records.ts';
import { admitRequest, type SuitePart, type Tenant } from './lab.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** Calls have ended, as the gateway says it: each at once, then all with a batch. */
export async function endCalls(
  store: Store,
  calls: readonly RecordedCall[],
  mayRepeat = false,
): Promise<void> {
  for (const call of calls) store.noteCall(call);
  await store.recordCalls(callBatch(calls, mayRepeat));
}

/** A call of the tenant's agent with its key, which `endCalls` takes. */
export const callOf = ({ tenantId, agent }: Tenant, fields: Partial<RecordedCall> = {}): RecordedCall => {
  const { agentId } = agent;
  return recordedCall({ tenantId, agentId, keyId: agentId, atMs: noonMs, ...fields });
};

/** The answer to a call that nothing is wrong with. */
export async function admitted(store: Store, request: AdmitRequest): Promise<Admitted> {
  const admission = await store.admit(request);
  if (!admission.ok) throw new Error(`${admission.code}: ${admission.detail}`);
  return admission;
}

/** What is usual for an agent: the same sums whatever node adds to them. */
export const history: SuitePart = async (t, { store, hints, ...lab }) => {
  const other = hints.openNode ? await hints.openNode() : store;
  if (other !== store) t.teardown(() => other.close());
  const nodeAt = (at: number): Store => (at % 2 === 0 ? store : other);

  /** A tenant with a key, and its habits as the store answers them to a call at that time. */
  async function open() {
    const acme = await lab.tenant();
    const key = await acme.key();
    const ask = (fields: Partial<AdmitRequest> = {}, node = store) =>
      admitted(node, admitRequest(acme, key, fields));
    const habitsAt = async (nowMs: number) => (await ask({ nowMs, counts: 'rate' })).habits;
    return { acme, ask, habitsAt };
  }

  await t.test('nobody knows anything of a new agent', async (t) => {
    const { ask, habitsAt } = await open();
    t.same(await habitsAt(noonMs), noHabits);
    t.same((await ask()).habits, { ...noHabits, lately: 1 });
    t.same((await ask({ mutations: 1 })).habits, { ...noHabits, lately: 2, mutations: 1 });
  });

  await t.test('calls that were let out are summed up, and no others', async (t) => {
    const { acme, habitsAt } = await open();
    await endCalls(store, [
      callOf(acme, { sizeClass: 80, atMs: noonMs + 5 }),
      callOf(acme, { sizeClass: 40, decision: 'SANITIZE' }),
      callOf(acme, { atMs: noonMs + habitsWindowMs - 1 }),
      callOf(acme, { sizeClass: 99, decision: 'DENY', atMs: noonMs - 1 }),
      callOf(acme, { sizeClass: 99, decision: 'REQUIRE_APPROVAL' }),
      callOf(acme, { sizeClass: 99, decision: 'DENY', outcome: 'limited' }),
    ]);
    const sums = { calls: 3, firstMs: noonMs, sized: 2, sizeSum: 120, sizeSquares: 8_000 };
    t.same(await habitsAt(noonMs + habitsWindowMs), {
      ...noHabits,
      ...sums,
      callsAroundHour: 3,
      windows: 1,
      windowCalls: 3,
    });
    t.match(
      await habitsAt(noonMs + habitsWindowMs - 1),
      { ...sums, windows: 0, windowCalls: 0 },
      'a window runs',
    );
    await endCalls(store, [callOf(acme, { atMs: noonMs + habitsWindowMs })]);
    t.match(
      await habitsAt(noonMs + habitsWindowMs),
      { calls: 4, windows: 1, windowCalls: 3 },
      'the next one runs',
    );
    t.match(await habitsAt(noonMs + 9 * habitsWindowMs), { calls: 4, windows: 2, windowCalls: 4 });
  });

  await t.test('what comes late counts, but makes no window', async (t) => {
    const { acme, habitsAt } = await open();
    await endCalls(store, [callOf(acme, { atMs: noonMs + habitsWindowMs })]);
    await endCalls(store, [callOf(acme, { atMs: noonMs })]);
    t.match(await habitsAt(noonMs + habitsWindowMs), {
      calls: 2,
      firstMs: noonMs,
      windows: 0,
      windowCalls: 1,
    });
    t.match(await habitsAt(noonMs + 2 * habitsWindowMs), { windows: 1, windowCalls: 2 });
  });

  await t.test('hours of the day are looked at with their neighbours, also around midnight', async (t) => {
    const { acme, habitsAt } = await open();
    const midnightMs = noonMs + 11.5 * hourMs;
    await endCalls(store, [
      callOf(acme, { atMs: midnightMs - 1 }),
      callOf(acme, { atMs: midnightMs }),
      callOf(acme, { atMs: midnightMs + 24 * hourMs }),
    ]);
    const around = async (hours: number) =>
      (await habitsAt(midnightMs + 48 * hourMs + hours * hourMs)).callsAroundHour;
    t.same(
      await Promise.all([-3, -2, -1, 0, 1, 2].map(around)),
      [0, 1, 3, 3, 2, 0],
      'at 21, 22, 23, 0, 1 and 2 hours',
    );
  });

  await t.test('after a week of windows all sums are halved', async (t) => {
    const { acme, habitsAt } = await open();
    const calls = Array.from({ length: windowsMax }, (_, at) =>
      callOf(acme, { atMs: noonMs + at * habitsWindowMs, sizeClass: 3 }),
    );
    for (let at = 0; at < calls.length; at += 100) await endCalls(store, calls.slice(at, at + 100));
    const endMs = noonMs + windowsMax * habitsWindowMs;
    const full = {
      calls: windowsMax,
      sized: windowsMax,
      sizeSum: 3 * windowsMax,
      sizeSquares: 9 * windowsMax,
    };
    t.match(await habitsAt(endMs), { ...full, windows: windowsMax, windowCalls: windowsMax });
    // At that hour there were as many calls as in each: 1,008 windows are seven days.
    t.equal((await habitsAt(endMs)).callsAroundHour, 3 * 42);
    await endCalls(store, [callOf(acme, { atMs: endMs, sizeClass: 3 })]);
    const half = windowsMax / 2;
    t.same(await habitsAt(endMs + habitsWindowMs), {
      ...noHabits,
      firstMs: noonMs,
      calls: half + 1,
      sized: half + 1,
      sizeSum: 3 * (half + 1),
      sizeSquares: 9 * (half + 1),
      callsAroundHour: 3 * 21 + 1,
      windows: half + 1,
      windowCalls: half + 1,
    });
  });

  await t.test('a call that comes twice counts once', async (t) => {
    const { acme, habitsAt } = await open();
    const calls = [callOf(acme, { sizeClass: 8 }), callOf(acme)];
    for (const call of calls) store.noteCall(call);
    await store.recordCalls(callBatch(calls));
    await store.recordCalls(callBatch(calls, true));
    await store.recordCalls(callBatch([...calls, ...calls], true));
    t.match(await habitsAt(noonMs + habitsWindowMs), { calls: 2, sized: 1, sizeSum: 8, windowCalls: 2 });
  });

  await t.test('calls of the last ten minutes are counted exactly, on all nodes together', async (t) => {
    const { acme, ask } = await open();
    const sibling = await acme.agentOf();
    const asked = await Promise.all(Array.from({ length: 100 }, (_, at) => ask({}, nodeAt(at))));
    t.same(
      asked.map(({ habits }) => habits.lately).sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, at) => at + 1),
      'each count is given to one call',
    );
    t.equal((await ask({ agentId: sibling.agentId })).habits.lately, 1, 'of the agent alone');
    t.equal((await ask({ counts: 'rate' })).habits.lately, 0, 'what does not count asks for none');
    await endCalls(store, [callOf(acme, { decision: 'DENY' })]);
    t.equal((await ask({ nowMs: noonMs + minuteMs })).habits.lately, 101, 'whatever becomes of them');
    t.equal((await ask({ nowMs: noonMs + 10 * minuteMs - 1 }, other)).habits.lately, 102);
    t.equal((await ask({ nowMs: noonMs + 10 * minuteMs }, other)).habits.lately, 3, 'the window slides');
    t.equal((await ask({ nowMs: noonMs + 30 * minuteMs })).habits.lately, 1);
  });

  await t.test('what is not let in is not counted', async (t) => {
    const acme = await lab.tenant({ scansPerMinute: 1, burst: 2 });
    const key = await acme.key();
    t.equal(await acme.admitMany(9, key, { mutations: 1 }), 2);
    const { habits } = await admitted(
      store,
      admitRequest(acme, key, { nowMs: noonMs + minuteMs, mutations: 1 }),
    );
    t.match(habits, { lately: 3, mutations: 1 });
  });

  await t.test('writes to one tool within a minute are counted exactly, on all nodes together', async (t) => {
    const { ask } = await open();
    const writes = async (fields: Partial<AdmitRequest>, node = store) =>
      (await ask({ mutations: 1, ...fields }, node)).habits.mutations;
    const asked = await Promise.all(Array.from({ length: 6 }, (_, at) => writes({}, nodeAt(at))));
    t.same(
      asked.sort((a, b) => a - b),
      [1, 2, 3, 4, 5, 6],
    );
    t.equal(await writes({ toolName: ownName('slack') }), 1, 'of one tool');
    t.equal(await writes({ mutations: 0 }), 0, 'a call that reads is told of none');
    t.equal(
      await writes({ nowMs: noonMs + minuteMs - 1, mutations: 2 }, other),
      8,
      'a call may make several',
    );
    t.equal(await writes({ nowMs: noonMs + minuteMs }), 3, 'the minute slides');
    t.equal(await writes({ nowMs: noonMs + minuteMs, mutations: 1e6 }, other), mutationsMax);
    t.equal(await writes({ nowMs: noonMs + 2 * minuteMs - 1 }), mutationsMax);
    t.equal(await writes({ nowMs: noonMs + 5 * minuteMs }), 1);
  });

  await t.test('writes are told apart by tool, however many tools an agent has', async (t) => {
    const { ask } = await open();
    const tools = Array.from({ length: 100 }, (_, at) => `tool ${at}`);
    for (const mutations of [1, 2]) {
      const counts: number[] = [];
      for (const toolName of tools)
        counts.push((await ask({ toolName: ownName(toolName), mutations: 1 })).habits.mutations);
      t.same(
        counts,
        tools.map(() => mutations),
      );
    }
  });

  await t.test('a clock that is set back neither hides calls nor brings old writes back', async (t) => {
    const { ask } = await open();
    for (let at = 0; at < 9; at += 1) await ask({ mutations: 1 });
    const { habits } = await ask({ nowMs: noonMs - hourMs, mutations: 1 });
    t.ok(habits.lately >= 1, `this call included, not ${habits.lately}`);
    t.equal(habits.mutations, 1);
  });

  await t.test('names are known once a call was let out that has touched them', async (t) => {
    const { acme, ask } = await open();
    const long = `does:github ${'x'.repeat(5_000)}`;
    const names = ['host:api.example.com', 'tool:github', "does:x' OR 1=1 --\0\n\t{", long, '', 'é✓'];
    const newNames = async (node = store) => (await ask({ names }, node)).newNames;
    t.same(await newNames(), names);
    t.same(await newNames(other), names, 'asking makes nothing known');
    await endCalls(store, [callOf(acme, { names: names.map(ownName), decision: 'DENY' })]);
    t.same(await newNames(), names, 'nor does what is denied');
    await endCalls(store, [
      callOf(acme, { names: names.slice(0, 1).map(ownName), decision: 'REQUIRE_APPROVAL' }),
    ]);
    t.same(await newNames(), names, 'or held');
    store.noteCall(callOf(acme, { names: names.slice(0, 2).map(ownName), decision: 'SANITIZE' }));
    t.same(await newNames(), names.slice(2), 'on the node at once');
    await endCalls(store, [callOf(acme, { names: names.slice(2).map(ownName) })]);
    for (const node of [store, other]) t.same(await newNames(node), [], 'and then on all');
    t.same((await ask({ names: [`${long}x`] })).newNames, [`${long}x`]);
    t.same((await ask()).newNames, [], 'nobody has asked for any');
    const sibling = await acme.agentOf();
    t.same((await ask({ names, agentId: sibling.agentId })).newNames, names, 'of the agent alone');
  });

  await t.test('an agent has so many names, and the first ones go', async (t) => {
    const { acme, ask } = await open();
    for (let at = 0; at <= destinationsMax; at += 512) {
      const names = Array.from({ length: 512 }, (_, nth) => `does:github ${at + nth}`);
      const traceId = newTraceId(pastMs + at);
      await store.recordCalls(
        callBatch([callOf(acme, { names: names.map(ownName), traceId, atMs: noonMs + at })]),
      );
    }
    const names = ['does:github 0', `does:github ${destinationsMax}`];
    t.same((await ask({ names }, other)).newNames, ['does:github 0']);
  });
};
