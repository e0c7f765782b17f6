import t, { type Test } from 'tap';
import { newId, newTraceId } from '../../src/ids.ts';
import { openStore } from '../../src/state/open.ts';
import { createBreaker, failuresMax, probeIntervalMs } from '../../src/state/redis/breaker.ts';
import { destinationsMax } from '../../src/state/redis/names.ts';
import { openRedisStore, type RedisStoreOptions } from '../../src/state/redis/store.ts';
import type { Store } from '../../src/state/store.ts';
import { documentedAcl, type RedisServer, startRedis, until } from '../support/redis.ts';
import { approvalRecord, callBatch, recordedCall } from './records.ts';
import { storeSuite } from './store-suite.ts';
import { admitRequest, auditEvent, noonMs, openLab } from './suite/lab.ts';

const open = (redis: RedisServer, options: Partial<RedisStoreOptions> = {}): Promise<Store> =>
  openRedisStore({
    ...redis.address,
    prefix: 'p:',
    timeoutMs: 10_000,
    ca: undefined,
    log: { warn: () => undefined },
    clock: 'caller',
    ...options,
  });

async function opened(t: Test, redis: RedisServer, options: Partial<RedisStoreOptions> = {}): Promise<Store> {
  const store = await open(redis, options);
  t.teardown(() => store.close());
  return store;
}

t.test('keeps the contract of a store', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  let nth = 0;
  const again = () => open(redis, { prefix: `p${nth}:` });
  const openEmpty = () => {
    nth += 1;
    return again();
  };
  await storeSuite(t, openEmpty, { clock: 'argument', openNode: again });
});

t.test('survives a SIGKILL of Redis, and goes on by itself', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis, { timeoutMs: 2_000 }), { clock: 'argument' });
  const acme = await lab.tenant({ scansPerMonth: 3 });
  const key = await acme.key({ type: 'ephemeral', maxUses: 2 });
  t.match(await acme.admit(key), { ok: true, scansUsed: 1 });
  const before = await lab.store.verifyAudit(acme.tenantId);

  await redis.kill();
  const away = { code: 'STATE_UNAVAILABLE', extra: { retryAfterSeconds: 1 } };
  for (let at = 0; at <= failuresMax; at += 1)
    await t.rejects(acme.admit(key), away, 'closed while it is away');
  await t.rejects(lab.store.appendAudit(acme.event()), away);
  t.type(await lab.store.trouble(), 'string');
  t.match(lab.store.recall(key.hash, noonMs, 1), { ok: true }, 'and who was there lately is still known');

  await redis.start();
  await until('a state without trouble', async () => (await lab.store.trouble()) === undefined);
  await until('an answer', async () => (await lab.store.keyById(acme.tenantId, key.keyId)) !== undefined);
  t.match(await acme.admit(key), { ok: true, scansUsed: 2 });
  t.match(await acme.admit(key), { ok: false, code: 'INVALID_KEY' }, 'no use is given twice');
  t.same(await lab.store.verifyAudit(acme.tenantId), before, 'what was reported as failed is not in the log');
});

t.test('a Redis that hangs holds nobody up', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis, { timeoutMs: 1_000 }), { clock: 'argument' });
  const acme = await lab.tenant();
  const key = await acme.key();
  t.match(await acme.admit(key), { ok: true });

  redis.pause();
  t.teardown(() => redis.resume());
  const results = await Promise.allSettled(Array.from({ length: 50 }, () => acme.admit(key)));
  for (const it of results) {
    if (it.status === 'fulfilled' || it.reason.code !== 'STATE_UNAVAILABLE') t.fail('a call was let in');
  }
  lab.store.noteCall(recordedCall({ tenantId: acme.tenantId }));
  t.type(await lab.store.trouble(), 'string');
  redis.resume();
  await until('an answer', async () => (await acme.admit(key)).ok);
  t.equal(await lab.store.trouble(), undefined);
});

t.test('a server that is not there is an error of the start', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  await redis.kill();
  await t.rejects(open(redis, { timeoutMs: 100 }), { code: 'STATE_UNAVAILABLE' });
});

t.test('warns of a Redis that may lose what it is given', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const warnings = async (): Promise<string> => {
    const found: string[] = [];
    const log = { warn: (_: object, message: string) => found.push(message) };
    const url = { ...redis.address, driver: 'redis', prefix: 'p:' } as const;
    const store = await openStore({ url, dir: '', timeoutMs: 5_000, caFile: null, log });
    await store.close();
    return found.join('\n');
  };
  t.equal(await warnings(), '');
  await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  t.match(await warnings(), /^Redis has "maxmemory-policy allkeys-lru"/);
  await redis.command('CONFIG', 'SET', 'appendonly', 'no');
  t.match(await warnings(), /"appendonly" off/);
});

