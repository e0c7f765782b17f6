import {
  type Bucket,
  levelAt,
  partsPerToken,
  type Rate,
  secondsUntilToken,
} from '../../../src/state/rules/limits.ts';
import { noonMs } from '../records.ts';
import { ofScripts, type SuitePart } from './lab.ts';

const monthEndMs = Date.UTC(2031, 5, 1);

/** The numbers in `admit`: quota, uses, buckets. */
export const limits: SuitePart = async (t, { store, hints, ...lab }) => {
  const ofItsScripts = ofScripts(t, hints);
  await t.test('a quota lets in exactly what it grants, and begins anew with the month', async (t) => {
    const acme = await lab.tenant({ scansPerMonth: 5 });
    const key = await acme.key();
    for (const used of [1, 2, 3, 4, 5]) t.match(await acme.admit(key), { ok: true, scansUsed: used });
    const nearEnd = { nowMs: monthEndMs - 1 };
    t.match(await acme.admit(key), {
      ok: false,
      code: 'QUOTA_EXCEEDED',
      identity: { keyId: key.keyId },
      retryAfterSeconds: (monthEndMs - noonMs) / 1000,
    });
    t.match(await acme.admit(key, nearEnd), { code: 'QUOTA_EXCEEDED', retryAfterSeconds: 1 });
    t.match(await acme.admit(key, { nowMs: monthEndMs - 1_001 }), { retryAfterSeconds: 2 }, 'rounded up');
    t.match(await store.usageOf(acme.tenantId, noonMs), { scansUsed: 5 }, 'refused calls are not counted');
    t.match(await acme.admit(key, { nowMs: monthEndMs }), { ok: true, scansUsed: 1 }, 'at midnight UTC');
    t.match(await store.usageOf(acme.tenantId, monthEndMs), { scansUsed: 1 });
    t.match(await store.usageOf(acme.tenantId, noonMs), { scansUsed: 5 });
    t.match(
      await acme.admit(key, nearEnd),
      { code: 'QUOTA_EXCEEDED' },
      'a clock set back grants nothing again',
    );
    t.match(await acme.admit(key, { nowMs: monthEndMs }), { ok: true, scansUsed: 2 });
  });

  await t.test('a quota is that of all keys of a tenant, and of no other tenant', async (t) => {
    const acme = await lab.tenant({ scansPerMonth: 3 });
    const other = await lab.tenant({ scansPerMonth: 3 });
    const [one, two] = [await acme.key(), await acme.key()];
    const foreign = await other.key();
    t.equal((await acme.admitMany(2, one)) + (await acme.admitMany(2, two)), 3);
    t.equal(await other.admitMany(5, foreign), 3);
    acme.terms = { ...acme.terms, scansPerMonth: 4 };
    t.equal(await acme.admitMany(5, one), 1, 'a larger plan grants the difference');
    acme.terms = { ...acme.terms, scansPerMonth: 0 };
    t.match(await acme.admit(one), { code: 'QUOTA_EXCEEDED' });
    acme.terms = { ...acme.terms, scansPerMonth: null };
    t.match(
      await acme.admit(one),
      { ok: true, scansUsed: 5 },
      'without a quota, calls are counted all the same',
    );
  });

  await t.test('overage lets calls in beyond the quota, and counts them', async (t) => {
    const acme = await lab.tenant({ scansPerMonth: 2, overage: true });
    const key = await acme.key();
    for (const used of [1, 2, 3, 4]) t.match(await acme.admit(key), { ok: true, scansUsed: used });
    acme.terms = { ...acme.terms, overage: false };
    t.match(await acme.admit(key), { code: 'QUOTA_EXCEEDED' });
  });

  await ofItsScripts('an ephemeral key is good for its uses and no more', async (t) => {
    const acme = await lab.tenant();
    const parent = await acme.key();
    const child = (maxUses: number | null) =>
      acme.key({ type: 'ephemeral', parentKeyId: parent.keyId, maxUses });
    for (const uses of [1, 2, 1_000]) t.equal(await acme.admitMany(uses + 50, await child(uses)), uses);
    t.equal(await acme.admitMany(200, await child(null)), 200, 'null is unlimited');
    const key = await child(1);
    await acme.admit(key);
    const want = { ok: false, code: 'INVALID_KEY', detail: /used up/, identity: { keyId: key.keyId } };
    t.match(await acme.admit(key), want);
    t.match(await acme.admit(key, { nowMs: monthEndMs }), want, 'uses do not come back');
    t.match(await store.keyUsage(acme.tenantId, [key.keyId], noonMs), [{ uses: 1, calls24h: 1 }]);
  });

  await ofItsScripts('at once, exactly what is granted is let in', async (t) => {
    const cases = [
      { name: 'uses', terms: {}, fields: { maxUses: 100 } },
      { name: 'quota', terms: { scansPerMonth: 100 }, fields: {} },
      { name: 'bucket of the tenant', terms: { scansPerMinute: 1, burst: 100 }, fields: {} },
      { name: 'bucket of the tenant, twice the rate', terms: { scansPerMinute: 50 }, fields: {} },
      { name: 'bucket of the key', terms: {}, fields: { perMinute: 50 } },
      { name: 'bucket of each key', terms: { perKeyScansPerMinute: 50 }, fields: {} },
    ];
    for (const { name, terms, fields } of cases) {
      const acme = await lab.tenant(terms);
      const parentKeyId = (await acme.key()).keyId;
      const key = await acme.key({ ...fields, type: 'ephemeral', parentKeyId });
      const passed = await acme.admitMany(1_000, key);
      t.equal(passed, 100, name);
      const [usage] = await store.keyUsage(acme.tenantId, [key.keyId], noonMs);
      t.match(usage, { uses: passed, calls24h: passed }, 'and as many counted');
      t.match(await store.usageOf(acme.tenantId, noonMs), { scansUsed: passed });
    }
  });

  await t.test('a key has its own bucket inside that of its tenant', async (t) => {
    const acme = await lab.tenant({ scansPerMinute: 1, burst: 5 });
    const [slow, free] = [await acme.key({ perMinute: 1 }), await acme.key()];
    t.equal(await acme.admitMany(20, slow), 2, 'twice its rate');
    t.match(await acme.admit(slow), { code: 'RATE_LIMITED', identity: { keyId: slow.keyId } });
    t.equal(await acme.admitMany(20, free), 3, 'what it was refused, it has not taken from the tenant');

    const beta = await lab.tenant({ scansPerMinute: 1, burst: 1, perKeyScansPerMinute: 1 });
    const [one, two, fast] = [await beta.key(), await beta.key(), await beta.key({ perMinute: 2 })];
    t.equal(await beta.admitMany(5, two), 1);
    t.equal(await beta.admitMany(20, one), 0, 'the tenant has no more');
    beta.terms = { ...beta.terms, scansPerMinute: null };
    t.equal(await beta.admitMany(20, one), 2, 'what the tenant refused was not taken from the key');
    t.equal(await beta.admitMany(20, two), 1, 'each key has its own');
    t.equal(await beta.admitMany(20, fast), 4, 'its own rate goes before that of the plan');
  });

  await t.test('a key has one bucket with all that were made with it', async (t) => {
    const acme = await lab.tenant();
    const parent = await acme.key({ perMinute: 2 });
    const child = () => acme.key({ type: 'ephemeral', parentKeyId: parent.keyId, perMinute: 2 });
    let admitted = await acme.admitMany(2, parent);
    for (let nth = 0; nth < 5; nth += 1) admitted += await acme.admitMany(5, await child());
    t.equal(admitted, 4, 'however many there are');
    t.match(await acme.admit(parent), { code: 'RATE_LIMITED' });
    const [usage] = await store.keyUsage(acme.tenantId, [parent.keyId], noonMs);
    t.match(usage, { uses: 2 }, 'while each counts its own uses');
  });

  await t.test('a plan that changes holds from the next call on', async (t) => {
    const acme = await lab.tenant({ scansPerMinute: 1, burst: 10 });
    const key = await acme.key();
    t.equal(await acme.admitMany(1, key), 1);
    acme.terms = { ...acme.terms, burst: 2 };
    t.equal(await acme.admitMany(20, key), 2, 'a smaller bucket holds less');
    acme.terms = { ...acme.terms, burst: 10 };
    t.equal(await acme.admitMany(20, key), 0, 'and a larger one is not filled by being larger');
    acme.terms = { ...acme.terms, scansPerMinute: null };
    t.equal(await acme.admitMany(20, key), 20);
  });

  await t.test('what is refused has taken nothing', async (t) => {
    const acme = await lab.tenant({ scansPerMonth: 4, scansPerMinute: 1, burst: 3 });
    const parent = await acme.key();
    const child = await acme.key({
      type: 'ephemeral',
      parentKeyId: parent.keyId,
      maxUses: 2,
      perMinute: 1,
      ipAllowlist: ['198.51.100.0/24'],
      scope: { tools: ['github'], verbs: null },
    });
    const refusals = [
      { clientAddress: '192.0.2.1' },
      { envName: 'elsewhere' },
      { agentId: parent.keyId },
      { termsOf: () => undefined },
      { termsOf: () => ({ ...acme.terms, scansPerMonth: 0 }) },
      { termsOf: () => ({ ...acme.terms, scansPerMinute: 1, burst: 0 }) },
    ];
    for (const asks of refusals) t.equal(await acme.admitMany(20, child, asks), 0);
    t.match(await store.usageOf(acme.tenantId, noonMs), { scansUsed: 0 });
    t.match(await store.keyUsage(acme.tenantId, [child.keyId], noonMs), [
      { uses: 0, calls24h: 0, lastSeenAtMs: null, blockedAttempts: 20 },
    ]);
    t.equal(await acme.admitMany(20, child), 2, 'both uses are left');
    t.match(await acme.admit(child), { code: 'INVALID_KEY' }, 'uses are looked at before buckets');
    t.equal(await acme.admitMany(20, parent), 1, 'the tenant had three tokens');
    t.match(await acme.admit(parent), { code: 'RATE_LIMITED' });
    t.match(await store.usageOf(acme.tenantId, noonMs), { scansUsed: 3 });
    acme.terms = { ...acme.terms, scansPerMinute: null };
    t.equal(await acme.admitMany(20, parent), 1, 'and the quota was four');
  });

  await t.test('of several numbers that refuse, the first in their order is named', async (t) => {
    const acme = await lab.tenant();
    const parent = await acme.key();
    const key = await acme.key({ type: 'ephemeral', parentKeyId: parent.keyId, maxUses: 1, perMinute: 60 });
    const bucket = await acme.key({ perMinute: 1 });
    t.equal(await acme.admitMany(1, key), 1);
    t.equal(await acme.admitMany(9, bucket), 2);
    const none = { scansPerMonth: 3, scansPerMinute: 60, burst: 0 };
    acme.terms = { ...acme.terms, ...none };
    t.match(await acme.admit(key), { code: 'QUOTA_EXCEEDED' });
    acme.terms = { ...acme.terms, scansPerMonth: null };
    t.match(await acme.admit(key), { code: 'INVALID_KEY', detail: /used up/ });
    t.match(await acme.admit(bucket), { code: 'RATE_LIMITED', retryAfterSeconds: 1 }, 'that of the tenant');
    acme.terms = { ...acme.terms, scansPerMinute: null };
    const limited = await acme.admit(bucket);
    t.match(limited, { code: 'RATE_LIMITED' });
    t.ok(!limited.ok && (limited.retryAfterSeconds ?? 0) > 30, 'that of the key');
  });

  await t.test('what counts as a rate takes from the buckets alone', async (t) => {
    const acme = await lab.tenant({ scansPerMonth: 1, scansPerMinute: 1, burst: 6 });
    const key = await acme.key({ perMinute: 2 });
    const rate = { counts: 'rate' } as const;
    t.equal(await acme.admitMany(2, key, rate), 2);
    t.match(await store.usageOf(acme.tenantId, noonMs), { scansUsed: 0, currentRatePerMin: 0 });
    const [usage] = await store.keyUsage(acme.tenantId, [key.keyId], noonMs);
    t.match(usage, { uses: 0, calls24h: 0, lastSeenAtMs: null });
    t.match(await acme.admit(key), { ok: true, scansUsed: 1 });
    t.match(await acme.admit(key), { code: 'QUOTA_EXCEEDED' });
    t.match(await acme.admit(key, rate), { ok: true }, 'with the quota used up as well');
    t.match(await acme.admit(key, rate), { code: 'RATE_LIMITED' }, 'the bucket of the key had four');
    t.equal(await acme.admitMany(9, await acme.key(), rate), 2, 'and that of the tenant six');
    t.match(await store.usageOf(acme.tenantId, noonMs), { scansUsed: 1 });
  });

  await t.test('a key that is used up is of no use for what counts as a rate either', async (t) => {
    const acme = await lab.tenant();
    const parent = await acme.key();
    const key = await acme.key({ type: 'ephemeral', parentKeyId: parent.keyId, maxUses: 1 });
    const rate = { counts: 'rate' } as const;
    t.equal(await acme.admitMany(9, key, rate), 9, 'which spends no use');
    t.match(await acme.admit(key), { ok: true });
    t.match(await acme.admit(key, rate), { code: 'INVALID_KEY', detail: /used up/ });
  });

  await ofItsScripts('tokens flow in to the millisecond', async (t) => {
    for (const perMinute of [1, 7, 59, 60, 600, 999, 59_999, 60_000, 60_001, 1_000_000, 100_000_000]) {
      const acme = await lab.tenant({ scansPerMinute: perMinute, burst: 3 });
      const key = await acme.key();
      t.equal(await acme.admitMany(9, key), 3, `${perMinute} a minute: begins full`);
      // The n-th token is whole at the first millisecond that has brought all its parts.
      for (let n = 1; n <= 3 && perMinute < partsPerToken; n += 1) {
        const dueMs = noonMs + Math.ceil((n * partsPerToken) / perMinute);
        const early = await acme.admit(key, { nowMs: dueMs - 1 });
        t.match(early, { code: 'RATE_LIMITED', retryAfterSeconds: 1 }, 'not a millisecond early');
        t.match(await acme.admit(key, { nowMs: dueMs }), { ok: true });
        t.match(await acme.admit(key, { nowMs: dueMs }), { code: 'RATE_LIMITED' }, 'one, not two');
      }
      const laterMs = noonMs + 3_600_000 * 5;
      t.equal(await acme.admitMany(9, key, { nowMs: laterMs }), 3, 'never more than it holds');
    }
  });

  await ofItsScripts('a bucket does what the arithmetic says, step by step', async (t) => {
    let seed = 42;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    for (const perMinute of [1, 13, 600, 59_999, 61_000, 100_000_000]) {
      const rate: Rate = { perMinute, capacity: perMinute * 2 };
      const acme = await lab.tenant({ scansPerMinute: perMinute });
      const key = await acme.key();
      const bucket: Bucket = { level: rate.capacity * partsPerToken, atMs: noonMs };
      let nowMs = noonMs;
      let wrong = 0;
      for (let step = 0; step < 400; step += 1) {
        nowMs += random(4) === 0 ? random(180_000 / Math.min(perMinute, 60_000)) : random(3) - 1;
        const level = levelAt(bucket, rate, nowMs);
        const want = level >= partsPerToken;
        const got = await acme.admit(key, { nowMs });
        if (got.ok !== want) wrong += 1;
        if (!got.ok && got.retryAfterSeconds !== secondsUntilToken(level, rate)) wrong += 1;
        if (want) {
          bucket.level = level - partsPerToken;
          bucket.atMs = Math.max(bucket.atMs, nowMs);
        }
      }
      t.equal(wrong, 0, `${perMinute} a minute: as the model says, 400 times`);
    }
  });

  await t.test('says how long to wait', async (t) => {
    const cases = [
      { perMinute: 1, seconds: 60 },
      { perMinute: 7, seconds: 9 },
      { perMinute: 59, seconds: 2 },
      { perMinute: 60, seconds: 1 },
      { perMinute: 100_000_000, seconds: 1 },
    ];
    for (const { perMinute, seconds } of cases) {
      const acme = await lab.tenant({ scansPerMinute: perMinute, burst: 1 });
      const key = await acme.key();
      await acme.admit(key);
      const limited = await acme.admit(key);
      t.match(limited, { code: 'RATE_LIMITED', retryAfterSeconds: seconds }, `${perMinute} a minute`);
    }
    const acme = await lab.tenant({ scansPerMinute: 1, burst: 1 });
    const key = await acme.key();
    await acme.admit(key);
    t.match(await acme.admit(key, { nowMs: noonMs + 58_999 }), { retryAfterSeconds: 2 }, 'rounded up');
    t.match(await acme.admit(key, { nowMs: noonMs + 59_999 }), { retryAfterSeconds: 1 });
  });

  await t.test('a clock that runs backwards fills no bucket', async (t) => {
    const acme = await lab.tenant({ scansPerMinute: 1, burst: 2 });
    const key = await acme.key();
    t.match(await acme.admit(key), { ok: true });
    t.match(await acme.admit(key, { nowMs: noonMs - 600_000 }), { ok: true }, 'what is there can be taken');
    t.match(await acme.admit(key, { nowMs: noonMs - 600_000 }), { code: 'RATE_LIMITED' });
    t.match(await acme.admit(key), { code: 'RATE_LIMITED' }, 'and the way back brings nothing');
    t.match(await acme.admit(key, { nowMs: noonMs + 59_999 }), { code: 'RATE_LIMITED' });
    t.equal(await acme.admitMany(5, key, { nowMs: noonMs + 60_000 }), 1);
  });

  await t.test('a clock that was far ahead keeps no bucket empty', async (t) => {
    const acme = await lab.tenant({ scansPerMinute: 1, burst: 2 });
    const key = await acme.key();
    const ahead = { nowMs: noonMs + 3_600_001 };
    t.equal(await acme.admitMany(3, key, ahead), 2);
    t.match(await acme.admit(key, { nowMs: noonMs + 1 }), { code: 'RATE_LIMITED' }, 'an hour is believed');
    t.equal(await acme.admitMany(3, key), 2);
    t.match(await acme.admit(key, { nowMs: noonMs + 59_999 }), { code: 'RATE_LIMITED' });
    t.equal(await acme.admitMany(3, key, { nowMs: noonMs + 60_000 }), 1, 'and it fills as it did');
  });
};
