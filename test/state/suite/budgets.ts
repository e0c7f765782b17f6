import type { Charge, Decision } from '../../../src/core/call.ts';
import type { Admitted, BudgetCharge, KeyRecord, Store } from '../../../src/state/store.ts';
import { callBatch, noonMs, recordedCall } from '../records.ts';
import { admitRequest, type SuitePart, type Tenant } from './lab.ts';

const day = '2031-05-10';

const charge = (fields: Partial<BudgetCharge> = {}): BudgetCharge => ({
  name: 'llm-calls',
  day,
  amount: 1,
  daily: 3,
  ...fields,
});

/** What was charged to budgets: counted with the call, given back unless it is let out. */
export const budgets: SuitePart = async (t, { store, hints, ...lab }) => {
  const spend = async (tenant: Tenant, key: KeyRecord, charges: readonly BudgetCharge[]) => {
    const admission = await tenant.admit(key, { chargesOf: () => charges });
    if (!admission.ok) throw new Error(admission.detail);
    return admission;
  };
  const exceeded = async (tenant: Tenant, key: KeyRecord, charges: readonly BudgetCharge[]) =>
    (await spend(tenant, key, charges)).exceededBudgets;

  /** As the pipeline does it: the journal has the line, memory hears of it, the batch follows. */
  async function end({ tenantId, agent }: Tenant, charges: readonly Charge[], decision: Decision) {
    const call = recordedCall({ tenantId, agentId: agent.agentId, atMs: noonMs, decision, charges });
    store.noteCall(call);
    await store.recordCalls(callBatch([call]));
    return call;
  }

  const standing = async ({ tenantId, agent }: Tenant, charges: readonly BudgetCharge[], at: Store = store) =>
    at.standingOf({ tenantId, agentId: agent.agentId, destination: 'api.example.com', charges });

  await t.test('is exceeded for whoever comes when it was used up before', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const names = [];
    for (let call = 0; call < 5; call += 1) names.push(...(await exceeded(acme, key, [charge()])));
    t.same(names, ['llm-calls', 'llm-calls'], 'three calls were covered');
    t.same(
      await exceeded(acme, key, [charge({ amount: 0 })]),
      ['llm-calls'],
      'also for one that costs nothing',
    );
    t.same(await exceeded(acme, key, [charge({ amount: 0, daily: 100 })]), [], 'by what stands now');
  });

  await t.test('an admission says what was charged', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const tokens = charge({ name: 'tökens ✓', amount: 40, daily: 100 });
    const asked = charge({ name: 'payments', amount: 0 });
    t.same((await spend(acme, key, [tokens, asked])).charges, [{ name: 'tökens ✓', day, amount: 40 }]);
    t.same((await spend(acme, key, [])).charges, []);
    t.match(await acme.admit(key), { charges: [], exceededBudgets: [] }, 'a tenant without budgets');
  });

  await t.test('of a thousand calls at once exactly those pass that it covers', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const chargesOf = () => [
      charge({ name: 'a', amount: 7, daily: 700 }),
      charge({ name: 'b', amount: 1, daily: 250 }),
    ];
    const asked = Array.from({ length: 1_000 }, () => acme.admit(key, { chargesOf }));
    const admitted = (await Promise.all(asked)) as Admitted[];
    const within = (name: string) => admitted.filter((it) => !it.exceededBudgets.includes(name)).length;
    t.same([within('a'), within('b')], [100, 250]);
  });

  await t.test('what is refused has charged nothing', async (t) => {
    const acme = await lab.tenant({ scansPerMonth: 2 });
    const key = await acme.key({ ipAllowlist: ['198.51.100.0/24'] });
    const chargesOf = () => [charge()];
    t.match(await acme.admit(key, { chargesOf, clientAddress: '192.0.2.1' }), { code: 'IP_NOT_ALLOWED' });
    t.match(await acme.admit(key, { chargesOf, agentId: 'nobody' }), { code: 'UNKNOWN_AGENT' });
    t.match(await acme.admit(key, { chargesOf, counts: 'rate' }), { ok: true, charges: [] });
    await spend(acme, key, [charge()]);
    await spend(acme, key, [charge()]);
    for (let call = 0; call < 5; call += 1)
      t.match(await acme.admit(key, { chargesOf }), { code: 'QUOTA_EXCEEDED' });
    t.same((await standing(acme, [charge()])).exceededBudgets, []);
    t.same((await standing(acme, [charge({ daily: 2 })])).exceededBudgets, ['llm-calls']);
  });

  await t.test('a call that is not let out gives its charges back, once', async (t) => {
    for (const decision of ['DENY', 'REQUIRE_APPROVAL'] as const) {
      const acme = await lab.tenant();
      const key = await acme.key();
      const big = charge({ amount: 3 });
      const first = await spend(acme, key, [big]);
      const second = await spend(acme, key, [big]);
      t.same(second.exceededBudgets, ['llm-calls']);
      const call = await end(acme, first.charges, decision);
      t.same((await standing(acme, [big])).exceededBudgets, ['llm-calls'], 'the other one has not ended');
      await store.recordCalls(callBatch([call], true));
      t.same(
        (await standing(acme, [big])).exceededBudgets,
        ['llm-calls'],
        'shipped again, it is the same call',
      );
      await end(acme, second.charges, decision);
      t.same((await standing(acme, [charge({ daily: 1 })])).exceededBudgets, [], decision);
    }
  });

  await t.test('one that is let out does not', async (t) => {
    for (const decision of ['ALLOW', 'SANITIZE'] as const) {
      const acme = await lab.tenant();
      const key = await acme.key();
      await end(acme, (await spend(acme, key, [charge({ amount: 3 })])).charges, decision);
      t.same(await exceeded(acme, key, [charge()]), ['llm-calls'], decision);
    }
  });

  await t.test('nobody gets back more than was charged', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    await end(acme, [{ name: 'llm-calls', day, amount: 1e15 }], 'DENY');
    await spend(acme, key, [charge({ amount: 2 })]);
    await end(acme, [{ name: 'llm-calls', day, amount: 1e15 }], 'DENY');
    await spend(acme, key, [charge({ amount: 3 })]);
    t.same(await exceeded(acme, key, [charge()]), ['llm-calls'], 'it never falls below nothing');
  });

  await t.test('names, days and tenants are told apart', async (t) => {
    const [acme, other] = [await lab.tenant(), await lab.tenant()];
    const [key, otherKey] = [await acme.key(), await other.key()];
    const used = charge({ amount: 3 });
    await spend(acme, key, [used]);
    const cases: readonly [what: string, charge: BudgetCharge, exceeded: boolean][] = [
      ['the same', used, true],
      ['the next day', charge({ day: '2031-05-11' }), false],
      ['the day before, in another zone', charge({ day: '2031-05-09' }), false],
      ['another case', charge({ name: 'LLM-calls' }), false],
      ['a name like a field', charge({ name: '__proto__' }), false],
    ];
    for (const [what, asked, isExceeded] of cases)
      t.equal((await standing(acme, [asked])).exceededBudgets.length === 1, isExceeded, what);
    t.same(await exceeded(other, otherKey, [used]), []);
    t.same(await exceeded(acme, key, [charge({ day: '2031-05-11' })]), [], 'a day begins with nothing');
    t.same(await exceeded(acme, key, [charge()]), ['llm-calls'], 'and the other is not forgotten');
  });

  await t.test('sums are exact as far as numbers are', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const daily = Number.MAX_SAFE_INTEGER;
    await spend(acme, key, [charge({ amount: daily - 1, daily })]);
    t.same(await exceeded(acme, key, [charge({ amount: 1, daily })]), []);
    t.same(await exceeded(acme, key, [charge({ amount: daily, daily })]), ['llm-calls']);
    t.same(
      await exceeded(acme, key, [charge({ amount: daily, daily })]),
      ['llm-calls'],
      'and never turn over',
    );
  });

  await t.test('asking how things stand changes nothing', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const used = await store.usageOf(acme.tenantId, noonMs);
    for (const farDay of [day, '9999-12-31', '0001-01-01'])
      for (let times = 0; times < 5; times += 1)
        t.same(await standing(acme, [charge({ day: farDay })]), {
          isNewDestination: true,
          exceededBudgets: [],
        });
    t.same(await store.usageOf(acme.tenantId, noonMs), used);
    await spend(acme, key, [charge({ amount: 3 })]);
    await standing(acme, [charge({ day: '9999-12-31' })]);
    t.same((await standing(acme, [charge()])).exceededBudgets, ['llm-calls']);
    await end(acme, [], 'ALLOW');
    t.equal((await standing(acme, [])).isNewDestination, false, 'it has been there');
    const { tenantId } = await lab.tenant();
    t.match(
      await standing({ ...acme, tenantId }, []),
      { isNewDestination: true },
      'which is no matter of other tenants',
    );
  });

  if (!hints.openNode) return;
  const other = await hints.openNode();
  t.teardown(() => other.close());
  await t.test('nodes charge one budget', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const chargesOf = () => [charge({ daily: 100 })];
    const request = { keyHash: key.hash, nowMs: noonMs, chargesOf };
    const asked = Array.from({ length: 400 }, (_, at) =>
      (at % 2 === 0 ? store : other).admit(admitRequest(acme, key, request)),
    );
    const admitted = (await Promise.all(asked)) as Admitted[];
    t.equal(admitted.filter((it) => it.exceededBudgets.length === 0).length, 100);
    t.same((await standing(acme, chargesOf(), other)).exceededBudgets, ['llm-calls']);
  });
};