t.test('needs no more than the ACL user of the documentation has', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const password = newId();
  await redis.command('ACL', 'SETUSER', 'postern', 'on', `>${password}`, ...documentedAcl());
  const log: string[] = [];
  let nth = 0;
  const as = (prefix: string) =>
    open(redis, {
      username: 'postern',
      password,
      prefix,
      log: { warn: (fields, message) => log.push(`${message} ${JSON.stringify(fields)}`) },
    });
  const openEmpty = () => {
    nth += 1;
    return as(`p:${nth}:`);
  };
  await storeSuite(t, openEmpty, { clock: 'argument' });
  t.same(log, [], 'nothing was refused');

  const elsewhere = await as('q:');
  t.teardown(() => elsewhere.close());
  await t.rejects(
    elsewhere.registerTenant('acme', 1),
    { code: 'STATE_UNAVAILABLE' },
    'it has its own prefix alone',
  );
  await t.rejects(open(redis, { username: 'postern', password: 'wrong', timeoutMs: 200 }), {
    code: 'STATE_UNAVAILABLE',
  });
});

t.test('nodes that write the audit log at once leave one whole chain', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const nodes = await Promise.all([1, 2, 3].map(() => opened(t, redis)));
  const entries = nodes.flatMap((node) => Array.from({ length: 30 }, () => node.appendAudit(auditEvent())));
  await Promise.all(entries);
  t.match(await nodes[0]?.verifyAudit('acme'), { ok: true, entries: 90 });
  await redis.command('LSET', 'p:{acme}:audit', 40, `${'0'.repeat(64)}{}`);
  t.match(await nodes[0]?.verifyAudit('acme'), { ok: false, seq: 41, problem: 'altered' });
});

t.test('refuses more waiting writes of a tenant than it has room for', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const store = await opened(t, redis);
  const results = await Promise.allSettled(
    Array.from({ length: 1_010 }, () => store.appendAudit(auditEvent())),
  );
  t.equal(results.filter((it) => it.status === 'rejected' && it.reason.code === 'GATEWAY_BUSY').length, 10);
  t.match(await store.verifyAudit('acme'), { ok: true, entries: 1_000 });
});

t.test('by its own clock, Redis fills one bucket for all nodes', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis, { clock: 'server' }), { clock: 'server' });
  const other = await opened(t, redis);
  const acme = await lab.tenant({ scansPerMinute: 1, burst: 3 });
  const key = await acme.key();
  // Nodes whose clocks are years apart.
  const yearMs = 365 * 86_400_000;
  for (let at = 0; at < 3; at += 1)
    t.match(await acme.admit(key, { nowMs: noonMs + at * yearMs }), { ok: true });
  t.match(await acme.admit(key, { nowMs: noonMs + 9 * yearMs }), { ok: false, code: 'RATE_LIMITED' });
  t.match(await lab.store.usageOf(acme.tenantId, Date.now()), { scansUsed: 3, rateLimitHits24h: 1 });
  t.match(await other.identify(key.hash, noonMs), { ok: true });
});

t.test('scripts that Redis has forgotten are sent again', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis), { clock: 'argument' });
  const acme = await lab.tenant();
  const key = await acme.key();
  t.match(await acme.admit(key), { ok: true });
  await redis.command('SCRIPT', 'FLUSH');
  t.match(await acme.admit(key), { ok: true });
  await redis.command('FLUSHALL');
  t.match(await acme.admit(key), { ok: false, code: 'INVALID_KEY' }, 'a Redis that lost all lets nobody in');
});

t.test('takes batches of any size, each call once', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const [store, other] = [await opened(t, redis), await opened(t, redis)];
  const agentId = newId();
  const calls = Array.from({ length: 700 }, (_, at) =>
    recordedCall({ agentId, destination: `d${at}`, traceId: newTraceId(noonMs), atMs: noonMs }),
  );
  const large = recordedCall({ agentId, atMs: noonMs, line: JSON.stringify({ text: 'x'.repeat(600_000) }) });
  const batches = [store, other, store].map((it) => it.recordCalls(callBatch([...calls, large], true)));
  t.same(await Promise.all(batches), [0, 0, 0]);
  t.match(await store.agentUsage('acme', [agentId], noonMs), [
    { callsTotal: 701, decisions24h: { ALLOW: 701 } },
  ]);
  t.equal(await store.traceById('acme', large.traceId), large.line);
});

t.test('an agent keeps its newest destinations', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis), { clock: 'argument' });
  const acme = await lab.tenant();
  const key = await acme.key();
  const { tenantId } = acme;
  const { agentId } = acme.agent;
  const calls = Array.from({ length: destinationsMax + 1 }, (_, at) =>
    recordedCall({ tenantId, agentId, destination: `d${at}`, atMs: at, traceId: newTraceId(noonMs) }),
  );
  await lab.store.recordCalls(callBatch(calls));
  t.match(await acme.admit(key, { destination: 'd0' }), { isNewDestination: true });
  t.match(await acme.admit(key, { destination: `d${destinationsMax}` }), { isNewDestination: false });
  const held = await redis.command('ZCARD', `p:{${tenantId}}:destinations:${agentId}`);
  t.equal(held, destinationsMax + 1 - destinationsMax / 8, 'an eighth made room');
});

