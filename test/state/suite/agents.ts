import { newId } from '../../../src/ids.ts';
import { agentRecord, noonMs } from '../records.ts';
import type { SuitePart } from './lab.ts';

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

  await t.test('tenants are registered once, in their order', async (t) => {
    const [beta, alpha] = [`beta-${newId()}`, `alpha-${newId()}`];
    t.same(await store.registeredTenants(), []);
    await store.registerTenant(beta, noonMs);
    await store.registerTenant(alpha, noonMs + 1);
    await Promise.all(Array.from({ length: 20 }, () => store.registerTenant(beta, noonMs + 2)));
    t.same(await store.registeredTenants(), [beta, alpha]);
  });
};
