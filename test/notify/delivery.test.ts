import t, { type Test } from 'tap';
import { newTraceId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { sendsPerChannelMax } from '../../src/notify/delivery.ts';
import { heldMax } from '../../src/notify/held-notices.ts';
import { openRedisStore } from '../../src/state/redis/store.ts';
import type { Store } from '../../src/state/store.ts';
import { callBatch, recordedCall } from '../state/records.ts';
import { startRedis, until } from '../support/redis.ts';
import { type Desk, entry, openDesk, someNotice, states } from './desk.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const firstPage = { limit: 1_000, cursor: undefined } as const;

/** Ships denials in turns, as the journals of the daemons would; answers their ids. */
async function tellAll(desks: readonly Desk[], count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newTraceId(Date.now()));
  for (let at = 0; at * 50 < count; at += 1) {
    const calls = ids.slice(at * 50, (at + 1) * 50).map((traceId) => {
      const line = JSON.stringify({ trace_id: traceId, decision: 'DENY', risk_band: 'HIGH' });
      return recordedCall({ traceId, tenantId: 'acme', decision: 'DENY', line: ownName(line) });
    });
    await desks[at % desks.length]?.notifications.shipTo(async () => 0)(callBatch(calls));
  }
  return ids.sort();
}

const idsTaken = (receiver: Receiver): string[] => [...new Set(receiver.taken().map((it) => it.id))].sort();

async function allTaken(t: Test, receiver: Receiver, ids: readonly string[]): Promise<void> {
  await until(`${ids.length} notices`, async () => idsTaken(receiver).length >= ids.length);
  t.same(idsTaken(receiver), ids);
}

const noneTwice = (t: Test, receiver: Receiver): void => {
  const ids = receiver.taken().map((it) => it.id);
  t.equal(new Set(ids).size, ids.length, 'each was taken once');
};

const queueOf = async (store: Store | undefined, name: string) =>
  (await store?.channelQueues())?.find((it) => it.name === name);

const onBoth = async (
  t: Test,
  work: (t: Test, nodes: readonly [Store, ...Store[]]) => Promise<void>,
): Promise<void> => {
  for (const { name, nodes } of await states(t)) {
    const [first, ...more] = nodes;
    if (first) await t.test(name, (t) => work(t, [first, ...more]));
  }
};

t.test('every notice arrives once, whoever of several daemons sends it', (t) =>
  onBoth(t, async (t, nodes) => {
    const receiver = await startReceiver(t);
    const desks = nodes.map((it) => openDesk(t, it, [entry('once', receiver.url)]));
    const ids = await tellAll(desks, 400);
    await allTaken(t, receiver, ids);
    noneTwice(t, receiver);
    t.equal(receiver.received.length, 400);
    await until('an empty queue', async () => (await queueOf(nodes[0], 'once'))?.waiting === 0);
    t.match(await queueOf(nodes[0], 'once'), { delivered: 400, dead: 0, failures: 0 });
  }),
);

t.test('what fails now and then arrives all the same', (t) =>
  onBoth(t, async (t, nodes) => {
    const receiver = await startReceiver(t);
    receiver.answer((nth) => (nth % 3 === 0 ? 503 : nth % 7 === 0 ? 'close' : 200));
    const desks = nodes.map((it) => openDesk(t, it, [entry('flaky', receiver.url)]));
    await allTaken(t, receiver, await tellAll(desks, 100));
    noneTwice(t, receiver);
  }),
);

t.test('a destination that is gone for a while gets everything when it is back', (t) =>
  onBoth(t, async (t, nodes) => {
    const receiver = await startReceiver(t);
    const desks = nodes.map((it) => openDesk(t, it, [entry('away', receiver.url)]));
    await receiver.die();
    const ids = await tellAll(desks, 30);
    await until(
      'a circuit that is open',
      async () => ((await queueOf(nodes[0], 'away'))?.failures ?? 0) >= 6,
    );
    const [health] = (await desks[0]?.notifications.desk.channels()) ?? [];
    t.match(health, { circuit: /^(open|half_open)$/, queue: { waiting: 30, lastDeliveredMs: null } });
    t.type(health?.queue?.lastError, 'string');
    t.notMatch(health?.queue?.lastError, /hook/, 'no URL stands in it');
    await receiver.comeBack();
    await allTaken(t, receiver, ids);
    noneTwice(t, receiver);
    await until('a circuit that is closed', async () => (await queueOf(nodes[0], 'away'))?.failures === 0);
  }),
);

