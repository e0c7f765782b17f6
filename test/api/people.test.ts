import { randomUUID } from 'node:crypto';
import t from 'tap';
import { toGroups } from '../../src/console/page/data/groups.ts';
import { agentId, startTestGateway } from '../support/gateway.ts';

const bearer = (key: string): string => `Bearer ${key}`;
const call = { method: 'POST', url: 'https://api.example.org/things', body: { n: 1 } };

t.test('an approval is decided once, by somebody else, and counts for one identical call', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply([{ rule_id: 'hold', match: {}, condition: {}, action: 'REQUIRE_APPROVAL' }]);
  const held = await gateway.api('POST', '/v1/scan', call);
  t.match(held, { status: 200, body: { decision: 'REQUIRE_APPROVAL', approval_id: String } });
  const { approval_id: id, trace_id: traceId } = held.body;
  const path = `/v1/approvals/${id}`;
  t.match(await gateway.api('GET', `${path}/status`), {
    status: 200,
    body: { status: 'pending', approval_id: id, expires_at: String },
  });
  t.match(await gateway.api('GET', '/v1/approvals?status=pending'), {
    body: { items: [{ approval_id: id, trace_id: traceId }] },
  });
  t.strictSame((await gateway.api('GET', '/v1/approvals?status=denied')).body.items, []);
  t.match(await gateway.api('GET', path), {
    status: 200,
    body: {
      approval_id: id,
      agent_id: agentId,
      method: 'POST',
      url: call.url,
      risk_band: String,
      decided_at: null,
      scope: null,
    },
  });
  const approve = { decision: 'approved', note: 'fine' };
  const own = await gateway.mint({ name: 'own', permissions: ['approvals:decide'] });
  const analyst = await gateway.mint({
    name: 'analyst',
    default_agent_id: randomUUID(),
    permissions: ['approvals:decide'],
  });
  t.match(
    await gateway.api('POST', `${path}/decision`, approve, bearer(own.key)),
    { status: 403, body: { code: 'FORBIDDEN' } },
    'the requester is never the approver',
  );
  t.match(await gateway.api('POST', `${path}/decision`, { decision: 'perhaps' }, bearer(analyst.key)), {
    status: 400,
    body: { errors: [{ path: 'decision' }] },
  });
  const waiting = gateway.api('GET', `${path}/wait?timeout=60`);
  const decided = await gateway.api('POST', `${path}/decision`, approve, bearer(analyst.key));
  t.match(decided, {
    status: 200,
    body: { status: 'approved', decided_by: analyst.key.slice(0, 12), note: 'fine', scope: 'once' },
  });
  t.match(
    await waiting,
    { status: 200, body: { status: 'approved', decided_at: String, note: 'fine' } },
    'who waits is told',
  );
  t.match(await gateway.api('POST', `${path}/decision`, { decision: 'denied' }, bearer(analyst.key)), {
    status: 409,
    body: { code: 'CONFLICT', standing: { decision: 'approved', decided_at: decided.body.decided_at } },
  });
  t.match(await gateway.api('POST', '/v1/scan', call), {
    body: { decision: 'ALLOW', reason_codes: ['RECENT_APPROVAL_GRANT'] },
  });
  const again = await gateway.api('POST', '/v1/scan', call);
  t.match(again.body, { decision: 'REQUIRE_APPROVAL' }, 'the grant is spent');
  t.not(again.body.approval_id, id);
  const second = `/v1/approvals/${again.body.approval_id}`;
  t.match(
    await gateway.api('GET', `${second}/wait?timeout=1`),
    { status: 200, body: { status: 'pending' } },
    'a wait that ends',
  );
  t.match(
    await gateway.api('POST', `${second}/decision`, { decision: 'denied' }, bearer(gateway.adminSecret)),
    { body: { status: 'denied', decided_by: 'admin' } },
  );
  t.match(await gateway.api('POST', '/v1/scan', call), {
    body: { decision: 'DENY', reason_codes: ['RECENT_APPROVAL_DENIAL'] },
  });
  for (const bad of ['timeout=0', 'timeout=61', 'timeout=x'])
    t.match(await gateway.api('GET', `${path}/wait?${bad}`), { status: 400 }, bad);
  for (const gone of [
    `/v1/approvals/${randomUUID()}/status`,
    `/v1/approvals/${randomUUID()}/wait?timeout=1`,
    '/v1/approvals/x',
  ])
    t.match(await gateway.api('GET', gone), { status: 404 }, gone);
});

