import { newId, newTraceId, timeOfTraceId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { toLine } from '../../../src/state/journal/line.ts';
import type { RecordedCall, StatBucket, Store, TraceFilter } from '../../../src/state/store.ts';
import {
  otherName,
  type StatDimension,
  statDimensions,
  statNameLengthMax,
  statNamesMax,
} from '../../../src/state/traces/stats.ts';
import { callBatch, pastMs, recordedCall } from '../records.ts';
import { ofScripts, type SuitePart } from './lab.ts';

const dayMs = 86_400_000;
const idOf = (line: string): string => JSON.parse(line).trace_id;

function callAt(tenantId: string, atMs: number, fields: Record<string, unknown> = {}): RecordedCall {
  const traceId = newTraceId(atMs);
  const line = JSON.stringify({ trace_id: traceId, agent_name: '"tool_name":"no","', ...fields });
  return recordedCall({ traceId, tenantId, atMs, line: ownName(line) });
}

/** What people look at: lists while others write, what comes in, and counts. */
export const activity: SuitePart = async (t, { store, hints, ...lab }) => {
  const ofItsScripts = ofScripts(t, hints);
  const other = hints.openNode ? await hints.openNode() : undefined;
  if (other) t.teardown(() => other.close());
  const nodes: readonly Store[] = other ? [store, other] : [store];

  await t.test('pages neither skip nor repeat while all nodes write, late ones too', async (t) => {
    const { tenantId } = await lab.tenant();
    const first = Array.from({ length: 600 }, (_, at) => callAt(tenantId, pastMs + at * 37));
    await store.recordCalls(callBatch(first));
    const want = new Set(first.map((it) => it.traceId));
    const seen: string[] = [];
    // Some newer than all pages, some between what was there, some older than all.
    const write = (node: Store, nth: number): Promise<unknown> => {
      const calls = [30_000, 9_000, -5_000].flatMap((ms) =>
        Array.from({ length: 7 }, (_, at) => callAt(tenantId, pastMs + ms + ((nth * 31 + at) % 900))),
      );
      return node.recordCalls(callBatch(calls));
    };
    let cursor: string | undefined;
    for (let pages = 0; pages < 1_000; pages += 1) {
      const isQuiet = seen.length > 450;
      const [page] = await Promise.all([
        store.listTraces(tenantId, {}, { limit: 1 + (pages % 23), cursor }),
        ...(isQuiet ? [] : nodes.map((node) => write(node, pages))),
      ]);
      seen.push(...page.items.map(idOf));
      cursor = page.nextCursor ?? undefined;
      if (cursor === undefined) break;
    }
    t.equal(cursor, undefined, 'the walk has an end');
    t.equal(new Set(seen).size, seen.length, 'nothing comes twice');
    t.same(seen, seen.toSorted().toReversed(), 'always older');
    for (const id of seen) want.delete(id);
    t.equal(want.size, 0, 'and all that was there at the beginning has come');
  });

  await t.test('a late line is on the pages that are still to come', async (t) => {
    const { tenantId } = await lab.tenant();
    const calls = [0, 10_000, 20_000].map((ms) => callAt(tenantId, pastMs + ms));
    await store.recordCalls(callBatch(calls));
    const first = await store.listTraces(tenantId, {}, { limit: 2, cursor: undefined });
    const [older, newer] = [callAt(tenantId, pastMs + 5_000), callAt(tenantId, pastMs + 15_000)];
    await (other ?? store).recordCalls(callBatch([older, newer]));
    const rest = await store.listTraces(tenantId, {}, { limit: 9, cursor: first.nextCursor ?? '' });
    t.same(rest.items.map(idOf), [older.traceId, calls[0]?.traceId], 'the newer one is for the next walk');
  });

  await t.test('an export has what the pages of a list have, and ends where it is left', async (t) => {
    const { tenantId } = await lab.tenant();
    const calls = Array.from({ length: 700 }, (_, at) =>
      callAt(tenantId, pastMs + at * 20, { tool_name: at % 7 === 0 ? 'rare' : 'github' }),
    );
    await store.recordCalls(callBatch([...calls, ...calls.slice(0, 5)]));
    const ids = async (filter: TraceFilter) => {
      const batches: (readonly string[])[] = [];
      for await (const batch of store.exportTraces(tenantId, filter)) batches.push(batch);
      t.ok(batches.every((it) => it.length <= 250));
      return batches.flat().map(idOf);
    };
    const want = calls.map((it) => it.traceId).toReversed();
    t.same((await ids({})).sort(), want.toSorted(), 'each once');
    t.equal((await ids({ toolName: 'rare' })).length, 100);
    t.same(await ids({ toolName: 'none' }), []);
    for await (const batch of store.exportTraces(tenantId, {})) {
      t.equal(idOf(batch[0] ?? ''), (await ids({}))[0], 'newest first');
      break;
    }
  });

  await ofItsScripts(
    'a search passes over times that have none of what is asked for, and over nothing else',
    async (t) => {
      const { tenantId } = await lab.tenant();
      // As of now: minutes and hours of long ago are counted no more.
      const nowMs = Date.now();
      const ages = [0, 1, 59, 60, 61, 3_599, 3_601, 7_300, 90_000, 200_000, 5_000_000].map(
        (it) => it * 1_000,
      );
      const marked: string[] = [];
      const calls = ages.flatMap((ageMs, age) =>
        Array.from({ length: 12 }, (_, at): RecordedCall => {
          const isRare = age % 3 === 1 && at === 5;
          const call = callAt(tenantId, nowMs - ageMs - at * 7_000, {
            agent_id: 'b5b0ff1e-51bb-43d6-8c3b-6a6f0a3e2a11',
            tool_name: isRare ? 'rare "tool"' : 'common',
            operation: isRare ? 'rare \\ "op"' : 'common',
            risk_band: isRare ? 'CRITICAL' : 'LOW',
            decision: isRare ? 'DENY' : 'ALLOW',
            ...(isRare ? { classifications: ['PII', 'PHI'], tags: ['a', 'rare'] } : { tags: ['a'] }),
            // The last of more reasons than are counted one by one.
            reason_codes: isRare ? [...Array.from({ length: 40 }, (_, nth) => `R${nth}`), 'RARE'] : ['USUAL'],
          });
          if (isRare) marked.push(call.traceId);
          return {
            ...call,
            agentId: 'b5b0ff1e-51bb-43d6-8c3b-6a6f0a3e2a11',
            decision: isRare ? 'DENY' : 'ALLOW',
          };
        }),
      );
      await store.recordCalls(callBatch(calls));
      const searches: readonly TraceFilter[] = [
        { toolName: 'rare "tool"' },
        { reason: 'R3' },
        { reason: 'RARE' },
        { band: 'CRITICAL' },
        { decision: 'DENY' },
        { operation: 'rare \\ "op"' },
        { dataClass: 'PHI' },
        { tag: 'rare' },
        { tag: 'a', dataClass: 'PII', operation: 'rare \\ "op"', band: 'CRITICAL' },
        { decision: 'DENY', toolName: 'rare "tool"', reason: 'R1', band: 'CRITICAL' },
      ];
      const walk = async (node: Store, filter: TraceFilter, limit: number): Promise<string[]> => {
        const ids: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await node.listTraces(tenantId, filter, { limit, cursor });
          ids.push(...page.items.map(idOf));
          cursor = page.nextCursor ?? undefined;
        } while (cursor !== undefined);
        return ids;
      };
      const want = marked.toSorted().toReversed();
      for (const node of nodes)
        for (const filter of searches)
          for (const limit of [1, 100]) t.same(await walk(node, filter, limit), want, JSON.stringify(filter));
      t.same(await walk(store, { toolName: 'rare "tool"', decision: 'ALLOW' }, 100), []);
      for (const filter of [
        { reason: 'none' },
        { operation: 'none' },
        { tag: 'none' },
        { dataClass: 'SECRETS' },
      ])
        t.same(await walk(store, filter, 100), []);
      t.equal((await walk(store, { agentId: calls[0]?.agentId ?? '' }, 100)).length, calls.length);
      // More names than a minute counts: what is not named there may be there.
      const crowd = Array.from({ length: statNamesMax + 9 }, (_, at) =>
        callAt(tenantId, nowMs - 600_000, {
          tool_name: `crowd-${at}`,
          operation: `op-${at}`,
          tags: [`tag-${at}`],
        }),
      );
      await store.recordCalls(callBatch(crowd));
      const last = `crowd-${statNamesMax + 8}`;
      t.equal((await walk(store, { toolName: last }, 100)).length, 1);
      t.equal((await walk(store, { operation: `op-${statNamesMax + 8}` }, 100)).length, 1);
      t.equal((await walk(store, { tag: `tag-${statNamesMax + 8}` }, 100)).length, 1);
    },
  );

  await t.test('what comes in is told in the order in which it came, once', async (t) => {
    const { tenantId } = await lab.tenant();
    const foreign = await lab.tenant();
    await store.recordCalls(callBatch([callAt(tenantId, pastMs)]));
    let { position, ...start } = await store.tracesSince(tenantId, undefined);
    t.same(start, { traces: [], hasMore: false, hasGap: false }, 'from now on');
    const told = async (): Promise<string[]> => {
      const ids: string[] = [];
      for (;;) {
        const since = await store.tracesSince(tenantId, position);
        t.equal(since.hasGap, false);
        ids.push(...since.traces.map(idOf));
        position = since.position;
        if (!since.hasMore) return ids;
      }
    };
    t.same(await told(), []);
    const late = callAt(tenantId, pastMs - dayMs);
    const calls = [callAt(tenantId, pastMs + 9_000), late, callAt(tenantId, pastMs + 9_001)];
    await (other ?? store).recordCalls(callBatch(calls));
    await store.recordCalls(callBatch([callAt(foreign.tenantId, pastMs)]));
    t.same((await told()).sort(), calls.map((it) => it.traceId).sort(), 'however old its id is');
    const next = callAt(tenantId, pastMs + 9_002);
    await store.recordCalls(callBatch([...calls, next, next], true));
    t.same(await told(), [next.traceId], 'what came before does not come again');
    const many = Array.from({ length: 60 }, (_, at) => callAt(tenantId, pastMs + at * 1_000));
    for (let at = 0; at < many.length; at += 1) await store.recordCalls(callBatch(many.slice(at, at + 1)));
    t.same(
      await told(),
      many.map((it) => it.traceId),
      'in several answers where it is much',
    );
    t.match(await store.tracesSince(tenantId, 'rubbish'), { traces: [], hasGap: true });
  });

  await t.test('counts calls by minute, hour and day, exactly and once', async (t) => {
    const { tenantId } = await lab.tenant();
    const agents = [newId(), newId()];
    // Two minutes, the second one in another hour, and one of the day before.
    const noon = Math.floor(pastMs / dayMs) * dayMs + dayMs / 2;
    const calls = Array.from({ length: 300 }, (_, at): RecordedCall => {
      const atMs = at === 0 ? noon - dayMs : noon + (at % 2) * 3_600_000 + (at % 50) * 1_000;
      const decision = at % 3 === 0 ? 'DENY' : 'ALLOW';
      return {
        ...callAt(tenantId, atMs, {
          ...(at % 5 === 0 ? {} : { tool_name: at % 2 === 0 ? 'github' : 'Gerät "7" \\' }),
          risk_band: at % 10 === 0 ? 'HIGH' : 'LOW',
          ...(decision === 'DENY' ? { reason_codes: ['SECRETS', 'RISK_HIGH'] } : {}),
          signals: [{ engine: 'semantic', details: '"reason_codes":["NO"],"risk_band":"NO"' }],
        }),
        agentId: agents[at % 2] ?? '',
        decision,
      };
    });
    // Both nodes ship the same, some of it again and again.
    const parts = [0, 100, 200].map((at) => calls.slice(at, at + 100));
    await Promise.all(
      parts.flatMap((part) => nodes.map((node) => node.recordCalls(callBatch([...part, ...part], true)))),
    );
    await store.recordCalls(callBatch(calls, true));

    const countOf = (of: (call: RecordedCall, trace: Record<string, unknown>) => readonly unknown[]) => {
      const counts: Record<string, number> = {};
      for (const call of calls)
        for (const name of of(call, JSON.parse(call.line)))
          if (name !== undefined) counts[String(name)] = (counts[String(name)] ?? 0) + 1;
      return counts;
    };
    const want: Record<StatDimension, Record<string, number>> = {
      decision: countOf(({ decision }) => [decision]),
      reason: countOf((_, trace) => (trace['reason_codes'] as string[] | undefined) ?? []),
      band: countOf((_, trace) => [trace['risk_band']]),
      tool: countOf((_, trace) => [trace['tool_name']]),
      agent: countOf(({ agentId }) => [agentId]),
    };
    for (const node of nodes) {
      for (const [interval, lengthMs] of [
        ['minute', 60_000],
        ['hour', 3_600_000],
        ['day', dayMs],
      ] as const) {
        const [from, to] = [noon - dayMs * 2, noon + dayMs];
        const spans = interval === 'minute' ? [noon - dayMs, noon, noon + 3_600_000] : [from];
        const buckets: StatBucket[] = [];
        for (const at of spans)
          buckets.push(
            ...(await node.callStats(tenantId, interval, at, interval === 'minute' ? at + 120_000 : to)),
          );
        t.ok(buckets.every((it) => it.startMs % lengthMs === 0));
        t.equal(buckets.length, interval === 'day' ? 2 : 3, interval);
        for (const dimension of statDimensions) t.same(sum(buckets, dimension), want[dimension], dimension);
        if (interval === 'minute') continue;
        const few = await node.callStats(tenantId, interval, from, to, 'decision');
        t.same(sum(few, 'decision'), want.decision, 'decisions alone');
        t.same(sum(few, 'tool'), {}, 'and nothing else');
        t.equal(few.length, buckets.length);
      }
      t.same(await node.callStats(tenantId, 'hour', noon + dayMs, noon + 2 * dayMs), []);
      t.same(await node.callStats(tenantId, 'hour', noon, noon), []);
      const hour = await node.callStats(tenantId, 'hour', noon, noon + 3_600_000);
      t.same(
        hour.map((it) => it.startMs),
        [noon],
        'from inclusive, to exclusive',
      );
    }
  });

  await t.test('a bucket has so many names, and the rest is one', async (t) => {
    const { tenantId } = await lab.tenant();
    const tools = [
      ...Array.from({ length: statNamesMax + 40 }, (_, at) => `tool-${at}`),
      '__proto__',
      'constructor',
      'x'.repeat(statNameLengthMax + 1),
    ];
    const calls = tools.map((tool) => callAt(tenantId, pastMs, { tool_name: tool }));
    for (let at = 0; at < calls.length; at += 50)
      await store.recordCalls(callBatch(calls.slice(at, at + 50)));
    await store.recordCalls(callBatch([callAt(tenantId, pastMs, { tool_name: 'tool-0' })]));
    const [bucket] = await store.callStats(tenantId, 'day', pastMs - dayMs, pastMs + dayMs);
    const names = bucket?.counts.tool ?? {};
    t.equal(Object.keys(names).filter((it) => it !== otherName).length, statNamesMax);
    t.equal(names['tool-0'], 2, 'who is known still counts');
    t.equal(names[otherName], 43);
    t.equal(
      Object.values(names).reduce((a, b) => a + b, 0),
      calls.length + 1,
      'none is lost',
    );
  });

  await t.test(
    'a line whose trace is strange is stored, and counted by what can be read of it',
    async (t) => {
      const { tenantId } = await lab.tenant();
      const call = recordedCall({ tenantId, traceId: newTraceId(pastMs) });
      const line = `{"tool_name":"a\\u0041\\\\","reason_codes":[1,"X","X"],"risk_band":"LOW}`;
      const text = toLine({ ...call, line: ownName(line) });
      t.equal(await store.recordCalls({ lines: new TextEncoder().encode(text), mayRepeat: false }), 0);
      const [bucket] = await store.callStats(tenantId, 'minute', pastMs, pastMs + 60_000);
      t.match(bucket?.counts, { decision: { ALLOW: 1 }, tool: { 'aA\\': 1 }, reason: { X: 1 } });
      t.equal(timeOfTraceId(call.traceId), pastMs);
    },
  );
};

function sum(buckets: readonly StatBucket[], dimension: StatDimension): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { counts } of buckets)
    for (const [name, count] of Object.entries(counts[dimension])) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}
