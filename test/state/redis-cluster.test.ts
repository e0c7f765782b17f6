import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { newId } from '../../src/core/ids.ts';
import { openConnection, type RedisAddress, slotsRefreshMs } from '../../src/state/redis/link/connection.ts';
import { openRedisStore } from '../../src/state/redis/store.ts';
import type { Store } from '../../src/state/store.ts';
import { documentedAcl, startRedisCluster, until } from '../support/redis.ts';
import { storeSuite } from './store-suite.ts';
import { openLab } from './suite/lab.ts';

const open = (address: RedisAddress, prefix: string, timeoutMs = 10_000): Promise<Store> =>
  openRedisStore({
    ...address,
    prefix,
    timeoutMs,
    ca: undefined,
    log: { warn: () => undefined },
    clock: 'caller',
  });

t.test('keeps the contract of a store', async (t) => {
  const cluster = await startRedisCluster(t);
  if (!cluster) return;
  let opened = 0;
  const again = () => open(cluster.address, `p${opened}:`);
  const openEmpty = () => {
    opened += 1;
    return again();
  };
  await storeSuite(t, openEmpty, { clock: 'argument', openNode: again, isCluster: true });

  const password = newId();
  const rules = [...documentedAcl(), '+cluster|info', '+cluster|nodes', '+readonly'];
  for (const master of cluster.masters)
    await master.command('ACL', 'SETUSER', 'postern', 'on', `>${password}`, ...rules);
  const lab = await openLab(t, () => open({ ...cluster.address, username: 'postern', password }, 'p:'), {
    clock: 'argument',
  });
  for (let at = 0; at < 12; at += 1) {
    const tenant = await lab.tenant();
    t.match(await tenant.admit(await tenant.key()), { ok: true }, 'the user of the documentation may do it');
  }

  const wrong = { code: 'VALIDATION_FAILED' };
  await t.rejects(open(cluster.address, 'a{}'), wrong, 'a prefix must not decide on which node a key lies');
});

const timers = (): number => process.getActiveResourcesInfo().filter((it) => it === 'Timeout').length;

t.test('who is closed while it asks which node has what holds nothing open', async (t) => {
  const cluster = await startRedisCluster(t);
  if (!cluster) return;
  const before = timers();
  const closing = Array.from({ length: 30 }, async (_, at) => {
    const { address } = cluster;
    const ignore = () => undefined;
    const connection = await openConnection({
      ...address,
      timeoutMs: 10_000,
      ca: undefined,
      onError: ignore,
    });
    // Around the moment at which it asks for the first time.
    await sleep(slotsRefreshMs - 10 + at);
    await connection.close();
  });
  await Promise.all(closing);
  await until('no timer is left', async () => timers() <= before);
});

t.test('goes on when a replica takes over from a master that was killed', async (t) => {
  const cluster = await startRedisCluster(t, { withReplicas: true });
  if (!cluster) return;
  const lab = await openLab(t, () => open(cluster.address, 'p:', 2_000), { clock: 'argument' });
  // Enough tenants for some to lie on each master.
  const tenants = await Promise.all(Array.from({ length: 12 }, () => lab.tenant({ scansPerMonth: 2 })));
  const keys = await Promise.all(tenants.map((it) => it.key()));
  for (const [at, tenant] of tenants.entries()) {
    const key = keys[at];
    if (key) t.match(await tenant.admit(key), { ok: true, scansUsed: 1 });
  }
  for (const master of cluster.masters) {
    t.equal(await master.command('WAIT', 1, 5_000), 1, 'the replica has what was acknowledged');
  }

  await cluster.masters[0]?.kill();
  for (const [at, tenant] of tenants.entries()) {
    const key = keys[at];
    if (!key) continue;
    await until('a call that is let in again', async () => (await tenant.admit(key, { counts: 'rate' })).ok);
    t.match(await tenant.admit(key), { ok: true, scansUsed: 2 }, 'no use of the quota was lost');
    t.match(await tenant.admit(key), { ok: false, code: 'QUOTA_EXCEEDED' });
    t.match(await lab.store.verifyAudit(tenant.tenantId), { ok: true, entries: 1 });
    const event = tenant.event();
    t.match(await lab.store.revokeKey(tenant.tenantId, key.keyId, event), { revokedAtMs: event.atMs });
  }
});