t.test('held calls that differ in a header are not decided together in the console', async (t) => {
  const gateway = await startTestGateway(t);
  const match = { methods: ['PUT'] };
  await gateway.apply([{ rule_id: 'ask', priority: 1, match, condition: {}, action: 'REQUIRE_APPROVAL' }]);
  const ask = (n: number, acl: string) =>
    gateway.api('POST', '/v1/scan', { ...call, method: 'PUT', body: { n }, headers: { 'x-amz-acl': acl } });
  for (const [n, acl] of [
    [1, 'private'],
    [2, 'private'],
    [1, 'public-read'],
  ] as const)
    await ask(n, acl);
  const { items } = (await gateway.api('GET', '/v1/approvals?status=pending')).body;
  t.strictSame(
    toGroups(items).map(({ approvals }) => approvals.map((it) => it.covers.once.includes('private'))),
    [[false], [true, true]],
  );
});

t.test('a key takes few of the places where one waits for a decision', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply([{ rule_id: 'hold', match: {}, condition: {}, action: 'REQUIRE_APPROVAL' }]);
  const { body: held } = await gateway.api('POST', '/v1/scan', call);
  const path = `/v1/approvals/${held.approval_id}`;
  const { key: analyst } = await gateway.mint({
    default_agent_id: randomUUID(),
    permissions: ['approvals:decide'],
  });
  const { body: child } = await gateway.api('POST', '/v1/keys/ephemeral', {});
  const wait = (key: string) => gateway.api('GET', `${path}/wait?timeout=60`, undefined, bearer(key));
  const waiting = Array.from({ length: 34 }, (_, i) => wait(i % 2 === 0 ? gateway.key : child.key));
  t.match(await Promise.race(waiting), { status: 429, body: { code: 'RATE_LIMITED' } });
  const other = wait(analyst);
  await gateway.api('POST', `${path}/decision`, { decision: 'denied' }, bearer(analyst));
  t.match(await other, { status: 200, body: { status: 'denied' } }, 'another key finds room');
  const statuses = (await Promise.all(waiting)).map((it) => it.status);
  t.same(
    [200, 429].map((status) => statuses.filter((it) => it === status).length),
    [32, 2],
  );
});

t.test('incidents are opened, looked into, closed with a code', async (t) => {
  const gateway = await startTestGateway(t);
  const admin = bearer(gateway.adminSecret);
  const post = (path: string, body: unknown) => gateway.api('POST', path, body, admin);
  const opened = await post('/v1/incidents', {
    agent_id: agentId,
    title: 'odd',
    severity: 'HIGH',
    note: 'look',
  });
  t.match(opened, {
    status: 201,
    body: {
      agent_id: agentId,
      title: 'odd',
      severity: 'HIGH',
      status: 'open',
      trigger: 'manual',
      trace_ids: [],
      notes: [{ author: 'admin', text: 'look', at: String }],
    },
  });
  const path = `/v1/incidents/${opened.body.incident_id}`;
  t.match(
    await post('/v1/incidents', { agent_id: agentId, title: 'more', severity: 'CRITICAL', note: 'and this' }),
    {
      status: 200,
      body: { incident_id: opened.body.incident_id, severity: 'CRITICAL', notes: [{}, { text: 'and this' }] },
    },
    'one open incident an agent and trigger',
  );
  t.match(await gateway.api('GET', path), { status: 200, body: { incident_id: opened.body.incident_id } });
  const refused: { name: string; body: unknown; status: number }[] = [
    { name: 'closed at once', body: { status: 'closed', code: 'policy_gap' }, status: 409 },
    { name: 'closed without a code', body: { status: 'closed' }, status: 400 },
    { name: 'a code that is none', body: { status: 'closed', code: 'bored' }, status: 400 },
    {
      name: 'a code that closes nothing',
      body: { status: 'investigating', code: 'policy_gap' },
      status: 400,
    },
    { name: 'opened again', body: { status: 'open' }, status: 400 },
  ];
  for (const { name, body, status } of refused)
    t.equal((await post(`${path}/transition`, body)).status, status, name);
  t.match(await post(`${path}/transition`, { status: 'investigating' }), {
    status: 200,
    body: { status: 'investigating' },
  });
  const rate = (severity: string) => gateway.api('PATCH', path, { severity }, admin);
  t.equal((await rate('DIRE')).status, 400);
  t.match(await rate('MEDIUM'), { status: 200, body: { severity: 'MEDIUM' } });
  t.match(await rate('CRITICAL'), { status: 200, body: { severity: 'CRITICAL' } });
  t.match(await post(`${path}/notes`, { text: 'seen' }), {
    status: 201,
    body: { notes: [{ text: 'look' }, { text: 'and this' }, { text: 'seen' }] },
  });
  t.match(await post(`${path}/notes`, { text: '' }), { status: 400 });
  t.match(await post(`${path}/transition`, { status: 'closed', code: 'false_positive', note: 'nothing' }), {
    status: 200,
    body: { status: 'closed', close_code: 'false_positive', closed_by: 'admin', closed_at: String },
  });
  t.match(await post(`${path}/transition`, { status: 'investigating' }), { status: 409 });
  const { timeline } = (await gateway.api('GET', path)).body;
  const by = 'admin';
  t.strictSame(
    timeline.map(({ at: _, ...entry }: { at: string }) => JSON.stringify(entry)).sort(),
    [
      { kind: 'opened', by },
      { kind: 'note', by, text: 'look' },
      { kind: 'note', by, text: 'and this' },
      { kind: 'severity', by, from: 'HIGH', to: 'CRITICAL' },
      { kind: 'severity', by, from: 'CRITICAL', to: 'MEDIUM' },
      { kind: 'severity', by, from: 'MEDIUM', to: 'CRITICAL' },
      { kind: 'transition', by, from: 'open', to: 'investigating' },
      { kind: 'note', by, text: 'seen' },
      { kind: 'note', by, text: 'nothing' },
      { kind: 'transition', by, from: 'investigating', to: 'closed', code: 'false_positive' },
    ]
      .map((entry) => JSON.stringify(entry))
      .sort(),
  );
  const times = timeline.map((it: { at: string }) => it.at);
  t.strictSame(times, [...times].sort(), 'oldest first');
  t.match(await gateway.api('GET', `/v1/audit?subject=${opened.body.incident_id}`), {
    body: { items: Array.from({ length: 7 }, () => ({ operator: by })) },
  });
  t.match(await gateway.api('GET', '/v1/incidents?status=closed&severity=CRITICAL'), {
    body: { items: [{ status: 'closed' }] },
  });
  t.strictSame((await gateway.api('GET', `/v1/incidents?agent_id=${randomUUID()}`)).body, {
    items: [],
    next_cursor: null,
  });
  t.match(await post('/v1/incidents', { agent_id: randomUUID(), title: 'x' }), { status: 404 });
  t.match(await gateway.api('GET', `/v1/incidents/${randomUUID()}`), { status: 404 });
});

