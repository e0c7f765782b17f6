import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { basic, openSecureTunnel, send } from '../support/clients.ts';
import { type ApiReply, startTestGateway } from '../support/gateway.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { startUpstream } from '../support/upstream.ts';

/** A request on a connection of its own; answers the status and the codes that say why. */
function ask(url: string, path: string, headers: http.OutgoingHttpHeaders) {
  const { hostname, port } = new URL(url);
  return new Promise<{ status: number; reasons: string }>((resolve, reject) => {
    const asked = http.get({ hostname, port, path, headers, agent: false }, (answer) => {
      answer.resume();
      const reasons = String(answer.headers['x-service-reasons'] ?? '');
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, reasons }));
    });
    asked.once('error', reject);
  });
}

async function startLab(t: Test, redis: RedisServer, onFailure: string) {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      state: {
        url: `redis://${redis.host}:${redis.port}/0`,
        dir: './local',
        timeout: '300ms',
        on_failure: onFailure,
      },
      credentials: [{ name: 'bot', tenant: 'acme', type: 'bearer', value: randomBytes(20).toString('hex') }],
      inbound: [
        {
          prefix: 'bot',
          tenant: 'acme',
          upstream: `https://api.test.example:${upstream.port}`,
          credential: 'bot',
        },
      ],
    },
  });
  const host = `api.test.example:${upstream.port}`;
  const call = { method: 'GET', url: `https://${host}/x` };
  const entrances = {
    scan: async () => {
      const { status, body } = await gateway.api('POST', '/v1/scan', call);
      return { status, reasons: String(body.reason_codes ?? body.code) };
    },
    inbound: () => ask(gateway.controlUrl, '/inbound/bot/x', { authorization: `Bearer ${gateway.key}` }),
    forward: () =>
      ask(gateway.proxyUrl, `https://${host}/x`, { host, 'proxy-authorization': basic(gateway.key) }),
  };
  return { gateway, entrances, host };
}

for (const onFailure of ['open', 'closed'] as const) {
  t.test(`while the state is away, a tenant that is ${onFailure} is so at every entrance`, async (t) => {
    const redis = await startRedis(t);
    if (!redis) return;
    const { gateway, entrances } = await startLab(t, redis, onFailure);
    for (const [name, enter] of Object.entries(entrances)) t.match(await enter(), { status: 200 }, name);
    await redis.kill();
    const want =
      onFailure === 'open'
        ? { status: 200, reasons: /GATEWAY_DEGRADED/ }
        : { status: 503, reasons: 'STATE_UNAVAILABLE' };
    for (const [name, enter] of Object.entries(entrances)) t.match(await enter(), want, name);
    t.match(
      await gateway.api('GET', '/v1/keys'),
      { status: 503, body: { code: 'STATE_UNAVAILABLE' } },
      'who manages is not let in on what was known a moment ago',
    );
  });
}

for (const first of ['scan', 'inbound', 'forward'] as const) {
  t.test(`a key that was seen at ${first} alone is let out at every entrance`, async (t) => {
    const redis = await startRedis(t);
    if (!redis) return;
    const { entrances } = await startLab(t, redis, 'open');
    t.match(await entrances[first](), { status: 200 });
    await redis.kill();
    for (const [name, enter] of Object.entries(entrances))
      t.match(await enter(), { status: 200, reasons: /GATEWAY_DEGRADED/ }, name);
  });
}

t.test('a key that was only shown to open a tunnel is let out in it', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const { gateway, host } = await startLab(t, redis, 'open');
  // The node then has the policies of the tenant. A tunnel alone only begins to read them.
  const { key: other } = await gateway.mint();
  const call = { method: 'GET', url: `https://${host}/x` };
  t.match(await gateway.api('POST', '/v1/scan', call, `Bearer ${other}`), { status: 200 });
  const tunnel = await openSecureTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority: host,
    ca: readFileSync(gateway.caFile, 'utf8'),
  });
  await redis.kill();
  const answer = await send(tunnel, { path: '/x', headers: { host } });
  t.equal(answer.status, 200);
  t.match(answer.headers['x-service-reasons'], /GATEWAY_DEGRADED/);
});

const token = { type: 'token', header: 'X-Hook', value: randomBytes(20).toString('hex') };
for (const onFailure of ['open', 'closed'] as const) {
  t.test(`while the state is away, routes of the API are ${onFailure} as their tenant is`, async (t) => {
    const redis = await startRedis(t);
    if (!redis) return;
    const { gateway } = await startLab(t, redis, onFailure);
    const { controlUrl, agentId, adminSecret, key, api } = gateway;
    const routes = { keyed: { auth: { type: 'key' } }, hooked: { auth: token, agent: agentId } };
    for (const [prefix, more] of Object.entries(routes)) {
      const route = { prefix, upstream: 'https://api.test.example', tenant_id: 'acme', ...more };
      const made = await api('POST', '/v1/inbound-routes', route, `Bearer ${adminSecret}`);
      t.equal(made.status, 201, made.body.detail);
    }
    const keyed = () => ask(controlUrl, '/inbound/keyed/x', { authorization: `Bearer ${key}` });
    const hooked = () => ask(controlUrl, '/inbound/hooked/x', { 'x-hook': token.value });
    for (const call of [keyed, hooked]) t.match(await call(), { status: 200 });
    await redis.kill();
    const want =
      onFailure === 'open'
        ? { status: 200, reasons: /GATEWAY_DEGRADED/ }
        : { status: 503, reasons: 'STATE_UNAVAILABLE' };
    for (const call of [keyed, hooked]) t.match(await call(), want);
    t.match(
      await ask(controlUrl, '/inbound/other/x', { authorization: `Bearer ${key}` }),
      { status: 503 },
      'a prefix that nobody has asked for is not known',
    );
  });
}

