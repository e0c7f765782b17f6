import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { newId, newTraceId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { copyDatabase } from '../../src/state/embedded/sqlite.ts';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import { chunkBytesMax } from '../../src/state/embedded/traces/traces-chunks.ts';
import { removedMax } from '../../src/state/embedded/traces/traces-removal.ts';
import { toLine } from '../../src/state/journal/line.ts';
import { approvalsMax, pendingMax } from '../../src/state/rules/approval.ts';
import { destinationsMax } from '../../src/state/rules/destinations.ts';
import { childrenMax } from '../../src/state/rules/ephemeral-key.ts';
import { historyKeptMs } from '../../src/state/rules/habits.ts';
import { incidentsMax } from '../../src/state/rules/incident.ts';
import type { ApprovalRecord, Store } from '../../src/state/store.ts';
import { startChild } from './child.ts';
import {
  admitRequest,
  agentRecord,
  approvalRecord,
  auditEvent,
  callBatch,
  decided,
  incidentRecord,
  keyRecord,
  noonMs,
  policyApply,
  recordedCall,
} from './records.ts';
import { storeSuite } from './store-suite.ts';
import { openLab } from './suite/lab.ts';

t.test('keeps the contract of a store', async (t) => {
  const dir = t.testdir();
  let opened = 0;
  await storeSuite(t, () => {
    opened += 1;
    return openEmbeddedStore({ dir: join(dir, String(opened)) });
  });
});

async function open(t: Test, dir: string): Promise<Store> {
  const store = await openEmbeddedStore({ dir });
  t.teardown(() => store.close());
  return store;
}

/** Another program that looks into a database, as an operator might. */
function inspect(t: Test, file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  t.teardown(() => db.isOpen && db.close());
  return db;
}

t.test('a database is copied as it is at one moment, however often others commit meanwhile', async (t) => {
  const dir = t.testdir();
  const db = inspect(t, join(dir, 'from.db'));
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE commits (at INTEGER, filler BLOB)',
  );
  db.exec('INSERT INTO commits VALUES (0, zeroblob(60000000))');
  const add = db.prepare('INSERT INTO commits VALUES (?, zeroblob(10))');
  let commits = 0;
  const writing = setInterval(() => {
    commits += 1;
    add.run(commits);
  }, 2);
  // Without an end of the commits a copy that begins anew after each of them would never end.
  const end = setTimeout(() => clearInterval(writing), 20_000);
  await copyDatabase(join(dir, 'from.db'), join(dir, 'to.db'));
  t.ok(commits > 5, `${commits} commits meanwhile`);
  const copied = Number(
    inspect(t, join(dir, 'to.db')).prepare('SELECT max(at) AS at FROM commits').get()?.['at'],
  );
  t.ok(copied < commits, `the copy has ${copied} of ${commits} commits`);
  clearInterval(writing);
  clearTimeout(end);
});

t.test('an agent that has not called for ninety days is forgotten', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const nowMs = Date.now();
  const agents = [await store.ensureAgent(agentRecord()), await store.ensureAgent(agentRecord())];
  const calls = agents.map(({ agentId }, at) => {
    const atMs = at === 0 ? nowMs - historyKeptMs - 1 : nowMs - historyKeptMs + 60_000;
    const marks = [{ cause: 'denial', parts: 500, atMs, traceId: newId() } as const];
    return recordedCall({ agentId, atMs, traceId: newTraceId(nowMs), marks });
  });
  await store.recordCalls(callBatch(calls));
  await store.keepTraces(() => 1_000);
  await store.close();
  const after = await open(t, dir);
  const ids = agents.map((it) => it.agentId);
  t.match(await after.trustOf('acme', ids), [
    { parts: 10_000, marks: [] },
    { parts: 9_500, marks: [{}] },
  ]);
  const isNew = await Promise.all(
    ids.map(async (agentId) => {
      const question = { tenantId: 'acme', agentId, destination: 'api.example.com', charges: [] };
      return (await after.standingOf(question)).isNewDestination;
    }),
  );
  t.same(isNew, [true, false]);
});

