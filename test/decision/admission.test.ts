import t, { type Test } from 'tap';
import { adminSecret, startTestGateway, type TestGateway } from '../support/gateway.ts';

const admin = `Bearer ${adminSecret}`;

const scanOf = (path = '/x', body: unknown = { a: 1 }) => ({
  agent_id: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  method: 'POST',
  url: `https://api.test.example${path}`,
  headers: { 'content-type': 'application/json' },
  body,
});

/** A gateway whose only tenant has this plan. */
const startWithPlan = (t: Test, plan: Readonly<Record<string, unknown>>): Promise<TestGateway> =>
  startTestGateway(t, {
    config: {
      plans: { tight: plan },
      tenants: [{ id: 'acme', plan: 'tight', environments: ['production', 'staging'] }],
    },
  });

/** Asks again until it answers what is wanted: incidents and alerts are written behind the answer. */
async function eventually<T>(ask: () => Promise<T>, isThere: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (isThere(answer)) return answer;
    await new Promise((done) => setTimeout(done, 20));
  }
}

t.test('beyond the monthly quota calls are refused, and each alert is told once', async (t) => {
  const gateway = await startWithPlan(t, { extends: 'enterprise', scans_per_month: 10 });
  for (let i = 0; i < 10; i++) t.equal((await gateway.api('POST', '/v1/scan', scanOf())).status, 200);
  const over = await gateway.api('POST', '/v1/scan', scanOf());
  t.match(over, { status: 429, body: { code: 'QUOTA_EXCEEDED', reason: 'QUOTA_EXCEEDED' } });
  t.ok(Number(over.headers.get('retry-after')) >= 1);
  const { body } = await eventually(
    () => gateway.api('GET', '/v1/audit?kind=usage.threshold', undefined, `${admin}`),
    (it) => it.status !== 200 || it.body.items.length >= 3,
  );
  t.same(body.items.map((it: { details: { percent: number } }) => it.details.percent).sort(), [100, 80, 90]);
});

t.test('with overage calls beyond the quota are let in and counted', async (t) => {
  const gateway = await startWithPlan(t, { extends: 'enterprise', scans_per_month: 2, overage: true });
  for (let i = 0; i < 4; i++) t.equal((await gateway.api('POST', '/v1/scan', scanOf())).status, 200);
});

t.test('over its rate a tenant is refused with the time to wait', async (t) => {
  const gateway = await startWithPlan(t, { extends: 'enterprise', scans_per_minute: 1, burst: 2 });
  for (let i = 0; i < 2; i++) t.equal((await gateway.api('POST', '/v1/scan', scanOf())).status, 200);
  const over = await gateway.api('POST', '/v1/scan', scanOf());
  t.match(over, { status: 429, body: { code: 'RATE_LIMITED', trace_id: /-7/ } });
  t.ok(Number(over.headers.get('retry-after')) >= 1);
});

t.test(
  'an ephemeral key outside its scope is denied, in monitor mode as well, and opens an incident',
  async (t) => {
    const gateway = await startTestGateway(t, { config: { mode: 'monitor' } });
    const { body: minted } = await gateway.api('POST', '/v1/keys/ephemeral', {
      ttl_seconds: 60,
      max_uses: 2,
      scope: { tools: ['custom_proxy'], verbs: ['READ'] },
    });
    const asEphemeral = () => gateway.api('POST', '/v1/scan', scanOf(), `Bearer ${minted.key}`);
    const denied = await asEphemeral();
    t.match(denied, {
      status: 200,
      body: { decision: 'DENY', reason_codes: ['EPHEMERAL_SCOPE_VIOLATION'], violations: [/WRITE/] },
    });
    await asEphemeral();
    t.match(await asEphemeral(), { status: 401, body: { code: 'INVALID_KEY' } }, 'violations spend uses');
    const { body } = await eventually(
      () => gateway.api('GET', '/v1/incidents', undefined, admin),
      (it) => it.body.items?.[0]?.trace_count === 2,
    );
    t.match(body.items, [{ trigger: 'scope-violation', severity: 'HIGH', status: 'open' }]);
    t.equal(body.items.length, 1, 'one open incident takes both');
  },
);

