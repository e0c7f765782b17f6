import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { agentId, startTestGateway } from '../support/gateway.ts';

const inHouse = {
  name: 'crm',
  title: 'CRM',
  hosts: ['crm.acme.test'],
  operations: {
    customers: {
      export_customers: { verb: 'READ', call: ['GET /customers.csv', 'POST /{org}/exports/{rest+}'] },
    },
  },
};
const slackHere = {
  name: 'slack',
  hosts: ['chat.acme.test'],
  operations: { admin: { purge_channel: { verb: 'ADMIN', call: 'POST /purge' } } },
};

t.test('tools are listed with what policies may name', async (t) => {
  const gateway = await startTestGateway(t, { config: { tools: [inHouse, slackHere] } });
  const { status, body } = await gateway.api('GET', '/v1/tools');
  t.equal(status, 200);
  const names = body.items.map((it: { name: string }) => it.name);
  t.strictSame(names, [...names].sort());
  for (const name of ['github', 'slack', 'aws', 'crm', 'mcp', 'a2a']) t.ok(names.includes(name), name);

  t.strictSame((await gateway.api('GET', '/v1/tools/crm')).body, {
    name: 'crm',
    title: 'CRM',
    hosts: ['crm.acme.test'],
    operations: [
      {
        name: 'export_customers',
        category: 'customers',
        verb: 'READ',
        calls: ['GET /customers.csv', 'POST /{org}/exports/{rest+}'],
      },
    ],
  });
  const { body: slack } = await gateway.api('GET', '/v1/tools/slack');
  t.ok(slack.hosts.includes('chat.acme.test') && slack.hosts.includes('slack.com'));
  const verbOf = (name: string) => slack.operations.find((it: { name: string }) => it.name === name)?.verb;
  t.strictSame([verbOf('purge_channel'), verbOf('post_message')], ['ADMIN', 'WRITE']);
  t.match(await gateway.api('GET', '/v1/tools/nothing'), { status: 404, body: { code: 'NOT_FOUND' } });
  t.match(await gateway.api('GET', '/v1/tools', undefined, 'Bearer wrong'), { status: 401 });
});

t.test('what is added for one tenant is there for none other, from its first call on', async (t) => {
  const [acme, beta] = ['acme', 'beta'].map((id) => ({
    id,
    plan: 'enterprise',
    environments: ['production'],
  }));
  const ofBeta = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12';
  const agents = [
    { id: agentId, tenant: 'acme', env: 'production', name: 'one' },
    { id: ofBeta, tenant: 'beta', env: 'production', name: 'two' },
  ];
  const tools = [
    { ...inHouse, tenant: 'acme' },
    { ...inHouse, name: 'ledger', tenant: 'beta' },
    { ...slackHere, tenant: 'beta' },
  ];
  const gateway = await startTestGateway(t, { config: { tenants: [acme, beta], agents, tools } });
  const { key } = await gateway.mint({ tenant_id: 'beta', default_agent_id: ofBeta });
  const other = `Bearer ${key}`;
  const understood = async (url: string, authorization?: string) => {
    const { body } = await gateway.api('POST', '/v1/scan', { method: 'POST', url }, authorization);
    return `${body.tool_name} ${body.operation}`;
  };
  const purge = 'https://chat.acme.test/purge';
  t.equal(await understood(purge, other), 'slack purge_channel');
  t.equal(await understood(purge), 'custom_proxy http_post');
  const exported = 'https://crm.acme.test/acme/exports/all';
  t.equal(await understood(exported), 'crm export_customers');
  t.equal(await understood(exported, other), 'ledger export_customers', 'one host may be two tools');
  const statusOf = async (name: string, authorization?: string) =>
    (await gateway.api('GET', `/v1/tools/${name}`, undefined, authorization)).status;
  t.strictSame([await statusOf('crm'), await statusOf('crm', other)], [200, 404]);
  t.equal(await statusOf('ledger', `Bearer ${gateway.adminSecret}`), 404);

  const rules = [{ rule_id: 'a', match: { tool_names: ['crm'] }, action: 'DENY' }];
  const warningsFor = async (authorization?: string) =>
    (await gateway.api('POST', '/v1/policies/apply', { name: 'crm', rules }, authorization)).body.warnings;
  t.strictSame(await warningsFor(), []);
  t.match(await warningsFor(other), [/no tool crm/]);
  t.equal((await gateway.api('POST', '/v1/scan', { method: 'POST', url: exported })).body.decision, 'DENY');
});

t.test('what a configuration adds is how calls are understood, from a reload on', async (t) => {
  const gateway = await startTestGateway(t);
  const scan = async (method: string, url: string) => {
    const { body } = await gateway.api('POST', '/v1/scan', { method, url });
    return [body.tool_name, body.operation];
  };
  const configure = (tools: unknown) => {
    const text = readFileSync(gateway.configFile, 'utf8').replace(/\ntools: .*$/s, '');
    writeFileSync(gateway.configFile, `${text}\ntools: ${JSON.stringify(tools)}\n`);
    return gateway.reload();
  };
  const call = ['GET', 'https://crm.acme.test/customers.csv'] as const;
  t.strictSame(await scan(...call), ['custom_proxy', 'http_get']);
  t.ok(await configure([inHouse, slackHere]));
  t.strictSame(await scan(...call), ['crm', 'export_customers']);
  t.strictSame(await scan('POST', 'https://chat.acme.test/purge'), ['slack', 'purge_channel']);
  t.strictSame(await scan('POST', 'https://slack.com/api/chat.postMessage'), ['slack', 'post_message']);

  const twice = { ...inHouse, name: 'other' };
  t.notOk(await configure([inHouse, twice]), 'a host of two tools is refused, and nothing changes');
  t.strictSame(await scan(...call), ['crm', 'export_customers']);
  t.ok(await configure([]));
  t.strictSame(await scan(...call), ['custom_proxy', 'http_get']);
});