t.test('finds everything again after a restart', async (t) => {
  const dir = join(t.testdir(), 'made', 'on', 'the', 'way');
  const before = await open(t, dir);
  const agent = await before.ensureAgent(agentRecord());
  const key = keyRecord({ agentId: agent.agentId });
  await before.addKey(key, auditEvent());
  await before.registerTenant('beta', 1);
  const suspension = { tenantId: 'beta', sinceMs: 1, by: 'admin', note: 'a breach' };
  await before.suspendTenant(suspension, auditEvent({ tenantId: 'beta' }));
  const policy = await before.applyPolicy(policyApply(), auditEvent());
  const { approval } = await before.holdCall(approvalRecord());
  const call = recordedCall({ agentId: agent.agentId });
  await before.recordCalls(callBatch([call]));
  const chain = await before.verifyAudit('acme');
  await before.close();
  await before.close();
  await t.rejects(before.registerTenant('late', 1), { code: 'SHUTTING_DOWN' });
  await t.rejects(before.recordCalls(callBatch([call])), { code: 'SHUTTING_DOWN' });

  const after = await open(t, dir);
  const admission = await after.admit(admitRequest({ keyHash: key.hash, destination: call.destination }));
  t.match(admission, { ok: true, isNewDestination: false, identity: { agentId: agent.agentId } });
  t.same(await after.keyById('acme', key.keyId), key);
  t.same(await after.registeredTenants(), ['beta']);
  t.same(await after.suspensionOf('beta'), suspension);
  t.same(await after.policiesOf('acme'), [policy]);
  t.same(await after.approvalById('acme', approval.approvalId, 1), approval);
  t.equal(await after.traceById('acme', call.traceId), call.line);
  t.same(await after.verifyAudit('acme'), chain);
});

t.test('answers the hot path on the same turn of the event loop', async (t) => {
  const store = await open(t, t.testdir());
  const agent = await store.ensureAgent(agentRecord());
  const key = keyRecord({ agentId: agent.agentId });
  await store.addKey(key, auditEvent());
  const request = admitRequest({ keyHash: key.hash });
  const first = store.admit(request);
  const second = store.admit(request);
  t.notOk(first instanceof Promise);
  t.ok(
    'identity' in first && 'identity' in second && first.identity === second.identity,
    'one identity a key',
  );
});

t.test('nobody else can read the state', async (t) => {
  const dir = join(t.testdir(), 'state');
  const store = await open(t, dir);
  await store.registerTenant('acme', 1);
  await store.recordCalls(callBatch([recordedCall()]));
  t.equal(statSync(dir).mode & 0o777, 0o700);
  for (const name of ['state.db', 'state.db-wal', 'traces.db', 'traces.db-wal', 'lock.db']) {
    t.equal(statSync(join(dir, name)).mode & 0o777, 0o600, name);
  }
});

t.test('refuses a directory that another daemon has, and only then', async (t) => {
  const dir = t.testdir();
  const store = await openEmbeddedStore({ dir });
  await t.rejects(openEmbeddedStore({ dir }), { code: 'STATE_UNAVAILABLE', message: new RegExp(dir) });
  const second = startChild(t, 'opener.ts', dir);
  t.match(
    await second.line(Boolean),
    /^refused STATE_UNAVAILABLE/,
    'the refused one has not loosened the lock',
  );
  await store.close();

  const child = startChild(t, 'writer.ts', dir);
  await child.line((it) => it.startsWith('key '));
  await t.rejects(openEmbeddedStore({ dir }), { code: 'STATE_UNAVAILABLE', message: new RegExp(dir) });
  await child.kill();
  await open(t, dir);
  t.pass('a killed daemon leaves no lock behind');
});