t.test('OPEN_INCIDENT denies and opens one incident for all calls that it catches', async (t) => {
  const gateway = await startTestGateway(t);
  const rule = {
    rule_id: 'tripwire',
    match: { url_patterns: ['https://api.test.example/secret'] },
    condition: {},
    action: 'OPEN_INCIDENT',
    incident_severity: 'MEDIUM',
    tag: 'canary',
  };
  t.equal((await gateway.apply([rule], 'traps')).status, 200);
  const denied = await gateway.api('POST', '/v1/scan', scanOf('/secret'));
  t.match(denied.body, { decision: 'DENY', policy_name: 'traps' });
  const { body } = await eventually(
    () => gateway.api('GET', '/v1/incidents', undefined, admin),
    (it) => it.body.items?.length > 0,
  );
  t.match(body.items, [
    { trigger: 'policy:traps/tripwire', severity: 'MEDIUM', trace_ids: [denied.body.trace_id] },
  ]);
  const trace = await gateway.api('GET', `/v1/traces/${denied.body.trace_id}`, undefined, admin);
  t.match(trace.body, { tags: ['canary'], incidents: ['policy:traps/tripwire'] });
});

t.test('a nonce is good once, a timestamp within its window', async (t) => {
  const gateway = await startTestGateway(t);
  const { key } = await gateway.mint({ require_nonce: true });
  const send = (fields: Record<string, string>) =>
    fetch(`${gateway.controlUrl}/v1/scan`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...fields },
      body: JSON.stringify(scanOf()),
    }).then((it) => it.status);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = 'a-nonce-of-the-test';
  t.equal(await send({}), 400, 'the key demands them');
  t.equal(await send({ 'x-service-timestamp': timestamp }), 400, 'one without the other');
  for (const odd of ['short', 'n'.repeat(129), 'with a space'])
    t.equal(await send({ 'x-service-timestamp': timestamp, 'x-service-nonce': odd }), 400, odd);
  for (const odd of ['1'.repeat(13), '-1', '1.5'])
    t.equal(await send({ 'x-service-timestamp': odd, 'x-service-nonce': nonce }), 400, odd);
  t.equal(await send({ 'x-service-timestamp': timestamp, 'x-service-nonce': nonce }), 200);
  t.equal(await send({ 'x-service-timestamp': timestamp, 'x-service-nonce': nonce }), 409);
  const late = String(Number(timestamp) - 3600);
  t.equal(await send({ 'x-service-timestamp': late, 'x-service-nonce': 'another-nonce' }), 409);
});

t.test('five denials of one agent within an hour open an incident, which takes further ones', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply([{ rule_id: 'stop', match: { methods: ['POST'] }, condition: {}, action: 'DENY' }]);
  for (let i = 0; i < 4; i++) await gateway.api('POST', '/v1/scan', scanOf());
  t.match((await gateway.api('GET', '/v1/incidents', undefined, admin)).body, { items: [] });
  await gateway.api('POST', '/v1/scan', scanOf());
  const { body: last } = await gateway.api('POST', '/v1/scan', scanOf());
  const { body } = await eventually(
    () => gateway.api('GET', '/v1/incidents', undefined, admin),
    (it) => it.body.items?.[0]?.trace_ids.at(-1) === last.trace_id,
  );
  t.match(body.items, [{ trigger: 'repeated-denials', severity: 'HIGH' }]);
  t.equal(body.items.length, 1);
});

t.test('a message that is too large takes nothing of the quota, and leaves its trace', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { tenants: [{ id: 'acme', plan: 'free', limits: { max_body_bytes: 1024 } }], agents: [] },
  });
  const agent = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
  const send = (bytes: number) =>
    gateway.api('POST', '/v1/a2a/scan', {
      from_agent_id: agent,
      to_agent_id: agent,
      method: 'tell',
      payload: { text: 'x'.repeat(bytes) },
    });
  t.match(await send(2000), {
    status: 413,
    body: { code: 'PAYLOAD_TOO_LARGE', limit_bytes: 1024, trace_id: /-7/ },
  });
  t.match((await gateway.api('GET', '/v1/usage')).body, { scans_used: 0 });
  t.equal((await send(10)).status, 200);
  t.match((await gateway.api('GET', '/v1/usage')).body, { scans_used: 1 });
});
