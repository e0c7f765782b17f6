import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseStateUrl } from '../../src/config/sections/addresses.ts';
import { newId, newTraceId, timeOfTraceId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { openStore } from '../../src/state/open.ts';
import { Breaker, failuresMax, probeIntervalMs } from '../../src/state/redis/link/breaker.ts';
import { openConnection, whyAway } from '../../src/state/redis/link/connection.ts';
import { openRedisStore, type RedisStoreOptions, redisFormat } from '../../src/state/redis/store.ts';
import { approvalsMax, pendingMax } from '../../src/state/rules/approval.ts';
import { destinationsMax } from '../../src/state/rules/destinations.ts';
import { childrenMax, endedKeptMs } from '../../src/state/rules/ephemeral-key.ts';
import { historyKeptMs } from '../../src/state/rules/habits.ts';
import { noncesPerTenantMax } from '../../src/state/rules/nonces.ts';
import type { Store } from '../../src/state/store.ts';
import { createTestAuthority } from '../support/certificates.ts';
import { documentedAcl, type RedisServer, startRedis, until } from '../support/redis.ts';
import {
  agentRecord,
  approvalRecord,
  auditEvent,
  callBatch,
  decided,
  noonMs,
  recordedCall,
} from './records.ts';
import { storeSuite } from './store-suite.ts';
import { admitRequest, openLab } from './suite/lab.ts';

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

t.test(
  'keeps the contract of a store, with no more than the ACL user of the documentation has',
  async (t) => {
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
    const again = () => as(`p${nth}:`);
    const openEmpty = () => {
      nth += 1;
      return again();
    };
    await storeSuite(t, openEmpty, { clock: 'argument', openNode: again });
    t.same(log, [], 'nothing was refused');

    await t.rejects(
      as('q:'),
      { code: 'STATE_UNAVAILABLE', message: /^Redis answers NOPERM: the user of state\.url may not/ },
      'it has its own prefix alone',
    );
    await t.rejects(open(redis, { username: 'postern', password: 'wrong', timeoutMs: 200 }), {
      code: 'STATE_UNAVAILABLE',
    });
  },
);

t.test('keeps the contract by the clock of Redis', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  let nth = 0;
  const openEmpty = () => {
    nth += 1;
    return open(redis, { prefix: `p${nth}:`, clock: 'server' });
  };
  await storeSuite(t, openEmpty, { clock: 'server' });
});

t.test('versions that read each other’s records work side by side; an older one is refused', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const as = (number: number, readableFrom: number) => opened(t, redis, { format: { number, readableFrom } });
  const noted = async () => redisFormat({ ...redis.address, prefix: 'p:', timeoutMs: 5_000, ca: undefined });
  t.equal(await noted(), undefined, 'a state of before this was noted');
  const old = await as(1, 1);
  await old.registerTenant('acme', 1);
  const next = await as(2, 1);
  t.same(await noted(), { number: 2, readableFrom: 1 });
  t.match(await next.registeredTenants(), ['acme'], 'the next version has the records of the one before');
  await next.registerTenant('beta', 2);
  t.same([...(await old.registeredTenants())].sort(), ['acme', 'beta'], 'and that one goes on beside it');
  await as(1, 1);
  t.same(await noted(), { number: 2, readableFrom: 1 }, 'it may also be started anew');
  await as(3, 2);
  await t.rejects(as(1, 1), {
    code: 'STATE_UNAVAILABLE',
    message: 'The state in Redis needs format 2, and this version of Postern knows 1: start the newer one.',
  });
  t.same(await noted(), { number: 3, readableFrom: 2 });
});

