import { newId, newTraceId } from '../../../src/core/ids.ts';
import { callBatch, noonMs, recordedCall } from '../records.ts';
import type { SuitePart } from './lab.ts';

const hourMs = 3_600_000;

export const usage: SuitePart = async (t, { store, ...lab }) => {
  await t.test('of a key: calls by the hour, over a sliding day', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const [key, silent] = [await acme.key(), await acme.key()];
    const zeros = { lastSeenAtMs: null, calls24h: 0, blockedAttempts: 0, uses: 0 };
    t.same(await store.keyUsage(acme.tenantId, [key.keyId], noonMs), [zeros]);

    const hour = Math.floor(noonMs / hourMs) * hourMs;
    await acme.admitMany(3, key, { nowMs: hour });
    await acme.admitMany(2, key, { nowMs: hour + hourMs - 1 });
    await acme.admitMany(4, key, { nowMs: hour + hourMs });
    await acme.admitMany(1, key, { nowMs: hour + 13 * hourMs + 7 });
    const at = async (nowMs: number) =>
      (await store.keyUsage(acme.tenantId, [key.keyId], nowMs))[0]?.calls24h;
    const cases = [
      { name: 'within the day', hours: 14, calls: 10 },
      { name: 'in its last hour', hours: 23, calls: 10 },
      { name: 'when the first hour has left it', hours: 24, calls: 5 },
      { name: 'when the second one has', hours: 25, calls: 1 },
      { name: 'when all have', hours: 37, calls: 0 },
      { name: 'a year later', hours: 8_760, calls: 0 },
    ];
    for (const { name, hours, calls } of cases) t.equal(await at(hour + hours * hourMs), calls, name);
    t.equal(await at(hour + 24 * hourMs - 1), 10, 'to the end of the hour');

    const ids = [silent.keyId, key.keyId, newId(), key.keyId];
    const seen = { lastSeenAtMs: hour + 13 * hourMs + 7, calls24h: 10, blockedAttempts: 0, uses: 10 };
    t.same(
      await store.keyUsage(acme.tenantId, ids, hour + 14 * hourMs),
      [zeros, seen, zeros, seen],
      'in the order of the ids',
    );
    t.same(await store.keyUsage(acme.tenantId, [], noonMs), []);
    t.same(await store.keyUsage(other.tenantId, [key.keyId], noonMs), [zeros], 'nobody else sees it');
  });

  await t.test('of many keys at once, in the order of their ids', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const used = await Promise.all([1, 2, 3].map(() => acme.key()));
    for (const [nth, key] of used.entries()) t.equal(await acme.admitMany(nth + 1, key), nth + 1);
    const foreign = await other.key();
    await other.admit(foreign);
    const ids = [foreign, ...used.toReversed()].map((it) => it.keyId);
    const usages = await store.keyUsage(acme.tenantId, [newId(), ...ids, ids[1] ?? ''], noonMs);
    t.same(
      usages.map((it) => it.uses),
      [0, 0, 3, 2, 1, 3],
    );
    t.same(await store.keyUsage(acme.tenantId, [], noonMs), []);
  });

  await t.test('a call that is recorded a day late displaces none of the same hour', async (t) => {
    const { tenantId, agent } = await lab.tenant();
    const { agentId } = agent;
    for (const atMs of [noonMs, noonMs, noonMs - 24 * hourMs])
      await store.recordCalls(callBatch([recordedCall({ tenantId, agentId, atMs })]));
    const [used] = await store.agentUsage(tenantId, [agentId], noonMs);
    t.match(used, { callsTotal: 3, firstSeenAtMs: noonMs - 24 * hourMs, decisions24h: { ALLOW: 2 } });
  });

  await t.test('over midnight and the end of a month', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const midnightMs = Date.UTC(2032, 0, 1);
    await acme.admitMany(2, key, { nowMs: midnightMs - 1 });
    await acme.admitMany(3, key, { nowMs: midnightMs });
    t.match(await store.keyUsage(acme.tenantId, [key.keyId], midnightMs), [{ calls24h: 5, uses: 5 }]);
    t.match(await store.usageOf(acme.tenantId, midnightMs - 1), { scansUsed: 2 });
    t.match(await store.usageOf(acme.tenantId, midnightMs), { scansUsed: 3 });
    t.match(await store.usageOf(acme.tenantId, Date.UTC(2032, 1, 1)), { scansUsed: 0 });
  });

  await t.test('a call before others is counted in its own hour', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    for (const hours of [30, 29, 30, 0, 7]) await acme.admit(key, { nowMs: noonMs + hours * hourMs });
    const [got] = await store.keyUsage(acme.tenantId, [key.keyId], noonMs + 30 * hourMs);
    t.match(got, { calls24h: 4, uses: 5 }, 'the clock was set back, and the oldest call has left the day');
  });

  await t.test('of a tenant: rate and limits', async (t) => {
    const minuteMs = Math.floor(noonMs / 60_000) * 60_000;
    const acme = await lab.tenant({ scansPerMinute: 1, burst: 5 });
    const other = await lab.tenant();
    const key = await acme.key();
    t.same(await store.usageOf(acme.tenantId, noonMs), {
      scansUsed: 0,
      rateLimitHits24h: 0,
      currentRatePerMin: 0,
    });
    t.equal(await acme.admitMany(12, key, { nowMs: minuteMs }), 5);
    const want = { scansUsed: 5, rateLimitHits24h: 7, currentRatePerMin: 5 };
    t.same(await store.usageOf(acme.tenantId, minuteMs), want);
    t.match(await store.usageOf(acme.tenantId, minuteMs + 49_999), { currentRatePerMin: 5 });
    t.match(await store.usageOf(acme.tenantId, minuteMs + 70_000), { currentRatePerMin: 0 });
    const hour = Math.floor(minuteMs / hourMs) * hourMs;
    t.match(await store.usageOf(acme.tenantId, hour + 24 * hourMs - 1), { rateLimitHits24h: 7 });
    t.match(await store.usageOf(acme.tenantId, hour + 24 * hourMs), { rateLimitHits24h: 0, scansUsed: 5 });
    const nothing = { scansUsed: 0, rateLimitHits24h: 0, currentRatePerMin: 0 };
    t.same(await store.usageOf(other.tenantId, minuteMs), nothing, 'nobody else sees it');
    t.same(await store.usageOf('nobody', minuteMs), nothing);
  });

  await t.test('a call that is recorded is not counted again', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const { tenantId } = acme;
    const calls = Array.from({ length: 5 }, () =>
      recordedCall({ tenantId, keyId: key.keyId, agentId: acme.agent.agentId, atMs: noonMs }),
    );
    for (const call of calls) {
      t.match(await acme.admit(key), { ok: true });
      store.noteCall(call);
    }
    await store.recordCalls(callBatch(calls));
    await store.recordCalls(callBatch(calls, true));
    t.match(await store.keyUsage(tenantId, [key.keyId], noonMs), [{ uses: 5, calls24h: 5 }]);
    t.match(await store.usageOf(tenantId, noonMs), { scansUsed: 5 });
    t.match(await store.agentUsage(tenantId, [acme.agent.agentId], noonMs), [{ callsTotal: 5 }]);
  });

  await t.test('of an agent: first and last seen, and decisions by the hour', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const { agentId } = acme.agent;
    const { tenantId } = acme;
    const none = { ALLOW: 0, SANITIZE: 0, REQUIRE_APPROVAL: 0, DENY: 0 };
    const zeros = { firstSeenAtMs: null, lastSeenAtMs: null, callsTotal: 0, decisions24h: none };
    t.same(await store.agentUsage(tenantId, [agentId], noonMs), [zeros]);

    const hour = Math.floor(noonMs / hourMs) * hourMs;
    const call = (hours: number, decision: 'ALLOW' | 'DENY' | 'SANITIZE') => {
      const atMs = hour + hours * hourMs;
      return recordedCall({ tenantId, agentId, atMs, decision, traceId: newTraceId(atMs) });
    };
    const early = [call(0, 'ALLOW'), call(0, 'DENY'), call(2, 'ALLOW')];
    const late = [call(20, 'SANITIZE'), call(20, 'DENY')];
    // The batches of two nodes come in any order.
    await store.recordCalls(callBatch(late));
    await store.recordCalls(callBatch(early));
    await store.recordCalls(callBatch([...early, ...late], true));
    const want = (decisions24h: object) => ({
      firstSeenAtMs: hour,
      lastSeenAtMs: hour + 20 * hourMs,
      callsTotal: 5,
      decisions24h: { ...none, ...decisions24h },
    });
    const cases = [
      { hours: 23, decisions: { ALLOW: 2, DENY: 2, SANITIZE: 1 } },
      { hours: 24, decisions: { ALLOW: 1, DENY: 1, SANITIZE: 1 } },
      { hours: 26, decisions: { DENY: 1, SANITIZE: 1 } },
      { hours: 44, decisions: {} },
    ];
    for (const { hours, decisions } of cases) {
      const [got] = await store.agentUsage(tenantId, [agentId], hour + hours * hourMs);
      t.same(got, want(decisions), `after ${hours} hours`);
    }
    const [unknown, known] = await store.agentUsage(tenantId, [newId(), agentId], hour);
    t.same(unknown, zeros, 'in the order of the ids');
    t.equal(known?.callsTotal, 5);
    t.same(await store.agentUsage(other.tenantId, [agentId], hour), [zeros], 'nobody else sees it');
  });
};