t.test('refuses what it cannot read', async (t) => {
  const cases = [
    {
      name: 'a database of a newer version',
      spoil: (file: string) => inspect(t, file).exec('PRAGMA user_version = 999'),
      message: /state\.db has schema version 999.*knows \d+/,
    },
    {
      name: 'a file that is no database',
      spoil: (file: string) => writeFileSync(file, 'x'.repeat(8_192)),
      message: /cannot be read/,
    },
  ];
  for (const { name, spoil, message } of cases) {
    const dir = join(t.testdir(), name.replaceAll(' ', '-'));
    await (await openEmbeddedStore({ dir })).close();
    spoil(join(dir, 'state.db'));
    await t.rejects(openEmbeddedStore({ dir }), { code: 'STATE_UNAVAILABLE', message }, name);
    await t.rejects(openEmbeddedStore({ dir }), { message }, 'and leaves the directory unlocked behind');
  }
});

t.test('a write that fails changes neither disk nor memory, and later ones work', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const agent = await store.ensureAgent(agentRecord());
  const key = keyRecord({ agentId: agent.agentId });
  const late = agentRecord();
  const holder = inspect(t, join(dir, 'state.db'));

  holder.exec('BEGIN IMMEDIATE');
  const results = await Promise.allSettled([
    store.addKey(key, auditEvent()),
    store.ensureAgent(late),
    store.applyPolicy(policyApply(), auditEvent()),
    store.holdCall(approvalRecord()),
  ]);
  for (const it of results) t.match(it, { status: 'rejected', reason: { code: 'STATE_UNAVAILABLE' } });
  t.match(store.identify(key.hash, 1), { ok: false }, 'memory does not know the key');
  t.equal(await store.agentById(late.agentId), undefined);
  t.same(await store.policiesOf('acme'), []);
  holder.exec('ROLLBACK');

  await store.addKey(key, auditEvent());
  t.match(store.identify(key.hash, 1), { ok: true });
  t.match(await store.verifyAudit('acme'), { ok: true, entries: 1 });

  const traceHolder = inspect(t, join(dir, 'traces.db'));
  const call = recordedCall({ agentId: agent.agentId });
  traceHolder.exec('BEGIN IMMEDIATE');
  await t.rejects(store.recordCalls(callBatch([call])), { code: 'STATE_UNAVAILABLE' });
  traceHolder.exec('ROLLBACK');
  t.equal(await store.traceById('acme', call.traceId), undefined);
  await store.recordCalls(callBatch([call]));
  t.equal(await store.traceById('acme', call.traceId), call.line);
});

t.test('keeps traces in chunks of bounded size, of one tenant and one second', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const line = JSON.stringify({ text: 'x'.repeat(200_000) });
  const calls = [
    ...Array.from({ length: 5 }, () => recordedCall({ line: ownName(line) })),
    recordedCall({ line: ownName(JSON.stringify({ text: 'x'.repeat(chunkBytesMax) })) }),
    recordedCall({ tenantId: 'other' }),
    recordedCall({ traceId: newTraceId(1_999) }),
    recordedCall({ traceId: newTraceId(2_000) }),
  ];
  await store.recordCalls(callBatch(calls));
  const rows = inspect(t, join(dir, 'traces.db')).prepare('SELECT * FROM trace_chunks').all();
  t.same(rows.map((it) => it['count']).sort(), [1, 1, 1, 1, 1, 2, 2]);
  for (const row of rows) {
    t.ok(row['count'] === 1 || (row['lines'] as Uint8Array).length <= chunkBytesMax);
    t.equal(Math.floor(Number(row['first_ms']) / 1_000), Math.floor(Number(row['last_ms']) / 1_000));
  }
  for (const call of calls) t.equal(await store.traceById(call.tenantId, call.traceId), call.line);
});

