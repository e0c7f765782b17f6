import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import { openRedisStore } from '../../src/state/redis/store.ts';
import type { Store } from '../../src/state/store.ts';
import { basic, openTunnel } from '../support/clients.ts';
import { until } from '../support/redis.ts';
import { chainProblem, type ShownEntry } from './fleet/audit-chain.ts';
import { type Answer, entrances, openCaller, openCallers } from './fleet/callers.ts';
import { type Fleet, secureHost, startFleet } from './fleet/fleet.ts';
import { type KnownKey, type Load, startLoad } from './fleet/load.ts';
import { allOf } from './fleet/pages.ts';
import type { Tenant } from './suite/lab.ts';

/* Redis and daemons are killed under load, and Redis is stopped: what was acknowledged stays, and nobody waits for ever. */

const config = { tenants: [{ id: 'acme', plan: 'enterprise' }] };
const maxUses = 400;
/** Who presents an invalid key is slowed down after sixty. */
const invalidMax = 40;

interface Deaths {
  readonly name: string;
  readonly daemons: number;
  readonly isOnRedis: boolean;
  /** One after the other; calls and changes go on before, between and after them. */
  readonly steps: readonly ((fleet: Fleet) => Promise<void>)[];
}

const killRedis = async ({ redis }: Fleet): Promise<void> => {
  await redis?.kill();
  await redis?.start();
};

const killDaemon =
  (number: number) =>
  async ({ members }: Fleet): Promise<void> => {
    await members[number]?.end('SIGKILL');
    await members[number]?.start();
  };

const killBoth = async ({ members, redis }: Fleet): Promise<void> => {
  await Promise.all([redis?.kill(), members[1]?.end('SIGKILL')]);
  await redis?.start();
  await members[1]?.start();
};

const deaths: readonly Deaths[] = [
  {
    name: 'SIGKILL of Redis and of daemons',
    daemons: 2,
    isOnRedis: true,
    steps: [killRedis, killDaemon(0), killBoth],
  },
  {
    name: 'SIGKILL of a daemon with the embedded state',
    daemons: 1,
    isOnRedis: false,
    steps: [killDaemon(0), killDaemon(0)],
  },
];

for (const { name, steps, ...state } of deaths) {
  t.test(`${name} under load loses nothing that was acknowledged`, async (t) => {
    const fleet = await startFleet(t, { ...state, config, stateTimeout: '5s' });
    if (!fleet) return;
    const tenant = await fleet.tenant('acme');
    const { key: ephemeralKey } = await tenant.ephemeral({ max_uses: maxUses });
    const load = await startLoad(t, fleet, tenant, ephemeralKey);
    await load.progress();
    for (const step of steps) {
      await step(fleet);
      await load.progress();
    }
    await load.stop();
    t.same(load.acknowledged.unexpected, [], 'all were served, or told that the state is away');
    await t.test('no call is counted less than once, or that was not made', (t) => counted(t, tenant, load));
    await t.test('no use is given twice', (t) => spent(t, fleet, ephemeralKey, load));
    await t.test('every call has its trace', (t) => traced(t, tenant, load));
    await t.test('every key is as it was acknowledged, on every daemon', (t) => keys(t, fleet, tenant, load));
    await t.test('every change is in the audit log, whose chain is whole', (t) =>
      audited(t, fleet, tenant, load),
    );
  });
}

async function counted(t: Test, tenant: Tenant, { acknowledged }: Load): Promise<void> {
  const { body } = await tenant.admin('GET', '/v1/usage');
  const least = acknowledged.passed.length + acknowledged.spent;
  t.ok(body.scans_used >= least, `${body.scans_used} of at least ${least}`);
  t.ok(body.scans_used <= acknowledged.sent, `and of at most ${acknowledged.sent}`);
}

async function spent(t: Test, fleet: Fleet, key: string, { acknowledged }: Load): Promise<void> {
  const { call } = await openCallers(t, fleet, key, { through: ['scan'] });
  let rest = 0;
  while (rest <= maxUses && (await call()).isAllowed) rest += 1;
  const uses = acknowledged.spent + rest;
  t.ok(uses <= maxUses, `${uses} calls passed of ${maxUses}`);
  t.ok(uses >= maxUses - acknowledged.spentUnsaid, 'and none is lost but those whose answer was lost');
}

