import t from 'tap';
import { adminSecret, agentId, denyDeletes, startTestGateway } from '../support/gateway.ts';
import { startRedis, until } from '../support/redis.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const admin = `Bearer ${adminSecret}`;

const channel = (name: string, { url }: Receiver, fields: object = {}) => ({
  name,
  type: 'webhook',
  url,
  allow_private: true,
  ...fields,
});

const call = (method: string, fields: object = {}) => ({
  method,
  url: 'https://api.github.com/repos/acme/app',
  ...fields,
});

/** How often each kind came. */
const kindsOf = (receiver: Receiver): Record<string, number> => {
  const kinds: Record<string, number> = {};
  for (const { type } of receiver.taken()) kinds[type] = (kinds[type] ?? 0) + 1;
  return kinds;
};

t.test('a channel is told of what it wants, once each', async (t) => {
  const [all, denials, ofTenant, other, named] = [
    await startReceiver(t),
    await startReceiver(t),
    await startReceiver(t),
    await startReceiver(t),
    await startReceiver(t),
  ];
  const gateway = await startTestGateway(t, {
    config: {
      approvals: { ttl: '2s' },
      tenants: [
        { id: 'acme', plan: 'enterprise', environments: ['production', 'staging'] },
        { id: 'beta', plan: 'enterprise' },
      ],
      notifications: [
        channel('all', all),
        channel('denials', denials, { events: ['decision.deny'] }),
        channel('acme', ofTenant, { tenant: 'acme', events: ['key.*', 'incident.*', 'config.reloaded'] }),
        channel('beta', other, { tenant: 'beta' }),
        channel('named', named, { agents: ['support-*'], events: ['approval.*'] }),
      ],
    },
  });
  const applied = await gateway.apply([
    denyDeletes,
    { rule_id: 'ask', match: { methods: ['PUT'] }, action: 'REQUIRE_APPROVAL' },
    { rule_id: 'look', match: { methods: ['POST'] }, action: 'OPEN_INCIDENT' },
  ]);
  t.equal(applied.status, 200);
  const scan = async (method: string) => (await gateway.api('POST', '/v1/scan', call(method))).body;
  const allowed = await scan('GET');
  const denied = await scan('DELETE');
  const held = await scan('PUT');
  t.match(
    [allowed, denied, held],
    [{ decision: 'ALLOW' }, { decision: 'DENY' }, { decision: 'REQUIRE_APPROVAL' }],
  );
  t.match(await scan('POST'), { decision: 'DENY' });
  const approvalId = held.approval_id;
  await gateway.api(
    'POST',
    `/v1/approvals/${approvalId}/decision`,
    { decision: 'approved', tenant_id: 'acme' },
    admin,
  );
  const alias = call('PUT', { body: 'another', agent_name: 'nobody' });
  const unheard = (await gateway.api('POST', '/v1/scan', alias)).body;
  const { key_id: keyId } = await gateway.mint();
  await gateway.api('DELETE', `/v1/keys/${keyId}?tenant_id=acme`, undefined, admin);
  t.ok(await gateway.reload());

  await until('all kinds', async () => Object.keys(kindsOf(all)).length >= 9);
  t.match(kindsOf(all), {
    'decision.allow': 1,
    'decision.deny': 2,
    'decision.require_approval': 2,
    'approval.expired': 1,
    'approval.decided': 1,
    'incident.opened': 1,
    'key.created': 2,
    'key.revoked': 1,
    'config.reloaded': 1,
  });
  const ids = all.taken().map((it) => it.id);
  t.equal(new Set(ids).size, ids.length, 'each once');
  t.match(
    all.taken().find((it) => it.type === 'decision.deny' && it.id === denied.trace_id),
    {
      body: { data: { trace_id: denied.trace_id, agent_id: agentId, tool_name: 'github', decision: 'DENY' } },
    },
  );
  t.match(
    all.taken().find((it) => it.type === 'approval.decided'),
    { body: { data: { approval_id: approvalId, decided_by: 'admin' } } },
  );
  t.match(
    all.taken().find((it) => it.type === 'approval.expired'),
    { body: { data: { approval_id: unheard.approval_id, trace_id: unheard.trace_id, tool_name: 'github' } } },
  );
  await until('the others', async () => kindsOf(ofTenant)['incident.opened'] === 1);
  t.same(kindsOf(denials), { 'decision.deny': 2 });
  await until('both', async () => named.taken().length === 2);
  t.same(kindsOf(named), { 'approval.decided': 1, 'approval.expired': 1 }, 'whatever the agent calls itself');
  t.same(Object.keys(kindsOf(ofTenant)).sort(), ['incident.opened', 'key.created', 'key.revoked']);
  t.same(other.received, [], 'a tenant hears nothing of another');
  t.notMatch(JSON.stringify(all.received), gateway.key);
});

t.test('usage alerts come once each, whichever of two daemons has counted', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const receiver = await startReceiver(t);
  const config = {
    state: { url: `redis://${redis.host}:${redis.port}/0`, dir: './local' },
    plans: { small: { extends: 'team', scans_per_month: 20, overage: true } },
    tenants: [{ id: 'acme', plan: 'small', environments: ['production'] }],
    notifications: [channel('usage', receiver, { events: ['usage.threshold'] })],
  };
  const gateways = [await startTestGateway(t, { config }), await startTestGateway(t, { config })];
  for (let at = 0; at < 30; at += 2)
    await Promise.all(gateways.map((it) => it.api('POST', '/v1/scan', call('GET'))));
  await until('three alerts', async () => receiver.taken().length >= 3);
  // Both look again for what was not told.
  for (const it of gateways) await it.reload();
  await until('an end of it', async () => {
    const { body } = (await gateways[0]?.api('GET', '/v1/notifications', undefined, admin)) ?? {
      body: undefined,
    };
    return body.items[0].waiting === 0;
  });
  const percents = receiver.taken().map(({ body }) => body.data.percent);
  t.same(percents.sort(), [100, 80, 90]);
  t.match(receiver.taken()[0], {
    type: 'usage.threshold',
    body: { data: { tenant_id: 'acme', scans_quota: 20 } },
  });
});

t.test('what a rule escalates passes the filters of the channels that it names', async (t) => {
  const receiver = await startReceiver(t);
  const gateway = await startTestGateway(t, {
    config: { notifications: [channel('urgent', receiver, { events: ['incident.opened'] })] },
  });
  const applied = await gateway.apply([{ ...denyDeletes, escalate_to: 'webhook' }]);
  t.equal(applied.status, 200);
  await gateway.api('POST', '/v1/scan', call('GET'));
  const denied = (await gateway.api('POST', '/v1/scan', call('DELETE'))).body;
  await until('the denial', async () => receiver.taken().length > 0);
  t.match(receiver.taken(), [{ type: 'decision.deny', id: denied.trace_id }]);
  t.match((await gateway.api('GET', `/v1/traces/${denied.trace_id}`)).body, { escalate_to: ['webhook'] });
});