t.test('leaves out lines that are not whole, and says how many', async (t) => {
  const store = await open(t, t.testdir());
  const call = recordedCall();
  const line = toLine(call).trimEnd();
  const otherVersion = line.replace('-7', '-4');
  const fieldMissing = line.replace('ALLOW\t', '');
  const broken = ['', 'noise', line.slice(0, 60), line.slice(0, -1), otherVersion, fieldMissing];
  const lines = new TextEncoder().encode([...broken, line, line].join('\n'));
  t.equal(await store.recordCalls({ lines, mayRepeat: false }), broken.length + 1, 'the last one has no end');
  t.equal(await store.traceById('acme', call.traceId), call.line);
});

t.test('a thread that cannot write traces is replaced', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const traces = inspect(t, join(dir, 'traces.db'));
  const version = Number(traces.prepare('PRAGMA user_version').get()?.['user_version']);
  const call = recordedCall();

  traces.exec('PRAGMA user_version = 999');
  await t.rejects(store.recordCalls(callBatch([call])), { code: 'STATE_UNAVAILABLE' });
  traces.exec(`PRAGMA user_version = ${version}`);
  await store.recordCalls(callBatch([call]));
  t.equal(await store.traceById('acme', call.traceId), call.line);
});

t.test('in a group, a write that fails takes no other with it', async (t) => {
  const store = await open(t, t.testdir());
  const agent = await store.ensureAgent(agentRecord());
  // More than fit into one transaction.
  const keys = Array.from({ length: 1_200 }, () => keyRecord({ agentId: agent.agentId }));
  const results = await Promise.allSettled(
    keys.map((key, at) => store.addKey(at % 3 === 0 ? { ...key, agentId: newId() } : key, auditEvent())),
  );
  for (const [at, key] of keys.entries()) {
    const fails = at % 3 === 0;
    if ((results[at]?.status === 'rejected') !== fails || 'key' in store.identify(key.hash, 1) === fails) {
      t.fail(`key ${at} has the wrong end`);
    }
  }
  t.match(await store.verifyAudit('acme'), { ok: true, entries: 800 });
});

t.test('refuses more waiting writes than it has room for', async (t) => {
  const store = await open(t, t.testdir());
  const writes = Array.from({ length: 20_100 }, () => store.registerTenant('acme', 1));
  const results = await Promise.allSettled(writes);
  const refused = results.filter((it) => it.status === 'rejected' && it.reason.code === 'GATEWAY_BUSY');
  t.equal(refused.length, 100);
  await store.registerTenant('acme', 1);
});

t.test('an agent keeps its newest destinations', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const agent = await store.ensureAgent(agentRecord());
  const key = keyRecord({ agentId: agent.agentId });
  await store.addKey(key, auditEvent());
  const calls = Array.from({ length: destinationsMax + 10 }, (_, at) =>
    recordedCall({ agentId: agent.agentId, destination: ownName(`d${at}`), traceId: newTraceId(at) }),
  );
  for (let at = 0; at < calls.length; at += 1_000) {
    await store.recordCalls(callBatch(calls.slice(at, at + 1_000)));
  }
  await store.close();

  const again = await open(t, dir);
  const isNew = (destination: string) => {
    const admission = again.admit(admitRequest({ keyHash: key.hash, destination }));
    return 'isNewDestination' in admission && admission.isNewDestination;
  };
  t.ok(isNew('d0'), 'the oldest is forgotten');
  t.notOk(isNew(`d${destinationsMax + 9}`), 'the newest is known');
  const db = inspect(t, join(dir, 'traces.db'));
  const held = Number(db.prepare('SELECT count(*) AS held FROM destinations').get()?.['held']);
  t.equal(held, destinationsMax - destinationsMax / 8, 'an eighth made room');
});

