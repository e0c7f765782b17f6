import { decisions } from '../../../src/core/call.ts';
import { newId, newTraceId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { toLine } from '../../../src/state/journal/line.ts';
import type { RecordedCall, TraceFilter } from '../../../src/state/store.ts';
import { answerFacts } from '../../../src/state/traces/answer-facts.ts';
import { callBatch, pastMs, recordedCall } from '../records.ts';
import { firstPage, isFalling, ofScripts, rubbishCursors, type SuitePart, walk } from './lab.ts';

/** A call with a trace as the gateway writes them. */
function traced(atMs: number, tenantId: string, fields: Record<string, unknown>): RecordedCall {
  const traceId = newTraceId(atMs);
  const agentId = String(fields['agent_id'] ?? newId());
  const line = JSON.stringify({
    trace_id: traceId,
    at: new Date(atMs).toISOString(),
    tenant_id: tenantId,
    ...fields,
  });
  const decision = decisions.find((it) => it === fields['decision']) ?? 'ALLOW';
  return recordedCall({ traceId, atMs, tenantId, agentId, decision, line: ownName(line) });
}

export const traces: SuitePart = async (t, { store, hints, ...lab }) => {
  const ofItsScripts = ofScripts(t, hints);
  await t.test('a trace is found by its id, in its own tenant alone', async (t) => {
    const { tenantId } = await lab.tenant();
    const other = recordedCall({ tenantId });
    const calls = Array.from({ length: 50 }, (_, at) => {
      const traceId = newTraceId(pastMs + at * 100);
      // Traces quote what callers wrote: here another trace's id, as if it began a line.
      const line = JSON.stringify({ trace_id: traceId, text: `\n${other.traceId}\t{}` });
      return recordedCall({ tenantId, traceId, line: ownName(line) });
    });
    const foreign = recordedCall({ tenantId: `${tenantId}\t"{` });
    const mixed = [...calls.slice(0, 20), foreign, ...calls.slice(20), other];
    t.equal(await store.recordCalls(callBatch(mixed)), 0);
    for (const { traceId, line } of [...calls, other])
      t.equal(await store.traceById(tenantId, traceId), line);
    t.equal(await store.traceById(foreign.tenantId, foreign.traceId), foreign.line);
    t.equal(await store.traceById(tenantId, foreign.traceId), undefined, 'nobody else sees it');
    t.equal(await store.traceById(foreign.tenantId, other.traceId), undefined);

    const late = recordedCall({ tenantId });
    const repeated = [
      ...mixed.map((call) => ({ ...call, line: ownName('{}') })),
      late,
      { ...late, line: ownName('{}') },
    ];
    await store.recordCalls(callBatch(repeated, true));
    for (const { traceId, line } of [...calls, other, late])
      t.equal(await store.traceById(tenantId, traceId), line, 'what is there stays as it is');
    const listed = await walk(t, 20, (page) => store.listTraces(tenantId, {}, page));
    t.equal(listed.length, calls.length + 2, 'and stands once in the list');

    const strange = [
      newTraceId(pastMs),
      newTraceId(1),
      newId(),
      '',
      'x'.repeat(36),
      `${other.traceId}\t`,
      '-',
      '+',
    ];
    for (const unknown of [...strange, other.traceId.toUpperCase()])
      t.equal(await store.traceById(tenantId, unknown), undefined, `there is no ${JSON.stringify(unknown)}`);
    t.equal(await store.recordCalls(callBatch([])), 0);
  });

  await t.test('lines that are not whole are left out and told', async (t) => {
    const { tenantId } = await lab.tenant();
    const [first, second, cut] = [
      recordedCall({ tenantId }),
      recordedCall({ tenantId }),
      recordedCall({ tenantId }),
    ];
    const text = `${toLine(first)}nonsense\n${toLine(second)}${toLine(cut).slice(0, -5)}`;
    t.equal(await store.recordCalls({ lines: new TextEncoder().encode(text), mayRepeat: true }), 2);
    for (const { traceId, line } of [first, second]) t.equal(await store.traceById(tenantId, traceId), line);
    t.equal(await store.traceById(tenantId, cut.traceId), undefined);
    await store.recordCalls(callBatch([cut], true));
    t.equal(await store.traceById(tenantId, cut.traceId), cut.line, 'which can still come');
  });

  await ofItsScripts('lists traces, newest first, by each filter', async (t) => {
    const { tenantId } = await lab.tenant();
    const other = await lab.tenant();
    const agents = [newId(), newId(), newId()];
    const calls = Array.from({ length: 240 }, (_, at) =>
      traced(pastMs + at * 1_000, tenantId, {
        agent_id: agents[at % 3],
        tool_name: at % 2 === 0 ? 'github' : 'slack',
        operation: at % 5 === 0 ? 'create_issue' : 'list_issues',
        decision: decisions[at % 4],
        risk_band: at % 6 === 0 ? 'HIGH' : 'LOW',
        ...(at % 7 === 0 ? { reason_codes: ['SECRETS', 'RISK_HIGH'] } : {}),
        ...(at % 8 === 0 ? { classifications: ['PII', 'SECRETS'] } : {}),
        ...(at % 9 === 0 ? { tags: ['finance'], tag: 'finance' } : {}),
        url: `https://api.example.com/Ünïque-${at}/x`,
      }),
    );
    const foreign = Array.from({ length: 20 }, (_, at) =>
      traced(pastMs + at * 1_000, other.tenantId, { tool_name: 'github' }),
    );
    await store.recordCalls(callBatch([...calls.slice(0, 100), ...foreign]));
    await store.recordCalls(callBatch(calls.slice(100)));

    const cases: { name: string; filter: TraceFilter; is: (at: number) => boolean }[] = [
      { name: 'none', filter: {}, is: () => true },
      { name: 'agent', filter: { agentId: agents[1] ?? '' }, is: (at) => at % 3 === 1 },
      { name: 'tool', filter: { toolName: 'slack' }, is: (at) => at % 2 === 1 },
      { name: 'operation', filter: { operation: 'create_issue' }, is: (at) => at % 5 === 0 },
      { name: 'decision', filter: { decision: 'DENY' }, is: (at) => decisions[at % 4] === 'DENY' },
      { name: 'band', filter: { band: 'HIGH' }, is: (at) => at % 6 === 0 },
      { name: 'reason', filter: { reason: 'RISK_HIGH' }, is: (at) => at % 7 === 0 },
      { name: 'data class', filter: { dataClass: 'PII' }, is: (at) => at % 8 === 0 },
      { name: 'tag', filter: { tag: 'finance' }, is: (at) => at % 9 === 0 },
      { name: 'from', filter: { fromMs: pastMs + 100_000 }, is: (at) => at >= 100 },
      { name: 'before', filter: { beforeMs: pastMs + 100_000 }, is: (at) => at < 100 },
      {
        name: 'a window',
        filter: { fromMs: pastMs + 50_000, beforeMs: pastMs + 51_000 },
        is: (at) => at === 50,
      },
      { name: 'text, in any case', filter: { text: 'API.example.com/ünïque-117/' }, is: (at) => at === 117 },
      {
        name: 'all together',
        filter: { toolName: 'github', band: 'HIGH', text: 'example' },
        is: (at) => at % 6 === 0,
      },
      { name: 'a tool that is not there', filter: { toolName: 'hub' }, is: () => false },
      { name: 'a beginning of a reason', filter: { reason: 'RISK' }, is: () => false },
      {
        name: 'a class where a reason has the same name',
        filter: { dataClass: 'RISK_HIGH' },
        is: () => false,
      },
      { name: 'text that would be a pattern', filter: { text: '.*' }, is: () => false },
      { name: 'text that would be a wildcard', filter: { text: '%' }, is: () => false },
      { name: 'a time that is not', filter: { fromMs: pastMs, beforeMs: pastMs }, is: () => false },
    ];
    for (const { name, filter, is } of cases) {
      const want = calls.filter((_, at) => is(at)).map((it) => it.line);
      for (const limit of [40, 1_000]) {
        const got = await walk(t, limit, (page) => store.listTraces(tenantId, filter, page));
        t.same(got, want.toReversed(), `${name}, ${limit} a page`);
      }
    }

    const first = await store.listTraces(tenantId, {}, { limit: 10, cursor: undefined });
    await store.recordCalls(callBatch([traced(pastMs + 900_000, tenantId, {})]));
    const second = await store.listTraces(tenantId, {}, { limit: 10, cursor: first.nextCursor ?? 'none' });
    const want = calls
      .slice(-20, -10)
      .map((it) => it.line)
      .toReversed();
    t.same(second.items, want, 'what comes meanwhile does not shift the pages');
    for (const cursor of rubbishCursors)
      await t.rejects(store.listTraces(tenantId, {}, { limit: 10, cursor }), { code: 'VALIDATION_FAILED' });
  });

  await t.test('finds the one trace among thousands, and each of a large batch', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const calls = Array.from({ length: 4_000 }, (_, at) =>
      traced(pastMs + at * 50, at % 4 === 3 ? other.tenantId : acme.tenantId, {
        tool_name: at === 1 ? 'rare' : 'github',
        text: 'x'.repeat(at % 500 === 0 ? 100_000 : 200),
      }),
    );
    t.equal(await store.recordCalls(callBatch(calls)), 0);
    await store.recordCalls(callBatch(calls, true));
    const rare = await walk(t, 100, (page) => store.listTraces(acme.tenantId, { toolName: 'rare' }, page));
    t.same(rare, [calls[1]?.line]);
    for (const { tenantId } of [acme, other]) {
      const got = await walk(t, 1_000, (page) => store.listTraces(tenantId, {}, page));
      const want = calls.filter((it) => it.tenantId === tenantId).map((it) => it.line);
      t.ok(
        got.length === want.length && want.toReversed().every((line, at) => line === got[at]),
        'each once',
      );
    }
  });

  await t.test('traces of the same millisecond are all listed', async (t) => {
    const { tenantId } = await lab.tenant();
    const calls = Array.from({ length: 60 }, () => traced(pastMs, tenantId, {}));
    await store.recordCalls(callBatch(calls));
    const got = await walk(t, 7, (page) => store.listTraces(tenantId, {}, page));
    t.same([...got].sort(), calls.map((it) => it.line).sort());
  });

  await t.test('batches that are recorded at once are all kept', async (t) => {
    const { tenantId } = await lab.tenant();
    const calls = Array.from({ length: 200 }, (_, at) => traced(pastMs + at, tenantId, {}));
    const batches = Array.from({ length: 20 }, (_, at) => calls.slice(at * 10, at * 10 + 10));
    await Promise.all(
      batches.flatMap((batch) => [batch, batch]).map((it) => store.recordCalls(callBatch(it, true))),
    );
    const { items } = await store.listTraces(tenantId, {}, firstPage);
    t.same(items, calls.map((it) => it.line).toReversed());
    t.ok(isFalling(items.map((it) => Date.parse(JSON.parse(it).at))));
  });

  await t.test('a destination is new until a call was let out to it', async (t) => {
    const acme = await lab.tenant();
    const sibling = await acme.agentOf();
    const key = await acme.key();
    const { tenantId, agent } = acme;
    const isNew = async (destination: string, agentId?: string): Promise<boolean> => {
      const admission = await acme.admit(key, { destination, agentId });
      return admission.ok && admission.isNewDestination;
    };
    const long = 'repo/'.padEnd(3_000, 'x');
    const hostile = "x' OR 1=1 --\0\ud800";
    for (const [at, decision] of decisions.entries()) {
      const isLetOut = decision === 'ALLOW' || decision === 'SANITIZE';
      for (const destination of [`host${at}.example.com`, `${long}${at}`, `${hostile}${at}`]) {
        const call = recordedCall({
          tenantId,
          agentId: agent.agentId,
          destination: ownName(destination),
          decision,
        });
        t.ok(await isNew(destination), 'nobody was there');
        await store.recordCalls(callBatch([call]));
        t.equal(await isNew(destination), !isLetOut, `${decision}: ${isLetOut ? 'known' : 'still new'}`);
        t.ok(await isNew(destination, sibling.agentId), 'and new for another agent');
      }
      const destination = `noted${at}`;
      store.noteCall(
        recordedCall({ tenantId, agentId: agent.agentId, destination: ownName(destination), decision }),
      );
      t.equal(await isNew(destination), !isLetOut, `${decision}: noted before its batch`);
    }
  });

  await t.test('what was found in answers stands beside the trace', async (t) => {
    const { tenantId } = await lab.tenant();
    const other = await lab.tenant();
    const [call, busy] = [recordedCall({ tenantId }), recordedCall({ tenantId })];
    await store.recordCalls(callBatch([call, busy]));
    const scan = (at: number) => JSON.stringify({ at, data_classes: ['PII'] });
    t.same(await store.responseScansOf(tenantId, call.traceId), []);
    t.equal(await store.addResponseScan(tenantId, call.traceId, scan(1)), true);
    t.equal(await store.addResponseScan(tenantId, call.traceId, scan(2)), true);
    t.equal(
      await store.addResponseScan(tenantId, call.traceId, scan(2)),
      true,
      'the same again is another one',
    );
    t.same(await store.responseScansOf(tenantId, call.traceId), [scan(1), scan(2), scan(2)]);

    t.equal(
      await store.addResponseScan(other.tenantId, call.traceId, scan(1)),
      false,
      'not by another tenant',
    );
    for (const unknown of [newTraceId(pastMs), newId(), ''])
      t.equal(await store.addResponseScan(tenantId, unknown, scan(1)), false);
    t.same(await store.responseScansOf(other.tenantId, call.traceId), []);

    const many = await Promise.allSettled(
      Array.from({ length: 40 }, (_, at) => store.addResponseScan(tenantId, busy.traceId, scan(at))),
    );
    t.equal(many.filter((it) => it.status === 'fulfilled').length, 16, 'sixteen a trace');
    for (const it of many) if (it.status === 'rejected') t.match(it.reason, { code: 'CONFLICT' });
    t.equal((await store.responseScansOf(tenantId, busy.traceId)).length, 16);
    t.equal(await store.traceById(tenantId, busy.traceId), busy.line, 'the trace stays as it is');
  });

  await t.test('calls are found by facts of their answers', async (t) => {
    const { tenantId } = await lab.tenant();
    const other = await lab.tenant();
    const agentId = newId();
    // More in one second than are read at once, then some seconds with few.
    const calls = Array.from({ length: 700 }, (_, at) =>
      traced(pastMs + (at < 600 ? at : 600 + (at - 600) * 700), tenantId, {
        ...(at % 2 === 0 ? { agent_id: agentId } : {}),
        url: `https://api.example.com/${at}`,
      }),
    );
    const foreign = traced(pastMs, other.tenantId, {});
    await store.recordCalls(callBatch([...calls, foreign]));
    const scans = {
      injection: { injection: { detected: true, score: 0.9 } },
      blocked: { injection: { detected: false }, blocked: ['RESPONSE_BLOCKED', 'UNREADABLE'] },
      redacted: { injection: { detected: false }, redacted: [{ kind: 'email', location: 'body' }] },
      failed: { failure: 'UPSTREAM_TIMEOUT' },
      nothing: { injection: { detected: false }, data_classes: ['PII'], blocked: [], redacted: [] },
    };
    const hasFact = {
      injection: (at: number) => at % 2 === 1 || at >= 600,
      blocked: (at: number) => at % 50 === 0,
      redacted: (at: number) => at === 650,
      failed: (at: number) => at % 70 === 3,
    };
    for (const [at, { traceId }] of calls.entries()) {
      const add = (scan: object) => store.addResponseScan(tenantId, traceId, JSON.stringify(scan));
      if (hasFact.injection(at)) await Promise.all([add(scans.injection), add(scans.injection)]);
      if (hasFact.blocked(at)) await add(scans.blocked);
      if (hasFact.redacted(at)) await add(scans.redacted);
      if (hasFact.failed(at)) await add(scans.failed);
      if (at % 10 === 0) await add(scans.nothing);
    }
    await store.addResponseScan(other.tenantId, foreign.traceId, JSON.stringify(scans.injection));

    const linesOf = (is: (at: number) => boolean) =>
      calls
        .filter((_, at) => is(at))
        .toSorted((a, b) => (a.traceId < b.traceId ? 1 : -1))
        .map(({ line }) => line);
    const listed = (filter: TraceFilter, limit = 100) =>
      walk(t, limit, (page) => store.listTraces(tenantId, filter, page));
    for (const answer of answerFacts) {
      const want = linesOf(hasFact[answer]);
      t.strictSame(await listed({ answer }), want, answer);
      t.strictSame(await listed({ answer }, 7), want, `${answer}, in small pages`);
      const exported: string[] = [];
      for await (const batch of store.exportTraces(tenantId, { answer })) exported.push(...batch);
      t.strictSame(exported, want, `${answer}, exported`);
    }
    const [fromMs, beforeMs] = [pastMs + 300, pastMs + 30_000];
    t.strictSame(
      await listed({ answer: 'injection', agentId, fromMs, beforeMs }),
      linesOf((at) => {
        const { atMs, agentId: its } = calls[at] ?? foreign;
        return hasFact.injection(at) && its === agentId && atMs >= fromMs && atMs < beforeMs;
      }),
      'with other filters',
    );
    t.strictSame(
      await walk(t, 9, (page) => store.listTraces(other.tenantId, { answer: 'injection' }, page)),
      [foreign.line],
    );
    t.strictSame(await listed({ answer: 'redacted', text: 'nowhere' }), []);
  });
};