t.test('approvals have room for the newest alone', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const store = await opened(t, redis);
  const [first, second] = [approvalRecord(), approvalRecord({ createdAtMs: 2_000 })];
  t.match(await store.holdCall(first), { isNew: true });
  const fill = `for i = 1, 9999 do redis.call('ZADD', KEYS[1], 0, string.format('%015d:id%d', 5000 + i, i)) end`;
  await redis.command('EVAL', fill, 1, 'p:{acme}:approvals:by-time');
  t.match(await store.approvalById('acme', first.approvalId, 1), { status: 'pending' });
  t.match(await store.holdCall({ ...second, createdAtMs: 9_000_000 }), { isNew: true });
  t.equal(await store.approvalById('acme', first.approvalId, 1), undefined);
  t.equal(await redis.command('ZCARD', 'p:{acme}:approvals:by-time'), 10_000);
  const left = (await redis.command('HKEYS', 'p:{acme}:approvals')) as string[];
  t.notOk(left.join().includes(first.callHash), 'nothing leads to what is gone');
});

t.test('an ephemeral key goes a week after its end, when the next one is made', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis), { clock: 'argument' });
  const acme = await lab.tenant();
  const key = await acme.key({ type: 'ephemeral', expiresAtMs: noonMs + 1_000 });
  const lived = await acme.key({ type: 'ephemeral', expiresAtMs: noonMs + 2 * 86_400_000 });
  t.match(await acme.admit(key), { ok: true });
  const createdAtMs = noonMs + 8 * 86_400_000;
  const next = await acme.key({ type: 'ephemeral', createdAtMs, expiresAtMs: createdAtMs + 1_000 });
  t.equal(await lab.store.keyById(acme.tenantId, key.keyId), undefined);
  const { items } = await lab.store.listKeys(acme.tenantId, { limit: 10, cursor: undefined });
  t.same(
    items.map((it) => it.keyId),
    [next.keyId, lived.keyId],
  );
  const leftMs = Number(await redis.command('PTTL', `p:hash:${key.hash}`));
  t.ok(leftMs > 0, 'and so does its hash');
});

t.test('traces go when their time has come', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const keptMs = 60_000;
  const store = await opened(t, redis, { tracesKeptMs: keptMs });
  const old = recordedCall({ traceId: newTraceId(Date.now() - 2 * keptMs) });
  const young = recordedCall({ traceId: newTraceId(Date.now()) });
  await store.recordCalls(callBatch([old]));
  await store.recordCalls(callBatch([young]));
  t.same(await redis.command('ZRANGE', 'p:{acme}:traces', 0, -1), [young.traceId]);
  const leftMs = Number(await redis.command('PTTL', `p:{acme}:trace:${young.traceId}`));
  t.ok(leftMs > 0 && leftMs <= keptMs);
});

t.test('a trace that another node is about to ship is waited for', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const [store, other] = [await opened(t, redis), await opened(t, redis)];
  const call = recordedCall({ traceId: newTraceId(Date.now()) });
  const found = store.traceById('acme', call.traceId);
  await other.recordCalls(callBatch([call]));
  t.equal(await found, call.line);
});

t.test('names in Redis hold nothing that a tenant could have made up', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis), { clock: 'argument' });
  const hostile = 'a}{b\r\nFLUSHALL\r\n*';
  const agent = await lab.store.ensureAgent({
    ...(await lab.tenant()).agent,
    agentId: newId(),
    tenantId: hostile,
  });
  const other = await lab.tenant();
  const key = { ...(await other.key()), keyId: newId(), tenantId: hostile, agentId: agent.agentId };
  const fresh = { ...key, hash: key.hash.replace(/./g, (digit) => (digit === 'f' ? '0' : 'f')) };
  await lab.store.addKey(fresh, auditEvent({ tenantId: hostile }));
  const request = admitRequest({ tenantId: hostile, terms: other.terms }, fresh, { destination: hostile });
  t.match(await lab.store.admit(request), { ok: true });
  const names = (await redis.command('KEYS', '*')) as string[];
  for (const name of names) t.match(name, /^p:(?:\{[A-Za-z0-9_.-]+\}:)?[A-Za-z0-9_.:-]+$/);
});

t.test('the breaker lets one through at a time until one succeeds', async (t) => {
  const breaker = createBreaker();
  for (let at = 0; at < failuresMax; at += 1) {
    t.ok(breaker.mayTry(at));
    breaker.failed(at);
  }
  const lastMs = failuresMax - 1;
  t.notOk(breaker.mayTry(lastMs + probeIntervalMs - 1));
  t.ok(breaker.mayTry(lastMs + probeIntervalMs), 'one tries');
  t.notOk(breaker.mayTry(lastMs + probeIntervalMs), 'and the next one does not');
  breaker.succeeded();
  t.ok(breaker.mayTry(lastMs + probeIntervalMs));
});
