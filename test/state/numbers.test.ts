import t, { type Test } from 'tap';
import { newId, newTraceId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { Nonces } from '../../src/state/embedded/counts/nonces.ts';
import { Numbers } from '../../src/state/embedded/counts/numbers.ts';
import { createSlidingCount } from '../../src/state/embedded/counts/sliding-count.ts';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import { hourMs } from '../../src/state/rules/limits.ts';
import { noncesPerKeyMax, noncesPerTenantMax } from '../../src/state/rules/nonces.ts';
import type { KeyRecord, RecordedCall, Store } from '../../src/state/store.ts';
import {
  admitRequest,
  agentRecord,
  auditEvent,
  callBatch,
  keyRecord,
  recordedCall,
  termsOf,
} from './records.ts';

const noonMs = Date.UTC(2031, 4, 10, 12);

async function open(t: Test, dir: string): Promise<Store> {
  const store = await openEmbeddedStore({ dir });
  t.teardown(() => store.close());
  return store;
}

async function addKey(store: Store, fields: Partial<KeyRecord> = {}): Promise<KeyRecord> {
  const agent = await store.ensureAgent(agentRecord());
  const key = keyRecord({ agentId: agent.agentId, ...fields });
  await store.addKey(key, auditEvent());
  return key;
}

const callAt = (key: KeyRecord, atMs: number, fields: Partial<RecordedCall> = {}): RecordedCall =>
  recordedCall({ traceId: newTraceId(atMs), keyId: key.keyId, agentId: key.agentId, atMs, ...fields });

t.test('a batch is counted once, however often it comes', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const key = await addKey(store);
  const lastMonthMs = Date.UTC(2031, 3, 30, 23, 59);
  const calls = [
    ...Array.from({ length: 40 }, (_, at) =>
      callAt(key, noonMs - at * 61_000, { destination: ownName(`d${at % 7}`) }),
    ),
    callAt(key, noonMs - 30 * hourMs),
    callAt(key, lastMonthMs, { decision: 'SANITIZE' }),
    callAt(key, noonMs - hourMs, { outcome: 'limited', decision: 'DENY' }),
    callAt(key, noonMs, { outcome: 'blocked', decision: 'DENY' }),
    callAt(key, noonMs, { outcome: 'blocked', decision: 'DENY' }),
    callAt(key, noonMs, { outcome: 'refused', decision: 'DENY' }),
  ];
  await store.recordCalls(callBatch(calls.slice(0, 30)));
  await store.recordCalls(callBatch([...calls, ...calls.slice(0, 3)], true));
  await store.recordCalls(callBatch(calls, true));
  await store.close();

  const again = await open(t, dir);
  t.same(await again.keyUsage('acme', [key.keyId], noonMs), [
    { lastSeenAtMs: noonMs, calls24h: 40, blockedAttempts: 2, uses: 42 },
  ]);
  t.match(await again.usageOf('acme', noonMs), { scansUsed: 41, rateLimitHits24h: 1 });
  t.match(await again.usageOf('acme', lastMonthMs), { scansUsed: 1 });
  t.same(await again.agentUsage('acme', [key.agentId], noonMs), [
    {
      firstSeenAtMs: lastMonthMs,
      lastSeenAtMs: noonMs,
      callsTotal: calls.length,
      decisions24h: { ALLOW: 40, SANITIZE: 0, REQUIRE_APPROVAL: 0, DENY: 4 },
    },
  ]);
  const admission = await again.admit(admitRequest({ keyHash: key.hash, nowMs: noonMs }));
  t.match(admission, { ok: true, scansUsed: 42 }, 'and goes on from there');
});

t.test('a batch that fails has counted nothing', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const key = await addKey(store);
  const broken = { lines: new Uint8Array(new TextEncoder().encode('noise\n')), mayRepeat: true };
  t.equal(await store.recordCalls(broken), 1);
  const call = callAt(key, noonMs);
  const [other, unknown] = [callAt(key, noonMs), callAt(key, noonMs)];
  const text = new TextDecoder().decode(callBatch([other, unknown]).lines);
  const lines = new TextEncoder().encode(
    text.replace('\tcall\t', '\tnonsense\t').replaceAll(`\t${noonMs}\t`, `\t-${noonMs}\t`),
  );
  t.equal(await store.recordCalls({ lines, mayRepeat: false }), 2, 'times and outcomes are checked');
  await store.recordCalls(callBatch([call]));
  t.match(await store.agentUsage('acme', [key.agentId], noonMs), [{ callsTotal: 1 }]);
});

