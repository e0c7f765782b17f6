import { newId, newTraceId } from '../../../src/core/ids.ts';
import { sealedCharsMax } from '../../../src/state/rules/credentials.ts';
import { noncesPerKeyMax } from '../../../src/state/rules/nonces.ts';
import type { SealedCredential } from '../../../src/state/store.ts';
import { callBatch, noonMs, recordedCall } from '../records.ts';
import type { SuitePart } from './lab.ts';

/** What is kept for others: sealed credentials, nonces, and who was here a moment ago. */
export const vault: SuitePart = async (t, { store, hints, ...lab }) => {
  await t.test('credentials are kept sealed, by name', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const { tenantId } = acme;
    const key = await acme.key();
    const sealed = (name: string, fields: Partial<SealedCredential> = {}): SealedCredential => ({
      tenantId,
      name,
      type: 'bearer',
      sealed: `sealed-${newId()}`,
      changedAtMs: noonMs,
      ...fields,
    });
    const find = async (name: string, of = tenantId) => {
      t.match(await acme.admit(key), { ok: true });
      return store.credentialOf(of, name);
    };
    const [github, slack] = [sealed('github'), sealed('slack', { type: 'basic' })];
    t.equal(await find('github'), undefined);
    await store.putCredential(github, acme.event({ kind: 'credential.set' }));
    await store.putCredential(slack, acme.event({ kind: 'credential.set' }));
    t.same(await find('github'), github);
    t.equal(await find('git'), undefined);
    t.equal(await find('github', other.tenantId), undefined, 'nobody else sees it');
    t.same(await store.listCredentials(other.tenantId), []);
    const changed = sealed('github', { changedAtMs: noonMs + 1 });
    await store.putCredential(changed, acme.event({ kind: 'credential.set' }));
    t.same(await find('github'), changed, 'a new one takes the place of the old');
    const byName = (a: SealedCredential, b: SealedCredential) => (a.name < b.name ? -1 : 1);
    t.same([...(await store.listCredentials(tenantId))].sort(byName), [changed, slack]);

    const reseal = { tenantId, name: 'github', from: changed.sealed, to: 'sealed-anew' };
    for (const wrong of [{ from: github.sealed }, { name: 'nothing' }, { tenantId: other.tenantId }])
      t.equal(await store.resealCredential({ ...reseal, ...wrong }, acme.event()), false);
    t.same(await find('github'), changed, 'one that was changed meanwhile stays');
    t.equal(await store.resealCredential(reseal, acme.event({ kind: 'credential.rekeyed' })), true);
    t.same(await find('github'), { ...changed, sealed: 'sealed-anew' });
    t.equal(
      await store.resealCredential({ ...reseal, from: 'sealed-anew', to: changed.sealed }, acme.event()),
      true,
    );

    t.equal(await store.removeCredential(other.tenantId, 'github', other.event()), false);
    t.equal(await store.removeCredential(tenantId, 'nothing', acme.event()), false);
    t.same(await find('github'), changed);
    t.equal(await store.removeCredential(tenantId, 'github', acme.event()), true);
    t.equal(await find('github'), undefined, 'gone from the next call on');
    t.equal(await store.removeCredential(tenantId, 'github', acme.event()), false);
    t.same(await store.listCredentials(tenantId), [slack]);
    t.match(
      await store.verifyAudit(tenantId),
      { ok: true, entries: 1 + 6 },
      'what removes nothing is no event',
    );
  });

  await t.test('a tenant that fills its vault takes no more room, however many ask at once', async (t) => {
    const [acme, other] = [await lab.tenant(), await lab.tenant()];
    const nodes = [store, ...(hints.openNode ? [await hints.openNode()] : [])];
    t.teardown(() => Promise.all(nodes.slice(1).map((it) => it.close())));
    const parts = 4;
    const part = (name: string, tenantId = acme.tenantId): SealedCredential => ({
      ...{ tenantId, name, type: 'headers', changedAtMs: noonMs },
      sealed: 'x'.repeat(sealedCharsMax / parts),
    });
    const asked = Array.from({ length: 2 * parts }, (_, at) =>
      (nodes[at % nodes.length] ?? store).putCredential(part(`c${at}`), acme.event()),
    );
    const refused = (await Promise.allSettled(asked)).flatMap((it) =>
      it.status === 'rejected' ? [it.reason.code] : [],
    );
    t.same(refused, Array(parts).fill('CONFLICT'));
    const standing = await store.listCredentials(acme.tenantId);
    t.equal(standing.length, parts);
    const [first] = standing;
    if (!first) return;
    await store.putCredential({ ...first, changedAtMs: noonMs + 1 }, acme.event());
    await store.putCredential(part('c0', other.tenantId), other.event());
    await store.removeCredential(acme.tenantId, first.name, acme.event());
    await store.putCredential(part('next'), acme.event());
    t.equal((await store.listCredentials(acme.tenantId)).length, parts, 'what is removed makes room');
  });

  await t.test('uses of credentials are counted with the calls, once each', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const call = (credential: string, atMs: number, tenantId = acme.tenantId) =>
      recordedCall({ tenantId, agentId: acme.agent.agentId, traceId: newTraceId(atMs), atMs, credential });
    const calls = [
      call('github', noonMs + 5),
      call('github', noonMs + 9),
      call('github', noonMs + 7),
      call('a.b-c_d', noonMs),
      recordedCall({ tenantId: acme.tenantId, agentId: acme.agent.agentId }),
    ];
    t.same([...(await store.credentialUses(acme.tenantId))], []);
    await store.recordCalls(callBatch(calls));
    await store.recordCalls(callBatch(calls, true));
    await store.recordCalls(callBatch([call('github', noonMs + 8), call('github', noonMs, other.tenantId)]));
    t.same(Object.fromEntries(await store.credentialUses(acme.tenantId)), {
      github: { uses: 4, lastUsedAtMs: noonMs + 9 },
      'a.b-c_d': { uses: 1, lastUsedAtMs: noonMs },
    });
    t.same(Object.fromEntries(await store.credentialUses(other.tenantId)), {
      github: { uses: 1, lastUsedAtMs: noonMs },
    });
  });

  await t.test('a nonce is claimed once until its end', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const keyId = newId();
    const claim = async (nonce: string, atMs = noonMs, of = keyId, tenantId = acme.tenantId) =>
      store.claimNonce(tenantId, of, nonce, atMs, noonMs + 60_000);
    const claims = await Promise.all(Array.from({ length: 300 }, () => claim('first-nonce')));
    t.equal(claims.filter(Boolean).length, 1, 'of many at once, one');
    t.equal(await claim('first-nonce', noonMs + 1), false);
    t.equal(await claim('First-nonce'), true, 'another nonce');
    t.equal(await claim('first-nonce', noonMs, newId()), true, 'another key');
    t.equal(await claim('first-nonce', noonMs, keyId, other.tenantId), true, 'another tenant');
    t.equal(await claim("x' OR 1=1 --\0 ✓:{}"), true);
    t.equal(await claim("x' OR 1=1 --\0 ✓:{}"), false);
    t.equal(await claim('first-nonce', noonMs + 59_999), false, 'to the last millisecond');
    t.equal(
      await store.claimNonce(acme.tenantId, keyId, 'first-nonce', noonMs + 60_000, noonMs + 90_000),
      true,
    );
    t.equal(await claim('first-nonce', noonMs + 60_001), false, 'and then claimed again');
  });

  await t.test('a key that has as many nonces as it may takes none from others', async (t) => {
    const acme = await lab.tenant();
    const keyId = newId();
    const claim = async (nonce: string, atMs = noonMs, of = keyId) =>
      store.claimNonce(acme.tenantId, of, nonce, atMs, atMs + 60_000);
    const claims = await Promise.all(
      Array.from({ length: noncesPerKeyMax }, (_, nth) => claim(`nonce-${nth}`)),
    );
    t.ok(claims.every(Boolean));
    const busy = { code: 'GATEWAY_BUSY', extra: { retryAfterSeconds: 60 } };
    await t.rejects(claim('one-too-many'), busy);
    t.equal(await claim('nonce-0'), false, 'what was seen is known all the same');
    t.equal(await claim('one-too-many', noonMs, newId()), true, 'another key has its own');
    t.equal(await claim('one-too-many', noonMs + 60_000), true, 'what has ended makes room');
  });

  await t.test('nonces of a clock that was ahead keep no others from making room', async (t) => {
    const acme = await lab.tenant();
    const keyId = newId();
    const claim = async (nonce: string, atMs = noonMs) =>
      store.claimNonce(acme.tenantId, keyId, nonce, atMs, atMs + 60_000);
    t.equal(await claim('of tomorrow', noonMs + 86_400_000), true);
    await Promise.all(Array.from({ length: noncesPerKeyMax - 1 }, (_, nth) => claim(`nonce-${nth}`)));
    t.equal(await claim('later', noonMs + 60_000), true);
  });

  await t.test(
    'a nonce counts while its call is within the window of a clock that was set back',
    async (t) => {
      const acme = await lab.tenant();
      const keyId = newId();
      const claim = (atMs: number) =>
        store.claimNonce(acme.tenantId, keyId, 'of a call', atMs, atMs + 60_000);
      t.equal(await claim(noonMs + 119_000), true);
      for (const atMs of [noonMs + 50_000, noonMs]) t.equal(await claim(atMs), false);
    },
  );

  await t.test('recalls who was here a moment ago, and nobody else', async (t) => {
    const acme = await lab.tenant();
    const [key, silent] = [await acme.key(), await acme.key()];
    t.match(await acme.admit(key), { ok: true });
    const within = 300_000;
    t.match(store.recall(key.hash, noonMs + 1_000, within), {
      ok: true,
      key: { keyId: key.keyId },
      identity: { tenantId: acme.tenantId, agentId: acme.agent.agentId },
    });
    t.match(store.recall(key.hash, noonMs + within - 1, within), { ok: true });
    t.equal(store.recall(key.hash, noonMs + within + 1, within), undefined, 'not after that time');
    t.equal(
      store.recall(key.hash, noonMs - within - 1, within),
      undefined,
      'nor after the clock was set back',
    );
    t.equal(store.recall(silent.hash, noonMs, within), undefined, 'nor who was never here');
    t.equal(store.recall('nonsense', noonMs, within), undefined);
    await store.revokeKey(acme.tenantId, key.keyId, acme.event());
    t.match(await acme.admit(key), { code: 'INVALID_KEY' });
    t.not(store.recall(key.hash, noonMs + 1_000, within)?.ok, true, 'nor a key that is known to be revoked');
  });

  await t.test('has nothing to complain of', async (t) => {
    t.equal(await store.trouble(), undefined, 'all is well');
  });
};