t.test('survives a SIGKILL of Redis, and goes on by itself', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const told: string[] = [];
  const log = { warn: (_: object, message: string) => told.push(message) };
  const lab = await openLab(t, () => open(redis, { timeoutMs: 2_000, log }), { clock: 'argument' });
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
  const healed = () => told.filter((it) => it === 'Redis answers again').length;
  t.equal(healed(), 0);

  await redis.start();
  await until('a state without trouble', async () => (await lab.store.trouble()) === undefined);
  await until('an answer', async () => (await lab.store.keyById(acme.tenantId, key.keyId)) !== undefined);
  t.match(await acme.admit(key), { ok: true, scansUsed: 2 });
  t.equal(healed(), 1, 'the log says that it is over, once');
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

t.test('a process that is busy for longer than Redis may take does not take it for away', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const timeoutMs = 1_000;
  const onError = (): void => undefined;
  const connection = await openConnection({ ...redis.address, timeoutMs, ca: undefined, onError });
  t.teardown(() => connection.close());
  const beBusy = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs * 1.2);
  for (let at = 0; at < failuresMax; at += 1) {
    const asked = connection.call('SET', 'busy', at);
    beBusy();
    t.equal(await asked, 'OK', 'behind a question');
    await new Promise((resolve) => setImmediate(resolve));
    beBusy();
    t.equal(await connection.call('GET', 'busy'), String(at), 'before one');
  }
});

t.test('a server that is not there is an error of the start', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  await redis.kill();
  const told: object[] = [];
  const log = { warn: (fields: object) => void told.push(fields) };
  const message = `Redis at ${redis.host}:${redis.port} does not answer: nothing listens there.`;
  await t.rejects(open(redis, { timeoutMs: 100, log, username: 'postern', password: 'a-password' }), {
    code: 'STATE_UNAVAILABLE',
    message,
  });
  t.match(told, [{ reason: message }], 'the log says so meanwhile');
  t.notMatch(JSON.stringify(told), /a-password|"stack"/);
  const nodes = Array.from({ length: 9 }, (_, at) => ({ host: `node-${at}`, port: 7000 }));
  t.equal(
    whyAway(nodes, { code: 'EHOSTUNREACH' }),
    'Redis at node-0:7000, node-1:7000, node-2:7000, node-3:7000, … does not answer: EHOSTUNREACH.',
  );
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

t.test('warns of a clock that is far from that of Redis', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const warnings = async (apartMs: number): Promise<readonly string[]> => {
    const found: string[] = [];
    const log = { warn: (_: object, message: string) => found.push(message) };
    const store = await open(redis, { log, now: () => Date.now() + apartMs });
    await store.close();
    return found;
  };
  t.same(await warnings(5_000), []);
  t.same(await warnings(-5_000), []);
  t.match(await warnings(600_000), [/^The clock of this machine is 600 s ahead of that of Redis/]);
  t.match(await warnings(-600_000), [/^The clock of this machine is 600 s behind that of Redis/]);
});

t.test('a Redis that answers and takes no writes is no state that is fine', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const store = await opened(t, redis);
  t.equal(await store.trouble(), undefined);
  await redis.command('CONFIG', 'SET', 'maxmemory', 1);
  t.equal(await store.trouble(), 'Redis answers, and takes no writes (OOM).');
  await redis.command('CONFIG', 'SET', 'maxmemory', 0);
  t.equal(await store.trouble(), undefined);
  await redis.command('CONFIG', 'SET', 'min-replicas-to-write', 1);
  t.equal(await store.trouble(), 'Redis answers, and takes no writes (NOREPLICAS).');
  await redis.command('CONFIG', 'SET', 'min-replicas-to-write', 0);
  await redis.command('REPLICAOF', redis.host, redis.port + 1);
  t.equal(await store.trouble(), 'Redis answers, and takes no writes (READONLY).');
  await redis.command('REPLICAOF', 'NO', 'ONE');
  await until('a state without trouble', async () => (await store.trouble()) === undefined);
});

