import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import { Journal } from '../../src/state/journal.ts';
import type { Store } from '../../src/state/store.ts';
import { startChild } from './child.ts';
import { admitRequest, agentRecord, auditEvent, keyRecord, termsOf } from './records.ts';

/** What the child said of one thing that was acknowledged: `kind round id extra`. */
type Check = (store: Store, id: string, extra: string) => Promise<boolean>;

const checks: Readonly<Record<string, Check>> = {
  key: async (store, id, hash) => {
    const [holder, key] = [await store.identify(hash, 1), await store.keyById('acme', id)];
    return key !== undefined && holder.ok === (key.revokedAtMs === null);
  },
  revoked: async (store, _, hash) => !(await store.identify(hash, 1)).ok,
  policy: async (store, name, version) =>
    ((await store.policyByName('acme', name, null))?.version ?? 0) >= Number(version),
  approval: async (store, id) => (await store.approvalById('acme', id, 1)) !== undefined,
  call: async (store, id) => (await store.traceById('acme', id)) !== undefined,
};

function idsStoredTwice(file: string): string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = db.prepare('SELECT lines FROM trace_chunks').all();
    const lines = rows.flatMap((row) =>
      Buffer.from(row['lines'] as Uint8Array)
        .toString()
        .split('\n')
        .slice(0, -1),
    );
    const ids = lines.map((line) => line.slice(0, 36));
    return ids.filter((id, at) => ids.indexOf(id) !== at);
  } finally {
    db.close();
  }
}

const audited = new Set(['key', 'revoked', 'policy']);

for (const last of ['key 1 ', 'key 5 ', 'call 40 ']) {
  t.test(`what was acknowledged survives SIGKILL (after "${last.trim()}")`, async (t) => {
    const dir = t.testdir();
    const child = startChild(t, 'writer.ts', dir);
    await child.line((it) => it.startsWith(last));
    await child.kill();

    const store = await openEmbeddedStore({ dir });
    t.teardown(() => store.close());
    const onError = (error: unknown) => t.fail(String(error));
    const journal = new Journal({ dir: join(dir, 'journal'), ship: store.recordCalls, onError });
    t.teardown(() => journal.close());
    await journal.flush();
    t.same(idsStoredTwice(join(dir, 'traces.db')), [], 'what was shipped again is there once');

    const acknowledged = child.lines().map((it) => it.split(' '));
    for (const [kind = '', round, id = '', extra = ''] of acknowledged) {
      if (!(await checks[kind]?.(store, id, extra))) t.fail(`${kind} ${id} of round ${round} is lost`);
    }
    const events = acknowledged.filter(([kind = '']) => audited.has(kind));
    const chain = await store.verifyAudit('acme');
    t.ok(
      chain.ok && chain.entries >= events.length,
      'all changes are in the audit log, and its chain is whole',
    );
  });
}

t.test('no use and no quota is given twice, however often the daemon is killed', async (t) => {
  const dir = t.testdir();
  const nowMs = Date.UTC(2031, 4, 10, 12);
  const first = await openEmbeddedStore({ dir });
  t.teardown(() => first.close());
  const agent = await first.ensureAgent(agentRecord());
  const made = { agentId: agent.agentId, createdAtMs: nowMs };
  const live = keyRecord(made);
  const maxUses = 150;
  const ephemeral = keyRecord({ ...made, parentKeyId: live.keyId, maxUses });
  for (const key of [live, ephemeral]) await first.addKey(key, auditEvent());
  await first.close();

  const acknowledged: string[] = [];
  for (const round of [0, 7, 40, 3]) {
    // Bounded: all of them together leave some for the end.
    const rounds = String(round + 20);
    const child = startChild(t, 'spender.ts', dir, { args: [rounds, live.hash, ephemeral.hash] });
    await child.line((it) => it.startsWith(`call ${round} `));
    await child.kill();
    t.notOk(child.lines().some((it) => it.startsWith('error')));
    acknowledged.push(...child.lines().map((it) => it.split(' ')[2] ?? ''));
  }

  const store = await openEmbeddedStore({ dir });
  t.teardown(() => store.close());
  const onError = (error: unknown) => t.fail(String(error));
  const journal = new Journal({ dir: join(dir, 'journal'), ship: store.recordCalls, onError });
  t.teardown(() => journal.close());
  await journal.flush();
  const terms = termsOf({ scansPerMonth: 400 });
  const given = { [live.keyId]: 0, [ephemeral.keyId]: 0 };
  for (const keyId of acknowledged) given[keyId] = (given[keyId] ?? 0) + 1;

  const before = await store.keyUsage('acme', [live.keyId, ephemeral.keyId], nowMs);
  for (const [at, { keyId }] of [live, ephemeral].entries()) {
    const calls = given[keyId] ?? 0;
    const counted = before[at]?.uses ?? 0;
    t.ok(counted >= calls, `what was acknowledged is counted: ${calls} of ${counted}`);
    // One call of each key may have been let out unsaid with each of the four deaths.
    t.ok(counted <= calls + 4, 'and nothing twice');
  }
  const used = (await store.usageOf('acme', nowMs)).scansUsed;
  t.equal(used, (before[0]?.uses ?? 0) + (before[1]?.uses ?? 0), 'the quota counts the same calls');

  const [agentUsage] = await store.agentUsage('acme', [agent.agentId], nowMs);
  const spent = 3 * (agentUsage?.decisions24h.ALLOW ?? 0);
  const isExceeded = async (daily: number) => {
    const charges = [{ name: 'spent', day: '2031-05-10', amount: 0, daily }];
    const question = { tenantId: 'acme', agentId: agent.agentId, destination: '', charges };
    return (await store.standingOf(question)).exceededBudgets.length === 1;
  };
  t.ok(spent > 0);
  t.same(
    [await isExceeded(spent), await isExceeded(spent + 1)],
    [true, false],
    'the budget has spent what was let out, and nothing else',
  );

  const drain = async (keyHash: string) => {
    let calls = 0;
    for (;;) {
      const admission = await store.admit(admitRequest({ keyHash, nowMs, termsOf: terms }));
      if (!admission.ok) return { calls, code: admission.code };
      calls += 1;
    }
  };
  const usesLeft = maxUses - (before[1]?.uses ?? 0);
  t.same(await drain(ephemeral.hash), { calls: usesLeft, code: 'INVALID_KEY' });
  t.same(await drain(live.hash), { calls: 400 - used - usesLeft, code: 'QUOTA_EXCEEDED' });
});