t.test('a destination that hangs holds up no other, and is tried again', (t) =>
  onBoth(t, async (t, nodes) => {
    const [slow, quick] = [await startReceiver(t), await startReceiver(t)];
    slow.answer(() => 'hang');
    const entries = [entry('slow', slow.url), entry('quick', quick.url)];
    const desks = nodes.map((it) => openDesk(t, it, entries, { timings: { sendTimeoutMs: 300 } }));
    const ids = await tellAll(desks, 60);
    await allTaken(t, quick, ids);
    t.equal(slow.taken().length, 0);
    slow.answer(() => 200);
    await allTaken(t, slow, ids);
  }),
);

t.test('a destination has a few sends under way from each daemon, and no more', (t) =>
  onBoth(t, async (t, nodes) => {
    const receiver = await startReceiver(t);
    receiver.answer(() => 'hang');
    const desks = nodes.map((it) => openDesk(t, it, [entry('few', receiver.url)]));
    await tellAll(desks, 60);
    const most = sendsPerChannelMax * nodes.length;
    await until('as many as may be', async () => receiver.received.length >= most);
    await new Promise((resolve) => setTimeout(resolve, 200));
    t.equal(receiver.received.length, most);
    // They are let go, so that the test need not wait for them.
    await receiver.die();
  }),
);

t.test('a destination that asks for patience is left alone until then', (t) =>
  onBoth(t, async (t, nodes) => {
    let nowMs = Date.now();
    const receiver = await startReceiver(t);
    receiver.answer((nth) => (nth === 1 ? { status: 429, headers: { 'retry-after': '600' } } : 200));
    const desks = nodes.map((it) => openDesk(t, it, [entry('patient', receiver.url)], { now: () => nowMs }));
    const first = await tellAll(desks, 1);
    await until('a pause', async () => ((await queueOf(nodes[0], 'patient'))?.pausedUntilMs ?? 0) > nowMs);
    t.match(await queueOf(nodes[0], 'patient'), { pausedUntilMs: nowMs + 600_000, waiting: 1 });
    const rest = await tellAll(desks, 5);
    await until('all in the queue', async () => (await queueOf(nodes[0], 'patient'))?.waiting === 6);
    nowMs += 599_000;
    t.equal(receiver.received.length, 1);
    nowMs += 1_000;
    await allTaken(t, receiver, [...first, ...rest].sort());
    t.equal(receiver.received.length, 7);
  }),
);

t.test('what a destination refuses is a dead letter, and can be replayed', (t) =>
  onBoth(t, async (t, nodes) => {
    const [store] = nodes;
    const receiver = await startReceiver(t);
    receiver.answer(() => 410);
    const desks = nodes.map((it) => openDesk(t, it, [entry('closed', receiver.url)]));
    const ids = await tellAll(desks, 5);
    await until('five dead letters', async () => (await queueOf(store, 'closed'))?.dead === 5);
    const { items } = await store.listDeadMessages({ channel: 'closed' }, firstPage);
    t.same(items.map((it) => it.noticeId).sort(), ids);
    t.ok(items.every((it) => it.attempts === 1));
    receiver.answer(() => 200);
    const replayed = await store.replayMessages(
      'closed',
      items.map((it) => it.id),
      Date.now(),
    );
    t.equal(replayed, 5);
    await allTaken(t, receiver, ids);
    t.match(await queueOf(store, 'closed'), { dead: 0 });
  }),
);

t.test('what could not be delivered for a day is given up', (t) =>
  onBoth(t, async (t, nodes) => {
    let nowMs = Date.now();
    const [store] = nodes;
    const receiver = await startReceiver(t);
    receiver.answer(() => 500);
    const desks = nodes.map((it) => openDesk(t, it, [entry('failing', receiver.url)], { now: () => nowMs }));
    const ids = await tellAll(desks, 3);
    await until('an attempt', async () => receiver.received.length > 0);
    // As time goes by in steps, retries and pauses come and go.
    await until('dead letters', async () => {
      nowMs += 600_000;
      return (await queueOf(store, 'failing'))?.dead === 3;
    });
    const { items } = await store.listDeadMessages({ channel: 'failing' }, firstPage);
    t.same(items.map((it) => it.noticeId).sort(), ids);
    t.ok(items.every((it) => it.deadAtMs - it.queuedAtMs >= 86_400_000));
  }),
);

t.test('a storm of denials makes one message in a window, with how many there were', (t) =>
  onBoth(t, async (t, nodes) => {
    let nowMs = Date.now();
    const receiver = await startReceiver(t);
    const entries = [entry('storm', receiver.url, { digest: '1m' })];
    const desks = nodes.map((it) => openDesk(t, it, entries, { now: () => nowMs }));
    await tellAll(desks, 1);
    await until('the first one', async () => receiver.taken().length === 1);
    await tellAll(desks, 1_000);
    await until('a digest', async () => (await queueOf(nodes[0], 'storm'))?.waiting === 1);
    t.equal(receiver.received.length, 1, 'nothing more goes out meanwhile');
    nowMs += 60_000;
    await until('the digest', async () => receiver.taken().length === 2);
    const digest = receiver.taken()[1]?.body.data.digest;
    t.equal(digest.count, 1_000);
    t.equal(digest.trace_ids.length, 20);
  }),
);

