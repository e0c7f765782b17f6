import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import { openJournal } from '../../src/state/journal.ts';
import type { Store } from '../../src/state/store.ts';
import { startChild } from './child.ts';

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
    const journal = await openJournal({ dir: join(dir, 'journal'), ship: store.recordCalls, onError });
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
