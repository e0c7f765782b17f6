import type { Tail } from '../../../src/call.ts';
import { tailsKeptMs, tailsMax } from '../../../src/state/tails.ts';
import { noonMs } from '../records.ts';
import { admitRequest, type SuitePart } from './lab.ts';

const tail = (fields: Partial<Tail> = {}): Tail => ({
  kind: 'github-token',
  min: 20,
  max: 20,
  atMs: noonMs,
  ...fields,
});

/** Beginnings of secrets: what one call leaves at a host, the next one to it is told of. */
export const tails: SuitePart = async (t, { store, hints, ...lab }) => {
  const host = 'api.example.com';

  await t.test('what a call has left is answered to the next calls of its agent to that host', async (t) => {
    const [acme, other] = [await lab.tenant(), await lab.tenant()];
    const { tenantId, agent } = acme;
    const sibling = await acme.agentOf();
    const [key, foreign] = [await acme.key(), await other.key()];
    const seen = async (fields: Parameters<typeof acme.admit>[1] = {}) => {
      const admission = await acme.admit(key, fields);
      return admission.ok ? admission.tails : undefined;
    };
    t.same(await seen(), [], 'nothing was left yet');
    const left = [tail(), tail({ kind: "x' OR 1=1 --\0", min: 1, max: 99 })];
    store.noteTails({ tenantId, agentId: agent.agentId, host, tails: left });
    t.same(new Set(await seen()), new Set(left));
    t.same(new Set(await seen()), new Set(left), 'as often as it is asked for');
    t.same(await seen({ host: 'www.example.com' }), [], 'not at another host');
    t.same(await seen({ agentId: sibling.agentId }), [], 'not to another agent');
    t.match(await other.admit(foreign), { ok: true, tails: [] }, 'not to another tenant');
    store.noteTails({ tenantId, agentId: agent.agentId, host, tails: [] });
    t.equal((await seen())?.length, 2, 'nothing is nothing');
    const long = `${'x'.repeat(3_000)}.example`;
    store.noteTails({ tenantId, agentId: agent.agentId, host: long, tails: [tail()] });
    t.same(await seen({ host: long }), [tail()]);
    t.same(await seen({ host: `${long}s` }), []);
  });

  await t.test('five minutes later nobody knows of it', async (t) => {
    const acme = await lab.tenant();
    const { tenantId, agent } = acme;
    const key = await acme.key();
    store.noteTails({ tenantId, agentId: agent.agentId, host, tails: [tail()] });
    store.noteTails({ tenantId, agentId: agent.agentId, host, tails: [tail({ atMs: noonMs + 1 })] });
    const seen = async (nowMs: number) => {
      const admission = await acme.admit(key, { nowMs });
      return admission.ok ? admission.tails.length : undefined;
    };
    t.equal(await seen(noonMs + tailsKeptMs - 1), 2);
    t.equal(await seen(noonMs + tailsKeptMs), 1);
    t.equal(await seen(noonMs + tailsKeptMs + 1), 0);
  });

  await t.test('the last few are kept, whoever leaves them at once', async (t) => {
    const acme = await lab.tenant();
    const { tenantId, agent } = acme;
    const key = await acme.key();
    const nodes = hints.openNode ? [store, await hints.openNode()] : [store];
    t.teardown(() => Promise.all(nodes.slice(1).map((node) => node.close())));
    const note = (min: number) =>
      nodes[min % nodes.length]?.noteTails({
        tenantId,
        agentId: agent.agentId,
        host,
        tails: [tail({ min, atMs: noonMs + min })],
      });
    const seen = async () => {
      // Each node's answer comes behind what it has noted.
      for (const node of nodes) await node.admit(admitRequest(acme, key));
      const admission = await acme.admit(key);
      return admission.ok ? admission.tails.map(({ min }) => min).sort((a, b) => a - b) : undefined;
    };
    for (let min = 1; min <= tailsMax; min += 1) note(min);
    t.same(
      await seen(),
      Array.from({ length: tailsMax }, (_, at) => at + 1),
      'none is lost',
    );
    for (let min = 101; min <= 100 + tailsMax; min += 1) note(min);
    t.same(
      await seen(),
      Array.from({ length: tailsMax }, (_, at) => at + 101),
      'the first ones give way',
    );
  });
};
