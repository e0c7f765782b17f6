import { newId, newTraceId } from '../../../src/core/ids.ts';
import {
  deadMax,
  digestTracesMax,
  noticeIdsMax,
  reasonLengthMax,
} from '../../../src/state/rules/notice-queue.ts';
import type {
  ChannelClaim,
  ClaimedMessage,
  NewNotice,
  NoticeTarget,
  Settlement,
} from '../../../src/state/store.ts';
import { noonMs } from '../records.ts';
import { firstPage, ofScripts, rubbishCursors, type SuitePart, walk } from './lab.ts';

const leaseMs = 600_000;

const target = (name: string, fields: Partial<NoticeTarget> = {}): NoticeTarget => ({
  name,
  owner: null,
  digestMs: 0,
  waitingMax: 100,
  ...fields,
});

const notice = (channels: readonly NoticeTarget[], fields: Partial<NewNotice> = {}): NewNotice => ({
  noticeId: newId(),
  kind: 'decision.deny',
  tenantId: 'acme',
  atMs: noonMs,
  traceId: newTraceId(noonMs),
  body: JSON.stringify({ summary: 'text of "any" kind\n' }),
  channels,
  ...fields,
});

const claimOf = (name: string, fields: Partial<ChannelClaim> = {}): ChannelClaim => ({
  name,
  owner: null,
  limit: 10,
  intervalMs: 1,
  burst: 1_000_000,
  probingMin: 5,
  aheadMsMax: 3_600_000,
  ...fields,
});

const settled = (
  it: ClaimedMessage,
  outcome: Settlement['outcome'],
  nowMs: number,
  claimedAtMs = nowMs,
): Settlement => ({ id: it.id, channel: it.channel, attempts: it.attempts, claimedAtMs, nowMs, outcome });

const retry = (dueAtMs: number, reason = 'answered 503'): Settlement['outcome'] => ({
  kind: 'retry',
  dueAtMs,
  reason,
  ...{ pausedUntilMs: 0, pauseFrom: 5, pauseMinMs: 30_000, pauseMaxMs: 300_000 },
});

const delivered = { kind: 'delivered' } as const;
const dead = (reason: string) => ({ kind: 'dead', reason, hasAnswered: true }) as const;

