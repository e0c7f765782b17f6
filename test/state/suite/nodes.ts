import { newId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import type { Store } from '../../../src/state/store.ts';
import {
  approvalRecord,
  callBatch,
  decided,
  incidentRecord,
  keyRecord,
  noonMs,
  policyApply,
  recordedCall,
} from '../records.ts';
import { admitRequest, firstPage, type SuitePart } from './lab.ts';

/** What holds where several nodes have one state: none is ever behind. */
export const nodes: SuitePart = async (t, { store, hints, ...lab }) => {
  if (!hints.openNode) return;
  const other = await hints.openNode();
  t.teardown(() => other.close());
  const both: readonly Store[] = [store, other];

  await t.test('what one node acknowledges, the next call on another one sees', async (t) => {
    const acme = await lab.tenant();
    const { tenantId, agent } = acme;
    const key = await acme.key();
    const there = () => other.admit(admitRequest(acme, key));
    t.match(await there(), { ok: true });
    await store.updateKey(tenantId, key.keyId, { ipAllowlist: ['192.0.2.0/24'] }, acme.event());
    t.match(await there(), { code: 'IP_NOT_ALLOWED' });
    await store.updateKey(tenantId, key.keyId, { ipAllowlist: null }, acme.event());
    await store.updateAgent(tenantId, agent.agentId, { status: 'suspended' }, acme.event());
    t.match(await there(), { ok: true, agentStatus: 'suspended' });
    await store.updateAgent(tenantId, agent.agentId, { status: 'active' }, acme.event());
    t.match(await there(), { ok: true, agentStatus: 'active' });
    await store.suspendTenant({ tenantId, sinceMs: noonMs, by: 'admin', note: null }, acme.event());
    t.match(await there(), { ok: true, agentStatus: 'tenant-suspended' });
    await store.reactivateTenant(tenantId, acme.event());
    t.match(await there(), { ok: true, agentStatus: 'active' });

    t.same(await other.policiesOf(tenantId), []);
    await store.applyPolicy(policyApply({ tenantId }), acme.event());
    await there();
    t.match(await other.policiesOf(tenantId), [{ version: 1 }]);
    const credential = { tenantId, name: 'github', type: 'bearer', sealed: 's', changedAtMs: noonMs };
    t.equal(await other.credentialOf(tenantId, 'github'), undefined);
    await store.putCredential(credential, acme.event());
    await there();
    t.same(await other.credentialOf(tenantId, 'github'), credential);
    await store.removeCredential(tenantId, 'github', acme.event());
    await there();
    t.equal(await other.credentialOf(tenantId, 'github'), undefined);

    const prefix = `nodes-${process.pid}`;
    const route = { tenantId, prefix, document: {}, sealedToken: null, keyId: null };
    const made = { ...route, createdAtMs: noonMs, changedAtMs: noonMs };
    t.equal((await other.routesOf(tenantId)).size, 0);
    await store.addRoute(made, acme.event());
    await there();
    t.same([...(await other.routesOf(tenantId)).values()], [made]);
    // Callers of a route come without a key, so that nothing is admitted before their route is found.
    const replaced = { ...made, document: { upstream: 'https://other.example' } };
    await store.replaceRoute(replaced, acme.event());
    t.equal(await other.routeOwner(prefix), tenantId);
    t.same((await other.routesOf(tenantId)).get(prefix), replaced);
    await store.removeRoute(tenantId, prefix, acme.event());
    t.equal(await other.routeOwner(prefix, tenantId), tenantId, 'as the last one that had it');
    t.equal((await other.routesOf(tenantId)).size, 0);

    const child = await acme.key({ type: 'ephemeral', parentKeyId: key.keyId });
    t.match(await other.admit(admitRequest(acme, child)), { ok: true });
    await store.revokeKey(tenantId, key.keyId, acme.event());
    t.match(await there(), { code: 'INVALID_KEY' });
    t.match(await other.admit(admitRequest(acme, child)), { code: 'INVALID_KEY' }, 'its children too');
    t.match(await other.identify(key.hash, noonMs), { code: 'INVALID_KEY' });
  });

  await t.test('no node lets in what another one has spent', async (t) => {
    const parentKeyId = async (tenant: Awaited<ReturnType<typeof lab.tenant>>) => (await tenant.key()).keyId;
    for (const grant of ['uses', 'quota', 'bucket'] as const) {
      const acme = await lab.tenant({
        scansPerMonth: grant === 'quota' ? 100 : null,
        ...(grant === 'bucket' ? { scansPerMinute: 1, burst: 100 } : {}),
      });
      const uses = { type: 'ephemeral', parentKeyId: await parentKeyId(acme), maxUses: 100 } as const;
      const key = await acme.key(grant === 'uses' ? uses : {});
      const asked = Array.from({ length: 600 }, (_, at) =>
        (both[at % 2] ?? store).admit(admitRequest(acme, key)),
      );
      const passed = (await Promise.all(asked)).filter((it) => it.ok).length;
      t.equal(passed, 100, grant);
      for (const node of both)
        t.match(await node.keyUsage(acme.tenantId, [key.keyId], noonMs), [{ uses: 100 }]);
    }
    const acme = await lab.tenant();
    const claims = Array.from({ length: 100 }, (_, at) =>
      (both[at % 2] ?? store).claimNonce(acme.tenantId, 'k', 'nonce', Date.now(), Date.now() + 60_000),
    );
    t.equal((await Promise.all(claims)).filter(Boolean).length, 1);
  });

  await t.test('what happened on one node is known on the other', async (t) => {
    const acme = await lab.tenant();
    const { tenantId, agent } = acme;
    const key = await acme.key();
    const destination = 'api.example.org';
    const calls = Array.from({ length: 20 }, (_, at) =>
      recordedCall({
        tenantId,
        agentId: agent.agentId,
        destination: ownName(destination),
        decision: at === 7 ? 'DENY' : 'ALLOW',
      }),
    );
    const asks = { destination };
    t.match(await other.admit(admitRequest(acme, key, asks)), { isNewDestination: true });
    // Both give the same calls, as after a crash between shipping them and saying so.
    await Promise.all(both.map((node) => node.recordCalls(callBatch(calls, true))));
    t.match(await other.admit(admitRequest(acme, key, asks)), { isNewDestination: false });
    for (const node of both) {
      t.equal(await node.traceById(tenantId, calls[7]?.traceId ?? ''), calls[7]?.line);
      t.equal((await node.listTraces(tenantId, {}, firstPage)).items.length, 20);
      t.match(await node.agentUsage(tenantId, [agent.agentId], calls[0]?.atMs ?? 0), [
        { callsTotal: 20, decisions24h: { ALLOW: 19, DENY: 1 } },
      ]);
    }
  });

  await t.test('what both nodes change at once is changed by one after the other', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const key = keyRecord({ tenantId, agentId: acme.agent.agentId });
    const onBoth = <T>(times: number, work: (node: Store, at: number) => Promise<T>) =>
      Promise.allSettled(Array.from({ length: times }, (_, at) => work(both[at % 2] ?? store, at)));
    const done = <T>(results: readonly PromiseSettledResult<T>[]): T[] =>
      results.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []));

    const adds = await onBoth(10, (node) => node.addKey(key, acme.event()));
    t.equal(done(adds).length, 1, 'a key is added once');
    const revokes = await onBoth(10, (node, at) =>
      node.revokeKey(tenantId, key.keyId, acme.event({ operator: `o${at}` })),
    );
    t.equal(done(revokes).length, 10);
    t.equal(new Set(done(revokes).map((it) => it?.revokedBy)).size, 1, 'and revoked once');
    t.match(await other.verifyAudit(tenantId), { ok: true, entries: 2 });

    const policy = policyApply({ tenantId });
    const versions = done(await onBoth(20, (node) => node.applyPolicy(policy, acme.event())));
    const numbers = versions.map((it) => it.version).sort((a, b) => a - b);
    t.same(
      numbers,
      Array.from({ length: 20 }, (_, at) => at + 1),
      'versions are consecutive',
    );

    const callHash = newId();
    const hold = (node: Store, nowMs: number) =>
      node.holdCall(approvalRecord({ tenantId: tenantId, callHash, createdAtMs: nowMs }));
    const holds = done(await onBoth(40, (node) => hold(node, noonMs)));
    t.equal(holds.length, 40);
    t.equal(holds.filter((it) => it.isNew).length, 1, 'an approval is opened once');
    const approvalId = holds[0]?.approval.approvalId ?? '';
    const decisions = await onBoth(40, (node, at) =>
      node.decideApproval(tenantId, approvalId, decided({ decidedBy: `d${at}` }), acme.event()),
    );
    t.equal(done(decisions).filter((it) => it?.isDecidedNow).length, 1, 'decided once');
    const grants = done(await onBoth(40, (node) => hold(node, noonMs + 2_000)));
    t.equal(grants.filter((it) => it.kind === 'granted').length, 1, 'and its grant is spent once');

    const agentId = newId();
    const opened = await onBoth(40, (node) =>
      node.openIncident(incidentRecord({ tenantId, agentId }), acme.event()),
    );
    t.equal(done(opened).filter((it) => it.isNew).length, 1, 'an incident is opened once');
    t.match(await other.incidentById(tenantId, done(opened)[0]?.incident.incidentId ?? ''), {
      traceCount: 40,
    });
    for (const node of both) t.match(await node.verifyAudit(tenantId), { ok: true });
  });

  await t.test('entries of both nodes make one chain', async (t) => {
    const acme = await lab.tenant();
    await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        (both[at % 2] ?? store).appendAudit(acme.event({ subject: `${at}` })),
      ),
    );
    for (const node of both) t.match(await node.verifyAudit(acme.tenantId), { ok: true, entries: 60 });
  });
};
