import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { newId } from '../../src/core/ids.ts';
import { Journal } from '../../src/state/journal.ts';
import { failuresMax } from '../../src/state/redis/link/breaker.ts';
import { openConnection, type RedisAddress, slotsRefreshMs } from '../../src/state/redis/link/connection.ts';
import { openRedisStore } from '../../src/state/redis/store.ts';
import type { RecordedCall, Store } from '../../src/state/store.ts';
import {
  documentedAcl,
  type RedisCluster,
  type RedisServer,
  startRedisCluster,
  until,
} from '../support/redis.ts';
import { recordedCall } from './records.ts';
import { storeSuite } from './store-suite.ts';
import { type Lab, openLab, type Tenant } from './suite/lab.ts';

const open = (address: RedisAddress, prefix: string, timeoutMs = 10_000): Promise<Store> =>
  openRedisStore({
    ...address,
    prefix,
    timeoutMs,
    ca: undefined,
    log: { warn: () => undefined },
    clock: 'caller',
  });

const clusterRules = [...documentedAcl(), '+cluster|info', '+cluster|nodes', '+readonly', '+asking'];

/** The address for a new user with these rules. */
async function asUser({ address, masters }: RedisCluster, rules: readonly string[]): Promise<RedisAddress> {
  const [username, password] = [newId(), newId()];
  for (const master of masters)
    await master.command('ACL', 'SETUSER', username, 'on', `>${password}`, ...rules);
  return { ...address, username, password };
}

const slots = 16_384;

async function slotOf({ masters: [master] }: RedisCluster, { tenantId }: Tenant): Promise<number> {
  return Number(await master?.command('CLUSTER', 'KEYSLOT', `{${tenantId}}`));
}

/** A tenant whose data lie on the master with that number. */
async function tenantOn(cluster: RedisCluster, lab: Lab, number: number): Promise<Tenant> {
  for (;;) {
    const tenant = await lab.tenant();
    if (Math.floor(((await slotOf(cluster, tenant)) * 3) / slots) === number) return tenant;
  }
}

/** Ways to the masters through which one answer is lost, with its connection, to the next command that has `text`. */
async function breakable(t: Test, { masters, address }: RedisCluster) {
  const losing: { text: string | undefined } = { text: undefined };
  const nodes: { host: string; port: number }[] = [];
  for (const { host, port, command } of masters) {
    const server = createServer((client) => {
      const upstream = connect(port, host);
      let isLosing = false;
      client.on('data', (sent) => {
        if (losing.text !== undefined && sent.includes(losing.text)) {
          isLosing = true;
          losing.text = undefined;
        }
        upstream.write(sent);
      });
      upstream.on('data', (answer) => (isLosing ? client.destroy() : client.write(answer)));
      client.on('error', () => undefined).on('close', () => upstream.destroy());
      upstream.on('error', () => undefined).on('close', () => client.destroy());
    });
    await once(server.listen(0, host), 'listening');
    t.teardown(() => server.close());
    const own = { host, port: (server.address() as AddressInfo).port };
    await command('CONFIG', 'SET', 'cluster-announce-port', own.port);
    nodes.push(own);
  }
  const isTold = async (): Promise<boolean> => {
    const shown = await Promise.all(masters.map((it) => it.command('CLUSTER', 'NODES')));
    return shown.every((text) => nodes.every(({ port }) => String(text).includes(`:${port}@`)));
  };
  await until('masters that are reached another way', isTold);
  return { address: { ...address, nodes }, losing };
}

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

  const address = await asUser(cluster, clusterRules);
  const lab = await openLab(t, () => open(address, 'p:'), { clock: 'argument' });
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
  // Until the replica has taken over, the other masters refuse commands too.
  for (const [at, tenant] of tenants.entries()) {
    const key = keys[at];
    if (key)
      await until(
        'a call that is let in again',
        async () => (await tenant.admit(key, { counts: 'rate' })).ok,
      );
  }
  for (const [at, tenant] of tenants.entries()) {
    const key = keys[at];
    if (!key) continue;
    t.match(await tenant.admit(key), { ok: true, scansUsed: 2 }, 'no use of the quota was lost');
    t.match(await tenant.admit(key), { ok: false, code: 'QUOTA_EXCEEDED' });
    t.match(await lab.store.verifyAudit(tenant.tenantId), { ok: true, entries: 1 });
    const event = tenant.event();
    t.match(await lab.store.revokeKey(tenant.tenantId, key.keyId, event), { revokedAtMs: event.atMs });
  }
});