const denyAll = [{ rule_id: 'no', match: {}, action: 'DENY' }];

t.test('a policy that was heard of at a tunnel judges calls while the state is away', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const { gateway, entrances, host } = await startLab(t, redis, 'open');
  t.match(await entrances.forward(), { status: 200 });
  t.match(await gateway.apply(denyAll), { status: 200 });
  await openSecureTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority: host,
    ca: readFileSync(gateway.caFile, 'utf8'),
  });
  t.match(await gateway.api('GET', '/v1/policies'), { status: 200 });
  await redis.kill();
  t.match(await entrances.forward(), { status: 403, reasons: /POLICY_DENY,GATEWAY_DEGRADED/ });
});

t.test('while the state is away, no call is judged by policies that this node knows to be old', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const { gateway, entrances } = await startLab(t, redis, 'open');
  t.match(await entrances.forward(), { status: 200 });
  t.match(await gateway.apply(denyAll), { status: 200 });
  await redis.kill();
  for (const [name, enter] of Object.entries(entrances)) t.not((await enter()).status, 200, name);
});

for (const path of ['/v1/agents/:id/suspend', '/v1/agents/suspend?tenant_id=acme'])
  t.test(`who is suspended stays so while the state is away (${path})`, async (t) => {
    const redis = await startRedis(t);
    if (!redis) return;
    const { gateway, entrances } = await startLab(t, redis, 'open');
    for (const enter of Object.values(entrances)) t.match(await enter(), { status: 200 });
    const at = path.replace(':id', gateway.agentId);
    t.match(await gateway.api('POST', at, {}, `Bearer ${gateway.adminSecret}`), { status: 200 });
    // To find out whose the key is, the node hears of it.
    await gateway.api('GET', '/v1/policies');
    await redis.kill();
    for (const name of ['inbound', 'forward'] as const)
      t.match(await entrances[name](), { status: 403, reasons: /AGENT_SUSPENDED/ }, name);
  });

t.test('keys and routes that were taken back stay so while the state is away', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const { gateway, entrances } = await startLab(t, redis, 'open');
  const { controlUrl, agentId, adminSecret, keyId, api } = gateway;
  const route = { prefix: 'gone', upstream: 'https://api.test.example', tenant_id: 'acme' };
  const admin = `Bearer ${adminSecret}`;
  const made = await api('POST', '/v1/inbound-routes', { ...route, auth: token, agent: agentId }, admin);
  t.equal(made.status, 201, made.body.detail);
  const hooked = () => ask(controlUrl, '/inbound/gone/x', { 'x-hook': token.value });
  for (const enter of [...Object.values(entrances), hooked]) t.match(await enter(), { status: 200 });
  t.match(await api('DELETE', '/v1/inbound-routes/gone?tenant_id=acme', undefined, admin), { status: 200 });
  t.match(await api('DELETE', `/v1/keys/${keyId}?tenant_id=acme`, undefined, admin), { status: 200 });
  await redis.kill();
  t.match(await hooked(), { status: 503, reasons: 'STATE_UNAVAILABLE' });
  for (const [name, enter] of Object.entries(entrances)) t.match(await enter(), { status: 503 }, name);
});

t.test('what is denied while the state is away is held against nobody', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const { gateway, entrances } = await startLab(t, redis, 'open');
  for (const enter of Object.values(entrances)) t.match(await enter(), { status: 200 });
  // The same call again: where the agent has been nobody can tell without the state.
  await gateway.apply([
    { rule_id: 'new', match: {}, condition: { is_new_destination: true }, action: 'DENY' },
  ]);
  t.match(await entrances.scan(), { reasons: '' });
  await redis.kill();
  const traceIds: string[] = [];
  for (let at = 0; at < 10; at += 1) {
    const { body } = await gateway.api('POST', '/v1/scan', {
      method: 'GET',
      url: 'https://api.test.example/x',
    });
    t.match(body, { decision: 'DENY', reason_codes: ['POLICY_DENY', 'GATEWAY_DEGRADED'] });
    traceIds.push(body.trace_id);
  }
  await redis.start();
  const ask = (path: string) => gateway.api('GET', path, undefined, `Bearer ${gateway.adminSecret}`);
  for (const traceId of traceIds) {
    const trace = await eventually(() => ask(`/v1/traces/${traceId}`));
    t.match(trace, { decision: 'DENY', excuse: 'state' });
  }
  t.match(await eventually(() => ask(`/v1/agents/${gateway.agentId}`)), {
    trust_score: 1,
    trust_reasons: [],
  });
  t.same((await eventually(() => ask('/v1/incidents'))).items, []);
});

/** Asks until the state is back and has it. */
async function eventually(ask: () => Promise<ApiReply>): Promise<ApiReply['body']> {
  for (;;) {
    const { status, body } = await ask();
    if (status === 200) return body;
    await sleep(20);
  }
}
