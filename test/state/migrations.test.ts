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

/** Steps as they were released. A changed one would leave states that no version has ever made: add a step instead. */
const released: Readonly<Record<string, readonly string[]>> = {
  'state.db': [
    'b6ed9b20792a',
    'c708e9dac045',
    'cd1d41cc4b94',
    'fd5fa42ff134',
    '02de4da18a14',
    '3d5c9e0e96b6',
    'b2829679e9d5',
    'd6b4d0a36d59',
    '03e7be6ca62f',
    'd22cd882c0bc',
  ],
  'traces.db': [
    '53bad2722070',
    '1b556566f319',
    'cdc661af4201',
    '0b36c7fa7c05',
    '336bd69e8a83',
    'c11da6b42475',
  ],
};

t.test('a released step is never changed', async (t) => {
  for (const [name, steps] of Object.entries(migrationsOf))
    t.same(
      steps.map((it) => hash('sha256', it).slice(0, 12)),
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
  const chain = await made.verifyAudit('acme');
  await made.close();

  const cases = [
    ...stateMigrations.map((_, at) => ({ 'state.db': at + 1, 'traces.db': tracesMigrations.length })),
    ...tracesMigrations.map((_, at) => ({ 'state.db': stateMigrations.length, 'traces.db': at + 1 })),
  ];
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
