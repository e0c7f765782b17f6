import { randomBytes } from 'node:crypto';
import { newId } from '../../../src/core/ids.ts';
import type { KeyRecord } from '../../../src/state/store.ts';
import { keyRecord, noonMs } from '../records.ts';
import { firstPage, type SuitePart } from './lab.ts';

export const keys: SuitePart = async (t, { store, ...lab }) => {
  await t.test('a key is as it was added, in its own tenant alone', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const full = await acme.key({
      description: 'naïve ✓ \0 \ud800',
      envNames: ['staging', 'dev'],
      permissions: ['scan', 'keys:read'],
      ipAllowlist: ['203.0.113.0/24', '2001:db8::/32'],
      expiresAtMs: noonMs + 5_000,
      perMinute: 600,
      requireNonce: true,
      isFromConfig: true,
    });
    const child = await acme.key({
      type: 'ephemeral',
      parentKeyId: full.keyId,
      maxUses: 7,
      scope: { tools: ['github'], verbs: null },
    });
    for (const key of [full, child]) {
      t.same(await store.keyById(acme.tenantId, key.keyId), key);
      t.equal(await store.keyById(other.tenantId, key.keyId), undefined, 'unknown in another tenant');
      const admitted = await acme.admit(key, { clientAddress: '203.0.113.7' });
      t.match(admitted, { ok: true, key: { keyId: key.keyId } }, 'whatever its texts are');
    }
    t.equal(await store.keyById(acme.tenantId, newId()), undefined);
  });

  await t.test('identify says who a key is', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key({ expiresAtMs: noonMs + 5_000, permissions: ['scan', 'keys:read'] });
    const holder = await store.identify(key.hash, noonMs + 4_999);
    t.match(holder, { ok: true, key: { keyId: key.keyId }, agentStatus: 'active' });
    t.same(holder.ok && holder.identity, {
      keyId: key.keyId,
      keyPrefix: key.prefix,
      tenantId: acme.tenantId,
      envName: 'prod',
      agentId: acme.agent.agentId,
      agentName: 'crawler',
      ownAgent: acme.agent,
      permissions: new Set(['scan', 'keys:read']),
    });
    const refusals = [
      { name: 'has expired at its end', hash: key.hash, nowMs: noonMs + 5_000 },
      { name: 'is not known', hash: randomBytes(32).toString('hex'), nowMs: noonMs },
      { name: 'is no hash', hash: 'nonsense', nowMs: noonMs },
      { name: 'is the beginning of a known one', hash: key.hash.slice(0, 32), nowMs: noonMs },
      { name: 'is a known one and more', hash: `${key.hash}00`, nowMs: noonMs },
      { name: 'is empty', hash: '', nowMs: noonMs },
    ];
    for (const { name, hash, nowMs } of refusals) {
      t.match(await store.identify(hash, nowMs), { ok: false, code: 'INVALID_KEY' }, `refuses what ${name}`);
      const admission = await acme.admit({ ...key, hash }, { nowMs });
      t.match(admission, { ok: false, code: 'INVALID_KEY' }, `and so does admit: ${name}`);
    }
    t.match(await store.keyUsage(acme.tenantId, [key.keyId], noonMs), [{ uses: 0 }], 'and counts nothing');
  });

  await t.test('an ephemeral key does not live longer because the clock is set back', async (t) => {
    const acme = await lab.tenant();
    const { keyId: parentKeyId } = await acme.key();
    const life = { createdAtMs: noonMs + 86_400_000, expiresAtMs: noonMs + 87_000_000 };
    const key = await acme.key({ type: 'ephemeral', parentKeyId, ...life });
    t.match(await acme.admit(key, { nowMs: life.createdAtMs }), { ok: true });
    t.match(await acme.admit(key, { nowMs: life.createdAtMs - 60_000 }), { ok: true }, 'of another node');
    for (const nowMs of [life.createdAtMs - 60_001, noonMs]) {
      t.match(await store.identify(key.hash, nowMs), { code: 'INVALID_KEY', why: 'expired' });
      t.match(await acme.admit(key, { nowMs }), { code: 'INVALID_KEY' });
    }
  });

  await t.test('a key that cannot be added leaves nothing behind', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const key = await acme.key();
    const revoked = await acme.key();
    await store.revokeKey(acme.tenantId, revoked.keyId, acme.event());
    const expired = await acme.key({ expiresAtMs: noonMs });
    const foreign = await other.key();
    const fresh = (fields: Partial<KeyRecord>) =>
      keyRecord({ tenantId: acme.tenantId, agentId: acme.agent.agentId, ...fields });
    const childOf = (parentKeyId: string) => fresh({ type: 'ephemeral', parentKeyId });
    const before = await store.verifyAudit(acme.tenantId);
    const cases = [
      { name: 'its id is taken', wrong: fresh({ keyId: key.keyId }), code: 'CONFLICT' },
      { name: 'its hash is taken', wrong: fresh({ hash: key.hash }), code: 'CONFLICT' },
      { name: 'its hash is taken in another tenant', wrong: fresh({ hash: foreign.hash }), code: 'CONFLICT' },
      { name: 'its agent is unknown', wrong: fresh({ agentId: newId() }), code: 'NOT_FOUND' },
      {
        name: 'its agent is of another tenant',
        wrong: fresh({ agentId: other.agent.agentId }),
        code: 'NOT_FOUND',
      },
      { name: 'its parent is unknown', wrong: childOf(newId()), code: 'NOT_FOUND' },
      { name: 'its parent is of another tenant', wrong: childOf(foreign.keyId), code: 'NOT_FOUND' },
      { name: 'its parent is revoked', wrong: childOf(revoked.keyId), code: 'NOT_FOUND' },
      { name: 'its parent has expired', wrong: childOf(expired.keyId), code: 'NOT_FOUND' },
    ];
    for (const { name, wrong, code } of cases) {
      await t.rejects(store.addKey(wrong, acme.event()), { code }, name);
      if (wrong.hash !== key.hash && wrong.hash !== foreign.hash)
        t.match(await store.identify(wrong.hash, noonMs), { ok: false }, 'no call knows it');
    }
    t.match(
      await store.identify(key.hash, noonMs),
      { ok: true, key: { keyId: key.keyId } },
      'the first stands',
    );
    t.match(await store.identify(foreign.hash, noonMs), { ok: true, key: { tenantId: other.tenantId } });
    t.same(await store.verifyAudit(acme.tenantId), before, 'nothing is in the audit log');
  });

  await t.test('tenants are told apart to the letter', async (t) => {
    const acme = await lab.tenant({ scansPerMonth: 2 });
    const key = await acme.key();
    await acme.admit(key);
    const { tenantId } = acme;
    for (const near of [
      tenantId.toUpperCase(),
      `${tenantId}0`,
      tenantId.slice(0, -1),
      `${tenantId}_`,
      '-',
      '_',
    ]) {
      t.equal(await store.keyById(near, key.keyId), undefined, near);
      t.same((await store.listKeys(near, firstPage)).items, []);
      t.same((await store.listAgents(near, firstPage)).items, []);
      t.match(await store.usageOf(near, noonMs), { scansUsed: 0 });
      t.match(await store.keyUsage(near, [key.keyId], noonMs), [{ uses: 0 }]);
      t.match(await store.verifyAudit(near), { ok: true, entries: 0 });
    }
    t.match(await store.usageOf(tenantId, noonMs), { scansUsed: 1 });
  });

  await t.test('of many that add the same key at once, one does', async (t) => {
    const acme = await lab.tenant();
    const key = keyRecord({ tenantId: acme.tenantId, agentId: acme.agent.agentId });
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, at) => store.addKey({ ...key, name: `n${at}` }, acme.event())),
    );
    t.equal(results.filter((it) => it.status === 'fulfilled').length, 1);
    for (const it of results) if (it.status === 'rejected') t.match(it.reason, { code: 'CONFLICT' });
    t.match(await store.verifyAudit(acme.tenantId), { ok: true, entries: 1 });
  });

  await t.test('a revoked key stays revoked, from the next call on', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const key = await acme.key();
    t.equal(
      await store.revokeKey(other.tenantId, key.keyId, other.event()),
      undefined,
      'not by another tenant',
    );
    t.equal(
      await store.revokeKey(acme.tenantId, newId(), acme.event()),
      undefined,
      'nor one that is not there',
    );
    t.match(await acme.admit(key), { ok: true });
    const event = acme.event({ kind: 'key.revoked', atMs: noonMs + 3, operator: 'iv_live_9xyz' });
    const want = { revokedAtMs: noonMs + 3, revokedBy: 'iv_live_9xyz' };
    t.match(await store.revokeKey(acme.tenantId, key.keyId, event), want);
    t.match(await acme.admit(key), { ok: false, code: 'INVALID_KEY', identity: { keyId: key.keyId } });
    t.match(await store.identify(key.hash, noonMs), { ok: false, code: 'INVALID_KEY' });
    const again = acme.event({ atMs: noonMs + 9, operator: 'someone else' });
    t.match(await store.revokeKey(acme.tenantId, key.keyId, again), want, 'as it was');
    t.same(await store.keyById(acme.tenantId, key.keyId), { ...key, ...want });
    t.match(await store.verifyAudit(acme.tenantId), { ok: true, entries: 2 }, 'revoking again is no event');
    t.match(await store.verifyAudit(other.tenantId), { ok: true, entries: 0 }, 'nor is a vain attempt');
  });

  await t.test('of many who revoke a key at once, one does', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        store.revokeKey(acme.tenantId, key.keyId, acme.event({ operator: `o${at}` })),
      ),
    );
    t.equal(new Set(answers.map((it) => it?.revokedBy)).size, 1, 'all are told the same');
    t.match(await store.verifyAudit(acme.tenantId), { ok: true, entries: 2 });
  });

  await t.test('a child dies with its parent', async (t) => {
    const acme = await lab.tenant();
    const parent = await acme.key({ expiresAtMs: noonMs + 60_000 });
    const child = await acme.key({ type: 'ephemeral', parentKeyId: parent.keyId });
    const sibling = await acme.key({ type: 'ephemeral', parentKeyId: parent.keyId });
    const stranger = await acme.key();
    t.match(await acme.admit(child, { nowMs: noonMs + 59_999 }), { ok: true });
    t.match(await acme.admit(child, { nowMs: noonMs + 60_000 }), { code: 'INVALID_KEY' }, 'when it expires');
    t.match(await store.identify(child.hash, noonMs + 60_000), { code: 'INVALID_KEY' });
    await store.revokeKey(acme.tenantId, child.keyId, acme.event());
    t.match(await acme.admit(sibling), { ok: true }, 'not with its sibling');
    await store.revokeKey(acme.tenantId, parent.keyId, acme.event());
    t.match(await acme.admit(sibling), { code: 'INVALID_KEY' }, 'and when it is revoked');
    t.match(await store.identify(sibling.hash, noonMs), { code: 'INVALID_KEY' });
    t.match(await store.keyById(acme.tenantId, sibling.keyId), { revokedAtMs: null }, 'its record stays');
    t.match(await acme.admit(stranger), { ok: true }, 'others live on');
  });

  await t.test('an ephemeral key goes a week after its end, when the next one is made', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const dayMs = 86_400_000;
    const parent = await acme.key({ expiresAtMs: noonMs });
    const short = { type: 'ephemeral', createdAtMs: noonMs - 1_000, expiresAtMs: noonMs } as const;
    const ended = await acme.key({ ...short, parentKeyId: parent.keyId });
    const foreign = await other.key(short);
    const lived = await acme.key({ ...short, expiresAtMs: noonMs + 2 * dayMs });
    t.match(await acme.admit(ended, { nowMs: noonMs - 1 }), { ok: true });
    const makeNext = (createdAtMs: number) =>
      acme.key({ type: 'ephemeral', createdAtMs, expiresAtMs: createdAtMs + 1_000 });
    await makeNext(noonMs + 7 * dayMs - 1);
    t.match(await store.keyById(acme.tenantId, ended.keyId), ended, 'not before');
    const next = await makeNext(noonMs + 8 * dayMs);
    t.equal(await store.keyById(acme.tenantId, ended.keyId), undefined);
    t.match(await acme.admit(ended, { nowMs: noonMs + 8 * dayMs }), { code: 'INVALID_KEY' });
    const { items } = await store.listKeys(acme.tenantId, { limit: 2, cursor: undefined });
    t.equal(items[0]?.keyId, next.keyId);
    for (const { tenantId, keyId } of [parent, lived, foreign])
      t.match(await store.keyById(tenantId, keyId), { keyId }, 'others stay');
  });

  await t.test('a change holds from the next call on, and changes nothing else', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const key = await acme.key({ permissions: ['scan'] });
    const change = (fields: Parameters<typeof store.updateKey>[2]) =>
      store.updateKey(acme.tenantId, key.keyId, fields, acme.event({ kind: 'key.changed' }));
    t.match(await acme.admit(key), { ok: true });

    t.same(await change({ ipAllowlist: ['203.0.113.0/24'] }), { ...key, ipAllowlist: ['203.0.113.0/24'] });
    t.match(await acme.admit(key), { code: 'IP_NOT_ALLOWED' });
    t.match(await acme.admit(key, { clientAddress: '203.0.113.9' }), { ok: true });
    await change({ ipAllowlist: null });
    t.match(await acme.admit(key), { ok: true });

    await change({ permissions: ['keys:read'] });
    t.match(await acme.admit(key), { code: 'FORBIDDEN' });
    await change({ permissions: ['admin'] });
    const admitted = await acme.admit(key);
    t.same(admitted.ok && admitted.identity.permissions, new Set(['admin']), 'admin may scan');

    await change({ expiresAtMs: noonMs });
    t.match(await acme.admit(key), { code: 'INVALID_KEY' });
    await change({ expiresAtMs: null });
    t.match(await acme.admit(key), { ok: true });

    t.match(await acme.admit(key, { envName: 'staging' }), { code: 'CROSS_ENVIRONMENT' });
    await change({ envNames: ['staging'] });
    t.match(await acme.admit(key, { envName: 'staging' }), { ok: true, identity: { envName: 'staging' } });

    const want = { ...key, envNames: ['staging'], permissions: ['admin'], name: 'new', description: 'text' };
    t.same(await change({ name: 'new', description: 'text' }), want);
    t.same(await store.keyById(acme.tenantId, key.keyId), want);
    t.match(await store.verifyAudit(acme.tenantId), { ok: true, entries: 1 + 8 });

    const vain = await store.updateKey(other.tenantId, key.keyId, { name: 'x' }, other.event());
    t.equal(vain, undefined, 'not by another tenant');
    t.equal(await store.updateKey(acme.tenantId, newId(), { name: 'x' }, acme.event()), undefined);
    t.same(await store.keyById(acme.tenantId, key.keyId), want);
    t.match(
      await store.verifyAudit(acme.tenantId),
      { ok: true, entries: 9 },
      'what changes nothing is no event',
    );
  });

  await t.test('changes that meet are all kept', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const change = (fields: Parameters<typeof store.updateKey>[2]) =>
      store.updateKey(acme.tenantId, key.keyId, fields, acme.event());
    await Promise.all([
      change({ name: 'new' }),
      change({ description: 'text' }),
      change({ ipAllowlist: ['203.0.113.0/24'] }),
      change({ envNames: ['staging'] }),
      store.revokeKey(acme.tenantId, key.keyId, acme.event({ atMs: noonMs + 1 })),
    ]);
    t.same(await store.keyById(acme.tenantId, key.keyId), {
      ...key,
      name: 'new',
      description: 'text',
      ipAllowlist: ['203.0.113.0/24'],
      envNames: ['staging'],
      revokedAtMs: noonMs + 1,
      revokedBy: 'admin',
    });
    t.match(await store.verifyAudit(acme.tenantId), { ok: true, entries: 6 });
  });
};
