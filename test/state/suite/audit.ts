import { hash } from 'node:crypto';
import { newId } from '../../../src/core/ids.ts';
import type { Store } from '../../../src/state/store.ts';
import { auditEvent, noonMs } from '../records.ts';
import { firstPage, type SuitePart } from './lab.ts';

const beforeFirst = '0'.repeat(64);

async function exported(store: Store, tenantId: string): Promise<{ entry: string; hash: string }[]> {
  const all = [];
  for await (const it of store.exportAudit(tenantId)) all.push(it);
  return all;
}

export const audit: SuitePart = async (t, { store, ...lab }) => {
  await t.test('a chain is empty at first', async (t) => {
    const { tenantId } = await lab.tenant();
    t.same(await store.verifyAudit(tenantId), { ok: true, entries: 0, head: beforeFirst });
    t.same(await exported(store, tenantId), []);
    t.same(await store.listAudit(tenantId, {}, firstPage), { items: [], nextCursor: null });
  });

  await t.test('each entry holds the hash of the one before', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const { tenantId } = acme;
    const events = Array.from({ length: 30 }, (_, at) =>
      acme.event({
        atMs: noonMs + at,
        kind: `kind.${at % 3}`,
        subject: `subject-${at % 5}`,
        operator: `o${at}`,
      }),
    );
    for (const it of events) {
      await store.appendAudit(it);
      await store.appendAudit(auditEvent({ tenantId: other.tenantId, kind: 'foreign' }));
    }
    const entries = await exported(store, tenantId);
    t.equal(entries.length, events.length);
    let previous = beforeFirst;
    for (const [at, { entry, hash: given }] of entries.entries()) {
      t.equal(hash('sha256', entry), given, 'anybody can recompute the hash');
      const fields = JSON.parse(entry);
      t.equal(fields.previous, previous);
      t.same(fields, {
        tenant_id: tenantId,
        seq: at + 1,
        at_ms: events[at]?.atMs,
        kind: events[at]?.kind,
        operator: events[at]?.operator,
        subject: events[at]?.subject,
        details: events[at]?.details,
        previous,
      });
      t.match(entry, /^\{"at_ms":\d+,"details":\{"10":1,"9":2,"a":/, 'members are sorted by name');
      previous = given;
    }
    t.same(await store.verifyAudit(tenantId), { ok: true, entries: 30, head: previous });
    t.match(
      await store.verifyAudit(other.tenantId),
      { ok: true, entries: 30 },
      'each tenant has its own chain',
    );

    const { items } = await store.listAudit(tenantId, {}, firstPage);
    t.same(
      items.map((it) => it.seq),
      Array.from({ length: 30 }, (_, at) => 30 - at),
      'newest first',
    );
    t.match(items[0], { ...events[29], seq: 30, previous: entries[28]?.hash, hash: previous });
    const cases = [
      { filter: { kind: 'kind.1' }, is: (at: number) => at % 3 === 1 },
      { filter: { subject: 'subject-2' }, is: (at: number) => at % 5 === 2 },
      { filter: { kind: 'kind.1', subject: 'subject-2' }, is: (at: number) => at % 15 === 7 },
      { filter: { kind: 'kind.' }, is: () => false },
      { filter: { kind: 'foreign' }, is: () => false },
    ];
    for (const { filter, is } of cases) {
      const got = (await store.listAudit(tenantId, filter, firstPage)).items.map((it) => it.seq);
      const want = events.flatMap((_, at) => (is(at) ? [at + 1] : [])).toReversed();
      t.same(got, want, JSON.stringify(filter));
    }
  });

  await t.test('what is appended at once is all in the chain, in one order', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const subjects = Array.from({ length: 150 }, () => newId());
    await Promise.all(subjects.map((subject) => store.appendAudit(acme.event({ subject }))));
    const check = await store.verifyAudit(tenantId);
    t.match(check, { ok: true, entries: 150 });
    const entries = await exported(store, tenantId);
    t.same(entries.map(({ entry }) => JSON.parse(entry).subject).sort(), [...subjects].sort());
    t.equal(check.ok && check.head, entries.at(-1)?.hash);
  });

  await t.test('a long log is exported and verified to its end', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    for (let at = 0; at < 12; at += 1)
      await Promise.all(Array.from({ length: 100 }, () => store.appendAudit(acme.event())));
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: 1_200 });
    const entries = await exported(store, tenantId);
    const seqs = entries.map(({ entry }) => JSON.parse(entry).seq);
    t.same(
      seqs,
      Array.from({ length: 1_200 }, (_, at) => at + 1),
      'oldest first',
    );
  });

  await t.test('whatever is written in an entry, it verifies', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const hostile = [
      {},
      { '': '' },
      { __proto__x: 1 },
      { a: '\u2028\u2029 "\\' },
      { 'ü\ud800': [[[]]] },
      { n: 1e21, m: -0.5 },
    ];
    for (const details of hostile)
      await store.appendAudit(acme.event({ details, operator: '\t\n"\0', subject: '\ud800' }));
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: hostile.length });
    const { items } = await store.listAudit(tenantId, {}, firstPage);
    t.same(
      items.map((it) => it.details),
      hostile.toReversed(),
    );
  });
};
