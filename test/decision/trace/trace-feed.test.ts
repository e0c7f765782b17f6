import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { TraceFeed, waitingTracesMax } from '../../../src/decision/trace/trace-feed.ts';
import type { Arrivals } from '../../../src/state/store.ts';

const log = pino({ level: 'silent' });

/** A state in which traces arrive as the test says; it counts how often it is asked. */
function arrivals() {
  const arrived: string[] = [];
  let asked = 0;
  let isAway = false;
  return {
    arrive: (...traces: string[]) => arrived.push(...traces),
    asked: () => asked,
    setAway(next: boolean) {
      isAway = next;
    },
    async tracesSince(_: string, position: string | undefined): Promise<Arrivals> {
      asked += 1;
      if (isAway) throw new Error('the state is away');
      const from = position === undefined ? arrived.length : Number(position);
      const traces = arrived.slice(from, from + 100);
      const next = from + traces.length;
      return { traces, position: String(next), hasMore: next < arrived.length, hasGap: false };
    },
  };
}

const all = () => true;

t.test('each follower gets what it wants, by one loop for all', async (t) => {
  const store = arrivals();
  const feed = new TraceFeed(store, log);
  t.teardown(() => feed.close());
  store.arrive('before');
  const followers = await Promise.all([
    feed.follow('acme', all),
    feed.follow('acme', (it) => it.includes('b')),
    ...Array.from({ length: 30 }, () => feed.follow('acme', all)),
  ]);
  t.equal(store.asked(), 2, 'where it is, and what has come since');
  store.arrive('a', 'b');
  t.same(await followers[0]?.next(10_000), { traces: ['a', 'b'], hasGap: false });
  t.same(await followers[1]?.next(10_000), { traces: ['b'], hasGap: false });
  t.same(await followers[0]?.next(1), { traces: [], hasGap: false }, 'a wait that ends');
  for (const it of followers) it.leave();
  await sleep(1_000);
  const before = store.asked();
  await sleep(1_000);
  t.equal(store.asked(), before, 'nobody asks for nobody');
  const again = await feed.follow('acme', all);
  store.arrive('c');
  t.same(await again.next(10_000), { traces: ['c'], hasGap: false });
});

t.test('a slow follower loses some, is told, and holds up nobody', async (t) => {
  const store = arrivals();
  const feed = new TraceFeed(store, log);
  t.teardown(() => feed.close());
  const [slow, quick] = [await feed.follow('acme', all), await feed.follow('acme', all)];
  const traces = Array.from({ length: waitingTracesMax + 300 }, (_, at) => `t${at}`);
  const read: string[] = [];
  for (let at = 0; at < traces.length; at += 100) {
    store.arrive(...traces.slice(at, at + 100));
    while (read.length < Math.min(at + 100, traces.length)) read.push(...(await quick.next(10_000)).traces);
  }
  t.same(read, traces);
  const first = await slow.next(10_000);
  t.same(first, { traces: traces.slice(0, waitingTracesMax), hasGap: true });
  store.arrive('later');
  t.same(await slow.next(10_000), { traces: ['later'], hasGap: false });

  store.arrive('x'.repeat(3_000_000), 'x'.repeat(3_000_000));
  await quick.next(10_000);
  const large = await slow.next(10_000);
  t.match(large, { traces: { length: 1 }, hasGap: true }, 'by its size as well');
});

t.test('a flood is cut short, so that followers see what happens now', async (t) => {
  const store = arrivals();
  const feed = new TraceFeed(store, log);
  t.teardown(() => feed.close());
  const follower = await feed.follow('acme', (it) => it === 'now');
  store.arrive(...Array.from({ length: 5_000 }, () => 'flood'));
  t.same(await follower.next(10_000), { traces: [], hasGap: true });
  store.arrive('now');
  t.same(await follower.next(10_000), { traces: ['now'], hasGap: false });
});

t.test('goes on when the state is back, and not after its end', async (t) => {
  const store = arrivals();
  const feed = new TraceFeed(store, log);
  store.setAway(true);
  await t.rejects(feed.follow('acme', all));
  store.setAway(false);
  const follower = await feed.follow('acme', all);
  store.setAway(true);
  store.arrive('a');
  t.same(await follower.next(1_000), { traces: [], hasGap: false });
  store.setAway(false);
  t.same(await follower.next(10_000), { traces: ['a'], hasGap: false });
  feed.close();
  await t.rejects(feed.follow('acme', all), { code: 'SHUTTING_DOWN' });
});