/** Messages on their way to channels. */
export const notices: SuitePart = async (t, { store, hints }) => {
  const ofItsScripts = ofScripts(t, hints);
  const newChannel = (): string => `channel-${newId()}`;
  const claim = (name: string, nowMs: number, fields: Partial<ChannelClaim> = {}) =>
    store.claimMessages([claimOf(name, fields)], nowMs, leaseMs);
  const queueOf = async (name: string) => (await store.channelQueues()).find((it) => it.name === name);

  /** A message that was claimed. */
  async function claimed(name: string, nowMs = noonMs): Promise<ClaimedMessage> {
    const [message] = await claim(name, nowMs, { limit: 1 });
    if (!message) throw new Error('nothing is due');
    return message;
  }

  await t.test('a notice makes one message for each of its channels', async (t) => {
    const [a, b] = [newChannel(), newChannel()];
    const told = notice([target(a), target(b, { owner: 'acme' })]);
    await store.enqueueNotices([told], noonMs);
    await store.enqueueNotices([told], noonMs + 1);
    const { noticeId, body, traceId, atMs } = told;
    const [first, ...more] = await claim(a, noonMs + 1);
    const facts = { noticeId, kind: 'decision.deny', tenantId: 'acme', body, traceIds: [traceId] };
    t.match(first, { ...facts, channel: a, owner: null, count: 1, firstMs: atMs, lastMs: atMs, attempts: 1 });
    t.match(first, { queuedAtMs: noonMs });
    t.same(more, [], 'told twice it is one');
    const [other] = await store.claimMessages([claimOf(b, { owner: 'acme' })], noonMs + 1, leaseMs);
    t.match(other, { ...facts, channel: b, owner: 'acme' });
    t.not(first?.id, other?.id);
    t.same(await claim(newChannel(), noonMs + 1), [], 'another channel has none');
  });

  await t.test('a message is claimed by one, and comes back when its lease is over', async (t) => {
    const name = newChannel();
    await store.enqueueNotices([notice([target(name)], { tenantId: null, traceId: null })], noonMs);
    t.same(await claim(name, noonMs - 1), [], 'not before it is due');
    const first = await claimed(name);
    t.match(first, { tenantId: null, traceIds: [] });
    t.same(await claim(name, noonMs + leaseMs - 1), []);
    const again = await claimed(name, noonMs + leaseMs);
    t.match(again, { id: first.id, attempts: 2 });
    t.equal(
      await store.settleMessage(settled(first, delivered, noonMs + leaseMs)),
      false,
      'it came too late',
    );
    t.equal(await store.settleMessage(settled(again, delivered, noonMs + leaseMs)), true);
    t.equal(await store.settleMessage(settled(again, delivered, noonMs + leaseMs)), false, 'once');
    t.same(await claim(name, noonMs + 10 * leaseMs), []);
    t.match(await queueOf(name), { waiting: 0, dead: 0, delivered: 1, lastDeliveredMs: noonMs + leaseMs });
  });

  await t.test('a hundred who ask at once get each message once', async (t) => {
    const name = newChannel();
    const told = Array.from({ length: 250 }, () => notice([target(name, { waitingMax: 1_000 })]));
    await store.enqueueNotices(told, noonMs);
    const nodes = [store, ...(hints.openNode ? [await hints.openNode()] : [])];
    for (const node of nodes.slice(1)) t.teardown(() => node.close());
    const asked = Array.from({ length: 100 }, (_, at) =>
      (nodes[at % nodes.length] ?? store).claimMessages([claimOf(name, { limit: 5 })], noonMs, leaseMs),
    );
    const ids = (await Promise.all(asked)).flat().map((it) => it.noticeId);
    t.equal(ids.length, 250);
    t.same(ids.sort(), told.map((it) => it.noticeId).sort());
  });

  await t.test('a message that failed comes again when it should, and the channel says why', async (t) => {
    const name = newChannel();
    await store.enqueueNotices([notice([target(name)])], noonMs);
    const first = await claimed(name);
    const long = 'x'.repeat(5_000);
    await store.settleMessage(settled(first, retry(noonMs + 5_000, long), noonMs));
    t.same(await claim(name, noonMs + 4_999), []);
    t.match(await queueOf(name), { failures: 1, waiting: 1, lastFailedMs: noonMs, lastDeliveredMs: null });
    t.equal((await queueOf(name))?.lastError?.length, reasonLengthMax);
    const second = await claimed(name, noonMs + 5_000);
    t.match(second, { id: first.id, attempts: 2 });
    await store.settleMessage(settled(second, { kind: 'released' }, noonMs + 5_000));
    t.match(await claimed(name, noonMs + 5_000), { attempts: 2 }, 'one that was let go has not failed');
  });

  await t.test(
    'a channel that fails again and again is paused, then tried out with one message',
    async (t) => {
      const name = newChannel();
      await store.enqueueNotices(
        Array.from({ length: 20 }, () => notice([target(name)])),
        noonMs,
      );
      let nowMs = noonMs;
      const failing = await claim(name, nowMs, { limit: 6 });
      for (const it of failing) await store.settleMessage(settled(it, retry(nowMs + 1), nowMs + 1, nowMs));
      t.match(await queueOf(name), { failures: 1, pausedUntilMs: 0 }, 'attempts of one moment fail once');
      for (let failures = 2; failures <= 5; failures += 1) {
        nowMs += 10;
        const it = await claimed(name, nowMs);
        await store.settleMessage(settled(it, retry(nowMs + 1), nowMs));
        t.match(await queueOf(name), { failures, pausedUntilMs: failures < 5 ? 0 : nowMs + 30_000 });
      }
      t.same(await claim(name, nowMs + 29_999), [], 'nothing goes while it is paused');
      nowMs += 30_000;
      const probes = await claim(name, nowMs);
      t.equal(probes.length, 1, 'one goes to try it out');
      t.same(await claim(name, nowMs + 1), [], 'and no other beside it');
      for (const it of probes) await store.settleMessage(settled(it, retry(nowMs + 1), nowMs));
      t.match(await queueOf(name), { failures: 6, pausedUntilMs: nowMs + 60_000 }, 'twice as long');
      nowMs += 60_000;
      await store.settleMessage(settled(await claimed(name, nowMs), delivered, nowMs));
      t.match(await queueOf(name), { failures: 0, pausedUntilMs: 0 });
      t.equal((await claim(name, nowMs)).length, 10, 'then all may go again');
    },
  );

  await t.test('a pause grows up to its bound, and lasts as long as the channel has asked for', async (t) => {
    const name = newChannel();
    await store.enqueueNotices([notice([target(name)])], noonMs);
    let nowMs = noonMs;
    for (let failures = 1; failures <= 40; failures += 1) {
      const it = await claimed(name, nowMs);
      await store.settleMessage(settled(it, retry(nowMs), nowMs));
      nowMs += 300_000;
    }
    t.match(await queueOf(name), { failures: 40, pausedUntilMs: nowMs });
    const it = await claimed(name, nowMs);
    const asked = { ...retry(nowMs), pausedUntilMs: nowMs + 900_000 } as Settlement['outcome'];
    await store.settleMessage(settled(it, asked, nowMs));
    t.match(await queueOf(name), { pausedUntilMs: nowMs + 900_000 });
  });

  await t.test('a rate bounds what is claimed, over all who ask', async (t) => {
    const name = newChannel();
    await store.enqueueNotices(
      Array.from({ length: 40 }, () => notice([target(name)])),
      noonMs,
    );
    const rate = { intervalMs: 1_000, burst: 10, limit: 8 };
    t.equal((await claim(name, noonMs, rate)).length, 8);
    t.equal((await claim(name, noonMs, rate)).length, 2);
    t.equal((await claim(name, noonMs + 999, rate)).length, 0);
    t.equal((await claim(name, noonMs + 1_000, rate)).length, 1);
    t.equal((await claim(name, noonMs + 4_500, rate)).length, 3);
    t.equal((await claim(name, noonMs + 1_000_000, rate)).length, 8);
    t.equal((await claim(name, noonMs + 1_000_000, rate)).length, 2, 'no more than the burst gathers');
  });

  await t.test('a clock that was ahead does not use up the rate of all others', async (t) => {
    const name = newChannel();
    const rate = { intervalMs: 1_000, burst: 2, limit: 1 };
    await store.enqueueNotices([notice([target(name)]), notice([target(name)])], noonMs);
    t.equal((await claim(name, noonMs + 86_400_000, rate)).length, 1);
    t.equal((await claim(name, noonMs, rate)).length, 1);
  });

  await t.test('a clock that was ahead keeps no message and no channel waiting', async (t) => {
    const [name, failing] = [newChannel(), newChannel()];
    const tell = (of: string, nowMs: number) =>
      store.enqueueNotices([notice([target(of, { digestMs: 60_000 })])], nowMs);
    const aheadMs = noonMs + 86_400_000;
    for (const nowMs of [aheadMs, aheadMs + 1, noonMs]) await tell(name, nowMs);
    t.equal((await claim(name, noonMs)).length, 3, 'those of the day to come, and the one of now');
    await tell(name, noonMs + 1);
    t.same(await claim(name, noonMs + 60_000 - 1), []);
    t.equal((await claim(name, noonMs + 60_000)).length, 1, 'a window of the right clock counts again');

    await tell(failing, noonMs);
    const [message] = await claim(failing, aheadMs);
    const paused = { ...retry(aheadMs + 5_000), pausedUntilMs: aheadMs + 600_000 };
    if (message) t.ok(await store.settleMessage(settled(message, paused, aheadMs)));
    t.same(await claim(failing, aheadMs + 6_000), []);
    t.equal((await claim(failing, noonMs + 6_000)).length, 1);
  });

  await t.test('what follows a notice within the window makes one message at its end', async (t) => {
    const name = newChannel();
    const digested = target(name, { digestMs: 60_000 });
    const tell = (nowMs: number, fields: Partial<NewNotice> = {}) =>
      store.enqueueNotices([notice([digested], { atMs: nowMs, ...fields })], nowMs);
    await tell(noonMs);
    t.match(await claim(name, noonMs), [{ count: 1 }], 'the first one goes at once');
    const traceIds = Array.from({ length: 30 }, () => newTraceId(noonMs));
    for (const [at, traceId] of traceIds.entries()) await tell(noonMs + 100 + at, { traceId });
    await tell(noonMs + 50, { kind: 'incident.opened' });
    await tell(noonMs + 50, { tenantId: 'beta' });
    const others = await claim(name, noonMs + 59_999);
    t.same(others.map(({ kind, tenantId }) => `${kind} ${tenantId}`).sort(), [
      'decision.deny beta',
      'incident.opened acme',
    ]);
    const [digest, ...more] = await claim(name, noonMs + 60_000);
    t.match(digest, { count: 30, firstMs: noonMs + 100, lastMs: noonMs + 129, attempts: 1 });
    t.same(digest?.traceIds, traceIds.slice(0, digestTracesMax));
    t.same(more, []);

    await tell(noonMs + 61_000);
    t.same(await claim(name, noonMs + 119_999), [], 'a storm that goes on makes one message a window');
    await tell(noonMs + 100_000);
    t.match(await claim(name, noonMs + 120_000), [{ count: 2 }]);
    await tell(noonMs + 180_001);
    t.match(
      await claim(name, noonMs + 180_001),
      [{ count: 1 }],
      'after a window of silence one goes at once',
    );
  });

  await t.test('a digest that nobody has claimed takes in what comes', async (t) => {
    const name = newChannel();
    const digested = target(name, { digestMs: 1_000 });
    const tell = (nowMs: number) => store.enqueueNotices([notice([digested], { atMs: nowMs })], nowMs);
    for (let at = 0; at < 50; at += 1) await tell(noonMs + at * 500);
    const all = await claim(name, noonMs + 100_000, { limit: 100 });
    t.same(all.map((it) => it.count).sort(), [1, 49]);
    await tell(noonMs + 100_001);
    t.match(await claim(name, noonMs + 100_001), [{ count: 1 }], 'what was claimed stays as it is');
  });

  await ofItsScripts('ids of notices are remembered up to a bound, and the oldest go', async (t) => {
    const name = newChannel();
    const first = notice([target(name)]);
    await store.enqueueNotices([first], noonMs);
    await store.settleMessage(settled(await claimed(name), delivered, noonMs));
    const others = notice([]);
    for (let at = 0; at < noticeIdsMax; at += 10_000) {
      if (at === noticeIdsMax - 10_000) {
        await store.enqueueNotices([first], noonMs + at);
        t.same(await claim(name, noonMs + at), [], 'one that is remembered is not told again');
      }
      const some = Array.from({ length: 10_000 }, (_, nth) => ({
        ...others,
        noticeId: `${name} ${at + nth}`,
      }));
      await store.enqueueNotices(some, noonMs + 1 + at);
    }
    await store.enqueueNotices([first], noonMs + noticeIdsMax);
    t.match(await claim(name, noonMs + noticeIdsMax), [{ noticeId: first.noticeId }]);
  });

  await t.test('a channel that is full takes further notices into those that wait', async (t) => {
    const name = newChannel();
    const few = target(name, { waitingMax: 5 });
    const tell = (fields: Partial<NewNotice> = {}) => store.enqueueNotices([notice([few], fields)], noonMs);
    for (let at = 0; at < 25; at += 1) await tell();
    t.match(await queueOf(name), { waiting: 5, dropped: 0 });
    for (let at = 0; at < 10; at += 1) await tell({ tenantId: `t${at}` });
    t.match(await queueOf(name), { waiting: 10, dropped: 5 }, 'twice as many are the end of it');
    const all = await claim(name, noonMs, { limit: 100 });
    t.equal(
      all.reduce((sum, it) => sum + it.count, 0),
      30,
      'each notice is told, but for those that were dropped',
    );
    t.same(
      all.filter((it) => it.count > 1).map((it) => it.count),
      [21],
    );
  });

  await t.test('what is given up is listed newest first, and can be replayed', async (t) => {
    const [name, other] = [newChannel(), newChannel()];
    const [own, foreign] = [`t-${newId()}`, `t-${newId()}`];
    await store.enqueueNotices([notice([target(other, { owner: foreign })])], noonMs);
    const [theirs] = await store.claimMessages([claimOf(other, { owner: foreign })], noonMs, leaseMs);
    if (theirs) await store.settleMessage(settled(theirs, dead('answered 410'), noonMs));
    const ids: string[] = [];
    for (let at = 0; at < 33; at += 1) {
      await store.enqueueNotices([notice([target(name, { owner: own })])], noonMs);
      const [it] = await store.claimMessages([claimOf(name, { owner: own })], noonMs, leaseMs);
      if (!it) throw new Error('nothing is due');
      ids.push(it.id);
      // Several of them in the same millisecond.
      await store.settleMessage(settled(it, dead(`reason ${at}`), noonMs + Math.floor(at / 3)));
    }
    const wanted = [...ids].sort();
    for (const limit of [1, 7, 33, 1_000]) {
      const all = await walk(t, limit, (page) => store.listDeadMessages({ owner: own }, page));
      t.same(all.map((it) => it.id).sort(), wanted, `${limit} a page`);
      t.ok(
        all.every((it, at) => at === 0 || it.deadAtMs <= (all[at - 1]?.deadAtMs ?? 0)),
        'newest first',
      );
    }
    t.equal((await store.listDeadMessages({ channel: name }, firstPage)).items.length, 33);
    t.same((await store.listDeadMessages({ owner: own, channel: other }, firstPage)).items, []);
    t.ok((await store.listDeadMessages({}, firstPage)).items.length >= 34, 'all of all');
    for (const cursor of rubbishCursors)
      await t.rejects(store.listDeadMessages({}, { limit: 1, cursor }), { code: 'VALIDATION_FAILED' });

    const [id = ''] = ids;
    t.match(await store.deadMessageById(id), { id, channel: name, owner: own, reason: 'reason 0' });
    t.equal(await store.replayMessages(name, [id, id, newId(), theirs?.id ?? ''], noonMs + 9_000), 1);
    t.equal(await store.deadMessageById(id), undefined);
    const [again] = await store.claimMessages([claimOf(name, { owner: own })], noonMs + 9_000, leaseMs);
    t.match(again, { id, attempts: 1, queuedAtMs: noonMs + 9_000, count: 1 });
    t.match(await queueOf(name), { waiting: 1, dead: 32, lastError: 'reason 32' });
    t.equal(await store.replayMessages(name, [], noonMs), 0);
  });

  await t.test(
    'a channel is of the tenant that claims for it last, whosever its old messages are',
    async (t) => {
      const name = newChannel();
      const [before, now] = [`t-${newId()}`, `t-${newId()}`];
      await store.enqueueNotices([notice([target(name, { owner: before })])], noonMs);
      const [old] = await store.claimMessages([claimOf(name, { owner: before })], noonMs, leaseMs);
      t.same(await store.claimMessages([claimOf(name, { owner: now })], noonMs + 1, leaseMs), []);
      t.match(await queueOf(name), { owner: now }, 'also where nothing was due');
      if (old) await store.settleMessage(settled(old, dead('answered 410'), noonMs + 2));
      t.match(
        await queueOf(name),
        { owner: now, dead: 1 },
        'the end of an old message changes nothing of that',
      );
      for (const owner of [before, now])
        t.same((await store.listDeadMessages({ owner }, firstPage)).items, [], 'nobody sees the old message');
      t.equal((await store.listDeadMessages({ channel: name }, firstPage)).items.length, 1);
    },
  );

  await t.test('of each channel a bounded number of the dead is kept', async (t) => {
    const name = newChannel();
    const much = target(name, { waitingMax: 10_000 });
    for (let at = 0; at < deadMax + 10; at += 101)
      await store.enqueueNotices(
        Array.from({ length: 101 }, () => notice([much])),
        noonMs + at,
      );
    await store.settleMessage(settled(await claimed(name, noonMs), retry(noonMs), noonMs));
    let buried = 0;
    for (let at = 0; at < 20; at += 1)
      buried += await store.buryMessages({
        ...{
          channel: name,
          dueBeforeMs: noonMs + 100_000,
          nowMs: noonMs + at,
          reason: 'too old',
          limit: 100,
        },
        onlyIf: 'failing',
      });
    t.equal(buried, 1_010);
    t.match(await queueOf(name), { waiting: 0, dead: deadMax });
    t.equal((await walk(t, 300, (page) => store.listDeadMessages({ channel: name }, page))).length, deadMax);
  });

  await t.test('what is due for long is given up where the channel fails, or nobody serves it', async (t) => {
    const name = newChannel();
    const bury = (nowMs: number, onlyIf: 'failing' | { unclaimedSinceMs: number }) =>
      store.buryMessages({ channel: name, dueBeforeMs: nowMs, nowMs, reason: 'gone', limit: 10, onlyIf });
    t.equal(await bury(noonMs, 'failing'), 0, 'nobody knows the channel');
    await store.enqueueNotices([notice([target(name)])], noonMs);
    t.equal(await bury(noonMs, 'failing'), 0, 'it has not failed');
    t.same(await claim(name, noonMs - 1), []);
    t.equal(await bury(noonMs, { unclaimedSinceMs: noonMs - 2 }), 0, 'somebody asks for its messages');
    t.equal(await bury(noonMs + 600_000, { unclaimedSinceMs: noonMs + 300_000 }), 1);
    t.match(await queueOf(name), { waiting: 0, dead: 1 });
    const { items } = await store.listDeadMessages({ channel: name }, firstPage);
    t.match(items, [{ reason: 'gone', deadAtMs: noonMs + 600_000 }]);
    await store.replayMessages(
      name,
      items.map((it) => it.id),
      noonMs,
    );
    await store.settleMessage(settled(await claimed(name), delivered, noonMs));
    await bury(noonMs + 900_000, { unclaimedSinceMs: noonMs + 600_000 });
    t.equal(await queueOf(name), undefined, 'once it is empty it is forgotten');
  });
};