t.test('agents are listed, renamed, suspended and reactivated, by somebody else', async (t) => {
  const gateway = await startTestGateway(t);
  const admin = bearer(gateway.adminSecret);
  await gateway.api('POST', '/v1/scan', call);
  const path = `/v1/agents/${agentId}`;
  const shown = await gateway.api('GET', path);
  t.match(shown, {
    status: 200,
    body: {
      agent_id: agentId,
      name: 'support-bot',
      tenant_id: 'acme',
      env_name: 'production',
      status: 'active',
      trust_score: 1,
      trust_reasons: [],
      created_at: String,
      decisions_24h: Object,
      calls_total: Number,
    },
  });
  t.match(await gateway.api('GET', '/v1/agents'), {
    body: { items: [{ agent_id: agentId }], next_cursor: null },
  });
  t.match(await gateway.api('PATCH', path, { name: 'renamed', runtime_type: 'crewai' }, admin), {
    status: 200,
    body: { name: 'renamed', runtime_type: 'crewai' },
  });
  t.match(await gateway.api('POST', `${path}/suspend`, undefined, admin), {
    status: 200,
    body: { status: 'suspended' },
  });
  t.match(await gateway.api('POST', '/v1/scan', call), {
    body: { decision: 'DENY', reason_codes: ['AGENT_SUSPENDED'] },
  });
  const own = await gateway.mint({ name: 'own', permissions: ['agents:write'] });
  for (const deed of ['reactivate', 'reset-trust'])
    t.match(
      await gateway.api('POST', `${path}/${deed}`, undefined, bearer(own.key)),
      { status: 403 },
      `no ${deed} by its own key`,
    );
  t.match(await gateway.api('POST', `${path}/reactivate`, { note: 'fine' }, admin), {
    status: 200,
    body: { status: 'active' },
  });
  t.match(await gateway.api('POST', '/v1/scan', call), { body: { decision: 'ALLOW' } });
  t.match(await gateway.api('POST', `${path}/reset-trust`, undefined, admin), {
    status: 200,
    body: { trust_score: 1 },
  });
  for (const [method, gone] of [
    ['GET', `/v1/agents/${randomUUID()}`],
    ['POST', `/v1/agents/${randomUUID()}/suspend`],
    ['GET', '/v1/agents/x'],
  ] as const)
    t.match(await gateway.api(method, gone, undefined, admin), { status: 404 }, gone);
  const audit = await gateway.api('GET', `/v1/audit?subject=${agentId}`);
  t.strictSame(
    audit.body.items.map((it: { kind: string }) => it.kind),
    ['agent.trust_reset', 'agent.reactivated', 'agent.suspended', 'agent.updated'],
  );
  const [newest, before] = audit.body.items;
  t.not(newest.hash, before.hash);
  t.match(await gateway.api('GET', '/v1/audit?kind=agent.suspended&limit=1'), {
    body: { items: [{ kind: 'agent.suspended', operator: 'admin' }] },
  });
});