t.test('says what is wrong with its disk, and when all is well again', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  t.equal(await store.trouble(), undefined);

  const state = inspect(t, join(dir, 'state.db'));
  state.exec('BEGIN IMMEDIATE');
  await t.rejects(store.registerTenant('acme', 1), { code: 'STATE_UNAVAILABLE' });
  t.match(await store.trouble(), /state\.db takes no transaction \(database is locked\)/);
  state.exec('ROLLBACK');
  t.equal(await store.trouble(), undefined, 'it finds out by itself');

  const traces = inspect(t, join(dir, 'traces.db'));
  traces.exec('BEGIN IMMEDIATE');
  await t.rejects(store.recordCalls(callBatch([recordedCall()])), { code: 'STATE_UNAVAILABLE' });
  t.match(await store.trouble(), /traces\.db/);
  traces.exec('ROLLBACK');
  await store.recordCalls(callBatch([recordedCall()]));
  t.equal(await store.trouble(), undefined);
  await t.rejects(store.addKey(keyRecord({ agentId: newId() }), auditEvent()), { code: 'NOT_FOUND' });
  t.equal(await store.trouble(), undefined, 'what is refused is no trouble');
});

t.test('a page of traces reads a bounded number of bytes', async (t) => {
  const store = await open(t, t.testdir());
  const filler = 'x'.repeat(400_000);
  const calls = Array.from({ length: 30 }, (_, at) =>
    recordedCall({
      traceId: newTraceId(at * 1_000),
      line: ownName(JSON.stringify({ tool_name: at < 2 ? 'rare' : 'common', filler })),
    }),
  );
  for (const call of calls) await store.recordCalls(callBatch([call]));

  let cursor: string | undefined;
  let found = 0;
  let pages = 0;
  do {
    const page = await store.listTraces('acme', { toolName: 'rare' }, { limit: 10, cursor });
    found += page.items.length;
    pages += 1;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  t.equal(found, 2);
  t.equal(pages, 2, '8 MB of the 12 were enough for the first');
  const all = await store.listTraces('acme', {}, { limit: 5, cursor: undefined });
  t.same(
    all.items,
    calls
      .slice(-5)
      .reverse()
      .map((it) => it.line),
    'newest first',
  );
});

t.test('looks for traces in a bounded number of seconds', async (t) => {
  const store = await open(t, t.testdir());
  const calls = Array.from({ length: 2_500 }, (_, at) => recordedCall({ traceId: newTraceId(at * 1_000) }));
  await store.recordCalls(callBatch(calls));
  const first = await store.listTraces('acme', { toolName: 'none' }, { limit: 10, cursor: undefined });
  t.match(first, { items: [], nextCursor: String });
  let found = 0;
  // A page also ends in time: on a busy machine the first one stops earlier, and there are more of them.
  for (let cursor = first.nextCursor; cursor !== null; ) {
    const page = await store.listTraces('acme', {}, { limit: 1_000, cursor });
    found += page.items.length;
    cursor = page.nextCursor;
  }
  t.ok(found >= 500 && found < 2_500, `the next pages go on where the first one stopped: ${found} are left`);
});

t.test('the audit log is append-only, and shows what was done to it', async (t) => {
  const cases = [
    {
      name: 'an entry altered',
      sql: "UPDATE audit SET entry = replace(entry, 'admin', 'nobody') WHERE seq = 3",
      want: { seq: 3, problem: 'altered' },
    },
    {
      name: 'an entry that is no JSON',
      isReadable: false,
      sql: "UPDATE audit SET entry = 'x', hash = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' WHERE seq = 2",
      want: { seq: 2, problem: 'altered' },
    },
    {
      name: 'an entry removed',
      sql: 'DELETE FROM audit WHERE seq = 2',
      want: { seq: 2, problem: 'missing' },
    },
    {
      name: 'the first removed',
      sql: 'DELETE FROM audit WHERE seq = 1',
      want: { seq: 1, problem: 'missing' },
    },
    {
      name: 'two changed places',
      sql: 'UPDATE audit SET seq = -seq WHERE seq IN (2, 3); UPDATE audit SET seq = 5 + seq WHERE seq < 0',
      want: { seq: 2, problem: 'altered' },
    },
    {
      name: 'one of another tenant put in',
      sql: "UPDATE audit SET tenant_id = 'other' WHERE seq = 1000",
      want: { seq: 1000, problem: 'missing' },
    },
  ];
  for (const { name, sql, want, isReadable = true } of cases) {
    const dir = join(t.testdir(), name.replaceAll(' ', '-'));
    const store = await open(t, dir);
    await Promise.all(Array.from({ length: 1_001 }, () => store.applyPolicy(policyApply(), auditEvent())));
    t.match(await store.verifyAudit('acme'), { ok: true, entries: 1_001 });

    const db = inspect(t, join(dir, 'state.db'));
    t.throws(() => db.exec(sql), { message: 'audit is append-only' });
    db.exec('DROP TRIGGER audit_keeps_entries; DROP TRIGGER audit_loses_nothing');
    db.exec(sql);
    t.match(await store.verifyAudit('acme'), { ok: false, ...want }, name);
    const listed = await Promise.allSettled([
      store.listAudit('acme', {}, { limit: 1_000, cursor: undefined }),
    ]);
    t.match(listed, [isReadable ? { status: 'fulfilled' } : { reason: { code: 'STATE_UNAVAILABLE' } }]);
  }
});

t.test('no more approvals of a tenant are pending than people can decide', async (t) => {
  const store = await open(t, t.testdir());
  const hold = async (times: number, fields: Partial<ApprovalRecord> = {}) => {
    const asked = Array.from({ length: times }, () => store.holdCall(approvalRecord(fields)));
    const results = await Promise.allSettled(asked);
    for (const it of results) if (it.status === 'rejected') t.match(it.reason, { code: 'GATEWAY_BUSY' });
    return results.filter((it) => it.status === 'fulfilled').length;
  };
  const first = approvalRecord();
  await store.holdCall(first);
  t.equal(await hold(pendingMax + 20), pendingMax - 1);
  t.match(await store.holdCall({ ...first, approvalId: newId() }), { isNew: false });
  t.equal(await hold(1, { tenantId: 'other' }), 1);
  await store.decideApproval('acme', first.approvalId, decided({ nowMs: noonMs + 1 }), auditEvent());
  t.equal(await hold(2), 1, 'a decision makes room');
  t.equal(await hold(2, { createdAtMs: first.expiresAtMs }), 2, 'and so does time');
});

/** Adds rows behind the back of the store. */
function fill(dir: string, sql: string, times: number, valuesAt: (at: number) => readonly string[]): void {
  const db = new DatabaseSync(join(dir, 'state.db'));
  db.exec('BEGIN');
  const insert = db.prepare(sql);
  for (let at = 0; at < times; at += 1) insert.run(...valuesAt(at));
  db.exec('COMMIT');
  db.close();
}

t.test('approvals that count no more make room, and no others', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const db = inspect(t, join(dir, 'state.db'));
  const insert =
    "INSERT INTO approvals (approval_id, tenant_id, call_hash, status, expires_at_ms, record) VALUES (?, ?, ?, 'denied', 1, ?)";
  const windowEndMs = noonMs + 60_000;
  const denied = approvalRecord({ status: 'denied', countsUntilMs: windowEndMs });
  fill(dir, insert, approvalsMax, (at) => {
    const over = approvalRecord({ createdAtMs: noonMs - 1, expiresAtMs: noonMs });
    const record = at === 0 ? { ...denied, createdAtMs: 1 } : over;
    return [record.approvalId, 'acme', record.callHash, JSON.stringify(record)];
  });
  const held = approvalRecord();
  t.match(await store.holdCall(held), { isNew: true });
  t.match(await store.approvalById('acme', held.approvalId, 1), held);
  const count = db.prepare("SELECT count(*) AS n FROM approvals WHERE tenant_id = 'acme'").get();
  t.equal(Number(count?.['n']), (approvalsMax * 7) / 8 + 1, 'an eighth made room');
  const again = approvalRecord({ callHash: denied.callHash });
  t.match(await store.holdCall(again), { kind: 'denied' }, 'the oldest still counts');

  fill(dir, insert, approvalsMax, (at) => {
    const record = { ...denied, approvalId: newId(), createdAtMs: noonMs + at };
    return [record.approvalId, 'other', '', JSON.stringify(record)];
  });
  const late = approvalRecord({ tenantId: 'other' });
  await t.rejects(store.holdCall(late), { code: 'GATEWAY_BUSY' }, 'while all of them count');
  t.match(await store.holdCall({ ...late, createdAtMs: windowEndMs }), { isNew: true });
});