t.test('speaks TLS with a server that proves its name, as the user of the URL', async (t) => {
  const authority = createTestAuthority();
  const files = t.testdir({
    data: {},
    'ca.pem': authority.certPem,
    'other-ca.pem': createTestAuthority().certPem,
    'other.pem': authority.issue({ names: ['other.example'] }).certPem,
    'expired.pem': authority.issue({ validFromDays: -9, validToDays: -1 }).certPem,
  });
  const redis = await startRedis(t, { dir: join(files, 'data'), tls: authority.issue() });
  if (!redis) return;
  const password = `p@ss/:${newId()}`;
  await redis.command('ACL', 'SETUSER', 'postern', 'on', `>${password}`, ...documentedAcl());
  const as = (user: string, caFile: string | null = 'ca.pem', host = 'localhost') => {
    const url = parseStateUrl(`rediss://${user}@${host}:${redis.tlsPort}/0?prefix=p:`);
    if (!url) throw new Error('no URL');
    const log = { warn: () => undefined };
    return openStore({ url, dir: '', timeoutMs: 400, caFile: caFile && join(files, caFile), log });
  };
  const postern = `postern:${encodeURIComponent(password)}`;
  for (const host of ['localhost', '127.0.0.1']) {
    const store = await as(postern, 'ca.pem', host);
    t.teardown(() => store.close());
    const { approval } = await store.holdCall(approvalRecord());
    t.same(await store.approvalById('acme', approval.approvalId, 1), approval, host);
  }
  const away = { code: 'STATE_UNAVAILABLE' };
  const because = (cause: object) => ({ ...away, cause });
  await t.rejects(as('postern:wrong'), because({ message: /^WRONGPASS/ }), 'a wrong password');
  const unknown = because({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  await t.rejects(as(postern, 'other-ca.pem'), unknown, 'an authority that nobody named');
  await t.rejects(as(postern, null), unknown, 'nor does Node know it');
  await t.rejects(as(postern, 'missing.pem'), { ...away, message: /missing\.pem of state\.ca_file/ });
  for (const [name, code] of [
    ['other.pem', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['expired.pem', 'CERT_HAS_EXPIRED'],
  ] as const) {
    await redis.command('CONFIG', 'SET', 'tls-cert-file', join(files, name));
    await t.rejects(as(postern), because({ code }), name);
  }
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
    Array.from({ length: 4_010 }, () => store.appendAudit(auditEvent())),
  );
  t.equal(results.filter((it) => it.status === 'rejected' && it.reason.code === 'GATEWAY_BUSY').length, 10);
  t.match(await store.verifyAudit('acme'), { ok: true, entries: 4_000 });
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

t.test('calls of one turn are admitted by one command, and counted one by one', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis), { clock: 'argument' });
  const acme = await lab.tenant({ scansPerMonth: 30 });
  const [key, other] = [await acme.key(), await acme.key({ maxUses: 4 })];
  const agent = await acme.agentOf();
  // The first call of a key reads what is known of it.
  for (const it of [key, other]) t.match(await acme.admit(it, { agentId: agent.agentId }), { ok: true });
  await redis.command('CONFIG', 'RESETSTAT');
  const [own, named, ofOther] = await Promise.all([
    acme.admitMany(10, key),
    acme.admitMany(10, key, { agentId: agent.agentId }),
    acme.admitMany(10, other),
  ]);
  t.match(String(await redis.command('INFO', 'commandstats')), /^cmdstat_evalsha:calls=1,/m);
  t.same([own, named, ofOther], [10, 10, 3]);
  t.match(await lab.store.usageOf(acme.tenantId, noonMs), { scansUsed: 25 });
  t.equal(await acme.admitMany(200, key), 5, 'the quota holds within a command, and over several');
  const tenants = await Promise.all([lab.tenant(), lab.tenant()]);
  const keys = await Promise.all(tenants.map((it) => it.key()));
  const letIn = await Promise.all(tenants.map((it, at) => it.admitMany(70, keys[at] ?? key)));
  t.same(letIn, [70, 70], 'each tenant has its own command');
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
    recordedCall({ agentId, destination: ownName(`d${at}`), traceId: newTraceId(noonMs), atMs: noonMs }),
  );
  const large = recordedCall({
    agentId,
    atMs: noonMs,
    line: ownName(JSON.stringify({ text: 'x'.repeat(600_000) })),
  });
  const batches = [store, other, store].map((it) => it.recordCalls(callBatch([...calls, large], true)));
  t.same(await Promise.all(batches), [0, 0, 0]);
  t.match(await store.agentUsage('acme', [agentId], noonMs), [
    { callsTotal: 701, decisions24h: { ALLOW: 701 } },
  ]);
  t.equal(await store.traceById('acme', large.traceId), large.line);
});