async function traced(t: Test, tenant: Tenant, { acknowledged }: Load): Promise<void> {
  const missing = async (): Promise<string[]> => {
    const there = new Set((await allOf(tenant, '/v1/traces')).map((it) => it.trace_id));
    return acknowledged.passed.filter((it) => !there.has(it));
  };
  await until('a list with all traces', async () => (await missing()).length === 0).catch(() => undefined);
  t.same((await missing()).slice(0, 3), [], `${acknowledged.passed.length} traces`);
}

async function keys(t: Test, fleet: Fleet, tenant: Tenant, { acknowledged }: Load): Promise<void> {
  const { minted, revoked } = acknowledged;
  const shown = await allOf(tenant, '/v1/keys');
  const status = new Map<string, string>(shown.map((it) => [it.key_id, it.status]));
  const not = (wanted: string, known: readonly KnownKey[]): string[] =>
    known.map((it) => it.keyId).filter((it) => status.get(it) !== wanted);
  t.same(not('active', minted), [], `${minted.length} keys are there`);
  t.same(not('revoked', revoked), [], `${revoked.length} keys are revoked`);
  for (const member of fleet.members) {
    const caller = await openCaller(t, 'scan', { fleet, member, key: '' });
    const statusesOf = async (known: readonly KnownKey[]): Promise<Set<number>> => {
      const statuses = new Set<number>();
      for (const { key } of known) statuses.add((await caller.call({ key })).status);
      return statuses;
    };
    t.same(await statusesOf(minted), new Set([200]), 'those that are there work');
    t.same(await statusesOf(revoked.slice(-invalidMax)), new Set([401]), 'those that are revoked do not');
  }
}

async function audited(t: Test, fleet: Fleet, tenant: Tenant, { acknowledged }: Load): Promise<void> {
  const { minted, revoked } = acknowledged;
  const entries: readonly ShownEntry[] = await allOf(tenant, '/v1/audit');
  t.equal(chainProblem(tenant.id, entries), undefined, `${entries.length} entries`);
  const counts = new Map<string, number>();
  for (const { kind, subject } of entries)
    counts.set(`${kind} ${subject}`, (counts.get(`${kind} ${subject}`) ?? 0) + 1);
  const notOnce = (kind: string, known: readonly KnownKey[]): string[] =>
    known.map((it) => `${kind} ${it.keyId}`).filter((it) => counts.get(it) !== 1);
  t.same(notOnce('key.created', [...minted, ...revoked]), [], 'each mint has one entry');
  t.same(notOnce('key.revoked', revoked), [], 'and each revocation');
  for (const member of fleet.members) await member.end('SIGTERM');
  const store = await openState(fleet);
  t.teardown(() => store.close());
  t.match(await store.verifyAudit(tenant.id), { ok: true, entries: entries.length }, 'the state says so too');
}

const openState = ({ members, redis }: Fleet): Promise<Store> =>
  redis
    ? openRedisStore({
        ...redis.address,
        prefix: 'postern:',
        timeoutMs: 5_000,
        ca: undefined,
        log: { warn: () => undefined },
      })
    : openEmbeddedStore({ dir: join(members[0]?.dir ?? '', 'data') });

const onFailure = ['closed', 'open'] as const;

t.test('while Redis is stopped everybody is answered, and afterwards served again', async (t) => {
  const tenants = onFailure.map((it) => ({ id: it, plan: 'enterprise', on_failure: it }));
  const fleet = await startFleet(t, {
    daemons: 2,
    isOnRedis: true,
    config: { tenants },
    stateTimeout: '1s',
  });
  if (!fleet?.redis) return;
  const { redis } = fleet;
  const scenes = await Promise.all(onFailure.map((it) => openScene(t, fleet, it)));
  redis.pause();
  t.teardown(() => redis.resume());
  // The first wave waits for Redis, each call as long as it may; later ones are told at once.
  for (const wave of ['first', 'second', 'third'])
    await t.test(`${wave} wave`, async (t) => {
      await Promise.all(scenes.map((it) => it.isAway(t)));
    });
  redis.resume();
  for (const scene of scenes) await scene.isBack(t);
});

