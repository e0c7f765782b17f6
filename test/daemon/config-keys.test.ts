import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import t from 'tap';
import { stringify } from 'yaml';
import { keyDigest, newKeyText } from '../../src/core/key-text.ts';
import { adminSecret, agentId, startTestGateway, testConfig } from '../support/gateway.ts';
import { until } from '../support/redis.ts';

const call = { method: 'GET', url: 'https://api.test.example/x' };
const scan = { ...call, agent_id: agentId };

t.test(
  'keys of the configuration work while they stand in it, and are revoked when they are taken out',
  async (t) => {
    const text = newKeyText('live');
    const entry = { name: 'from git', agent: agentId, hash: `sha256:${keyDigest(text)}` };
    const gateway = await startTestGateway(t, { config: { keys: [entry] } });
    const asKey = () => gateway.api('POST', '/v1/scan', scan, `Bearer ${text}`);
    const take = (keys: readonly unknown[]) => {
      writeFileSync(gateway.configFile, stringify(testConfig({ config: { keys } })));
      return gateway.reload();
    };
    t.equal((await asKey()).status, 200);
    t.ok(await take([{ ...entry, ip_allowlist: ['192.0.2.0/24'] }]));
    t.match(
      await asKey(),
      { status: 403, body: { code: 'IP_NOT_ALLOWED' } },
      'a change holds after the reload',
    );
    t.ok(await take([entry]));
    t.equal((await asKey()).status, 200);
    t.ok(await take([]));
    t.match(await asKey(), { status: 401, body: { code: 'INVALID_KEY' } });
    t.ok(await take([entry]));
    t.equal((await asKey()).status, 401, 'a revoked key stays revoked');
  },
);

t.test('a key of the configuration is revoked with the admin secret alone', async (t) => {
  const text = newKeyText('live');
  const entry = { name: 'from git', agent: agentId, hash: `sha256:${keyDigest(text)}` };
  const gateway = await startTestGateway(t, { config: { keys: [entry] } });
  const { body } = await gateway.api('GET', '/v1/keys');
  const keyId = body.items.find((it: { name: string }) => it.name === entry.name).key_id;
  const { key: all } = await gateway.mint({ permissions: ['admin'] });
  for (const key of [gateway.key, all])
    t.match(await gateway.api('DELETE', `/v1/keys/${keyId}`, undefined, `Bearer ${key}`), {
      status: 409,
      body: { code: 'CONFLICT' },
    });
  t.equal((await gateway.api('POST', '/v1/scan', scan, `Bearer ${text}`)).status, 200);
  t.match(await gateway.api('DELETE', `/v1/keys/${keyId}`, undefined, `Bearer ${adminSecret}`), {
    status: 200,
    body: { status: 'revoked' },
  });
  t.equal((await gateway.api('POST', '/v1/scan', scan, `Bearer ${text}`)).status, 401);
});

t.test('the keys that stand for the callers of inbound routes are nothing for the API', async (t) => {
  const route = { prefix: 'hook', agent: agentId, upstream: 'https://api.test.example', auth: 'none' };
  const gateway = await startTestGateway(t, { config: { inbound: [route] } });
  const { body } = await gateway.api('GET', '/v1/keys');
  t.same(
    body.items.map((it: { key_id: string }) => it.key_id),
    [gateway.keyId],
  );
  const { body: log } = await gateway.api('GET', '/v1/audit?kind=key.created');
  const own = log.items.find((it: { details: { name: string } }) => it.details.name === 'inbound hook');
  for (const [method, path, authorization] of [
    ['GET', `/v1/keys/${own.subject}`, undefined],
    ['GET', `/v1/keys/${own.subject}/audit`, undefined],
    ['DELETE', `/v1/keys/${own.subject}`, undefined],
    ['DELETE', `/v1/keys/${own.subject}`, `Bearer ${adminSecret}`],
    ['PATCH', `/v1/keys/${own.subject}`, `Bearer ${adminSecret}`],
  ] as const)
    t.match(
      await gateway.api(method, path, method === 'PATCH' ? { name: 'x' } : undefined, authorization),
      { status: 404, body: { code: 'NOT_FOUND' } },
      `${method} ${path}`,
    );
});

t.test('an agent that another tenant has already is left out, with its keys and routes', async (t) => {
  const taken = randomUUID();
  const texts = [newKeyText('live'), newKeyText('live')];
  const keys = [taken, agentId].map((agent, i) => ({
    name: `key ${i}`,
    tenant: 'acme',
    agent,
    hash: `sha256:${keyDigest(texts[i] ?? '')}`,
  }));
  const tenants = ['acme', 'other'].map((id) => ({ id, plan: 'enterprise' }));
  const agents = [{ id: agentId, tenant: 'acme', name: 'bot' }];
  const gateway = await startTestGateway(t, { config: { tenants, agents } });
  await gateway.mint({ tenant_id: 'other', default_agent_id: taken });
  const route = { prefix: 'hook', tenant: 'acme', agent: taken, upstream: 'https://a.example', auth: 'none' };
  const config = {
    tenants,
    agents: [...agents, { id: taken, tenant: 'acme', name: 'late' }],
    keys,
    inbound: [route],
  };
  writeFileSync(gateway.configFile, stringify(testConfig({ config })));
  t.ok(await gateway.reload(), 'nobody keeps the configuration from being read');
  const statuses = texts.map(
    async (text) => (await gateway.api('POST', '/v1/scan', call, `Bearer ${text}`)).status,
  );
  t.same(await Promise.all(statuses), [401, 200]);
  const { status } = await fetch(new URL('/inbound/hook/x', gateway.controlUrl));
  t.equal(status, 401);
});

t.test('a key of the configuration that was minted for somebody is refused with its name', async (t) => {
  const gateway = await startTestGateway(t);
  const entry = { name: 'taken', agent: agentId, hash: `sha256:${keyDigest(gateway.key)}` };
  writeFileSync(gateway.configFile, stringify(testConfig({ config: { keys: [entry] } })));
  t.notOk(await gateway.reload());
  t.equal((await gateway.api('POST', '/v1/scan', scan)).status, 200, 'the old configuration stays');
});

t.test('each tenant can see in its audit log that its configuration was exchanged', async (t) => {
  const tenants = ['acme', 'other'].map((id) => ({ id, plan: 'enterprise' }));
  const agents: object[] = [];
  const gateway = await startTestGateway(t, { config: { tenants, agents } });
  const write = (config: Record<string, unknown>) =>
    writeFileSync(gateway.configFile, stringify(testConfig({ config })));
  const entriesOf = async (tenant: string) =>
    (
      await gateway.api(
        'GET',
        `/v1/audit?kind=config.reloaded&tenant_id=${tenant}`,
        undefined,
        `Bearer ${adminSecret}`,
      )
    ).body.items;
  write({ tenants, agents, mode: 'no such mode' });
  t.notOk(await gateway.reload());
  write({ tenants, agents });
  t.ok(await gateway.reload());
  for (const tenant of ['acme', 'other']) {
    await until('the reload is written down', async () => (await entriesOf(tenant)).length > 0);
    t.match(await entriesOf(tenant), [
      { operator: 'config', subject: tenant, details: { generation: 2, loaded_at: String } },
    ]);
    t.equal((await entriesOf(tenant)).length, 1, 'a file that was refused has changed nothing');
  }
});