t.test('what is known of an agent goes ninety days after its last call', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const store = await opened(t, redis);
  const agentId = newId();
  const marks = [{ cause: 'denial', parts: 500, atMs: noonMs, traceId: newId() } as const];
  await store.recordCalls(callBatch([recordedCall({ agentId, atMs: noonMs, marks })]));
  for (const name of ['history', 'marks', 'destinations']) {
    const leftMs = Number(await redis.command('PTTL', `p:{acme}:${name}:${agentId}`));
    t.ok(leftMs > historyKeptMs - 60_000 && leftMs <= historyKeptMs, name);
  }
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
    recordedCall({
      tenantId,
      agentId,
      destination: ownName(`d${at}`),
      atMs: at,
      traceId: newTraceId(noonMs),
    }),
  );
  await lab.store.recordCalls(callBatch(calls));
  t.match(await acme.admit(key, { destination: 'd0' }), { isNewDestination: true });
  t.match(await acme.admit(key, { destination: `d${destinationsMax}` }), { isNewDestination: false });
  const held = await redis.command('ZCARD', `p:{${tenantId}}:destinations:${agentId}`);
  t.equal(held, destinationsMax + 1 - destinationsMax / 8, 'an eighth made room');
});

t.test('approvals that count no more make room, and no others', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const store = await opened(t, redis);
  const denied = approvalRecord({ createdAtMs: noonMs - 2_000 });
  const expired = approvalRecord({ createdAtMs: noonMs - 1_000, expiresAtMs: noonMs });
  for (const it of [denied, expired]) t.match(await store.holdCall(it), { isNew: true });
  const denial = decided({ decision: 'denied', nowMs: noonMs, windowMs: 60_000 });
  await store.decideApproval('acme', denied.approvalId, denial, auditEvent());
  const fill = `for i = 1, ${approvalsMax - 2} do
    local place = string.format('%015d:id%d', ${noonMs}, i)
    redis.call('ZADD', KEYS[1], 0, place)
    redis.call('ZADD', KEYS[2], ${noonMs + 5_000}, place)
  end`;
  await redis.command('EVAL', fill, 2, 'p:{acme}:approvals:by-time', 'p:{acme}:approvals:by-end');

  t.match(await store.holdCall(approvalRecord({ createdAtMs: noonMs + 1_000 })), { isNew: true });
  t.equal(await store.approvalById('acme', expired.approvalId, 1), undefined);
  const left = (await redis.command('HKEYS', 'p:{acme}:approvals')) as string[];
  t.notOk(left.join().includes(expired.callHash), 'nothing leads to what is gone');
  const again = { ...denied, approvalId: newId(), createdAtMs: noonMs + 2_000 };
  t.match(await store.holdCall(again), { kind: 'denied' }, 'the oldest still counts');
  const late = approvalRecord({ createdAtMs: noonMs + 2_000 });
  await t.rejects(store.holdCall(late), { code: 'GATEWAY_BUSY' }, 'while all of them count');
  t.match(await store.holdCall({ ...late, createdAtMs: noonMs + 5_000 }), { isNew: true });
  t.equal(await redis.command('ZCARD', 'p:{acme}:approvals:by-time'), approvalsMax);
  t.equal(await redis.command('ZCARD', 'p:{acme}:approvals:by-end'), approvalsMax);
});

