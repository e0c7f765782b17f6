import { charsMax, policiesMax, rulesMax, valuesMax } from '../../../src/state/policy-bounds.ts';
import type { PolicyApply } from '../../../src/state/store.ts';
import { noonMs, policyApply } from '../records.ts';
import type { SuitePart, Tenant } from './lab.ts';

export const policies: SuitePart = async (t, { store, ...lab }) => {
  const apply = ({ tenantId, event }: Tenant, fields: Partial<PolicyApply> = {}) =>
    store.applyPolicy(policyApply({ tenantId, ...fields }), event({ kind: 'policy.applied' }));

  await t.test('each apply adds a version', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const { tenantId } = acme;
    const versions = await Promise.all(
      Array.from({ length: 60 }, (_, at) => apply(acme, { description: `v${at}`, nowMs: noonMs + at })),
    );
    t.same(
      versions.map((it) => it.version).sort((a, b) => a - b),
      Array.from({ length: 60 }, (_, at) => at + 1),
      'applied at once, versions are consecutive and none is lost',
    );
    t.equal(new Set(versions.map((it) => it.policyId)).size, 1, 'all have the id of the first');
    const last = versions.find((it) => it.version === 60);
    t.same(await store.policyByName(tenantId, 'baseline', null), last, 'the last one stands');

    const rules = [{ id: 'r', action: 'ALLOW', match: { a: 1, b: [1, 2] } }];
    t.match(await apply(acme, { rules }), { version: 61, unchanged: false });
    const reordered = [{ match: { b: [1, 2], a: 1 }, action: 'ALLOW', id: 'r' }];
    t.match(
      await apply(acme, { rules: reordered }),
      { version: 62, unchanged: true },
      'members have no order',
    );
    t.match(await apply(acme, { rules, mode: 'monitor' }), { version: 63, unchanged: false });
    t.match(await apply(acme, { rules, mode: 'monitor', description: 'x' }), {
      version: 64,
      unchanged: false,
    });
    const twisted = [{ ...rules[0], match: { a: 1, b: [2, 1] } }];
    t.match(await apply(acme, { rules: twisted, mode: 'monitor', description: 'x' }), { unchanged: false });

    t.match(await apply(acme, { envName: 'prod' }), { version: 1, envName: 'prod', unchanged: false });
    t.match(await apply(acme, { name: 'Baseline' }), { version: 1 }, 'names are told apart by case');
    t.match(await apply(other), { version: 1 }, 'each tenant counts for itself');
    t.match(await store.policyByName(tenantId, 'baseline', 'prod'), { envName: 'prod', version: 1 });
    t.match(await store.policyByName(tenantId, 'baseline', 'staging'), { envName: null, version: 65 });
    t.match(await store.policyByName(tenantId, 'baseline', null), { envName: null, version: 65 });
    t.equal(await store.policyByName(tenantId, 'nothing', null), undefined);
    t.equal(await store.policyByName(other.tenantId, 'Baseline', null), undefined, 'nobody else sees it');
    t.match(await store.verifyAudit(tenantId), { ok: true, entries: 67 });
    const [entry] = (await store.listAudit(tenantId, {}, { limit: 1, cursor: undefined })).items;
    t.match(entry, { kind: 'policy.applied', details: { version: 1, unchanged: false } });
  });

  await t.test('the policies of a tenant are bounded in all', async (t) => {
    const rule = { rule_id: 'r', condition: {}, action: 'DENY' };
    const phrases = Array.from({ length: 500 }, () => 'x');
    const wide = { ...rule, condition: { body_contains_any: phrases } };
    const long = { ...rule, tag: 'x'.repeat(charsMax / 10 - JSON.stringify({ ...rule, tag: '' }).length) };
    const times = (count: number, it: object) => Array.from({ length: count }, () => it);
    const cases = [
      { what: `${policiesMax} policies`, rules: [rule], fits: policiesMax, path: 'name' },
      { what: `${rulesMax} rules`, rules: times(rulesMax / 5, rule), fits: 5, path: 'rules' },
      { what: `${valuesMax} values`, rules: times(20, wide), fits: valuesMax / 10_000, path: 'rules' },
      { what: `${charsMax} characters`, rules: [long], fits: 10, path: 'rules' },
    ];
    for (const { what, rules, fits, path } of cases) {
      const acme = await lab.tenant();
      for (let nth = 0; nth < fits; nth += 1)
        t.match(await apply(acme, { name: `p${nth}`, rules }), { version: 1 });
      const before = await store.verifyAudit(acme.tenantId);
      const refusal = { code: 'VALIDATION_FAILED', message: new RegExp(what), extra: { errors: [{ path }] } };
      await t.rejects(apply(acme, { name: 'one more', rules }), refusal, what);
      await t.rejects(
        apply(acme, { name: 'p0', envName: 'prod', rules }),
        refusal,
        'each environment counts',
      );
      t.same(await store.verifyAudit(acme.tenantId), before, 'and is no event');
      t.match(await apply(acme, { name: 'p0', rules }), { version: 2 }, 'what stands can be changed');
      t.match(await apply(await lab.tenant(), { rules }), { version: 1 }, 'another tenant has its own');
    }
  });

  await t.test('of many that would pass a bound together, some are taken', async (t) => {
    const acme = await lab.tenant();
    const rules = Array.from({ length: rulesMax / 5 }, () => ({ action: 'DENY' }));
    const asked = Array.from({ length: 12 }, (_, nth) => apply(acme, { name: `p${nth}`, rules }));
    const results = await Promise.allSettled(asked);
    t.equal(results.filter((it) => it.status === 'fulfilled').length, 5);
  });

  await t.test('a policy of one environment alone is not found for all', async (t) => {
    const acme = await lab.tenant();
    await apply(acme, { envName: 'prod' });
    t.match(await store.policyByName(acme.tenantId, 'baseline', 'prod'), { envName: 'prod' });
    t.equal(await store.policyByName(acme.tenantId, 'baseline', 'staging'), undefined);
    t.equal(await store.policyByName(acme.tenantId, 'baseline', null), undefined);
  });

  await t.test('the latest of each hold from the next call on', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const key = await acme.key();
    const latest = async () => {
      t.match(await acme.admit(key), { ok: true });
      return store.policiesOf(acme.tenantId);
    };
    t.same(await latest(), []);
    await apply(acme);
    await apply(acme, { description: 'second' });
    await apply(acme, { envName: 'prod' });
    await apply(other, { name: 'foreign' });
    const shown = (await latest()).map(({ name, envName, version }) => `${name} ${envName} ${version}`);
    t.same([...shown].sort(), ['baseline null 2', 'baseline prod 1']);
    const before = await latest();
    t.equal(await latest(), before, 'the same array while nothing changes');
    await apply(other, { name: 'foreign' });
    t.equal(await latest(), before, 'whatever other tenants do');
    const added = await apply(acme, { name: 'second' });
    const after = await latest();
    t.equal(after.length, 3);
    t.same(
      after.find((it) => it.name === 'second'),
      added,
      'as it was applied',
    );
  });

  await t.test('rules come back as they were given', async (t) => {
    const acme = await lab.tenant();
    const rules = [
      { id: 'ü ✓ \ud800 \0', empty: {}, list: [], deep: { a: [{ b: null }] }, n: 0.1, big: 1e21 },
    ];
    await apply(acme, { rules });
    await acme.admit(await acme.key());
    t.same((await store.policiesOf(acme.tenantId))[0]?.rules, rules);
    t.same((await store.policyByName(acme.tenantId, 'baseline', null))?.rules, rules);
  });
};
