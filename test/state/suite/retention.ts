import { newTraceId } from '../../../src/core/ids.ts';
import { callBatch, recordedCall } from '../records.ts';
import { firstPage, type SuitePart } from './lab.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export const retention: SuitePart = async (t, { store, ...lab }) => {
  await t.test('traces are kept as long as their tenant keeps them', async (t) => {
    const nowMs = Date.now();
    const [acme, other] = [await lab.tenant(), await lab.tenant()];
    const callAt = (tenantId: string, atMs: number) =>
      recordedCall({ tenantId, atMs, traceId: newTraceId(atMs) });
    const young = callAt(acme.tenantId, nowMs - hourMs);
    const old = callAt(acme.tenantId, nowMs - 2 * dayMs);
    const foreign = callAt(other.tenantId, nowMs - 2 * dayMs);
    await store.recordCalls(callBatch([old, young, foreign]));
    for (const it of [old, young, foreign])
      t.equal(await store.addResponseScan(it.tenantId, it.traceId, '{}'), true);
    const list = async (tenantId: string, fromMs?: number) =>
      (await store.listTraces(tenantId, fromMs === undefined ? {} : { fromMs }, firstPage)).items;
    t.same(await list(acme.tenantId), [young.line, old.line], 'until it is said how long, all of them');

    await store.keepTraces((tenantId) => (tenantId === acme.tenantId ? dayMs : 30 * dayMs));
    t.equal(await store.traceById(acme.tenantId, old.traceId), undefined);
    t.equal(await store.addResponseScan(acme.tenantId, old.traceId, '{}'), false);
    t.same(await store.responseScansOf(acme.tenantId, old.traceId), [], 'scans go with their trace');
    for (const fromMs of [undefined, 0, nowMs - 9 * dayMs])
      t.same(await list(acme.tenantId, fromMs), [young.line]);
    t.equal(await store.traceById(acme.tenantId, young.traceId), young.line);
    t.same(await store.responseScansOf(acme.tenantId, young.traceId), ['{}']);
    t.same(await list(other.tenantId), [foreign.line], 'another tenant keeps its own');

    const late = callAt(acme.tenantId, nowMs - 2 * dayMs);
    await store.recordCalls(callBatch([late]));
    t.equal(await store.traceById(acme.tenantId, late.traceId), undefined, 'who comes late is old as well');
    t.same(await list(acme.tenantId), [young.line]);

    await store.keepTraces(() => 0);
    const last = callAt(acme.tenantId, nowMs);
    t.equal(await store.recordCalls(callBatch([last])), 0);
    t.same(await list(acme.tenantId), [], 'or not at all');
  });

  await t.test('facts of answers go with their traces', async (t) => {
    const { tenantId } = await lab.tenant();
    const nowMs = Date.now();
    const at = (ms: number) => recordedCall({ tenantId, atMs: ms, traceId: newTraceId(ms) });
    const [old, young] = [at(nowMs - 3 * dayMs), at(nowMs - hourMs)];
    const injected = JSON.stringify({ injection: { detected: true } });
    const found = async () => (await store.listTraces(tenantId, { answer: 'injection' }, firstPage)).items;
    await store.keepTraces(() => 30 * dayMs);
    await store.recordCalls(callBatch([old, young]));
    t.equal(await store.addResponseScan(tenantId, old.traceId, injected), true);
    t.same(await found(), [old.line]);
    await store.keepTraces(() => dayMs);
    t.same(await found(), []);
    t.equal(await store.addResponseScan(tenantId, young.traceId, injected), true);
    t.same(await found(), [young.line]);
    await store.keepTraces(() => 30 * dayMs);
    t.same(await found(), [young.line], 'the old one is gone');
  });

  await t.test('a shorter time takes counts of days with it, and no others', async (t) => {
    const { tenantId } = await lab.tenant();
    const nowMs = Date.now();
    const old = nowMs - 40 * dayMs;
    const calls = [nowMs, old].map((atMs) => recordedCall({ tenantId, atMs, traceId: newTraceId(atMs) }));
    await store.keepTraces(() => 10 * dayMs);
    await store.recordCalls(callBatch(calls));
    await store.keepTraces(() => 10 * dayMs);
    const count = async (interval: 'minute' | 'hour' | 'day', fromMs: number) =>
      (await store.callStats(tenantId, interval, fromMs, nowMs + 1)).length;
    t.equal(await count('hour', old - hourMs), 2, 'hours are kept for two months');
    t.equal(await count('minute', nowMs - hourMs), 1);
    t.equal(await count('day', nowMs - dayMs), 1);
  });

  await t.test('what is old goes in steps, while calls are recorded and found', async (t) => {
    const { tenantId } = await lab.tenant();
    const nowMs = Date.now();
    const at = (ms: number) => recordedCall({ tenantId, atMs: ms, traceId: newTraceId(ms) });
    // More chunks than one step takes.
    for (let nth = 0; nth < 80; nth += 1)
      await store.recordCalls(callBatch([at(nowMs - 20 * dayMs + nth * 2_000), at(nowMs - hourMs + nth)]));
    const removing = store.keepTraces(() => dayMs);
    const young = at(nowMs - 1_000);
    await store.recordCalls(callBatch([young]));
    t.equal(await store.traceById(tenantId, young.traceId), young.line);
    await removing;
    t.equal((await store.listTraces(tenantId, {}, firstPage)).items.length, 81);
  });
};