t.test('no more approvals of a tenant are pending than people can decide', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const nodes = [await opened(t, redis), await opened(t, redis)] as const;
  const [store] = nodes;
  const fill = `for i = 2, ${pendingMax - 1} do redis.call('ZADD', KEYS[1], ${noonMs + 9}, 'id' .. i) end`;
  await redis.command('EVAL', fill, 1, 'p:{acme}:approvals:pending');
  const { approval: first } = await store.holdCall(approvalRecord({ expiresAtMs: noonMs + 5 }));
  const asked = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) => nodes[at % 2]?.holdCall(approvalRecord())),
  );
  t.equal(asked.filter((it) => it.status === 'fulfilled').length, 1, 'one has room, on all nodes together');
  for (const it of asked) if (it.status === 'rejected') t.match(it.reason, { code: 'GATEWAY_BUSY' });
  t.match(await store.holdCall({ ...approvalRecord(), callHash: first.callHash }), { isNew: false });
  t.match(await store.holdCall(approvalRecord({ tenantId: 'other' })), { isNew: true });
  await store.decideApproval('acme', first.approvalId, decided({ nowMs: noonMs + 1 }), auditEvent());
  t.match(await store.holdCall(approvalRecord()), { isNew: true }, 'a decision makes room');
  await t.rejects(store.holdCall(approvalRecord()), { code: 'GATEWAY_BUSY' });
  const late = approvalRecord({ createdAtMs: noonMs + 9 });
  t.match(await store.holdCall(late), { isNew: true }, 'and so does time');
  const pending = () => redis.command('ZCARD', 'p:{acme}:approvals:pending');
  const dayLater = approvalRecord({ createdAtMs: noonMs + 86_400_009, expiresAtMs: noonMs + 86_400_010 });
  t.match(await store.holdCall(dayLater), { isNew: true });
  t.equal(await pending(), 4, 'what has ended is forgotten in a day, even if nobody was told');
  const endMs = noonMs + 86_400_010;
  t.equal((await store.expireApprovals(endMs)).length, 5, 'of all tenants');
  t.equal(await pending(), 0);
});

t.test('the hash of an ephemeral key goes with it', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis), { clock: 'argument' });
  const acme = await lab.tenant();
  const key = await acme.key({ type: 'ephemeral', expiresAtMs: noonMs + 1_000 });
  const leftMs = Number(await redis.command('PTTL', `p:hash:${key.hash}`));
  t.ok(leftMs > 0 && leftMs <= endedKeptMs + 1_000);
});

t.test('a key has no more living children than it may', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const lab = await openLab(t, () => open(redis), { clock: 'argument' });
  const acme = await lab.tenant();
  const [parent, other] = [await acme.key(), await acme.key()];
  const child = (parentKeyId = parent.keyId, createdAtMs = noonMs) =>
    acme.key({ type: 'ephemeral', parentKeyId, createdAtMs, expiresAtMs: createdAtMs + 600_000 });
  const first = await child();
  const fill = `for i = 2, ${childrenMax} do redis.call('ZADD', KEYS[1], ${noonMs + 9}, 'id' .. i) end`;
  await redis.command('EVAL', fill, 1, `p:{${acme.tenantId}}:keys:of:${parent.keyId}`);
  await t.rejects(child(), { code: 'GATEWAY_BUSY' });
  t.ok(await child(other.keyId), 'another key has its own');
  await lab.store.revokeKey(acme.tenantId, first.keyId, acme.event());
  t.ok(await child(), 'one that is revoked makes room');
  await t.rejects(child(), { code: 'GATEWAY_BUSY' });
  t.ok(await child(parent.keyId, noonMs + 9), 'and so do those that have ended');
});

t.test('nonces of a tenant are bounded, whatever its keys have', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const store = await opened(t, redis);
  const fill = `for i = 2, ${noncesPerTenantMax} do redis.call('ZADD', KEYS[1], ${noonMs + 9}, i) end`;
  await redis.command('EVAL', fill, 1, 'p:{acme}:nonces');
  const claim = async (nonce: string, nowMs = noonMs) =>
    store.claimNonce('acme', newId(), nonce, nowMs, nowMs + 60_000);
  t.equal(await claim('last'), true);
  await t.rejects(claim('one more'), { code: 'GATEWAY_BUSY' });
  t.equal(await claim('later', noonMs + 9), true);
  t.equal(await claim('much later', noonMs + 180_000), true);
  t.equal(await redis.command('ZCARD', 'p:{acme}:nonces'), 1, 'what has ended long ago is gone');
});