t.test('incidents have room for the newest', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const opened = incidentRecord();
  fill(
    dir,
    "INSERT INTO incidents (incident_id, tenant_id, record) VALUES (?, 'acme', ?)",
    incidentsMax,
    (at) => {
      const record = at === 0 ? opened : incidentRecord({ openedAtMs: noonMs + at });
      return [record.incidentId, JSON.stringify(record)];
    },
  );
  const last = incidentRecord({ openedAtMs: noonMs + incidentsMax });
  t.match(await store.incidentById('acme', opened.incidentId), opened);
  t.match(await store.openIncident(last, auditEvent()), { isNew: true });
  t.equal(await store.incidentById('acme', opened.incidentId), undefined);
  t.match(await store.incidentById('acme', last.incidentId), last);
  const count = inspect(t, join(dir, 'state.db')).prepare('SELECT count(*) AS n FROM incidents').get();
  t.equal(Number(count?.['n']), (incidentsMax * 7) / 8 + 1);
});

t.test('a key has no more living children than it may', async (t) => {
  const dir = t.testdir();
  const lab = await openLab(t, () => openEmbeddedStore({ dir }), { clock: 'argument' });
  const acme = await lab.tenant();
  const [parent, other] = [await acme.key(), await acme.key()];
  const child = (parentKeyId = parent.keyId, createdAtMs = noonMs) =>
    acme.key({ type: 'ephemeral', parentKeyId, createdAtMs, expiresAtMs: createdAtMs + 600_000 });
  const template = { ...other, type: 'ephemeral', parentKeyId: parent.keyId, expiresAtMs: noonMs + 9 };
  fill(
    dir,
    'INSERT INTO keys (key_id, hash, tenant_id, record) VALUES (?, ?, ?, ?)',
    childrenMax - 1,
    (at) => {
      const keyId = newId();
      return [keyId, `${at}`, acme.tenantId, JSON.stringify({ ...template, keyId })];
    },
  );
  const first = await child();
  await t.rejects(child(), { code: 'GATEWAY_BUSY' });
  t.ok(await child(other.keyId), 'another key has its own');
  await lab.store.revokeKey(acme.tenantId, first.keyId, acme.event());
  t.ok(await child(), 'one that is revoked makes room');
  await t.rejects(child(), { code: 'GATEWAY_BUSY' });
  t.ok(await child(parent.keyId, noonMs + 9), 'and so do those that have ended');
});

