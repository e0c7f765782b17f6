import { hash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { newTraceId } from '../../src/core/ids.ts';
import { migrationsOf, stateMigrations, tracesMigrations } from '../../src/state/embedded/file/migrations.ts';
import { openDatabase, schemaVersion } from '../../src/state/embedded/sqlite.ts';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import type { Store } from '../../src/state/store.ts';
import { writeOlderState } from './older-state.ts';
import {
  agentRecord,
  approvalRecord,
  auditEvent,
  callBatch,
  keyRecord,
  noonMs,
  policyApply,
  recordedCall,
} from './records.ts';

/** Steps as they were released, but for white space. A changed one would leave states that no version has ever made: add a step instead. */
const released: Readonly<Record<string, readonly string[]>> = {
  'state.db': [
    '5487ef1321bb',
    '4c17b49bb393',
    '98c0b3b60dd8',
    'e38a14aadcb5',
    'e1ff48a3746e',
    '1256f995a8bb',
    'f1a63fe684d8',
    '29bb9f609b18',
    '678ec63387f3',
    '7cd582bf35bf',
    '77b37dc8621c',
    '0a02a4cfa15f',
  ],
  'traces.db': [
    'eca6b86f1589',
    'b4341abaca7c',
    'b1e556ddbb41',
    'a2ba3fe5e5b5',
    '5a3b07258328',
    'f3c6ab987956',
  ],
};

t.test('a released step is never changed', async (t) => {
  for (const [name, steps] of Object.entries(migrationsOf))
    t.same(
      steps.map((it) => hash('sha256', it.replace(/\s+/g, ' ').trim()).slice(0, 12)),
      released[name],
      `steps of ${name}: a new one is added to the end of this list`,
    );
});

async function open(t: Test, dir: string): Promise<Store> {
  const store = await openEmbeddedStore({ dir });
  t.teardown(() => store.close());
  return store;
}

const page = { limit: 10, cursor: undefined };

t.test('the state of every earlier version is brought up to date, with its records', async (t) => {
  const dir = t.testdir();
  const now = join(dir, 'now');
  const agent = agentRecord();
  const keys = [3, 1, 2].map((createdAtMs) => keyRecord({ agentId: agent.agentId, createdAtMs }));
  const approval = approvalRecord();
  const call = recordedCall({ traceId: newTraceId(noonMs) });
  const made = await openEmbeddedStore({ dir: now });
  await made.registerTenant('acme', noonMs);
  await made.ensureAgent(agent);
  for (const key of keys) await made.addKey(key, auditEvent());
  await made.holdCall(approval);
  await made.applyPolicy(policyApply(), auditEvent());
  await made.recordCalls(callBatch([call]));
  await made.addResponseScan('acme', call.traceId, JSON.stringify({ injection: { detected: true } }));
  const chain = await made.verifyAudit('acme');
  await made.close();

  const cases = [
    ...stateMigrations.map((_, at) => ({ 'state.db': at + 1, 'traces.db': tracesMigrations.length })),
    ...tracesMigrations.map((_, at) => ({ 'state.db': stateMigrations.length, 'traces.db': at + 1 })),
  ];
  const scansSince = stateMigrations.findIndex((it) => it.includes('CREATE TABLE response_scans'));
  for (const [at, versions] of cases.entries()) {
    const older = join(dir, `older-${at}`);
    writeOlderState(now, older, versions);
    const store = await open(t, older);
    const name = JSON.stringify(versions);
    t.same(
      (await store.listKeys('acme', page)).items.map((it) => it.createdAtMs),
      [3, 2, 1],
      `${name}: keys`,
    );
    t.match(
      await store.holdCall({ ...approvalRecord(), callHash: approval.callHash }),
      { kind: 'pending', isNew: false, approval: { approvalId: approval.approvalId } },
      `${name}: what waits`,
    );
    t.match(await store.policiesOf('acme'), [{ version: 1 }], `${name}: policies`);
    t.same(await store.verifyAudit('acme'), chain, `${name}: the audit log`);
    t.equal(await store.traceById('acme', call.traceId), call.line, `${name}: traces`);
    t.same(
      (await store.listTraces('acme', { answer: 'injection' }, page)).items,
      versions['state.db'] > scansSince ? [call.line] : [],
      `${name}: facts of answers`,
    );
    await store.close();
  }
});

t.test('a step that fails leaves the state as it was', (t) => {
  const file = join(t.testdir(), 'state.db');
  const steps = ['CREATE TABLE a (x TEXT) STRICT'];
  openDatabase(file, { synchronous: 'FULL', migrations: steps }).close();
  const broken = [...steps, 'CREATE TABLE b (x TEXT) STRICT', 'CREATE TABLE a (x TEXT) STRICT'];
  t.throws(() => openDatabase(file, { synchronous: 'FULL', migrations: broken }), {
    code: 'STATE_UNAVAILABLE',
  });
  t.equal(schemaVersion(file), 1);
  openDatabase(file, { synchronous: 'FULL', migrations: steps }).close();
  t.end();
});

t.test('a state that is newer in one of its databases is refused, and changed in none', async (t) => {
  const dir = t.testdir();
  const now = join(dir, 'now');
  await (await openEmbeddedStore({ dir: now })).close();
  const older = join(dir, 'older');
  writeOlderState(now, older, { 'state.db': 1 });
  const traces = new DatabaseSync(join(older, 'traces.db'));
  traces.exec(`PRAGMA user_version = ${tracesMigrations.length + 1}`);
  traces.close();
  await t.rejects(openEmbeddedStore({ dir: older }), {
    code: 'STATE_UNAVAILABLE',
    message: /traces\.db has schema version \d+, and this version of Postern knows \d+: start the newer one/,
  });
  t.equal(schemaVersion(join(older, 'state.db')), 1);
});