t.test('the keys of a suspended agent change nothing, and no key that it could make', async (t) => {
  const gateway = await startTestGateway(t);
  const admin = bearer(gateway.adminSecret);
  const suspect = randomUUID();
  const mint = async (...permissions: string[]) =>
    (await gateway.mint({ name: 'suspect', default_agent_id: suspect, permissions })).key;
  const all = await mint('admin');
  const some = await mint('scan', 'policies:write', 'keys:ephemeral', 'keys:revoke', 'approvals:decide');
  const reader = await mint('activity:read', 'usage:read');
  await gateway.apply([{ rule_id: 'ask', action: 'REQUIRE_APPROVAL' }]);
  const asked = (await gateway.api('POST', '/v1/scan', call)).body.approval_id;
  const session = await gateway.api('POST', '/v1/console/sessions', { secret: all });
  const cookie = session.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  const rules = [{ rule_id: 'open', action: 'ALLOW' }];
  const deeds: readonly [key: string, method: string, path: string, body?: object][] = [
    [some, 'POST', '/v1/policies/apply', { name: 'test', rules }],
    [some, 'POST', '/v1/keys/ephemeral', {}],
    [some, 'DELETE', `/v1/keys/${gateway.keyId}`],
    [some, 'POST', `/v1/approvals/${asked}/decision`, { decision: 'approved' }],
    [all, 'POST', '/v1/keys', { name: 'x', default_agent_id: randomUUID(), permissions: ['admin'] }],
    [all, 'POST', `/v1/agents/${gateway.agentId}/suspend`, {}],
    [all, 'PUT', '/v1/credentials/x', { type: 'bearer', value: 'x'.repeat(20) }],
  ];
  const path = `/v1/agents/${suspect}`;
  await gateway.api('POST', `${path}/suspend`, undefined, admin);
  const tryAll = async (name: string) => {
    for (const [key, method, at, body] of deeds) {
      const refused = await gateway.api(method, at, body, bearer(key));
      t.match(refused, { status: 403, body: { code: 'FORBIDDEN', detail: /suspended/ } }, `${name} ${at}`);
    }
    const bySession = await fetch(new URL('/v1/policies/apply', gateway.controlUrl), {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', 'x-postern-csrf': session.body.csrf_token },
      body: JSON.stringify({ name: 'test', rules }),
    });
    t.equal(bySession.status, 403, `${name} in a session of the console`);
  };
  await tryAll('suspended');
  t.equal((await gateway.api('GET', '/v1/traces', undefined, bearer(reader))).status, 200, 'it may read');
  t.match(await gateway.api('POST', '/v1/policies/validate', { name: 'test', rules }, bearer(some)), {
    status: 200,
  });
  await gateway.api('POST', '/v1/agents/suspend', {}, admin);
  await tryAll('suspended with its tenant');
  await gateway.api('POST', `${path}/reactivate`, undefined, admin);
  t.match(
    await gateway.api('POST', `/v1/approvals/${asked}/decision`, { decision: 'denied' }, bearer(some)),
    { status: 200 },
    'while a tenant is suspended, its people still decide',
  );
});

