import type { TrustMark } from '../../../src/core/history.ts';
import { newId, newTraceId } from '../../../src/core/ids.ts';
import {
  anomaliesMax,
  defaultTrustTerms,
  marksMax,
  trustPartsAt,
  trustPartsMax,
  wholeTrust,
} from '../../../src/state/rules/trust.ts';
import type { TrustRecord } from '../../../src/state/store.ts';
import { callBatch, noonMs, pastMs } from '../records.ts';
import { admitted, callOf, endCalls } from './history.ts';
import { admitRequest, firstPage, type SuitePart } from './lab.ts';

const hourMs = 3_600_000;

export const markOf = (fields: Partial<TrustMark> = {}): TrustMark => ({
  cause: 'denial',
  parts: 500,
  atMs: noonMs,
  traceId: newTraceId(pastMs),
  ...fields,
});

/** What is held against an agent, and how its trust comes back. */
export const trust: SuitePart = async (t, { store, hints, ...lab }) => {
  const other = hints.openNode ? await hints.openNode() : store;
  if (other !== store) t.teardown(() => other.close());

  /** A tenant, and what its agent's trust has come to as both ways tell it, on all nodes. */
  async function open() {
    const acme = await lab.tenant();
    const { tenantId, agent } = acme;
    const key = await acme.key();
    const trustAt = async (nowMs: number): Promise<number> => {
      const { trust } = await admitted(store, admitRequest(acme, key, { nowMs, counts: 'rate' }));
      return trustPartsAt(trust, nowMs, defaultTrustTerms);
    };
    const standing = async (): Promise<TrustRecord | undefined> => {
      const [record] = await store.trustOf(tenantId, [agent.agentId]);
      for (const node of [store, other]) {
        t.same(await node.trustOf(tenantId, [agent.agentId]), [record]);
        const { trust: answered } = await admitted(node, admitRequest(acme, key));
        // Those of an agent that is trusted again need not be answered with every call.
        const { marks } = answered.parts < trustPartsMax ? answered : { marks: record?.marks };
        t.same({ ...answered, marks }, record);
      }
      return record;
    };
    const clean = (count: number, atMs = noonMs) =>
      endCalls(
        store,
        Array.from({ length: count }, () => callOf(acme, { atMs })),
      );
    const deny = (mark: TrustMark) =>
      endCalls(store, [callOf(acme, { atMs: mark.atMs, decision: 'DENY', marks: [mark] })]);
    return { acme, trustAt, standing, clean, deny };
  }

  await t.test(
    'an anomaly that is one too many is not held against the agent, nor its time kept',
    async (t) => {
      const { tenantId, agent } = await lab.tenant();
      const { agentId } = agent;
      const held = async () => (await store.trustOf(tenantId, [agentId]))[0];
      for (let at = 0; at < anomaliesMax; at += 1)
        await store.markTrust(tenantId, agentId, markOf({ cause: 'anomaly', parts: 10, atMs: noonMs + at }));
      const before = await held();
      await store.markTrust(
        tenantId,
        agentId,
        markOf({ cause: 'anomaly', parts: 10, atMs: noonMs + hourMs }),
      );
      t.same(await held(), before);
    },
  );

  await t.test('the trust in strangers and in agents of others is whole', async (t) => {
    const [acme, foreign] = [await open(), await open()];
    t.same(await acme.standing(), wholeTrust);
    await acme.deny(markOf());
    const ids = [acme.acme.agent.agentId, newId(), '', "' OR 1=1 --\0"];
    for (const node of [store, other]) {
      t.match(await node.trustOf(acme.acme.tenantId, ids), [
        { parts: 9_500 },
        ...Array.from({ length: 3 }, () => wholeTrust),
      ]);
      t.same(
        await node.trustOf(foreign.acme.tenantId, ids),
        ids.map(() => wholeTrust),
      );
      t.same(await node.trustOf(foreign.acme.tenantId, []), []);
    }
  });

  await t.test(
    'what a call brings against its agent takes trust, and ends a run of clean calls',
    async (t) => {
      const { acme, standing, clean, deny } = await open();
      await clean(30);
      t.match(await standing(), { parts: 10_000, clean: 30, atMs: noonMs, marks: [] });
      const denial = markOf({ atMs: noonMs + 1 });
      await deny(denial);
      t.same(await standing(), {
        parts: 9_500,
        clean: 0,
        atMs: noonMs + 1,
        marks: [{ ...denial, leftParts: 9_500 }],
      });
      await clean(30, noonMs + 2);
      await endCalls(store, [callOf(acme, { decision: 'REQUIRE_APPROVAL' })]);
      t.match(await standing(), { parts: 9_500, clean: 30, atMs: noonMs + 2 }, 'what is held is not clean');
      const odd = [markOf({ cause: 'anomaly', parts: 200 }), markOf({ cause: 'threat', parts: 2_000 })];
      await endCalls(store, [callOf(acme, { atMs: noonMs + 3, marks: odd })]);
      t.same(await standing(), {
        parts: 7_300,
        clean: 0,
        atMs: noonMs + 3,
        marks: [denial, ...odd].map((it, at) => ({ ...it, leftParts: [9_500, 9_300, 7_300][at] })),
      });
    },
  );

  await t.test('a day of anomalies takes so much trust and no more, however many come at once', async (t) => {
    const { acme, standing } = await open();
    const anomaly = (atMs: number) => markOf({ cause: 'anomaly', parts: 200, atMs });
    const calls = Array.from({ length: 20 }, (_, at) =>
      callOf(acme, { atMs: noonMs + at, marks: [anomaly(noonMs + at)] }),
    );
    await Promise.all([endCalls(store, calls.slice(0, 10)), endCalls(other, calls.slice(10))]);
    t.match(await standing(), { parts: 9_000, marks: { length: anomaliesMax } });
    await endCalls(store, [callOf(acme, { atMs: noonMs + 30, decision: 'DENY', marks: [markOf()] })]);
    t.match(await standing(), { parts: 8_500 }, 'a denial takes what it takes');
    const laterMs = noonMs + 24 * hourMs + 20;
    await endCalls(store, [callOf(acme, { atMs: laterMs, marks: [anomaly(laterMs)] })]);
    t.match(
      await standing(),
      { parts: 9_800, marks: { length: anomaliesMax + 2 } },
      'and so does the next day',
    );
  });

  await t.test('runs of clean calls bring trust back', async (t) => {
    const { acme, standing, clean, deny } = await open();
    await deny(markOf());
    await clean(49);
    t.match(await standing(), { parts: 9_500, clean: 49 });
    await endCalls(store, [callOf(acme, { marks: [markOf({ cause: 'anomaly', parts: 1 })] })]);
    t.match(await standing(), { parts: 9_499, clean: 0 }, 'what counts against the agent is no clean call');
    await clean(49);
    await clean(1);
    t.match(await standing(), { parts: 9_599, clean: 0 });
    await clean(120);
    t.match(await standing(), { parts: 9_799, clean: 20 });
    await clean(200);
    t.match(await standing(), { parts: 10_000, clean: 20 }, 'it is never more than whole');
  });

  await t.test('so does each whole hour without a call', async (t) => {
    const { trustAt, standing, clean, deny } = await open();
    await deny(markOf());
    t.equal(await trustAt(noonMs + hourMs - 1), 9_500);
    t.equal(await trustAt(noonMs + hourMs), 9_600);
    t.equal(await trustAt(noonMs + 3.5 * hourMs), 9_800);
    t.equal(await trustAt(noonMs + 1e6 * hourMs), trustPartsMax);
    t.equal(await trustAt(noonMs - 9 * hourMs), 9_500, 'a clock that is set back brings none');
    await clean(1, noonMs + 2 * hourMs);
    t.match(await standing(), { parts: 9_700, atMs: noonMs + 2 * hourMs });
    await clean(1, noonMs - 5 * hourMs);
    t.match(await standing(), { parts: 9_700, atMs: noonMs + 2 * hourMs }, 'and takes none twice');
    t.equal(await trustAt(noonMs + 3 * hourMs), 9_800);
  });

  await t.test('it is never less than nothing', async (t) => {
    const { standing, clean, deny } = await open();
    for (let at = 0; at < 3; at += 1) await deny(markOf({ parts: 4_000 }));
    t.match(await standing(), { parts: 0 });
    await clean(50);
    t.match(await standing(), { parts: 100 });
  });

  await t.test('the last marks are kept, whatever stands in them', async (t) => {
    const { acme, standing, deny } = await open();
    const marks = Array.from({ length: marksMax + 8 }, (_, at) =>
      markOf({ parts: at, atMs: noonMs + at, traceId: `[${at}],"\n\t{, ✓ \0 \\` }),
    );
    await endCalls(store, [callOf(acme, { decision: 'DENY', marks: marks.slice(0, 5) })]);
    for (const mark of marks.slice(5)) await deny(mark);
    const kept = (await standing())?.marks ?? [];
    t.same(
      kept.map(({ leftParts: _, ...it }) => it),
      marks.slice(-marksMax),
    );
    const lost = marks.reduce((sum, { parts }) => sum + parts, 0);
    t.equal(kept.at(-1)?.leftParts, trustPartsMax - lost, 'and each says what it has left');
  });

  await t.test('something can be held against an agent beside its calls', async (t) => {
    const [{ acme, standing, clean }, foreign] = [await open(), await open()];
    const { tenantId, agent } = acme;
    await clean(10);
    const mark = markOf({ cause: 'analyst-denial', parts: 1_000 });
    await other.markTrust(tenantId, agent.agentId, mark);
    if (other !== store)
      t.same(await store.trustOf(tenantId, [agent.agentId]), await other.trustOf(tenantId, [agent.agentId]));
    t.same(await standing(), {
      parts: 9_000,
      clean: 0,
      atMs: noonMs,
      marks: [{ ...mark, leftParts: 9_000 }],
    });
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 === 0 ? store : other).markTrust(tenantId, agent.agentId, markOf({ parts: 10 })),
      ),
    );
    t.match(await standing(), { parts: 8_800 }, 'however many come at once');
    await store.markTrust(foreign.acme.tenantId, agent.agentId, markOf({ parts: 9_000 }));
    t.match(await standing(), { parts: 8_800 }, 'but not by another tenant');
    t.same(await store.trustOf(foreign.acme.tenantId, [agent.agentId]), [wholeTrust]);
  });

  await t.test('what is held against an idle agent counts from then on', async (t) => {
    const { acme, trustAt, clean } = await open();
    const { tenantId, agent } = acme;
    await clean(1);
    const laterMs = noonMs + 20 * hourMs;
    await store.markTrust(tenantId, agent.agentId, markOf({ parts: 1_000, atMs: laterMs }));
    t.equal(await trustAt(laterMs), 9_000);
    t.equal(await trustAt(laterMs + 2 * hourMs), 9_200);
  });

  await t.test('an operator can forgive an agent everything, and the audit log has it', async (t) => {
    const [{ acme, standing, clean, deny }, foreign] = [await open(), await open()];
    const { tenantId, agent } = acme;
    await clean(10);
    await deny(markOf({ parts: 3_000 }));
    const before = (await store.listAudit(tenantId, {}, firstPage)).items.length;
    const event = acme.event({ kind: 'agent.trust_reset', subject: agent.agentId });
    await store.resetTrust(foreign.acme.tenantId, agent.agentId, foreign.acme.event());
    t.match(await standing(), { parts: 7_000 }, 'only one of the tenant can');
    await other.resetTrust(tenantId, agent.agentId, event);
    t.same(await standing(), { ...wholeTrust, atMs: noonMs });
    const { items } = await store.listAudit(tenantId, {}, firstPage);
    t.equal(items.filter(({ kind, subject }) => kind === event.kind && subject === agent.agentId).length, 1);
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: before + 1 });
    await clean(3);
    t.match(await standing(), { parts: 10_000, clean: 3 });
    await deny(markOf());
    t.match(await standing(), { parts: 9_500, marks: [{ parts: 500 }] });
  });

  await t.test('how trust comes back can be said anew', async (t) => {
    t.teardown(() => store.restoreTrust(defaultTrustTerms));
    const { standing, clean, deny } = await open();
    await deny(markOf({ parts: 5_000 }));
    store.restoreTrust({ parts: 7, calls: 3 });
    await clean(10);
    t.match(await standing(), { parts: 5_021, clean: 1 });
    await clean(1, noonMs + 2 * hourMs);
    t.match(await standing(), { parts: 5_035, clean: 2 });
    store.restoreTrust({ parts: 0, calls: 1 });
    await clean(10, noonMs + 9 * hourMs);
    t.match(await standing(), { parts: 5_035, clean: 0 });
  });

  await t.test('a call that comes twice counts once, also against its agent', async (t) => {
    const { acme, standing } = await open();
    const calls = [
      callOf(acme, { decision: 'DENY', marks: [markOf()] }),
      ...Array.from({ length: 50 }, () => callOf(acme)),
    ];
    for (const call of calls) store.noteCall(call);
    await store.recordCalls(callBatch(calls));
    for (const node of [store, other]) await node.recordCalls(callBatch(calls, true));
    t.match(await standing(), { parts: 9_600, clean: 0, marks: { length: 1 } });
  });
};
