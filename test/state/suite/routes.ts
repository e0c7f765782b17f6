import { routesMax } from '../../../src/state/rules/routes.ts';
import type { StoredRoute } from '../../../src/state/store.ts';
import { noonMs } from '../records.ts';
import type { SuitePart } from './lab.ts';

/** Inbound routes that were made through the API. */
export const routes: SuitePart = async (t, { store, hints: _, ...lab }) => {
  let made = 0;
  const newPrefix = (): string => {
    made += 1;
    return `route-${process.pid}-${noonMs % 1000}-${made}`;
  };
  const routeOf = (tenantId: string, prefix: string, fields: Partial<StoredRoute> = {}): StoredRoute => ({
    tenantId,
    prefix,
    document: { upstream: 'https://api.example.com' },
    sealedToken: null,
    keyId: null,
    createdAtMs: noonMs,
    changedAtMs: noonMs,
    ...fields,
  });

  await t.test('routes are kept by prefix, each of one tenant', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const key = await acme.key();
    const { tenantId } = acme;
    const event = (kind: string) => acme.event({ kind });
    const seen = async () => {
      t.match(await acme.admit(key), { ok: true });
      return store.routesOf(tenantId);
    };
    const [prefix, second] = [newPrefix(), newPrefix()];
    t.equal((await seen()).size, 0);
    t.equal(await store.routeOwner(prefix), undefined);
    const first = routeOf(tenantId, prefix);
    await store.addRoute(first, event('route.created'));
    t.same([...(await seen())], [[prefix, first]]);
    t.equal(await store.routeOwner(prefix), tenantId);
    t.equal(await seen(), await seen(), 'the same map while nothing changes');

    const taken = { code: 'CONFLICT', message: 'prefix' };
    await t.rejects(store.addRoute(first, event('route.created')), taken);
    await t.rejects(store.addRoute(routeOf(other.tenantId, prefix), other.event()), taken);
    t.equal((await store.routesOf(other.tenantId)).size, 0, 'nobody else sees it');

    const changed = routeOf(tenantId, prefix, { sealedToken: 'sealed', changedAtMs: noonMs + 1 });
    t.equal(await store.replaceRoute(changed, event('route.changed')), true);
    t.same((await seen()).get(prefix), changed);
    t.equal(await store.replaceRoute(routeOf(other.tenantId, prefix), other.event()), false);
    t.equal(await store.replaceRoute(routeOf(tenantId, second), event('route.changed')), false);

    const reseal = { tenantId, prefix, from: 'sealed', to: 'sealed anew' };
    for (const wrong of [{ from: 'other' }, { prefix: second }, { tenantId: other.tenantId }])
      t.equal(await store.resealRoute({ ...reseal, ...wrong }, event('route.rekeyed')), false);
    t.same((await seen()).get(prefix), changed, 'one that was changed meanwhile stays');
    t.equal(await store.resealRoute(reseal, event('route.rekeyed')), true);
    t.same((await seen()).get(prefix), { ...changed, sealedToken: 'sealed anew' });

    t.equal(await store.removeRoute(other.tenantId, prefix, other.event()), false);
    t.equal(await store.removeRoute(tenantId, prefix, event('route.deleted')), true);
    t.equal((await seen()).size, 0, 'gone from the next call on');
    t.equal(await store.removeRoute(tenantId, prefix, event('route.deleted')), false);
    await store.addRoute(routeOf(other.tenantId, prefix), other.event());
    t.equal(await store.routeOwner(prefix, tenantId), other.tenantId, 'another tenant may have it now');
    t.match(
      await store.verifyAudit(tenantId),
      { ok: true, entries: 1 + 4 },
      'what changes nothing is no event',
    );
  });

  await t.test('of many that want a prefix one gets it, and what is deleted may be made again', async (t) => {
    const tenants = await Promise.all(Array.from({ length: 4 }, () => lab.tenant()));
    const prefix = newPrefix();
    const added = await Promise.allSettled(
      tenants.flatMap((it) => [1, 2].map(() => store.addRoute(routeOf(it.tenantId, prefix), it.event()))),
    );
    t.equal(added.filter((it) => it.status === 'fulfilled').length, 1);
    const holding = await Promise.all(tenants.map(async (it) => (await store.routesOf(it.tenantId)).size));
    t.same(
      holding.toSorted((a, b) => a - b),
      [0, 0, 0, 1],
    );
    const one = tenants[holding.indexOf(1)];
    if (!one) throw new Error('nobody has it');
    for (let round = 0; round < 3; round += 1) {
      t.equal(await store.removeRoute(one.tenantId, prefix, one.event()), true);
      await store.addRoute(routeOf(one.tenantId, prefix), one.event());
    }
    t.equal(await store.routeOwner(prefix), one.tenantId);
  });

  await t.test('a tenant has so many and no more', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const prefixes = Array.from({ length: routesMax }, newPrefix);
    await Promise.all(prefixes.map((prefix) => store.addRoute(routeOf(tenantId, prefix), acme.event())));
    await t.rejects(store.addRoute(routeOf(tenantId, newPrefix()), acme.event()), {
      code: 'CONFLICT',
      message: String(routesMax),
    });
    t.equal((await store.routesOf(tenantId)).size, routesMax);
  });
};
