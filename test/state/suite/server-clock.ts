import type { SuitePart } from './lab.ts';

/**
 * What holds by the clock of a server, which no test can move: rates of one a minute are so slow that it makes no difference how long the
 * test takes, and where it does, a bound comes from the time that has passed.
 */
export const serverClock: SuitePart = async (t, { store, ...lab }) => {
  const hourMs = 3_600_000;
  const now = () => ({ nowMs: Date.now() });

  await t.test('at once, exactly what is granted is let in', async (t) => {
    const cases = [
      { name: 'uses', terms: {}, fields: { maxUses: 100 }, perMinute: 0 },
      { name: 'quota', terms: { scansPerMonth: 100 }, fields: {}, perMinute: 0 },
      { name: 'bucket of the tenant', terms: { scansPerMinute: 1, burst: 100 }, fields: {}, perMinute: 1 },
      {
        name: 'bucket of the tenant, twice the rate',
        terms: { scansPerMinute: 50 },
        fields: {},
        perMinute: 50,
      },
      { name: 'bucket of the key', terms: {}, fields: { perMinute: 50 }, perMinute: 50 },
      { name: 'bucket of each key', terms: { perKeyScansPerMinute: 50 }, fields: {}, perMinute: 50 },
    ];
    for (const { name, terms, fields, perMinute } of cases) {
      const acme = await lab.tenant(terms);
      const parentKeyId = (await acme.key()).keyId;
      const key = await acme.key({ ...fields, type: 'ephemeral', parentKeyId, createdAtMs: Date.now() });
      const sinceMs = performance.now();
      const passed = await acme.admitMany(1_000, key, now());
      const flowed = ((performance.now() - sinceMs) * perMinute) / 60_000;
      t.ok(passed >= 100 && passed <= 100 + flowed, `${name}: ${passed} of 1,000 were let in`);
      t.match(
        await store.keyUsage(acme.tenantId, [key.keyId], Date.now()),
        [{ uses: passed }],
        'and counted',
      );
    }
  });

  await t.test('a node with a wrong clock gets no token more', async (t) => {
    const acme = await lab.tenant({ scansPerMinute: 1, burst: 3 });
    const key = await acme.key();
    t.equal(await acme.admitMany(9, key, now()), 3);
    for (const off of [hourMs, -hourMs, 24 * hourMs, 0]) {
      const limited = await acme.admit(key, { nowMs: Date.now() + off });
      t.match(limited, { ok: false, code: 'RATE_LIMITED' }, `${off} ms off`);
      const seconds = limited.ok ? 0 : (limited.retryAfterSeconds ?? 0);
      t.ok(seconds >= 1 && seconds <= 60, 'is told when a token is there');
    }
  });

  await t.test('a fast bucket fills again', async (t) => {
    const acme = await lab.tenant({ scansPerMinute: 60_000, burst: 1 });
    const key = await acme.key();
    let passed = 0;
    while (passed < 20) if ((await acme.admit(key, now())).ok) passed += 1;
    t.equal(passed, 20);
  });

  await t.test('a nonce is free again after its end', async (t) => {
    const acme = await lab.tenant();
    const claim = (lastsMs: number) =>
      store.claimNonce(acme.tenantId, 'k', 'nonce', Date.now(), Date.now() + lastsMs);
    t.equal(await claim(300), true);
    while (!(await claim(60_000)));
    t.equal(await claim(60_000), false, 'and then claimed');
  });
};