t.test('held calls come one by one, since each waits for a decision', async (t) => {
  const [
    {
      nodes: [store],
    } = { nodes: [] },
  ] = await states(t);
  if (!store) return;
  const receiver = await startReceiver(t);
  const desk = openDesk(t, store, [entry('asked', receiver.url, { digest: '1h' })]);
  for (let at = 0; at < 5; at += 1)
    desk.notifications.tell(someNotice({ kind: 'decision.require_approval' }));
  await until('all five', async () => receiver.taken().length === 5);
});

t.test('a channel that is taken out of the configuration leaves dead letters', (t) =>
  onBoth(t, async (t, nodes) => {
    let nowMs = Date.now();
    const [store] = nodes;
    const receiver = await startReceiver(t);
    receiver.answer(() => 500);
    const desks = nodes.map((it) => openDesk(t, it, [entry('going', receiver.url)], { now: () => nowMs }));
    await tellAll(desks, 4);
    await until('an attempt', async () => ((await queueOf(store, 'going'))?.failures ?? 0) > 0);
    for (const desk of desks) desk.use([]);
    nowMs += 100_000;
    t.match(await queueOf(store, 'going'), { dead: 0 }, 'another daemon may still know it');
    nowMs += 400_000;
    await until('dead letters', async () => (await queueOf(store, 'going'))?.dead === 4);
    const { items } = await store.listDeadMessages({ channel: 'going' }, firstPage);
    t.match(items[0], { reason: 'the channel is not in the configuration any more' });
  }),
);

t.test('who ends leaves what it has not sent to the others', (t) =>
  onBoth(t, async (t, nodes) => {
    const [store] = nodes;
    const receiver = await startReceiver(t);
    receiver.answer(() => 'hang');
    const first = openDesk(t, store, [entry('left', receiver.url)]);
    const ids = await tellAll([first], 10);
    await until('some that are being sent', async () => receiver.received.length > 0);
    await first.notifications.drain(10);
    await first.stop();
    t.match(
      await queueOf(store, 'left'),
      { waiting: 10, failures: 0 },
      'nothing is held against the channel',
    );
    receiver.answer(() => 200);
    openDesk(t, nodes.at(-1) ?? store, [entry('left', receiver.url)]);
    await allTaken(t, receiver, ids);
  }),
);

t.test('what is told while the state is away is kept in memory, up to a bound', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const options = { prefix: 'p:', timeoutMs: 1_000, ca: undefined, log: { warn: () => undefined } };
  const store = await openRedisStore({ ...redis.address, ...options });
  t.teardown(() => store.close());
  const receiver = await startReceiver(t);
  const desk = openDesk(t, store, [entry('held', receiver.url)]);
  await redis.kill();
  await until('a state that is away', async () => (await store.trouble()) !== undefined);
  const ids: string[] = [];
  for (let at = 0; at < heldMax + 5; at += 1) {
    const notice = someNotice();
    ids.push(notice.noticeId);
    desk.notifications.tell(notice);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await redis.start();
  await until('as many as there is room for', async () => idsTaken(receiver).length >= heldMax);
  t.same(idsTaken(receiver), ids.slice(0, heldMax).sort());
  t.equal(desk.log.filter((it) => it['msg'] === 'a notice is dropped: the state is away').length, 5);
});

t.test('what waits for a channel does not go to the tenant that has the channel later', (t) =>
  onBoth(t, async (t, [store]) => {
    const [ofAll, ofBeta] = [await startReceiver(t), await startReceiver(t)];
    ofAll.answer(() => 503);
    const desk = openDesk(t, store, [entry('moved', ofAll.url)]);
    const ids = await tellAll([desk], 3);
    await until('an attempt', async () => ofAll.received.length > 0);
    await desk.stop();
    openDesk(t, store, [entry('moved', ofBeta.url, { tenant: 'beta' })]);
    await until('an empty queue', async () => (await queueOf(store, 'moved'))?.waiting === 0);
    t.same(ofBeta.received, [], 'beta is told nothing of acme');
    const { items } = await store.listDeadMessages({ channel: 'moved' }, firstPage);
    t.same(items.map((it) => it.noticeId).sort(), ids);
    t.match(items[0], { owner: null, reason: /another tenant/ });
    t.same((await store.listDeadMessages({ owner: 'beta' }, firstPage)).items, [], 'nor of what failed');
  }),
);