t.test('what an ended key has used is forgotten with it', async (t) => {
  const dir = t.testdir();
  const lab = await openLab(t, () => openEmbeddedStore({ dir }), { clock: 'argument' });
  const acme = await lab.tenant();
  const { tenantId } = acme;
  const ended = await acme.key({ type: 'ephemeral', createdAtMs: 1, expiresAtMs: 1_000 });
  const live = await acme.key();
  const call = (keyId: string) => recordedCall({ tenantId, keyId, agentId: acme.agent.agentId });
  await lab.store.recordCalls(callBatch([call(ended.keyId), call(live.keyId)]));
  await acme.key({ type: 'ephemeral', createdAtMs: noonMs, expiresAtMs: noonMs + 1_000 });
  // Answered by the same thread, one after the other.
  await lab.store.recordCalls(callBatch([]));
  const subjects = inspect(t, join(dir, 'traces.db'))
    .prepare(
      "SELECT subject FROM seen WHERE kind = 'key' UNION SELECT subject FROM counters WHERE counter LIKE 'key.%'",
    )
    .all();
  t.same(
    subjects.map((it) => it['subject']),
    [live.keyId],
  );
});

t.test('old traces leave the disk, however many there are', async (t) => {
  const dir = t.testdir();
  const store = await open(t, dir);
  const nowMs = Date.now();
  const calls = Array.from({ length: 2 * removedMax + 5 }, (_, at) =>
    recordedCall({ traceId: newTraceId(nowMs - 7_200_000 + at * 2_000) }),
  );
  const young = recordedCall({ traceId: newTraceId(nowMs) });
  await store.recordCalls(callBatch([...calls, young]));
  for (const { traceId } of [...calls.slice(0, 40), young])
    await Promise.all(Array.from({ length: 16 }, () => store.addResponseScan('acme', traceId, '{}')));
  await store.keepTraces(() => 3_600_000);
  const rows = (name: string, table: string) =>
    Number(inspect(t, join(dir, name)).prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);
  t.equal(rows('traces.db', 'trace_chunks'), 1);
  t.equal(rows('state.db', 'response_scans'), 16);
  t.equal(await store.traceById('acme', young.traceId), young.line);

  const holder = inspect(t, join(dir, 'traces.db'));
  holder.exec('BEGIN IMMEDIATE');
  await t.rejects(
    store.keepTraces(() => 0),
    { code: 'STATE_UNAVAILABLE' },
  );
  t.match(await store.trouble(), /^Old traces/);
  t.equal(await store.traceById('acme', young.traceId), undefined, 'it is not answered all the same');
  holder.exec('ROLLBACK');
  await store.keepTraces(() => 0);
  t.equal(await store.trouble(), undefined);
  t.equal(rows('traces.db', 'trace_chunks'), 0);
});

