import { homeKeptMsMax, homesPerAgentMax } from '../../../src/state/rules/homes.ts';
import type { HomeBinding, Store } from '../../../src/state/store.ts';
import { noonMs } from '../records.ts';
import type { SuitePart, Tenant } from './lab.ts';

const hourMs = 3_600_000;

/** Homes of credentials: whoever is first binds them, for the whole tenant. */
export const homes: SuitePart = async (t, { store, hints, ...lab }) => {
  const bind = (
    { tenantId, agent }: Tenant,
    home: string,
    credentials: readonly string[],
    {
      node = store,
      keptMs = hourMs,
      ...fields
    }: Partial<HomeBinding> & { node?: Store; keptMs?: number } = {},
  ) =>
    node.bindHomes({
      ...{ tenantId, agentId: agent.agentId, home, nowMs: noonMs },
      credentials: credentials.map((credential) => ({ credential, keptMs })),
      ...fields,
    });
  const homesOf = async ({ tenantId }: Tenant, credentials: readonly string[], nowMs = noonMs) =>
    store.homesOf(tenantId, credentials, nowMs);

  await t.test('a credential is bound to where it is used first', async (t) => {
    const [acme, other] = [await lab.tenant(), await lab.tenant()];
    t.same(await homesOf(acme, []), []);
    t.same(await homesOf(acme, ['one', "x' OR 1=1 --\0"]), [undefined, undefined]);
    t.equal(await bind(acme, 'here', ['one']), 'bound');
    t.equal(await bind(acme, 'here', ['one']), 'bound', 'again');
    t.equal(await bind(acme, 'there', ['one']), 'elsewhere');
    t.same(await homesOf(acme, ['two', 'one']), [undefined, 'here']);
    const sibling = await acme.agentOf();
    t.equal(
      await bind(acme, 'there', ['one'], { agentId: sibling.agentId }),
      'elsewhere',
      'by another agent',
    );
    t.same(await homesOf(other, ['one']), [undefined], 'in one tenant alone');
    t.equal(await bind(other, 'there', ['one']), 'bound');
  });

  await t.test('of several credentials all are bound, or none', async (t) => {
    const acme = await lab.tenant();
    t.equal(await bind(acme, 'here', ['one']), 'bound');
    t.equal(await bind(acme, 'there', ['two', 'one', 'three']), 'elsewhere');
    t.same(await homesOf(acme, ['one', 'two', 'three']), ['here', undefined, undefined]);
    t.equal(await bind(acme, 'here', ['two', 'two', 'one']), 'bound');
    t.same(await homesOf(acme, ['one', 'two']), ['here', 'here']);
  });

  await t.test('of a hundred that bind one at the same time one home wins', async (t) => {
    const acme = await lab.tenant();
    const nodes = hints.openNode ? [store, await hints.openNode()] : [store];
    t.teardown(() => Promise.all(nodes.slice(1).map((node) => node.close())));
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, at) => {
        const node = nodes[at % nodes.length] ?? store;
        return { home: `home${at}`, answer: await bind(acme, `home${at}`, ['one'], { node }) };
      }),
    );
    const winners = answers.filter((it) => it.answer === 'bound');
    t.equal(winners.length, 1);
    t.same(await homesOf(acme, ['one']), [winners[0]?.home]);
  });

  await t.test('a home ends where it is not used, and each use keeps it', async (t) => {
    const acme = await lab.tenant();
    await bind(acme, 'here', ['one', 'two']);
    await bind(acme, 'here', ['one'], { nowMs: noonMs + hourMs / 2 });
    await bind(acme, 'here', ['one'], { nowMs: noonMs + hourMs / 2, keptMs: 1 });
    t.same(await homesOf(acme, ['one', 'two'], noonMs + hourMs - 1), ['here', 'here']);
    t.same(await homesOf(acme, ['one', 'two'], noonMs + hourMs), ['here', undefined]);
    t.equal(await bind(acme, 'there', ['two'], { nowMs: noonMs + hourMs }), 'bound');
    t.same(await homesOf(acme, ['one', 'two'], noonMs + hourMs), ['here', 'there']);
    t.equal(await bind(acme, 'here', ['three'], { keptMs: 2 * homeKeptMsMax }), 'bound');
    t.same(await homesOf(acme, ['three'], noonMs + homeKeptMsMax), [undefined], 'none stands for ever');
  });

  await t.test('where an agent has no room nothing gives way, and others go on', async (t) => {
    const acme = await lab.tenant();
    const many = Array.from({ length: homesPerAgentMax }, (_, at) => `credential${at}`);
    const step = 512;
    for (let at = 0; at < many.length; at += step) await bind(acme, 'here', many.slice(at, at + step));
    t.equal(await bind(acme, 'there', ['more']), 'full');
    t.equal(await bind(acme, 'here', many.slice(0, 2)), 'bound', 'what is bound stays in use');
    t.same(await homesOf(acme, [many[0] ?? '', 'more']), ['here', undefined]);
    const sibling = await acme.agentOf();
    t.equal(await bind(acme, 'there', ['more'], { agentId: sibling.agentId }), 'bound');
    t.equal(
      await bind(acme, 'there', ['later'], { nowMs: noonMs + hourMs }),
      'bound',
      'until some have ended',
    );
  });
};
