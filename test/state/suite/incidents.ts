import { newId, newTraceId } from '../../../src/core/ids.ts';
import type { IncidentRecord } from '../../../src/state/store.ts';
import { incidentRecord, noonMs } from '../records.ts';
import { firstPage, type SuitePart } from './lab.ts';

export const incidents: SuitePart = async (t, { store, ...lab }) => {
  await t.test('one open incident of an agent and trigger collects its traces', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const { tenantId } = acme;
    const first = incidentRecord({ tenantId });
    const { agentId } = first;
    const open = (fields: Partial<IncidentRecord> = {}) =>
      store.openIncident(
        incidentRecord({ tenantId, agentId, ...fields }),
        acme.event({ kind: 'incident.opened' }),
      );
    t.same(await store.openIncident(first, acme.event()), { isNew: true, incident: first });
    t.same(await store.incidentById(tenantId, first.incidentId), first);
    const traceId = newTraceId(noonMs + 5);
    t.match(await open({ traceIds: [traceId], openedAtMs: noonMs + 5 }), {
      isNew: false,
      incident: {
        incidentId: first.incidentId,
        openedAtMs: noonMs,
        traceCount: 2,
        traceIds: [...first.traceIds, traceId],
      },
    });
    t.match(await open({ trigger: 'scope-violation' }), { isNew: true }, 'another trigger has its own');
    t.match(await open({ agentId: newId() }), { isNew: true }, 'so has another agent');
    const foreign = await store.openIncident(
      incidentRecord({ tenantId: other.tenantId, agentId }),
      other.event(),
    );
    t.match(foreign, { isNew: true, incident: { tenantId: other.tenantId } }, 'and another tenant');
    t.equal(await store.incidentById(other.tenantId, first.incidentId), undefined, 'nobody else sees it');
    t.equal(await store.incidentById(tenantId, newId()), undefined);

    const move = (from: IncidentRecord['status'], to: IncidentRecord['status']) =>
      store.changeIncident(tenantId, first.incidentId, from, { status: to }, acme.event());
    await move('open', 'investigating');
    t.match(await open(), { isNew: false, incident: { incidentId: first.incidentId, traceCount: 3 } });
    await move('investigating', 'closed');
    const next = await open();
    t.match(next, { isNew: true, incident: { traceCount: 1 } }, 'once it is closed, a new one');
    t.match(await store.incidentById(tenantId, first.incidentId), { traceCount: 3, status: 'closed' });
    t.match(await store.verifyAudit(tenantId), { ok: true });
  });

  await t.test('it takes in what a later one has, and becomes as severe as the graver', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const note = (text: string) => ({ atMs: noonMs, author: 'ada', text });
    const first = incidentRecord({ tenantId, severity: 'MEDIUM', notes: [note('a')] });
    const { agentId, incidentId } = first;
    const join = async (fields: Partial<IncidentRecord>) => {
      const later = incidentRecord({ tenantId, agentId, traceIds: [], traceCount: 0, ...fields });
      return (await store.openIncident(later, acme.event())).incident;
    };
    await store.openIncident(first, acme.event());
    t.same(await join({ severity: 'LOW' }), first, 'what is less grave changes nothing');
    const graver = await join({
      severity: 'CRITICAL',
      openedAtMs: noonMs + 5,
      openedBy: 'admin',
      notes: [note('b')],
    });
    t.match(graver, {
      incidentId,
      severity: 'CRITICAL',
      notes: [{ text: 'a' }, { text: 'b' }],
      steps: [{ kind: 'severity', atMs: noonMs + 5, by: 'admin', from: 'MEDIUM', to: 'CRITICAL' }],
    });
    const { traceIds } = first;
    const again = await join({ traceIds: [...traceIds, newTraceId(noonMs)], traceCount: 2 });
    t.match(again, { traceCount: 2, severity: 'CRITICAL' }, 'a trace that it has is not counted again');
    t.equal(again.traceIds.length, 2);
    t.match(await store.listIncidents(tenantId, { severity: 'CRITICAL' }, firstPage), {
      items: [{ incidentId }],
    });
  });

  await t.test('what becomes of its status and severity is kept, the last hundred steps', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const { incidentId } = await store
      .openIncident(incidentRecord({ tenantId, severity: 'LOW' }), acme.event())
      .then((it) => it.incident);
    const event = acme.event({ atMs: noonMs + 7, operator: 'ada' });
    const change = (from: IncidentRecord['status'], fields: Parameters<typeof store.changeIncident>[3]) =>
      store.changeIncident(tenantId, incidentId, from, fields, event);
    await change('open', { status: 'investigating', severity: 'HIGH' });
    const closed = await change('investigating', { status: 'closed', closeCode: 'policy_gap' });
    const by = { atMs: noonMs + 7, by: 'ada' };
    t.same(closed?.steps, [
      { ...by, kind: 'severity', from: 'LOW', to: 'HIGH' },
      { ...by, kind: 'transition', from: 'open', to: 'investigating' },
      { ...by, kind: 'transition', from: 'investigating', to: 'closed', code: 'policy_gap' },
    ]);
    for (let at = 0; at < 110; at += 1) await change('closed', { severity: at % 2 === 0 ? 'LOW' : 'MEDIUM' });
    const { steps } = (await store.incidentById(tenantId, incidentId)) ?? {};
    t.equal(steps?.length, 100);
    t.match(steps?.at(-1), { kind: 'severity', from: 'LOW', to: 'MEDIUM' });
  });

  await t.test('of many at once, one is opened, and none of their traces is lost', async (t) => {
    const acme = await lab.tenant();
    const agentId = newId();
    const records = Array.from({ length: 200 }, () => incidentRecord({ tenantId: acme.tenantId, agentId }));
    const answers = await Promise.all(records.map((it) => store.openIncident(it, acme.event())));
    t.equal(answers.filter((it) => it.isNew).length, 1);
    const ids = new Set(answers.map((it) => it.incident.incidentId));
    t.equal(ids.size, 1);
    const incident = await store.incidentById(acme.tenantId, [...ids][0] ?? '');
    t.equal(incident?.traceCount, 200, 'all are counted');
    t.equal(new Set(incident?.traceIds).size, 100, 'and the last hundred kept');
  });

  await t.test('a change holds what it says and leaves the rest', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const { tenantId } = acme;
    const record = incidentRecord({ tenantId });
    const { incidentId } = record;
    await store.openIncident(record, acme.event());
    const event = acme.event({ atMs: noonMs + 7, operator: 'iv_live_9xyz' });
    const change = (from: IncidentRecord['status'], fields: Parameters<typeof store.changeIncident>[3]) =>
      store.changeIncident(tenantId, incidentId, from, fields, event);
    const note = { atMs: noonMs + 7, author: 'ada', text: 'looked at it ✓' };

    const noted = await change('open', { note });
    t.same(noted, { ...record, notes: [note], changedAtMs: noonMs + 7 });
    t.match(await change('open', { severity: 'CRITICAL' }), {
      severity: 'CRITICAL',
      status: 'open',
      notes: [note],
    });
    t.match(await change('open', { status: 'investigating' }), { status: 'investigating', closedAtMs: null });
    await t.rejects(change('open', { status: 'closed' }), { code: 'CONFLICT' }, 'it has left that status');
    t.match(await store.incidentById(tenantId, incidentId), { status: 'investigating' });
    t.match(await change('investigating', { status: 'closed', closeCode: 'policy_gap', note }), {
      status: 'closed',
      closeCode: 'policy_gap',
      closedAtMs: noonMs + 7,
      closedBy: 'iv_live_9xyz',
      notes: [note, note],
      severity: 'CRITICAL',
    });
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: 5 }, 'what is refused is no event');
    const vain = await store.changeIncident(other.tenantId, incidentId, 'closed', { note }, other.event());
    t.equal(vain, undefined, 'not by another tenant');
    t.equal(await store.changeIncident(tenantId, newId(), 'open', { note }, acme.event()), undefined);

    const busy = incidentRecord({ tenantId });
    await store.openIncident(busy, acme.event());
    const moves = await Promise.allSettled(
      Array.from({ length: 50 }, () =>
        store.changeIncident(tenantId, busy.incidentId, 'open', { status: 'investigating' }, acme.event()),
      ),
    );
    t.equal(moves.filter((it) => it.status === 'fulfilled').length, 1, 'of many at once, one moves it');
    for (const it of moves) if (it.status === 'rejected') t.match(it.reason, { code: 'CONFLICT' });
    for (let at = 0; at < 120; at += 1) {
      const text = `n${at}`;
      const fields = { note: { ...note, text } };
      await store.changeIncident(tenantId, busy.incidentId, 'investigating', fields, acme.event());
    }
    const notes = (await store.incidentById(tenantId, busy.incidentId))?.notes.map((it) => it.text);
    t.same(
      notes,
      Array.from({ length: 100 }, (_, at) => `n${at + 20}`),
      'the last hundred notes are kept',
    );
  });

  await t.test('lists incidents by status, agent and severity', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const agentId = newId();
    const records = [
      incidentRecord({ tenantId, openedAtMs: noonMs, agentId }),
      incidentRecord({ tenantId, openedAtMs: noonMs + 1, severity: 'LOW' }),
      incidentRecord({ tenantId, openedAtMs: noonMs + 2, agentId, trigger: 'manual', severity: 'LOW' }),
      incidentRecord({ tenantId, openedAtMs: noonMs + 3 }),
    ];
    for (const it of records) await store.openIncident(it, acme.event());
    const close = { status: 'closed' } as const;
    await store.changeIncident(tenantId, records[3]?.incidentId ?? '', 'open', close, acme.event());
    const cases = [
      { filter: {}, want: [3, 2, 1, 0] },
      { filter: { status: 'open' }, want: [2, 1, 0] },
      { filter: { status: 'closed' }, want: [3] },
      { filter: { status: 'investigating' }, want: [] },
      { filter: { agentId }, want: [2, 0] },
      { filter: { severity: 'LOW' }, want: [2, 1] },
      { filter: { severity: 'LOW', agentId, status: 'open' }, want: [2] },
    ] as const;
    for (const { filter, want } of cases) {
      const { items, nextCursor } = await store.listIncidents(tenantId, filter, firstPage);
      const got = items.map((it) => records.findIndex((record) => record.incidentId === it.incidentId));
      t.same(got, want, JSON.stringify(Object.keys(filter)));
      t.equal(nextCursor, null);
    }
    const other = await lab.tenant();
    t.same((await store.listIncidents(other.tenantId, {}, firstPage)).items, []);
  });
};