t.test('buckets start full after a restart; quota and uses do not', async (t) => {
  const dir = t.testdir();
  const before = await open(t, dir);
  const key = await addKey(before, { maxUses: 5 });
  const terms = termsOf({ scansPerMinute: 1, scansPerMonth: 100 });
  const ask = (store: Store) =>
    store.admit(admitRequest({ keyHash: key.hash, nowMs: noonMs, termsOf: terms }));
  for (const scansUsed of [1, 2]) t.match(await ask(before), { ok: true, scansUsed });
  t.match(await ask(before), { code: 'RATE_LIMITED', retryAfterSeconds: 60 });
  await before.recordCalls(callBatch([callAt(key, noonMs), callAt(key, noonMs)]));
  await before.close();

  const after = await open(t, dir);
  for (const scansUsed of [3, 4]) t.match(await ask(after), { ok: true, scansUsed });
  t.match(await ask(after), { code: 'RATE_LIMITED' });
});

t.test(
  'keys that were idle for long are forgotten, those whose calls may not be stored yet are not',
  async (t) => {
    let now = 0;
    let isDiskBehind = true;
    let loads = 0;
    const stored = {
      ofKeys: (keyIds: readonly string[]) => {
        loads += 1;
        return keyIds.map(() => ({ uses: 0, blocked: 0, lastSeenAtMs: null, callsByHour: [] }));
      },
      limitedOf: () => [],
      callsInMonth: () => 0,
      ofCredentials: () => new Map(),
      ofAgents: () => t.fail('nobody asks') as never,
    };
    const numbers = new Numbers(stored, {
      isDiskBehind: () => isDiskBehind,
      clock: () => now,
      keysMax: 10,
    });
    const terms = termsOf({})('acme');
    if (!terms) throw new Error('the tenant has terms');
    const use = (key: KeyRecord) => numbers.take(key, terms, noonMs, 'call');
    const usesOf = (key: KeyRecord) => numbers.keyUsage([key.keyId], noonMs)[0]?.uses;
    const keys = Array.from({ length: 200 }, () => keyRecord({ agentId: newId() }));
    const [first, ...others] = keys;
    if (!first) throw new Error('there are keys');

    use(first);
    now = 3_600_000;
    for (const key of others.slice(0, 60)) use(key);
    t.equal(usesOf(first), 1, 'the disk is behind: nothing is forgotten');
    isDiskBehind = false;
    for (const key of others.slice(60)) use(key);
    t.equal(usesOf(first), 0, 'idle for an hour, it is read from the disk again');
    for (const key of others) if (usesOf(key) !== 1) t.fail('a key in use was forgotten');
    now += 3_600_000;
    loads = 0;
    for (const key of keys) for (let call = 0; call < 3; call += 1) use(key);
    t.ok(loads <= keys.length, 'each is read at most once');
  },
);

t.test('sliding counts remember their slots, and no more', async (t) => {
  const cases: { adds: [number, number][]; at: number; want: number }[] = [
    { adds: [], at: 5, want: 0 },
    { adds: [[5, 2]], at: 5, want: 2 },
    { adds: [[5, 2]], at: 8, want: 2 },
    { adds: [[5, 2]], at: 9, want: 0 },
    { adds: [[5, 2]], at: 4, want: 0 },
    {
      adds: [
        [5, 2],
        [6, 3],
        [9, 4],
      ],
      at: 9,
      want: 7,
    },
    {
      adds: [
        [5, 2],
        [1_000_000, 1],
      ],
      at: 1_000_000,
      want: 1,
    },
    {
      adds: [
        [9, 4],
        [7, 1],
        [5, 100],
      ],
      at: 9,
      want: 5,
    },
    {
      adds: [
        [0, 1],
        [1, 1],
      ],
      at: 1,
      want: 2,
    },
  ];
  for (const { adds, at, want } of cases) {
    const count = createSlidingCount(4);
    for (const [slot, more] of adds) count.add(slot, more);
    t.equal(count.sum(at), want, JSON.stringify({ adds, at }));
  }
});

t.test('refuses nonces beyond the bound of a tenant, until some have ended', async (t) => {
  const nonces = new Nonces();
  const keys = Array.from({ length: noncesPerTenantMax / noncesPerKeyMax }, (_, nth) => `key ${nth}`);
  let claimed = 0;
  for (let at = 0; at < noncesPerKeyMax; at += 1)
    for (const key of keys) if (nonces.claim('acme', key, `n${at}`, 1_000, 2_000 + at)) claimed += 1;
  t.equal(claimed, noncesPerTenantMax);
  t.throws(() => nonces.claim('acme', 'key', 'late', 1_000, 2_000), { code: 'GATEWAY_BUSY' });
  t.notOk(nonces.claim('acme', 'key 0', 'n3', 1_000, 2_000), 'those that are known are still refused');
  t.ok(nonces.claim('other', 'key', 'late', 1_000, 2_000), 'another tenant has its own');
  t.ok(nonces.claim('acme', 'key', 'late', 2_000, 3_000), 'one has ended and made room');
});