const isServed = ({ isAllowed, reasons }: Answer): boolean =>
  isAllowed && !reasons.includes('GATEWAY_DEGRADED');

/** A tenant with callers that every daemon knows, and keys that it must not let out by what it remembers. */
async function openScene(t: Test, fleet: Fleet, name: (typeof onFailure)[number]) {
  const tenant = await fleet.tenant(name);
  const deny = { rule_id: 'no', match: { url_patterns: ['*/denied'] }, action: 'DENY' };
  t.equal((await tenant.apply([deny])).status, 200);
  const { all } = await openCallers(t, fleet, tenant.key, { through: entrances });
  const scans = all.filter((it) => it.entrance === 'scan');
  const areServed = async (callers = all, key = tenant.key): Promise<boolean> =>
    (await Promise.all(callers.map((it) => it.call({ key })))).every(isServed);
  const [unknown, ephemeral, revoked] = [await tenant.mint(), await tenant.ephemeral(), await tenant.mint()];
  for (const { key } of [ephemeral, revoked]) await until('the key is served', () => areServed(scans, key));
  t.equal((await tenant.admin('DELETE', `/v1/keys/${revoked.key_id}`)).status, 200);
  await until('all callers are served', () => areServed());
  const readiness = () =>
    Promise.all(
      fleet.members.map(async ({ controlUrl }) => (await fetch(new URL('/readyz', controlUrl))).status),
    );
  const traceIds: string[] = [];

  return {
    /** Every one of these is answered while Redis does not answer. */
    async isAway(t: Test): Promise<void> {
      const answers = await Promise.all(all.map((it) => it.call()));
      for (const { entrance, status, code, reasons, isAllowed, traceId } of answers) {
        if (name === 'closed') t.same([status, code], [503, 'STATE_UNAVAILABLE'], `closed: ${entrance}`);
        else t.ok(isAllowed && reasons.includes('GATEWAY_DEGRADED'), `open: ${entrance}, ${status} ${code}`);
        if (isAllowed) traceIds.push(traceId);
      }
      for (const { call } of scans) {
        t.equal((await call({ key: unknown.key })).status, 503, 'a key that was never seen has to wait');
        t.equal((await call({ key: ephemeral.key })).status, 503, 'and one whose uses are counted');
        t.notOk((await call({ key: revoked.key })).isAllowed, 'a revoked key stays revoked');
        t.notOk((await call({ path: '/denied' })).isAllowed, 'what a policy denies stays denied');
      }
      for (const { proxyUrl } of fleet.members) {
        const authority = `${secureHost}:${fleet.upstreams.secure.port}`;
        const { status, socket } = await openTunnel({
          proxyUrl,
          authorization: basic(tenant.key),
          authority,
        });
        socket.destroy();
        t.equal(status, name === 'closed' ? 503 : 200, 'a new tunnel');
      }
      const asked = { tenant_id: name, name: 'meanwhile', default_agent_id: tenant.agentId };
      const managed = await Promise.all([
        ...['/v1/usage', '/v1/keys', '/v1/audit'].map((path) => tenant.admin('GET', path)),
        tenant.admin('POST', '/v1/keys', asked),
        tenant.admin('DELETE', `/v1/keys/${unknown.key_id}`),
        tenant.admin('POST', `/v1/agents/${tenant.agentId}/suspend`),
        tenant.apply([]),
      ]);
      t.same(new Set(managed.map((it) => it.status)), new Set([503]), 'nothing is told or acknowledged');
      t.equal((await tenant.api('GET', '/v1/usage')).status, 503, 'and as a key');
      t.same(new Set(await readiness()), new Set([503]), 'the daemons are not ready');
    },
    async isBack(t: Test): Promise<void> {
      await until('all callers are served again', () => areServed());
      t.pass('on the same connections, by the same daemons');
      t.equal((await tenant.admin('GET', '/v1/usage')).status, 200);
      t.same(new Set(await readiness()), new Set([200]), 'the daemons are ready');
      await until('the traces of calls that went on without the state', async () => {
        const there = new Set((await allOf(tenant, '/v1/traces')).map((it) => it.trace_id));
        return traceIds.every((it) => there.has(it));
      });
    },
  };
}
