import t from 'tap';
import { ApiLimits, inLineMax, managementRate } from '../../src/api/limits.ts';
import type { Caller, Route } from '../../src/api/route.ts';
import { ephemeralKey } from '../../src/api/routes/keys/ephemeral-key.ts';

const route = (fields: Partial<Route>): Route => ({ path: '/v1/x', access: 'keys:read', ...fields }) as Route;
const asKey = (keyId: string, parentKeyId: string | null = null): Caller =>
  ({ kind: 'key', key: { keyId, parentKeyId } }) as Caller;
const admin: Caller = { kind: 'admin' };
const ofAcme = () => 'acme';

t.test('a key may ask the control plane so much, with all that it has made', async (t) => {
  const limits = new ApiLimits();
  const spend = (caller: Caller, nowMs = 0, it = route({})) => limits.spend(it, caller, nowMs);
  for (let i = 0; i < managementRate.capacity; i++) spend(asKey('a'));
  const refusal = { code: 'RATE_LIMITED', extra: { retryAfterSeconds: 1 } };
  t.throws(() => spend(asKey('a')), refusal);
  t.throws(() => spend(asKey('child', 'a')), refusal);
  t.doesNotThrow(() => spend(asKey('b')), 'another key is not meant');
  t.doesNotThrow(() => spend(admin), 'nor is the admin secret');
  for (const access of ['call', 'key', 'scan'] as const)
    t.doesNotThrow(() => spend(asKey('a'), 0, route({ access })), `${access}: its rate is another one`);
  t.doesNotThrow(() => spend(asKey('a'), 60_000 / managementRate.perMinute));
});

t.test('what stays for long is made no faster than its own rate', async (t) => {
  const limits = new ApiLimits();
  const making = route({ perKeyRate: { perMinute: 2, capacity: 3 } });
  const make = (caller: Caller, nowMs = 0) => limits.spend(making, caller, nowMs);
  for (let i = 0; i < 3; i++) make(asKey('a'));
  t.throws(() => make(asKey('a')), { code: 'RATE_LIMITED', extra: { retryAfterSeconds: 30 } });
  t.doesNotThrow(() => make(asKey('b')), 'another key has its own');
  t.doesNotThrow(() => limits.spend(route({}), asKey('a'), 0), 'other requests go on');
  t.doesNotThrow(() => make(asKey('a'), 30_000));
  t.throws(() => make(asKey('a'), 30_000));
});

t.test('ephemeral keys are made so fast and no faster', async (t) => {
  const limits = new ApiLimits();
  const make = (nowMs: number) => limits.spend(ephemeralKey, asKey('a'), nowMs);
  for (let i = 0; i < 5_000; i++) make(0);
  t.throws(() => make(0), { code: 'RATE_LIMITED' });
  for (let i = 0; i < 120; i++) make(60_000);
  t.throws(() => make(60_000));
});

t.test('listings of a tenant come one after another, and not too many stand in line', async (t) => {
  const limits = new ApiLimits();
  const listing = route({ isListing: true });
  let under = 0;
  let most = 0;
  let ended = 0;
  const list = (fails: boolean) =>
    limits.run(listing, admin, ofAcme, async () => {
      under += 1;
      most = Math.max(most, under);
      await Promise.resolve();
      under -= 1;
      ended += 1;
      if (fails) throw new Error('the state is away');
      return 'listed';
    });
  const asked = Promise.allSettled(Array.from({ length: inLineMax + 1 }, (_, i) => list(i % 2 === 0)));
  await t.rejects(list(false), { code: 'RATE_LIMITED' });
  const endedBefore = await limits.run(
    listing,
    admin,
    () => 'other',
    async () => ended,
  );
  t.ok(endedBefore <= inLineMax, 'another tenant does not wait for them');
  const settled = await asked;
  t.equal(most, 1);
  t.equal(settled.filter((it) => it.status === 'rejected').length, inLineMax / 2 + 1);
  t.equal(await list(false), 'listed', 'what has failed leaves its place');
});

t.test('of some requests a key has only a few under way', async (t) => {
  const limits = new ApiLimits();
  const waiting = route({ perKeyMax: 2 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const wait = (caller: Caller) => limits.run(waiting, caller, ofAcme, () => promise);
  const first = [wait(asKey('a')), wait(asKey('child', 'a')), wait(asKey('b')), wait(admin)];
  await t.rejects(wait(asKey('a')), { code: 'RATE_LIMITED', extra: { retryAfterSeconds: 5 } });
  resolve();
  await Promise.all(first);
  await t.resolves(wait(asKey('a')), 'those that have ended count no more');
});

t.test('a tenant, and all together, have so many requests under way, whoever asks', async (t) => {
  const limits = new ApiLimits();
  const exporting = route({ perTenantMax: 2, inAllMax: 3 });
  const ended = Promise.withResolvers<void>();
  const run = (tenantId: string) =>
    limits.run(
      exporting,
      admin,
      () => tenantId,
      () => ended.promise,
    );
  const running = [run('acme'), run('acme')];
  await t.rejects(run('acme'), { code: 'RATE_LIMITED' }, 'of the tenant');
  running.push(run('other'));
  await t.rejects(run('another'), { code: 'RATE_LIMITED' }, 'of all');
  ended.resolve();
  await Promise.all(running);
  await run('acme');
});