t.test('traces go when their time has come', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const keptMs = 60_000;
  const store = await opened(t, redis);
  await store.keepTraces(() => keptMs);
  const old = recordedCall({ traceId: newTraceId(Date.now() - 2 * keptMs) });
  const young = recordedCall({ traceId: newTraceId(Date.now()) });
  await store.recordCalls(callBatch([old]));
  await store.recordCalls(callBatch([young]));
  const index = 'p:{acme}:traces';
  const secondOf = ({ traceId }: { traceId: string }) => Math.floor((timeOfTraceId(traceId) ?? 0) / 1_000);
  t.same(await redis.command('ZRANGE', index, 0, -1), [String(secondOf(young))]);
  for (const name of [`traces:${secondOf(young)}`, `traces:ids:${secondOf(young)}`]) {
    const leftMs = Number(await redis.command('PTTL', `p:{acme}:${name}`));
    t.ok(leftMs > 0 && leftMs <= keptMs, name);
  }
  const dayMs = 86_400_000;
  for (const [lengthMs, lifeMs] of [
    [60_000, 2 * dayMs],
    [3_600_000, 60 * dayMs],
    [dayMs, keptMs],
  ] as const) {
    const startMs = Math.floor(young.atMs / lengthMs) * lengthMs;
    const leftMs = Number(await redis.command('PTTL', `p:{acme}:stats:${lengthMs}:${startMs}`));
    t.ok(leftMs > lifeMs && leftMs <= lifeMs + lengthMs, `counts of ${lengthMs} ms`);
  }

  // What has gathered for years goes in steps.
  const gathered = Array.from({ length: 3_000 }, (_, at) => at + 1);
  await redis.command('ZADD', index, ...gathered.flatMap((it) => [it, it]));
  const sizes = [];
  for (let batch = 1; batch <= 3; batch += 1) {
    const traceId = newTraceId(Date.now() + batch * 10_000);
    await store.recordCalls(callBatch([recordedCall({ traceId })]));
    sizes.push(await redis.command('ZCARD', index));
  }
  t.same(sizes, [3_001 + 1 - 1_024, 3_001 + 2 - 2_048, 4]);
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

t.test('a prefix that another tenant has by now is not let go with a route of the one before', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const store = await opened(t, redis);
  const routeOf = (tenantId: string) => ({
    ...{ tenantId, prefix: 'chat', document: {}, sealedToken: null, keyId: null },
    ...{ createdAtMs: noonMs, changedAtMs: noonMs },
  });
  await store.addRoute(routeOf('one'), auditEvent({ tenantId: 'one' }));
  // As a deletion leaves it that has failed half-way, once its time has come.
  await redis.command('DEL', 'p:route:chat');
  await store.addRoute(routeOf('two'), auditEvent({ tenantId: 'two' }));
  t.equal(await store.removeRoute('one', 'chat', auditEvent({ tenantId: 'one' })), true);
  t.equal(await store.routeOwner('chat'), 'two');
  t.equal(await redis.command('PTTL', 'p:route:chat'), -1, 'and it stays so');
  await t.rejects(store.addRoute(routeOf('one'), auditEvent({ tenantId: 'one' })), { code: 'CONFLICT' });
  await store.removeRoute('two', 'chat', auditEvent({ tenantId: 'two' }));
  t.not(await redis.command('PTTL', 'p:route:chat'), -1, 'what is let go leaves nothing in the end');
  await store.addRoute(routeOf('one'), auditEvent({ tenantId: 'one' }));
  t.equal(await store.routeOwner('chat'), 'one');
});

t.test('a claim to an agent whose record was never written is taken over', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const store = await opened(t, redis);
  for (const text of ['gone', 'gone?']) {
    const agent = agentRecord();
    await redis.command('SET', `p:agent:${agent.agentId}`, text);
    t.equal(await store.agentById(agent.agentId), undefined, text);
    t.same(await store.ensureAgent(agent), agent, `${text}: after a while`);
    t.equal(
      await redis.command('GET', `p:agent:${agent.agentId}`),
      agent.tenantId,
      'and the claim is confirmed',
    );
  }
});

t.test('a claim that nobody has confirmed belongs to whoever has the record', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const store = await opened(t, redis);
  const agent = await store.ensureAgent(agentRecord());
  await redis.command('SET', `p:agent:${agent.agentId}`, `${agent.tenantId}?`);
  t.same(await store.agentById(agent.agentId), agent);
  t.same(await store.ensureAgent({ ...agent, tenantId: 'another' }), agent);
  t.equal(await redis.command('GET', `p:agent:${agent.agentId}`), agent.tenantId, 'and is confirmed for it');
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
  const breaker = new Breaker();
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