t.test(
  'a call whose answer is lost with its connection is counted once, and said to have failed',
  async (t) => {
    const cluster = await startRedisCluster(t);
    if (!cluster) return;
    const { address, losing } = await breakable(t, cluster);
    const lab = await openLab(t, () => open(address, 'p:'), { clock: 'argument' });
    const acme = await lab.tenant();
    const key = await acme.key();
    t.match(await acme.admit(key), { ok: true });
    losing.text = 'evalsha';
    await t.rejects(acme.admit(key), { code: 'STATE_UNAVAILABLE' });
    t.equal(losing.text, undefined, 'one answer was lost');
    await until(
      'a connection',
      async () => (await lab.store.keyById(acme.tenantId, key.keyId)) !== undefined,
    );
    t.match(await acme.admit(key), { ok: true, scansUsed: 3 });
  },
);

t.test('while the slot of a tenant moves its own calls fail, and nothing else does', async (t) => {
  const cluster = await startRedisCluster(t);
  const [from, to] = cluster?.masters ?? [];
  if (!cluster || !from || !to) return;
  const lab = await openLab(t, async () => open(await asUser(cluster, clusterRules), 'p:'), {
    clock: 'argument',
  });
  const other = await open(await asUser(cluster, clusterRules.slice(0, -1)), 'p:');
  t.teardown(() => other.close());
  const [acme, beta] = [await tenantOn(cluster, lab, 0), await tenantOn(cluster, lab, 0)];
  const [acmeKey, betaKey] = [await acme.key(), await beta.key()];
  t.match(await acme.admit(acmeKey), { ok: true, scansUsed: 1 });

  const slot = await slotOf(cluster, acme);
  const idOf = async (master: RedisServer) => String(await master.command('CLUSTER', 'MYID'));
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from));
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to));
  const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 1_000)) as string[];
  await from.command('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...keys);
  const away = { code: 'STATE_UNAVAILABLE' };
  // The next node has no keys that were never there, and takes that for keys that are still to come.
  for (let at = 0; at <= failuresMax; at += 1) await t.rejects(acme.admit(acmeKey), away);
  t.match(await beta.admit(betaKey), { ok: true }, 'a neighbour is served');
  const keyOf = (store: Store) => store.keyById(acme.tenantId, acmeKey.keyId);
  t.match(await keyOf(lab.store), { keyId: acmeKey.keyId }, 'the next node is asked');
  await t.rejects(keyOf(other), away, 'if the user may ask it');

  for (const master of cluster.masters)
    await master.command('CLUSTER', 'SETSLOT', slot, 'NODE', await idOf(to));
  t.match(await acme.admit(acmeKey), { ok: true, scansUsed: 2 });
  t.match(await keyOf(other), { keyId: acmeKey.keyId });
});

t.test('who has data on a node that answers does not wait for one that is away', async (t) => {
  const cluster = await startRedisCluster(t);
  if (!cluster) return;
  for (const master of cluster.masters)
    await master.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
  const lab = await openLab(t, () => open(cluster.address, 'p:'), { clock: 'argument' });
  const [acme, beta] = [await tenantOn(cluster, lab, 0), await tenantOn(cluster, lab, 1)];
  const [acmeKey, betaKey] = [await acme.key(), await beta.key()];
  t.match(await acme.admit(acmeKey), { ok: true });
  t.match(await beta.admit(betaKey), { ok: true });

  await cluster.masters[0]?.kill();
  for (let at = 0; at <= failuresMax; at += 1)
    await t.rejects(acme.admit(acmeKey), { code: 'STATE_UNAVAILABLE' });
  t.match(await beta.admit(betaKey), { ok: true });
  const troubles = await Promise.all(Array.from({ length: 30 }, () => lab.store.trouble()));
  t.same(new Set(troubles), new Set([undefined]), 'nor is that a trouble of all');

  const dir = join(t.testdirName, 'journal');
  const journal = new Journal({
    dir,
    ship: lab.store.recordCalls,
    onError: (error) => t.fail(String(error)),
  });
  t.teardown(() => journal.close());
  const callOf = ({ tenantId, agent }: Tenant) => recordedCall({ tenantId, agentId: agent.agentId });
  const calls = [acme, beta, acme, beta].map(callOf);
  const isFound = async ({ tenantId, traceId }: RecordedCall) =>
    (await lab.store.traceById(tenantId, traceId)) !== undefined;
  for (const call of calls) {
    await journal.append(call);
    await journal.flush();
  }
  for (const call of calls.filter((it) => it.tenantId === beta.tenantId))
    t.ok(await isFound(call), 'its traces are there as well');
  await cluster.masters[0]?.start();
  for (const call of calls) await until('a trace that was put off', () => isFound(call));
  await until('a call that is let in again', async () => (await acme.admit(acmeKey)).ok);
});