t.test('survives a disk that is full', async (t) => {
  const dir = t.testdir();
  const child = startChild(t, 'full-disk.ts', dir, { fileBlocksMax: 2_000 });
  t.equal(await child.line((it) => it.startsWith('full')), 'full STATE_UNAVAILABLE, memory unchanged');
  // Moving the WAL into its database makes room: this process has no limit.
  inspect(t, join(dir, 'state.db')).exec('PRAGMA wal_checkpoint(TRUNCATE)');
  child.say('go on');
  t.equal(await child.line((it) => it.startsWith('again')), 'again writable');
  await child.kill();
  const store = await open(t, dir);
  t.match(await store.verifyAudit('acme'), { ok: true });
});

t.test('counts from a former version are not taken for whole by searches', async (t) => {
  const dir = t.testdir();
  const tenantId = 'acme';
  const call = (operation: string, agoMs: number) => {
    const traceId = newTraceId(Date.now() - agoMs);
    const line = ownName(JSON.stringify({ trace_id: traceId, operation, decision: 'ALLOW' }));
    return recordedCall({ tenantId, traceId, atMs: Date.now() - agoMs, line });
  };
  const find = async (store: Store, operation: string) =>
    (await store.listTraces(tenantId, { operation }, { limit: 10, cursor: undefined })).items.length;
  let store = await openEmbeddedStore({ dir });
  await store.recordCalls(callBatch([call('old', 1_000), call('old', 90_000_000)]));
  await store.close();
  const db = new DatabaseSync(join(dir, 'traces.db'));
  db.exec('UPDATE stats SET names = NULL');
  db.close();
  store = await openEmbeddedStore({ dir });
  t.teardown(() => store.close());
  t.equal(await find(store, 'old'), 2);
  await store.recordCalls(callBatch([call('new', 500)]));
  t.equal(await find(store, 'old'), 2, 'nor are those to which others were added');
  t.equal(await find(store, 'new'), 1);
  t.equal(await find(store, 'none'), 0);
});
