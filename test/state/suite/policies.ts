import { charsMax, policiesMax, rulesMax, valuesMax } from '../../../src/state/rules/policy-bounds.ts';
import {
  archivedCharsMax,
  archivedMax,
  versionBytesMax,
  versionsKept,
} from '../../../src/state/rules/policy-version.ts';
import type { PolicyApply, PolicyArchive } from '../../../src/state/store.ts';
import { noonMs, policyApply } from '../records.ts';
import { firstPage, ofScripts, rubbishCursors, type SuitePart, type Tenant, walk } from './lab.ts';

export const policies: SuitePart = async (t, { store, hints, ...lab }) => {
  const ofItsScripts = ofScripts(t, hints);
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

  await ofItsScripts('the policies of a tenant are bounded in all', async (t) => {
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

  const archive = ({ tenantId, event }: Tenant, fields: Partial<PolicyArchive> = {}) =>
    store.archivePolicy(
      { tenantId, name: 'baseline', envName: null, nowMs: noonMs, ...fields },
      event({ kind: 'policy.archived', subject: 'baseline' }),
    );
  const versionsOf = ({ tenantId }: Tenant, limit = 50, envName: string | null = null) =>
    walk(t, limit, (page) => store.policyVersions(tenantId, 'baseline', envName, page));

  await t.test('versions are listed newest first, of exactly one environment', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const applied = [];
    for (let at = 0; at < 120; at += 1) applied.push(await apply(acme, { description: `v${at}` }));
    await apply(acme, { envName: 'prod' });
    await apply(other);
    t.same(await versionsOf(acme, 7), applied.toReversed());
    t.same(await versionsOf(acme, 1_000), applied.toReversed(), 'a page is bounded');
    const page = await store.policyVersions(acme.tenantId, 'baseline', null, firstPage);
    t.equal(page.items.length, 50);
    t.match(await versionsOf(acme, 50, 'prod'), [{ version: 1, envName: 'prod' }]);
    t.same(await versionsOf(acme, 50, 'staging'), [], 'that for all is no version of it');
    t.same(await store.policyVersions(acme.tenantId, 'nothing', null, firstPage), {
      items: [],
      nextCursor: null,
    });
    for (const cursor of rubbishCursors)
      await t.rejects(store.policyVersions(acme.tenantId, 'baseline', null, { limit: 1, cursor }), {
        code: 'VALIDATION_FAILED',
      });
  });

  await ofItsScripts('of a policy that is applied on and on, the last versions are kept', async (t) => {
    const acme = await lab.tenant();
    const times = versionsKept + 5;
    for (let done = 0; done < times; done += 335)
      await Promise.all(Array.from({ length: Math.min(335, times - done) }, () => apply(acme)));
    const versions = (await versionsOf(acme)).map((it) => it.version);
    t.equal(versions.length, versionsKept);
    t.same([versions[0], versions.at(-1)], [times, 6]);
  });

  await t.test('an archived policy counts from the next call on no more', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const key = await acme.key();
    const standing = async () => {
      t.match(await acme.admit(key), { ok: true });
      return (await store.policiesOf(acme.tenantId)).map((it) => `${it.name} ${it.envName} ${it.version}`);
    };
    t.equal(await archive(acme), undefined, 'there is none');
    await apply(acme);
    const second = await apply(acme, { description: 'second' });
    await apply(acme, { envName: 'prod' });
    await apply(other);
    t.equal(second.archivedAtMs, null);
    t.same((await standing()).sort(), ['baseline null 2', 'baseline prod 1']);
    const before = await store.verifyAudit(acme.tenantId);

    const archived = await archive(acme);
    t.same(archived, { ...second, archivedAtMs: noonMs });
    t.same(await standing(), ['baseline prod 1'], 'each environment by itself');
    t.equal(await store.policyByName(acme.tenantId, 'baseline', null), undefined);
    t.equal(await store.policyByName(acme.tenantId, 'baseline', 'staging'), undefined);
    t.match(await store.policyByName(acme.tenantId, 'baseline', 'prod'), { version: 1 });
    t.match(await store.policyByName(other.tenantId, 'baseline', null), { version: 1 });
    t.match(await versionsOf(acme), [archived, { version: 1, archivedAtMs: null }], 'it is remembered');
    t.equal(await archive(acme), undefined, 'once');
    t.equal(await archive(acme, { envName: 'staging' }), undefined);
    const [entry] = (await store.listAudit(acme.tenantId, {}, { limit: 1, cursor: undefined })).items;
    t.match(entry, { kind: 'policy.archived', subject: 'baseline', details: { version: 2 } });
    t.match(before, { ok: true });
    if (before.ok) t.match(await store.verifyAudit(acme.tenantId), { ok: true, entries: before.entries + 1 });

    const again = await apply(acme, { description: 'second' });
    t.match(again, { version: 3, policyId: second.policyId, archivedAtMs: null });
    t.equal(again.unchanged, false, 'that it counts again is a change');
    t.same((await standing()).sort(), ['baseline null 3', 'baseline prod 1']);
    t.match(await versionsOf(acme), [{ version: 3 }, { archivedAtMs: noonMs }, { version: 1 }]);
  });

  await t.test('applied and archived all at once, none is lost', async (t) => {
    const acme = await lab.tenant();
    await apply(acme);
    const asked = Array.from({ length: 60 }, (_, at) =>
      at % 3 === 0 ? archive(acme) : apply(acme, { description: `${at}` }),
    );
    const records = (await Promise.all(asked)).flatMap((it) => it ?? []);
    const applied = records.filter((it) => it.archivedAtMs === null);
    t.same(
      applied.map((it) => it.version).sort((a, b) => a - b),
      Array.from({ length: 40 }, (_, at) => at + 2),
    );
    const listed = await versionsOf(acme);
    t.same(
      listed.map((it) => it.version),
      Array.from({ length: 41 }, (_, at) => 41 - at),
    );
    const archived = records.filter((it) => it.archivedAtMs !== null);
    t.equal(listed.filter((it) => it.archivedAtMs !== null).length, archived.length, 'each one once');
  });

  await t.test('what is archived takes no room of the active ones, and has a bound of its own', async (t) => {
    const acme = await lab.tenant();
    const rules = Array.from({ length: rulesMax / 2 }, () => ({ action: 'DENY' }));
    await apply(acme, { name: 'a', rules });
    await apply(acme, { name: 'b', rules });
    await t.rejects(apply(acme, { name: 'c' }), { code: 'VALIDATION_FAILED' });
    await archive(acme, { name: 'a' });
    t.match(await apply(acme, { name: 'c', rules }), { version: 1 });
    await t.rejects(apply(acme, { name: 'a', rules }), { code: 'VALIDATION_FAILED' }, 'it may not come back');

    const many = await lab.tenant();
    for (let at = 0; at < archivedMax + 2; at += 1) {
      await apply(many, { name: `p${at}`, rules: [] });
      await archive(many, { name: `p${at}`, nowMs: noonMs + at });
    }
    const kept = async (name: string) =>
      (await store.policyVersions(many.tenantId, name, null, firstPage)).items.length;
    t.same([await kept('p0'), await kept('p1'), await kept('p2')], [0, 0, 1], 'the first ones are forgotten');

    const large = await lab.tenant();
    const wide = [{ action: 'DENY', tag: 'x'.repeat(archivedCharsMax / 2 - 100) }];
    for (const [at, name] of ['a', 'b', 'c'].entries()) {
      await apply(large, { name, rules: wide });
      await archive(large, { name, nowMs: noonMs + at });
    }
    const rest = ['a', 'b', 'c'].map((name) => store.policyVersions(large.tenantId, name, null, firstPage));
    t.same(
      (await Promise.all(rest)).map(({ items }) => items.length),
      [0, 1, 1],
      'by their size as well',
    );
  });

  await ofItsScripts('of all versions of a tenant the newest are kept, and the latest of each', async (t) => {
    const acme = await lab.tenant();
    const rules = [{ action: 'DENY', tag: 'x'.repeat(charsMax - 10_000) }];
    // The one that passes the bound still stands.
    const fits = Math.floor(versionBytesMax / charsMax) + 1;
    for (let at = 0; at < 3; at += 1) await apply(acme, { name: 'calm' });
    for (let at = 0; at < fits + 2; at += 1) await apply(acme, { rules });
    const versions = (await versionsOf(acme)).map((it) => it.version);
    t.same(
      versions,
      Array.from({ length: fits }, (_, at) => fits + 2 - at),
    );
    const calm = await store.policyVersions(acme.tenantId, 'calm', null, firstPage);
    t.same(
      calm.items.map((it) => it.version),
      [3],
    );
    t.match(await store.policyByName(acme.tenantId, 'calm', null), { version: 3 });
    t.match(await apply(acme, { name: 'calm' }), { version: 4 }, 'numbers go on');
  });
};
