import { newId } from '../../../src/core/ids.ts';
import { agentRecord, noonMs } from '../records.ts';
import { firstPage, type SuitePart } from './lab.ts';

export const agents: SuitePart = async (t, { store, ...lab }) => {
  await t.test('an agent is added once, and never changes its tenant', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const agent = agentRecord({ tenantId: acme.tenantId, runtimeType: 'langgraph' });
    const names = Array.from({ length: 50 }, (_, at) => `n${at}`);
    const answers = await Promise.all(names.map((name) => store.ensureAgent({ ...agent, name })));
    t.equal(new Set(answers.map((it) => it.name)).size, 1, 'many who ensure one agent get the same one');
    const again = await store.ensureAgent({ ...agent, tenantId: other.tenantId });
    t.equal(again.tenantId, acme.tenantId);
    t.same(await store.agentById(agent.agentId), answers[0]);
    t.equal(await store.agentById(newId()), undefined);
    t.equal(await store.agentById('nonsense'), undefined);
  });

  await t.test('an agent that tenants claim at once belongs to one of them alone', async (t) => {
    const tenants = [await lab.tenant(), await lab.tenant(), await lab.tenant()];
    for (let round = 0; round < 10; round += 1) {
      const agent = agentRecord();
      const answers = await Promise.all(
        [...tenants, ...tenants].map(({ tenantId }) => store.ensureAgent({ ...agent, tenantId })),
      );
      const [owner] = answers;
      t.same(
        new Set(answers.map((it) => it.tenantId)),
        new Set([owner?.tenantId]),
        'all hear of the same one',
      );
      t.same(await store.agentById(agent.agentId), owner);
      for (const { tenantId } of tenants) {
        const { items } = await store.listAgents(tenantId, firstPage);
        const isListed = items.some((it) => it.agentId === agent.agentId);
        t.equal(isListed, tenantId === owner?.tenantId, 'and no other lists it');
      }
    }
  });

  await t.test('a suspension holds from the next call on', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const { agentId } = acme.agent;
    const sibling = await acme.agentOf({ name: 'sibling' });
    const key = await acme.key();
    const set = (status: 'active' | 'suspended') =>
      store.updateAgent(acme.tenantId, agentId, { status }, acme.event({ kind: `agent.${status}` }));
    t.match(await acme.admit(key), { agentStatus: 'active' });
    t.same(await set('suspended'), { ...acme.agent, status: 'suspended' });
    t.match(await acme.admit(key), { ok: true, agentStatus: 'suspended' });
    t.match(await store.identify(key.hash, noonMs), { ok: true, agentStatus: 'suspended' });
    const disguised = await acme.admit(key, { agentId: sibling.agentId });
    t.match(disguised, { agentStatus: 'suspended' }, 'and does not end by naming another agent');
    await set('active');
    t.match(await acme.admit(key), { agentStatus: 'active' });

    const change = { name: 'renamed', runtimeType: 'crewai' };
    const renamed = await store.updateAgent(acme.tenantId, agentId, change, acme.event());
    t.same(renamed, { ...acme.agent, ...change });
    t.same(await store.agentById(agentId), renamed);
    t.match(await acme.admit(key), { identity: { agentName: 'renamed' } });
    t.match(await store.verifyAudit(acme.tenantId), { ok: true, entries: 1 + 3 });

    const vain = await store.updateAgent(other.tenantId, agentId, { status: 'suspended' }, other.event());
    t.equal(vain, undefined, 'not by another tenant');
    t.equal(await store.updateAgent(acme.tenantId, newId(), change, acme.event()), undefined);
    t.match(await acme.admit(key), { agentStatus: 'active' });
    t.match(await store.verifyAudit(acme.tenantId), { ok: true, entries: 4 });
    t.match(await store.verifyAudit(other.tenantId), { ok: true, entries: 0 });
  });

  await t.test('a suspended tenant has no active agent, until that is lifted', async (t) => {
    const [acme, other] = [await lab.tenant(), await lab.tenant()];
    const { tenantId } = acme;
    const [key, foreign] = [await acme.key(), await other.key()];
    const alone = await acme.agentOf({ name: 'suspended by itself' });
    await store.updateAgent(tenantId, alone.agentId, { status: 'suspended' }, acme.event());
    const child = await acme.key({ type: 'ephemeral', parentKeyId: key.keyId });
    const suspended = { ok: true, agentStatus: 'tenant-suspended' } as const;
    t.match(await acme.admit(key), { agentStatus: 'active' });
    t.equal(await store.suspensionOf(tenantId), undefined);

    const suspension = { tenantId, sinceMs: noonMs, by: 'admin', note: 'a breach' };
    const suspend = (more = {}) =>
      store.suspendTenant({ ...suspension, ...more }, acme.event({ kind: 'tenant.suspended' }));
    t.same(await suspend(), suspension);
    t.same(await suspend({ sinceMs: noonMs + 9, note: null }), suspension, 'one that stands stays as it was');
    t.same(await store.suspensionOf(tenantId), suspension);
    const later = await acme.agentOf({ name: 'registered later' });
    const laterKey = await acme.key({ agentId: later.agentId });
    for (const it of [key, child, laterKey]) {
      t.match(await acme.admit(it), suspended);
      t.match(await store.identify(it.hash, noonMs), suspended);
      t.match(store.recall(it.hash, noonMs, 60_000), suspended, 'also while the state is away');
    }
    t.match(await acme.admit(key, { agentId: later.agentId }), suspended, 'under another name');
    t.match(await other.admit(foreign), { agentStatus: 'active' }, 'and nobody else');
    t.equal(await store.suspensionOf(other.tenantId), undefined);

    await store.reactivateTenant(tenantId, acme.event({ kind: 'tenant.reactivated' }));
    t.equal(await store.suspensionOf(tenantId), undefined);
    t.match(await acme.admit(key), { agentStatus: 'active' });
    t.match(await acme.admit(laterKey), { agentStatus: 'active' });
    t.match(await acme.admit(key, { agentId: alone.agentId }), { agentStatus: 'suspended' });
    await store.reactivateTenant(tenantId, acme.event({ kind: 'tenant.reactivated' }));
    const { items } = await store.listAudit(tenantId, { kind: 'tenant.suspended' }, firstPage);
    t.equal(items.length, 2, 'each attempt is in the audit log');
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: 3 + 1 + 4 });
    const agents = await store.listAgents(tenantId, firstPage);
    t.equal(agents.items.length, 3, 'a suspension is no agent');
  });

  await t.test('tenants are registered once, in their order', async (t) => {
    const [beta, alpha] = [`beta-${newId()}`, `alpha-${newId()}`];
    t.same(await store.registeredTenants(), []);
    await store.registerTenant(beta, noonMs);
    await store.registerTenant(alpha, noonMs + 1);
    await Promise.all(Array.from({ length: 20 }, () => store.registerTenant(beta, noonMs + 2)));
    t.same(await store.registeredTenants(), [beta, alpha]);
  });
};
