import { newId } from '../../../src/core/ids.ts';
import { noonMs } from '../records.ts';
import { firstPage, type SuitePart } from './lab.ts';

/** Where notices come from, and how far that was read. */
export const told: SuitePart = async (t, { store, ...lab }) => {
  await t.test('how far a source was read never goes back', async (t) => {
    const [acme, other] = [await lab.tenant(), await lab.tenant()];
    t.equal(await store.toldUpTo(acme.tenantId, 'audit'), undefined);
    await store.noteTold(acme.tenantId, 'audit', 0);
    t.equal(await store.toldUpTo(acme.tenantId, 'audit'), 0);
    await store.noteTold(acme.tenantId, 'audit', 12);
    await store.noteTold(acme.tenantId, 'audit', 7);
    t.equal(await store.toldUpTo(acme.tenantId, 'audit'), 12);
    t.equal(await store.toldUpTo(other.tenantId, 'audit'), undefined);
  });

  await t.test('audit entries are read on from a number', async (t) => {
    const acme = await lab.tenant();
    for (let at = 0; at < 7; at += 1) await store.appendAudit(acme.event({ subject: `s${at}` }));
    const read = async (seq: number, limit: number) =>
      (await store.auditAfter(acme.tenantId, seq, limit)).map((it) => `${it.seq} ${it.subject}`);
    t.same(await read(0, 3), ['1 s0', '2 s1', '3 s2']);
    t.same(await read(5, 100), ['6 s5', '7 s6']);
    t.same(await read(7, 100), []);
    t.match((await store.auditAfter(acme.tenantId, 6, 1))[0], { hash: /^[0-9a-f]{64}$/, atMs: noonMs });
  });

  await t.test('usage is told of once in a period, whoever tells it', async (t) => {
    const acme = await lab.tenant();
    const alert = (percent: number, periodStartMs = noonMs) =>
      store.alertUsage(acme.tenantId, { periodStartMs, percent }, acme.event({ kind: 'usage.threshold' }));
    const all = await Promise.all(Array.from({ length: 20 }, () => alert(80)));
    t.equal(all.filter(Boolean).length, 1);
    t.equal(await alert(90), true);
    t.equal(await alert(80), false);
    t.equal(await alert(80, noonMs + 1), true, 'in the next one again');
    t.equal(await alert(80, noonMs + 1), false);
    const { items } = await store.listAudit(acme.tenantId, { kind: 'usage.threshold' }, firstPage);
    t.equal(items.length, 3);
    t.match(await store.verifyAudit(acme.tenantId), { ok: true });
    t.equal(
      await store.alertUsage(`t-${newId()}`, { periodStartMs: noonMs, percent: 80 }, acme.event()),
      true,
    );
  });

  await t.test('usage of a month is told of no more once a later one was told of', async (t) => {
    const acme = await lab.tenant();
    const alert = (periodStartMs: number, percent = 80) =>
      store.alertUsage(acme.tenantId, { periodStartMs, percent }, acme.event({ kind: 'usage.threshold' }));
    const told = [await alert(2), await alert(1), await alert(2), await alert(2, 90), await alert(3)];
    t.same(told, [true, false, false, true, true]);
    t.equal(await alert(2, 90), false, 'the clock was set back');
  });
};
