import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { decisions } from '../../src/call.ts';
import { newId, newTraceId } from '../../src/ids.ts';
import type { Admission, AgentRecord, KeyRecord, PolicyApply, Store } from '../../src/state/store.ts';
import {
  agentRecord,
  approvalRecord,
  auditEvent,
  callBatch,
  keyRecord,
  policyApply,
  recordedCall,
} from './records.ts';

/** What every driver of the store promises. `open` gives an empty one. */
export async function storeSuite(t: Test, open: () => Promise<Store>): Promise<void> {
  const opened = async (t: Test): Promise<Store> => {
    const store = await open();
    t.teardown(() => store.close());
    return store;
  };

  await t.test('keys', async (t) => {
    const store = await opened(t);
    const agent = await store.ensureAgent(agentRecord());
    const key = keyRecord({ agentId: agent.agentId, expiresAtMs: 5_000, permissions: ['scan', 'keys:read'] });
    await store.addKey(key, auditEvent());

    t.same(await store.keyById('acme', key.keyId), key, 'a key is as it was added');
    t.equal(await store.keyById('other', key.keyId), undefined, 'and unknown in another tenant');

    const holder = await store.identify(key.hash, 4_999);
    t.match(holder, { ok: true, key: { keyId: key.keyId }, agentStatus: 'active' });
    t.same(holder.ok && holder.identity, {
      keyId: key.keyId,
      keyPrefix: key.prefix,
      tenantId: 'acme',
      envName: 'prod',
      agentId: agent.agentId,
      agentName: 'crawler',
      permissions: new Set(['scan', 'keys:read']),
    });

    const refusals = [
      { name: 'has expired at its end', hash: key.hash, nowMs: 5_000 },
      { name: 'is not known', hash: randomBytes(32).toString('hex'), nowMs: 1 },
      { name: 'is no hash', hash: 'nonsense', nowMs: 1 },
      { name: 'is the beginning of a known one', hash: key.hash.slice(0, 32), nowMs: 1 },
      { name: 'is empty', hash: '', nowMs: 1 },
    ];
    for (const { name, hash, nowMs } of refusals) {
      t.match(await store.identify(hash, nowMs), { ok: false, code: 'INVALID_KEY' }, `refuses what ${name}`);
    }
  });

  await t.test('a key that cannot be added leaves nothing behind', async (t) => {
    const store = await opened(t);
    const agent = await store.ensureAgent(agentRecord());
    const stranger = await store.ensureAgent(agentRecord({ tenantId: 'other' }));
    const key = keyRecord({ agentId: agent.agentId });
    await store.addKey(key, auditEvent());

    const cases = [
      { name: 'its id is taken', key: { ...key, hash: randomBytes(32).toString('hex') }, code: 'CONFLICT' },
      { name: 'its hash is taken', key: { ...key, keyId: newId() }, code: 'CONFLICT' },
      { name: 'its agent is unknown', key: keyRecord({ agentId: newId() }), code: 'NOT_FOUND' },
      {
        name: 'its agent is of another tenant',
        key: keyRecord({ agentId: stranger.agentId }),
        code: 'NOT_FOUND',
      },
    ];
    for (const { name, key: wrong, code } of cases) {
      await t.rejects(store.addKey(wrong, auditEvent()), { code }, name);
      if (wrong.hash !== key.hash)
        t.match(await store.identify(wrong.hash, 1), { ok: false }, 'no call knows it');
    }
    t.match(
      await store.identify(key.hash, 1),
      { ok: true, key: { keyId: key.keyId } },
      'the first one stands',
    );
    t.match(
      await store.verifyAudit('acme'),
      { ok: true, entries: 1 },
      'the audit log has the one that was added',
    );
  });

  await t.test('of many that add the same key at once, one does', async (t) => {
    const store = await opened(t);
    const agent = await store.ensureAgent(agentRecord());
    const key = keyRecord({ agentId: agent.agentId });
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => store.addKey({ ...key, name: `n${at}` }, auditEvent())),
    );
    t.equal(results.filter((it) => it.status === 'fulfilled').length, 1);
    t.match(await store.verifyAudit('acme'), { ok: true, entries: 1 });
  });

  await t.test('a revoked key stays revoked, from the next call on', async (t) => {
    const store = await opened(t);
    const agent = await store.ensureAgent(agentRecord());
    const key = keyRecord({ agentId: agent.agentId });
    await store.addKey(key, auditEvent());
    t.match(await store.identify(key.hash, 1), { ok: true });

    t.equal(await store.revokeKey('other', key.keyId, auditEvent()), undefined, 'not by another tenant');
    t.match(await store.identify(key.hash, 1), { ok: true });
    t.match(await store.revokeKey('acme', key.keyId, auditEvent({ atMs: 3_000 })), { revokedAtMs: 3_000 });
    t.match(await store.identify(key.hash, 1), { ok: false, code: 'INVALID_KEY' });
    t.match(await store.revokeKey('acme', key.keyId, auditEvent({ atMs: 9_000 })), { revokedAtMs: 3_000 });
    t.match(await store.keyById('acme', key.keyId), { revokedAtMs: 3_000 });
    t.match(await store.verifyAudit('acme'), { ok: true, entries: 2 }, 'revoking again is no event');
  });

  await t.test('agents and tenants', async (t) => {
    const store = await opened(t);
    const agent = agentRecord();
    const names = Array.from({ length: 30 }, (_, at) => `n${at}`);
    const answers = await Promise.all(names.map((name) => store.ensureAgent({ ...agent, name })));
    t.equal(new Set(answers.map((it) => it.name)).size, 1, 'many who ensure one agent get the same one');
    const again = await store.ensureAgent({ ...agent, tenantId: 'other' });
    t.equal(again.tenantId, 'acme', 'an agent never changes its tenant');
    t.same(await store.agentById(agent.agentId), answers[0]);
    t.equal(await store.agentById(newId()), undefined);

    t.same(await store.registeredTenants(), []);
    await store.registerTenant('beta', 1);
    await store.registerTenant('alpha', 2);
    await store.registerTenant('beta', 3);
    t.same(await store.registeredTenants(), ['beta', 'alpha']);
  });

  await t.test('admit answers for the agent that the call names', async (t) => {
    const store = await opened(t);
    const ensure = (fields: Partial<AgentRecord>) => store.ensureAgent(agentRecord(fields));
    const own = await ensure({});
    const sibling = await ensure({ name: 'sibling' });
    const staging = await ensure({ envName: 'staging' });
    const suspended = await ensure({ status: 'suspended' });
    const foreign = await ensure({ tenantId: 'other' });
    const addKey = async (fields: Partial<KeyRecord>): Promise<KeyRecord> => {
      const key = keyRecord({ agentId: own.agentId, ...fields });
      await store.addKey(key, auditEvent());
      return key;
    };
    const key = await addKey({});
    const wide = await addKey({ envNames: ['staging'] });
    const revoked = await addKey({ revokedAtMs: 1 });

    const cases: { name: string; key: KeyRecord; agentId: string | undefined; want: object }[] = [
      { name: 'none', key, agentId: undefined, want: { ok: true, identity: { agentId: own.agentId } } },
      { name: 'its own', key, agentId: own.agentId, want: { ok: true, identity: { agentId: own.agentId } } },
      {
        name: 'another of the tenant',
        key,
        agentId: sibling.agentId,
        want: { ok: true, identity: { agentId: sibling.agentId, agentName: 'sibling', keyId: key.keyId } },
      },
      {
        name: 'one of an environment that the key may name',
        key: wide,
        agentId: staging.agentId,
        want: { ok: true, identity: { agentId: staging.agentId, envName: 'staging' } },
      },
      {
        name: 'a suspended one',
        key,
        agentId: suspended.agentId,
        want: { ok: true, agentStatus: 'suspended' },
      },
      {
        name: 'one of another environment',
        key,
        agentId: staging.agentId,
        want: { code: 'CROSS_ENVIRONMENT' },
      },
      { name: 'one of another tenant', key, agentId: foreign.agentId, want: { code: 'CROSS_TENANT' } },
      { name: 'one that nobody knows', key, agentId: newId(), want: { code: 'UNKNOWN_AGENT' } },
      {
        name: 'one, with a revoked key',
        key: revoked,
        agentId: sibling.agentId,
        want: { code: 'INVALID_KEY' },
      },
    ];
    for (const { name, key, agentId, want } of cases) {
      const admission = await store.admit({ keyHash: key.hash, nowMs: 2_000, agentId, destination: 'x' });
      t.match(admission, want, name);
    }
  });

  await t.test('a destination is new until a call was let out to it', async (t) => {
    const store = await opened(t);
    const agent = await store.ensureAgent(agentRecord());
    const other = await store.ensureAgent(agentRecord());
    const key = keyRecord({ agentId: agent.agentId });
    await store.addKey(key, auditEvent());
    const isNew = async (destination: string, agentId?: string): Promise<boolean> => {
      const admission: Admission = await store.admit({ keyHash: key.hash, nowMs: 1, agentId, destination });
      return admission.ok && admission.isNewDestination;
    };
    const long = 'repo/'.padEnd(3_000, 'x');
    const hostile = "x' OR 1=1 --\0\ud800";

    for (const [at, decision] of decisions.entries()) {
      const isLetOut = decision === 'ALLOW' || decision === 'SANITIZE';
      for (const destination of [`host${at}.example.com`, `${long}${at}`, `${hostile}${at}`]) {
        const call = recordedCall({ agentId: agent.agentId, destination, decision });
        t.ok(await isNew(destination), 'nobody was there');
        await store.recordCalls(callBatch([call]));
        t.equal(await isNew(destination), !isLetOut, `${decision}: ${isLetOut ? 'known' : 'still new'}`);
        t.ok(await isNew(destination, other.agentId), 'and new for another agent');
      }
      const noted = recordedCall({ agentId: agent.agentId, destination: `noted${at}`, decision });
      store.noteCall(noted);
      t.equal(await isNew(`noted${at}`), !isLetOut, `${decision}: noted before its batch`);
    }
  });

  await t.test('policies', async (t) => {
    const store = await opened(t);
    const apply = (fields: Partial<PolicyApply>) =>
      store.applyPolicy(policyApply(fields), auditEvent({ tenantId: fields.tenantId ?? 'acme' }));

    t.same(await store.policiesOf('acme'), []);
    const versions = await Promise.all(
      Array.from({ length: 40 }, (_, at) => apply({ description: `v${at}` })),
    );
    t.same(
      versions.map((it) => it.version).sort((a, b) => a - b),
      Array.from({ length: 40 }, (_, at) => at + 1),
      'applied at once, versions are consecutive and none is lost',
    );
    t.equal(new Set(versions.map((it) => it.policyId)).size, 1, 'all have the id of the first');

    const rules = [{ id: 'r', action: 'ALLOW', match: { a: 1, b: [1, 2] } }];
    t.match(await apply({ rules }), { version: 41, unchanged: false });
    const reordered = [{ match: { b: [1, 2], a: 1 }, action: 'ALLOW', id: 'r' }];
    t.match(
      await apply({ rules: reordered }),
      { version: 42, unchanged: true },
      'the order of members says nothing',
    );
    t.match(await apply({ rules, mode: 'monitor' }), { version: 43, unchanged: false });

    t.match(
      await apply({ envName: 'prod' }),
      { version: 1, envName: 'prod' },
      'an environment counts for itself',
    );
    t.match(await apply({ tenantId: 'other' }), { version: 1 }, 'so does a tenant');
    t.match(await store.policyByName('acme', 'baseline', 'prod'), { envName: 'prod', version: 1 });
    t.match(await store.policyByName('acme', 'baseline', 'staging'), { envName: null, version: 43 });
    t.match(await store.policyByName('acme', 'baseline', null), { envName: null, version: 43 });
    t.equal(await store.policyByName('acme', 'nothing', null), undefined);

    const latest = await store.policiesOf('acme');
    t.same(
      latest.map(({ envName, version }) => [envName, version]),
      [
        [null, 43],
        ['prod', 1],
      ],
      'the latest of each',
    );
    t.equal(await store.policiesOf('acme'), latest, 'the same array while nothing changes');
    await apply({ name: 'second' });
    t.equal((await store.policiesOf('acme')).length, 3, 'an applied policy holds from the next call on');
    t.match(await store.verifyAudit('acme'), { ok: true, entries: 45 });
  });

  await t.test('approvals', async (t) => {
    const store = await opened(t);
    const approval = approvalRecord();
    const same = () => ({ ...approvalRecord(), callHash: approval.callHash });
    t.same(await store.openApproval(approval), approval);
    const answers = await Promise.all(Array.from({ length: 10 }, () => store.openApproval(same())));
    t.same(
      new Set(answers.map((it) => it.approvalId)),
      new Set([approval.approvalId]),
      'one while it is pending',
    );
    const elsewhere = await store.openApproval({ ...same(), tenantId: 'other' });
    t.not(elsewhere.approvalId, approval.approvalId, 'another tenant has its own');

    t.match(await store.approvalById('acme', approval.approvalId, 1_999), { status: 'pending' });
    t.match(await store.approvalById('acme', approval.approvalId, 2_000), { status: 'expired' });
    t.equal(await store.approvalById('other', approval.approvalId, 1), undefined, 'nobody else sees it');
    t.equal(await store.approvalById('acme', newId(), 1), undefined);

    const later = { ...same(), createdAtMs: 2_000, expiresAtMs: 3_000 };
    t.match(
      await store.openApproval(later),
      { approvalId: later.approvalId },
      'a new one once it has expired',
    );
    await t.rejects(
      store.openApproval({ ...approvalRecord(), approvalId: approval.approvalId }),
      { code: 'CONFLICT' },
      'an id is given once',
    );
  });

  await t.test('calls', async (t) => {
    const store = await opened(t);
    const other = recordedCall();
    const calls = Array.from({ length: 50 }, (_, at) => {
      const traceId = newTraceId(1_000 + at * 100);
      // Traces quote what callers wrote: here another trace's id, as if it began a line.
      return recordedCall({
        traceId,
        line: JSON.stringify({ trace_id: traceId, text: `\n${other.traceId}\t{}` }),
      });
    });
    const foreign = recordedCall({ tenantId: 'other\t"{', traceId: newTraceId(1_000) });
    const mixed = [...calls.slice(0, 20), foreign, ...calls.slice(20), other];
    t.equal(await store.recordCalls(callBatch(mixed)), 0);
    for (const { traceId, line } of [...calls, other]) t.equal(await store.traceById('acme', traceId), line);
    t.equal(await store.traceById(foreign.tenantId, foreign.traceId), foreign.line);
    t.equal(await store.traceById('acme', foreign.traceId), undefined, 'nobody else sees it');
    t.equal(await store.traceById('other', other.traceId), undefined);

    const late = recordedCall();
    const repeated = [...mixed.map((call) => ({ ...call, line: '{}' })), late, { ...late, line: '{}' }];
    await store.recordCalls(callBatch(repeated, true));
    for (const { traceId, line } of [...calls, other, late]) {
      t.equal(await store.traceById('acme', traceId), line, 'what is there stays as it is');
    }

    for (const unknown of [
      newTraceId(1_000),
      newTraceId(1),
      newId(),
      '',
      'x'.repeat(36),
      `${other.traceId}\t`,
    ]) {
      t.equal(await store.traceById('acme', unknown), undefined, `there is no ${JSON.stringify(unknown)}`);
    }
    await store.recordCalls(callBatch([]));
  });

  await t.test('the audit chain is of one tenant', async (t) => {
    const store = await opened(t);
    const empty = await store.verifyAudit('acme');
    t.match(empty, { ok: true, entries: 0, head: '0'.repeat(64) });
    for (const tenantId of ['acme', 'other', 'acme']) {
      await store.applyPolicy(policyApply({ tenantId }), auditEvent({ tenantId }));
    }
    t.match(await store.verifyAudit('acme'), { ok: true, entries: 2, head: /^[0-9a-f]{64}$/ });
    t.match(await store.verifyAudit('other'), { ok: true, entries: 1 });
  });
}
