import { randomBytes } from 'node:crypto';
import { newId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { expiredPerStepMax, pendingPerAgentMax } from '../../../src/state/rules/approval.ts';
import type { ApprovalDecision, ApprovalFilter, ApprovalRecord, Hold } from '../../../src/state/store.ts';
import { approvalRecord, decided, noonMs } from '../records.ts';
import { firstPage, ofScripts, type SuitePart, type Tenant } from './lab.ts';

const lifeMs = 600_000;

export const approvals: SuitePart = async (t, { store, hints, ...lab }) => {
  const ofItsScripts = ofScripts(t, hints);
  /** One call of a tenant that must be held, as often as it is tried. */
  const heldCall = async (tenant?: Tenant) => {
    const acme = tenant ?? (await lab.tenant());
    const callHash = randomBytes(32).toString('hex');
    const ask = (nowMs = noonMs) =>
      store.holdCall(approvalRecord({ tenantId: acme.tenantId, callHash, createdAtMs: nowMs }));
    const decide = (approvalId: string, fields: Partial<ApprovalDecision> = {}) =>
      store.decideApproval(
        acme.tenantId,
        approvalId,
        decided(fields),
        acme.event({ kind: 'approval.decided' }),
      );
    return { ...acme, callHash, ask, decide };
  };
  const endMs = noonMs + 61_000;
  const expire = (nowMs: number) => store.expireApprovals(nowMs);
  /** What other tests have left behind. */
  const expireAll = async () => {
    while ((await expire(noonMs + 2 * lifeMs)).length > 0);
  };

  await t.test('an identical call has the same approval while it is pending', async (t) => {
    const { tenantId, callHash, ask } = await heldCall();
    const other = await lab.tenant();
    const record = approvalRecord({ tenantId, callHash });
    t.same(await store.holdCall(record), { kind: 'pending', approval: record, isNew: true });
    t.same(await ask(noonMs + lifeMs - 1), { kind: 'pending', approval: record, isNew: false });
    const different = await store.holdCall(approvalRecord({ tenantId }));
    t.match(different, { kind: 'pending', isNew: true }, 'a different call has its own');
    const foreign = await store.holdCall(approvalRecord({ tenantId: other.tenantId, callHash }));
    t.match(foreign, { kind: 'pending', isNew: true, approval: { tenantId: other.tenantId } });

    t.same(await store.approvalById(tenantId, record.approvalId, noonMs + lifeMs - 1), record);
    const late = await store.approvalById(tenantId, record.approvalId, noonMs + lifeMs);
    t.same(late, { ...record, status: 'expired' }, 'past its end it is expired');
    t.equal(
      await store.approvalById(other.tenantId, record.approvalId, noonMs),
      undefined,
      'nobody else sees it',
    );
    t.equal(await store.approvalById(tenantId, newId(), noonMs), undefined);
    const next = await ask(noonMs + lifeMs);
    t.match(next, { kind: 'pending', isNew: true }, 'and the call has a new one');
    t.not(next.approval.approvalId, record.approvalId);
  });

  await t.test('of many identical calls at once, one opens the approval', async (t) => {
    const { ask } = await heldCall();
    const holds = await Promise.all(Array.from({ length: 300 }, () => ask()));
    t.equal(holds.filter((it) => it.isNew).length, 1);
    t.equal(new Set(holds.map((it) => it.approval.approvalId)).size, 1);
    t.ok(holds.every((it) => it.kind === 'pending'));
  });

  await ofItsScripts('an agent that has many calls waiting keeps no other from asking', async (t) => {
    const { tenantId, event } = await lab.tenant();
    // Whatever agents its keys name.
    const ownAgentId = newId();
    const ask = (fields: Partial<ApprovalRecord> = {}) =>
      store.holdCall(approvalRecord({ tenantId, ownAgentId, ...fields }));
    const holds = await Promise.all(Array.from({ length: pendingPerAgentMax }, () => ask()));
    t.ok(holds.every((it) => it.isNew));
    const busy = { code: 'GATEWAY_BUSY', extra: { retryAfterSeconds: 60 } };
    await t.rejects(ask(), busy);
    const [first] = holds;
    if (!first) return;
    const { callHash, approvalId } = first.approval;
    t.match(await ask({ callHash }), { isNew: false }, 'what waits already is found');
    t.match(await ask({ ownAgentId: newId() }), { isNew: true }, 'another agent');
    await store.decideApproval(tenantId, approvalId, decided(), event());
    t.match(await ask({ createdAtMs: noonMs + 1_000 }), { isNew: true }, 'a decision makes room');
    await t.rejects(ask({ createdAtMs: noonMs + 1_000 }), busy);
    t.match(await ask({ createdAtMs: noonMs + lifeMs }), { isNew: true }, 'and so does time');
  });

  await t.test('a decision is recorded with who, when and why', async (t) => {
    const { ask, decide, tenantId } = await heldCall();
    const { approval } = await ask();
    const want = {
      ...approval,
      status: 'approved',
      decidedAtMs: noonMs + 1_000,
      decidedBy: 'iv_live_9xyz',
      note: 'fine',
      scope: 'once',
      countsUntilMs: endMs,
    };
    t.same(await decide(approval.approvalId), { isDecidedNow: true, approval: want });
    t.same(await store.approvalById(tenantId, approval.approvalId, noonMs + lifeMs * 9), want, 'for good');
    const standing = await decide(approval.approvalId, {
      decision: 'denied',
      decidedBy: 'else',
      nowMs: noonMs + 2_000,
    });
    t.same(standing, { isDecidedNow: false, approval: want }, 'who comes second is told what stands');
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: 1 });

    const other = await heldCall();
    const { approval: second } = await other.ask();
    t.match(await other.decide(second.approvalId, { decision: 'denied', note: null }), {
      isDecidedNow: true,
      approval: { status: 'denied', scope: null, note: null, spentAtMs: null },
    });
  });

  await t.test('nobody decides what is over, foreign or not there', async (t) => {
    const { ask, decide, tenantId } = await heldCall();
    const other = await heldCall();
    const { approval } = await ask();
    t.equal(await decide(newId()), undefined);
    t.equal(await other.decide(approval.approvalId), undefined);
    t.match(await decide(approval.approvalId, { nowMs: noonMs + lifeMs }), {
      isDecidedNow: false,
      approval: { status: 'expired', decidedAtMs: null, decidedBy: null },
    });
    t.match(
      await decide(approval.approvalId, { nowMs: noonMs + 1 }),
      { isDecidedNow: false, approval: { status: 'expired' } },
      "nor somebody with a slower clock, once it is over by anybody's",
    );
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: 1 });
    const { items } = await store.listAudit(tenantId, { kind: 'approval.expired' }, firstPage);
    t.match(items, [{ subject: approval.approvalId, atMs: approval.expiresAtMs, operator: 'gateway' }]);
    t.match(await store.verifyAudit(other.tenantId), { ok: true, entries: 0 });
    t.match(await ask(), { kind: 'pending', isNew: true });
  });

  await t.test('of many deciders at once, one decides', async (t) => {
    for (let round = 0; round < 5; round += 1) {
      const { ask, decide, tenantId } = await heldCall();
      const { approval } = await ask();
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, at) =>
          decide(approval.approvalId, {
            decision: at % 2 === 0 ? 'approved' : 'denied',
            decidedBy: `d${at}`,
          }),
        ),
      );
      t.equal(answers.filter((it) => it?.isDecidedNow).length, 1);
      t.equal(new Set(answers.map((it) => it?.approval.decidedBy)).size, 1, 'all are told the same');
      t.match(await store.verifyAudit(tenantId), { ok: true, entries: 1 });
    }
  });

  await t.test('a grant for one call lets one call through', async (t) => {
    const { ask, decide, tenantId } = await heldCall();
    const { approval } = await ask();
    const { approvalId } = approval;
    await decide(approvalId);
    const spentAtMs = noonMs + 5_000;
    t.match(await ask(spentAtMs), { kind: 'granted', isNew: false, approval: { approvalId, spentAtMs } });
    t.match(await store.approvalById(tenantId, approvalId, spentAtMs), { status: 'approved', spentAtMs });
    const next = await ask(spentAtMs);
    t.match(next, { kind: 'pending', isNew: true }, 'the next one is held again');
    t.not(next.approval.approvalId, approvalId);

    for (let round = 0; round < 5; round += 1) {
      const raced = await heldCall();
      await raced.decide((await raced.ask()).approval.approvalId);
      const holds = await Promise.all(Array.from({ length: 200 }, () => raced.ask(spentAtMs)));
      t.equal(holds.filter((it) => it.kind === 'granted').length, 1, 'of many at once, one');
      t.equal(holds.filter((it) => it.isNew).length, 1);
      t.equal(
        new Set(holds.filter((it) => it.kind === 'pending').map((it) => it.approval.approvalId)).size,
        1,
      );
    }
  });

  await t.test('a grant for a window lets all calls through until its end', async (t) => {
    const { ask, decide } = await heldCall();
    const { approval } = await ask();
    await decide(approval.approvalId, { scope: 'window' });
    const holds = await Promise.all(Array.from({ length: 100 }, () => ask(endMs - 1)));
    t.ok(holds.every((it) => it.kind === 'granted' && it.approval.approvalId === approval.approvalId));
    t.match(holds[0], { isNew: false, approval: { scope: 'window', spentAtMs: null } });
    t.match(await ask(endMs), { kind: 'pending', isNew: true }, 'then it is held again');
  });

  await t.test('a grant does not last longer because the clock is set back', async (t) => {
    for (const scope of ['once', 'window'] as const) {
      const { ask, decide } = await heldCall();
      const dayMs = 86_400_000;
      const { approval } = await ask(noonMs + dayMs);
      await decide(approval.approvalId, { scope, nowMs: noonMs + dayMs });
      const again = await ask(noonMs);
      t.match(again, { kind: 'pending', isNew: true }, scope);
      t.match(await ask(noonMs + 1), { isNew: false, approval: { approvalId: again.approval.approvalId } });
      await decide(again.approval.approvalId, { scope, nowMs: noonMs + 2 });
      t.match(await ask(noonMs + 3), {
        kind: 'granted',
        approval: { approvalId: again.approval.approvalId },
      });
    }
  });

  await t.test('a decision counts for identical calls until its end, or for none', async (t) => {
    for (const scope of ['once', 'window'] as const) {
      const late = await heldCall();
      await late.decide((await late.ask()).approval.approvalId, { scope });
      t.match(await late.ask(endMs), { kind: 'pending', isNew: true }, `${scope}: too late`);
      const none = await heldCall();
      await none.decide((await none.ask()).approval.approvalId, { scope, windowMs: 0 });
      t.match(await none.ask(noonMs + 1_000), { kind: 'pending', isNew: true }, `${scope}: for none`);
    }
    const { ask, decide } = await heldCall();
    const { approval } = await ask();
    await decide(approval.approvalId, { decision: 'denied' });
    const { approvalId } = approval;
    for (const nowMs of [noonMs + 1_000, noonMs + 2_000, endMs - 1])
      t.match(await ask(nowMs), { kind: 'denied', isNew: false, approval: { approvalId, status: 'denied' } });
    t.match(await ask(endMs), { kind: 'pending', isNew: true }, 'after its end it may be asked for again');
    const soft = await heldCall();
    await soft.decide((await soft.ask()).approval.approvalId, { decision: 'denied', windowMs: 0 });
    t.match(await soft.ask(noonMs + 1_000), { kind: 'pending', isNew: true });
  });

  await t.test('the last decision is the one that counts', async (t) => {
    const { ask, decide } = await heldCall();
    await decide((await ask()).approval.approvalId);
    t.match(await ask(noonMs + 2_000), { kind: 'granted' });
    const second = await ask(noonMs + 3_000);
    await decide(second.approval.approvalId, { decision: 'denied', nowMs: noonMs + 4_000 });
    t.match(await ask(noonMs + 5_000), {
      kind: 'denied',
      approval: { approvalId: second.approval.approvalId },
    });
  });

  await t.test('a denial stands for all calls of its denial hash, a grant for its own call', async (t) => {
    const { tenantId, event } = await lab.tenant();
    const denialHash = 'd'.repeat(64);
    const ask = (createdAtMs: number, fields: Partial<ApprovalRecord> = {}) =>
      store.holdCall(approvalRecord({ tenantId, denialHash, createdAtMs, ...fields }));
    const decide = (approvalId: string, fields: Partial<ApprovalDecision>) =>
      store.decideApproval(tenantId, approvalId, decided(fields), event({ kind: 'approval.decided' }));
    const granted = await ask(noonMs);
    const refused = await ask(noonMs);
    await decide(granted.approval.approvalId, { scope: 'window' });
    t.match(await ask(noonMs + 2_000), { kind: 'pending', isNew: true }, 'of another agent');
    const { approvalId } = refused.approval;
    await decide(approvalId, { decision: 'denied' });
    t.match(await ask(noonMs + 2_000), { kind: 'denied', isNew: false, approval: { approvalId } });
    t.match(await ask(noonMs + 2_000, { denialHash: 'e'.repeat(64) }), { kind: 'pending', isNew: true });
    const { callHash } = granted.approval;
    t.match(
      await ask(noonMs + 2_000, { callHash }),
      { kind: 'granted' },
      'what was granted before is granted',
    );
    t.match(await ask(endMs), { kind: 'pending', isNew: true }, 'then anybody may ask again');
  });

  await t.test('of two denials that stand for a call, the one that ends later answers', async (t) => {
    const { tenantId, event } = await lab.tenant();
    const denialHash = 'f'.repeat(64);
    const ask = (createdAtMs: number) =>
      store.holdCall(approvalRecord({ tenantId, denialHash, createdAtMs }));
    const deny = (approvalId: string, windowMs: number) =>
      store.decideApproval(tenantId, approvalId, decided({ decision: 'denied', windowMs }), event());
    const [long, short] = [(await ask(noonMs)).approval, (await ask(noonMs + 1)).approval];
    await deny(long.approvalId, 60_000);
    await deny(short.approvalId, 5_000);
    for (const atMs of [noonMs + 2_000, noonMs + 30_000])
      t.match(await ask(atMs), { kind: 'denied', approval: { approvalId: long.approvalId } });
    t.match(await ask(endMs), { kind: 'pending', isNew: true });
  });

  await t.test('lists approvals as they are at a time', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const held = async (atMs: number, fields: Partial<ApprovalDecision> = {}, isDecided = true) => {
      const { ask, decide } = await heldCall(acme);
      const { approval } = await ask(atMs);
      if (isDecided) await decide(approval.approvalId, { nowMs: atMs + 1, ...fields });
      return approval.approvalId;
    };
    const approved = await held(noonMs);
    const denied = await held(noonMs + 1_000, { decision: 'denied' });
    const early = await held(noonMs + 2_000, {}, false);
    const late = await held(noonMs + 3_000, {}, false);
    await (await heldCall(other)).ask();
    const nowMs = noonMs + 2_000 + lifeMs;
    const cases = [
      { status: undefined, want: [late, early, denied, approved] },
      { status: 'pending', want: [late] },
      { status: 'expired', want: [early] },
      { status: 'approved', want: [approved] },
      { status: 'denied', want: [denied] },
    ] as const;
    for (const { status, want } of cases) {
      const { items, nextCursor } = await store.listApprovals(
        acme.tenantId,
        status ? { status } : {},
        nowMs,
        firstPage,
      );
      t.same(
        items.map((it) => it.approvalId),
        want,
        status ?? 'all',
      );
      if (status) t.ok(items.every((it) => it.status === status));
      t.equal(nextCursor, null);
    }
    const { items } = await store.listApprovals(acme.tenantId, { status: 'pending' }, noonMs, firstPage);
    t.same(
      items.map((it) => it.approvalId),
      [late, early],
    );
  });

  await t.test('lists approvals of an agent, of a tool and of a time', async (t) => {
    const { tenantId } = await lab.tenant();
    const agentId = newId();
    const ask = async (fields: Partial<ApprovalRecord>) =>
      (await store.holdCall(approvalRecord({ tenantId, ...fields }))).approval.approvalId;
    const own = await ask({ agentId });
    const mailed = await ask({ toolName: ownName("o'gmail"), createdAtMs: noonMs + 1_000 });
    const both = await ask({ agentId, toolName: ownName("o'gmail"), createdAtMs: noonMs + 2_000 });
    const cases: readonly [ApprovalFilter, readonly string[]][] = [
      [{ agentId }, [both, own]],
      [{ toolName: "o'gmail" }, [both, mailed]],
      [{ agentId, toolName: "o'gmail", status: 'pending' }, [both]],
      [{ fromMs: noonMs + 1_000 }, [both, mailed]],
      [{ fromMs: noonMs, beforeMs: noonMs + 2_000 }, [mailed, own]],
      [{ agentId: newId() }, []],
      [{ agentId, status: 'denied' }, []],
    ];
    for (const [filter, want] of cases) {
      const { items } = await store.listApprovals(tenantId, filter, noonMs, firstPage);
      t.same(
        items.map((it) => it.approvalId),
        want,
        JSON.stringify(filter),
      );
    }
  });

  await t.test('what is opened and what is used up is logged in the same step', async (t) => {
    const { tenantId, decide, callHash, event } = await heldCall();
    const heard: Hold[] = [];
    const ask = (nowMs: number, isLogged: boolean) =>
      store.holdCall(approvalRecord({ tenantId, callHash, createdAtMs: nowMs }), (hold) => {
        heard.push(hold);
        return isLogged ? event({ kind: `approval.${hold.kind}` }) : undefined;
      });
    const opened = await ask(noonMs, true);
    t.match(await ask(noonMs, false), { isNew: false });
    await decide(opened.approval.approvalId);
    const granted = await ask(noonMs + 2_000, true);
    t.same(heard.at(0), opened);
    t.same(heard.at(-1), granted);
    const { items } = await store.listAudit(tenantId, {}, firstPage);
    t.same(
      items.map((it) => it.kind),
      ['approval.granted', 'approval.decided', 'approval.pending'],
    );
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: 3 });
  });

  await t.test('each approval that expires is told once', async (t) => {
    await expireAll();
    const acme = await lab.tenant();
    const held = await heldCall(acme);
    const { approval } = await held.ask();
    const decided = await heldCall(acme);
    await decided.decide((await decided.ask()).approval.approvalId);
    const later = (await (await heldCall(acme)).ask(noonMs + 1_000)).approval;
    t.same(await expire(noonMs + lifeMs - 1), [], 'nothing before its end');
    const want = { ...approval, status: 'expired' };
    const atOnce = await Promise.all(Array.from({ length: 20 }, () => expire(noonMs + lifeMs)));
    t.same(atOnce.flat(), [want], 'of many who ask at once, one is answered');
    t.same(await store.approvalById(acme.tenantId, approval.approvalId, 0), want);
    t.match(await held.decide(approval.approvalId), { isDecidedNow: false, approval: want }, 'for good');
    const next = await held.ask(noonMs);
    t.match(next, { isNew: true }, 'and its call has a new one');
    const { items } = await store.listAudit(acme.tenantId, { kind: 'approval.expired' }, firstPage);
    const { traceId: trace_id, agentId: agent_id, approvalId: subject, expiresAtMs: atMs } = approval;
    t.equal(items.length, 1);
    t.match(items, [{ subject, atMs, operator: 'gateway', details: { trace_id, agent_id } }]);
    const listed = await store.listApprovals(
      acme.tenantId,
      { status: 'expired' },
      noonMs + lifeMs + 1_000,
      firstPage,
    );
    t.same(
      listed.items.map((it) => it.approvalId).sort(),
      [approval, later, next.approval].map((it) => it.approvalId).sort(),
      'told or not',
    );
  });

  await t.test('many that expire at once are told in steps', async (t) => {
    await expireAll();
    const { tenantId } = await lab.tenant();
    const count = expiredPerStepMax + 20;
    await Promise.all(Array.from({ length: count }, () => store.holdCall(approvalRecord({ tenantId }))));
    const nowMs = noonMs + lifeMs;
    const steps = [await expire(nowMs), await expire(nowMs), await expire(nowMs)];
    t.same(
      steps.map((it) => it.length),
      [expiredPerStepMax, 20, 0],
    );
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: count });
  });

  await t.test(
    'nobody decides an approval that another has followed, whatever their clock says',
    async (t) => {
      const { ask, decide, tenantId } = await heldCall();
      const { approval: first } = await ask();
      const { approval: second } = await ask(noonMs + lifeMs);
      const early = { nowMs: noonMs + lifeMs - 1 };
      t.match(await decide(first.approvalId, early), {
        isDecidedNow: false,
        approval: { status: 'expired' },
      });
      t.match(await decide(second.approvalId, { ...early, decision: 'denied', windowMs: 0 }), {
        isDecidedNow: true,
      });
      t.match(await ask(noonMs + lifeMs), { kind: 'pending', isNew: true }, 'and no grant is left over');
      t.match(await store.verifyAudit(tenantId), { ok: true, entries: 2 });
    },
  );
};
