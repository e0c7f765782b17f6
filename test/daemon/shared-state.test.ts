import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { newTraceId } from '../../src/core/ids.ts';
import { openRedisStore } from '../../src/state/redis/store.ts';
import { callBatch, recordedCall } from '../state/records.ts';
import { agentId, startTestGateway, testConfig } from '../support/gateway.ts';
import { type RedisServer, startRedis, until } from '../support/redis.ts';

const scan = { agent_id: agentId, method: 'POST', url: 'https://api.test.example/x' };

/** Two nodes that share a Redis and the key of the vault. */
async function startNodes(t: Test, redis: RedisServer, onFailure: 'open' | 'closed', limits: object = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'postern-vault-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const keyFile = join(dir, 'vault.key');
  writeFileSync(keyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const config = {
    state: {
      url: `redis://${redis.host}:${redis.port}/0`,
      dir: './local',
      timeout: '2s',
      on_failure: onFailure,
    },
    vault: { key_file: keyFile },
    limits: { scan_timeout: '5s', ...limits },
  };
  return [await startTestGateway(t, { config }), await startTestGateway(t, { config })] as const;
}

t.test('what is done on one node holds on the other from the next call on', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const [one, other] = await startNodes(t, redis, 'closed');
  const asKey = (key: string) => other.api('POST', '/v1/scan', scan, `Bearer ${key}`);
  const { key, key_id: keyId } = await one.mint();
  t.match(await asKey(key), { status: 200, body: { decision: 'ALLOW' } });
  await one.apply([{ rule_id: 'no', match: {}, condition: {}, action: 'DENY' }]);
  t.match(await asKey(key), { status: 200, body: { decision: 'DENY' } }, 'a policy');
  await one.api('DELETE', `/v1/keys/${keyId}`, undefined, `Bearer ${one.adminSecret}`);
  t.match(await asKey(key), { status: 401, body: { code: 'INVALID_KEY' } }, 'a revocation');
  const stranger = await one.mint({ tenant_id: 'newcomer', default_agent_id: keyId });
  t.match(await other.api('POST', '/v1/scan', { ...scan, agent_id: keyId }, `Bearer ${stranger.key}`), {
    status: 200,
  });
});

t.test('of two nodes that use a credential first at two domains, exactly one binds it', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const nodes = await startNodes(t, redis, 'closed');
  const { key } = await nodes[0].mint();
  const domains = ['company.test', 'evil.test'];
  const decisionsOf = (token: string) =>
    Promise.all(
      nodes.map(async (node, at) => {
        const headers = { authorization: `Bearer ${token}` };
        const call = { method: 'GET', url: `https://api.${domains[at]}/x`, headers };
        const { body } = await node.api('POST', '/v1/scan', call, `Bearer ${key}`);
        return { decision: body.decision, isMisdirected: body.reason_codes.includes('SECRET_MISDIRECTED') };
      }),
    );
  for (let nth = 0; nth < 40; nth += 1) {
    const token = randomBytes(32).toString('base64url');
    const first = await decisionsOf(token);
    t.same(first.map((it) => it.decision).sort(), ['ALLOW', 'DENY']);
    t.same(
      first.map((it) => it.isMisdirected),
      first.map((it) => it.decision === 'DENY'),
    );
    t.same(await decisionsOf(token), first, 'and so it stays');
  }
});

const failures = [
  { onFailure: 'closed', want: { status: 503, body: { code: 'STATE_UNAVAILABLE' } } },
  {
    onFailure: 'open',
    want: { status: 200, body: { decision: 'ALLOW', reason_codes: ['GATEWAY_DEGRADED'] } },
  },
] as const;

for (const { onFailure, want } of failures) {
  t.test(`while the state is away a tenant that is ${onFailure} gets its answer`, async (t) => {
    const redis = await startRedis(t);
    if (!redis) return;
    const [node] = await startNodes(t, redis, onFailure);
    t.equal((await node.api('POST', '/v1/scan', scan)).status, 200);
    redis.pause();
    t.match(await node.api('POST', '/v1/scan', scan), want);
    redis.resume();
    for (;;) {
      const { status, body } = await node.api('POST', '/v1/scan', scan);
      if (status === 200 && !body.reason_codes.includes('GATEWAY_DEGRADED')) break;
    }
    t.pass('and recovers by itself');
  });
}

t.test('clients that leave before their key is known keep no connection of their agent', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const connectionsMax = 3;
  const [node] = await startNodes(t, redis, 'closed', { max_connections_per_agent: connectionsMax });
  const { key } = await node.mint();
  const { hostname, port } = new URL(node.controlUrl);
  const request = `GET /v1/agents HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  for (let i = 0; i < connectionsMax * 10; i++) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    await new Promise<void>((resolve) => socket.write(request, () => resolve()));
    socket.resetAndDestroy();
  }
  await until('the agent has a connection', async () => {
    const { status } = await node.api('GET', '/v1/agents', undefined, `Bearer ${key}`);
    return status !== 503;
  });
  t.pass();
});

t.test('traces are kept as long as the configuration says, from the reload on', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const hourMs = 3_600_000;
  const traceId = newTraceId(Date.now() - 48 * hourMs);
  const store = await openRedisStore({
    ...redis.address,
    prefix: 'postern:',
    timeoutMs: 5_000,
    ca: undefined,
    log: { warn: () => undefined },
  });
  await store.recordCalls(callBatch([recordedCall({ traceId })]));
  await store.close();
  const config = (retention: string) => ({
    state: { url: `redis://${redis.host}:${redis.port}/0`, dir: './local' },
    activity: { retention },
  });
  const gateway = await startTestGateway(t, { config: config('3d') });
  // The record is no whole trace, which the API of a test would not take.
  const statusOf = async (): Promise<number> => {
    const url = new URL(`/v1/traces/${traceId}`, gateway.controlUrl);
    return (await fetch(url, { headers: { authorization: `Bearer ${gateway.adminSecret}` } })).status;
  };
  t.equal(await statusOf(), 200);
  writeFileSync(gateway.configFile, stringify(testConfig({ config: config('1d') })));
  t.ok(await gateway.reload());
  t.equal(await statusOf(), 404);
});