t.test('all agents of a tenant are suspended at once, and only the admin secret lifts that', async (t) => {
  const gateway = await startTestGateway(t);
  const admin = bearer(gateway.adminSecret);
  const analyst = bearer((await gateway.mint({ name: 'analyst', permissions: ['agents:write'] })).key);
  const show = async () => (await gateway.api('GET', '/v1/agents/suspension', undefined, analyst)).body;
  const none = { tenant_id: 'acme', status: 'active', since: null, by: null, note: null };
  t.strictSame(await show(), none);

  const suspended = await gateway.api('POST', '/v1/agents/suspend', { note: 'a breach' }, analyst);
  t.match(suspended, {
    status: 200,
    body: { tenant_id: 'acme', status: 'suspended', since: String, by: /^iv_live_/, note: 'a breach' },
  });
  t.strictSame(await show(), suspended.body);
  const again = await gateway.api('POST', '/v1/agents/suspend', { note: 'again' }, admin);
  t.strictSame(again.body, suspended.body, 'what stands stays as it was');
  const newcomer = randomUUID();
  for (const more of [{}, { agent_id: newcomer }]) {
    const { body } = await gateway.api('POST', '/v1/scan', { ...call, ...more });
    t.match(body, { decision: 'DENY', reason_codes: ['AGENT_SUSPENDED'], explanation: [/All agents/] });
  }
  for (const id of [agentId, newcomer])
    t.match(await gateway.api('GET', `/v1/agents/${id}`, undefined, admin), {
      body: { status: 'active', tenant_suspended: true },
    });
  t.match(await gateway.api('GET', '/v1/agents', undefined, admin), {
    body: { items: [{ tenant_suspended: true }, { tenant_suspended: true }] },
  });
  const policies = [{ name: 'p', rules: [{ rule_id: 'r', match: {}, condition: {}, action: 'DENY' }] }];
  const simulated = { policies, calls: [call] };
  t.match(await gateway.api('POST', '/v1/policies/simulate', simulated, admin), { body: { unchanged: 1 } });

  for (const permission of ['agents:write', 'admin']) {
    const { key } = await gateway.mint({
      name: permission,
      default_agent_id: randomUUID(),
      permissions: [permission],
    });
    const refused = await gateway.api('POST', '/v1/agents/reactivate', undefined, bearer(key));
    t.match(refused, { status: 403, body: { code: 'FORBIDDEN', detail: /admin secret/ } }, permission);
  }
  t.match(await gateway.api('POST', '/v1/scan', call), { body: { decision: 'DENY' } });
  await gateway.api('POST', `/v1/agents/${newcomer}/suspend`, undefined, admin);
  const lifted = await gateway.api('POST', '/v1/agents/reactivate', { note: 'contained' }, admin);
  t.strictSame([lifted.status, lifted.body], [200, none]);
  t.match(await gateway.api('POST', '/v1/scan', call), { body: { decision: 'ALLOW' } });
  t.match(
    await gateway.api('POST', '/v1/scan', { ...call, agent_id: newcomer }),
    { body: { decision: 'DENY', reason_codes: ['AGENT_SUSPENDED'], explanation: [/^The agent/] } },
    'one that was suspended by itself stays so',
  );
  for (const [kind, wanted] of [
    ['tenant.suspended', [{ note: 'again' }, { note: 'a breach' }]],
    ['tenant.reactivated', [{ note: 'contained' }]],
  ] as const)
    t.match((await gateway.api('GET', `/v1/audit?kind=${kind}`)).body.items, [
      ...wanted.map((details) => ({ subject: 'acme', details })),
    ]);
  t.match(await gateway.api('POST', '/v1/agents/suspend', { note: 'x'.repeat(1025) }, admin), {
    status: 400,
    body: { errors: [{ path: 'note' }] },
  });
});

t.test('usage tells what the month has come to', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      plans: { tiny: { extends: 'team', scans_per_month: 3, scans_per_minute: 60 } },
      tenants: [{ id: 'acme', plan: 'tiny', environments: ['production', 'staging'] }],
    },
  });
  for (let i = 0; i < 2; i++) t.match(await gateway.api('POST', '/v1/scan', call), { status: 200 });
  for (const bytes of [256 * 1024 + 1, 400_000]) {
    const large = await gateway.api('POST', '/v1/scan', { ...call, body: 'x'.repeat(bytes) });
    t.match(
      large,
      { status: 413, body: { code: 'PAYLOAD_TOO_LARGE', trace_id: String } },
      'refused, recorded',
    );
  }
  t.match(await gateway.api('POST', '/v1/scan', call), { status: 200 }, 'what was too large has not counted');
  const over = await gateway.api('POST', '/v1/scan', call);
  t.match(over, {
    status: 429,
    body: { code: 'QUOTA_EXCEEDED', reason: 'QUOTA_EXCEEDED', trace_id: String },
  });
  t.ok(Number(over.headers.get('retry-after')) >= 1);
  const { body } = await gateway.api('GET', '/v1/usage');
  t.match(body, {
    plan: 'tiny',
    scans_used: 3,
    scans_limit: 3,
    rate_limit_hits_24h: 0,
    current_rate_per_min: 3,
  });
  t.ok(body.forecast_period_total >= 3);
  t.match(body.period_start, /^\d{4}-\d\d-01T00:00:00\.000Z$/);
  t.match(body.period_end, /^\d{4}-\d\d-01T00:00:00\.000Z$/);
  t.match(await gateway.api('GET', '/v1/keys'), { status: 200 }, 'lists take nothing from quota and rate');
});
