import { randomUUID } from 'node:crypto';
import t from 'tap';
import { agentId, startTestGateway } from '../support/gateway.ts';
import { expandSample } from '../support/samples.ts';
import { awsKeyId } from '../support/secrets.ts';

t.test('keys are minted with the admin secret, and shown once', async (t) => {
  const gateway = await startTestGateway(t);
  const admin = `Bearer ${gateway.adminSecret}`;
  const fields = {
    tenant_id: 'acme',
    name: 'one',
    default_agent_id: agentId,
    description: 'first',
    ip_allowlist: ['10.0.0.0/8', '::1'],
  };
  const minted = await gateway.api('POST', '/v1/keys', fields, admin);
  t.match(minted, {
    status: 201,
    body: {
      key: /^iv_live_[0-9A-Za-z]{49}$/,
      key_id: /^[0-9a-f-]{36}$/,
      prefix: minted.body.key.slice(0, 12),
      name: 'one',
      description: 'first',
      tenant_id: 'acme',
      env_name: 'production',
      default_agent_id: agentId,
      type: 'live',
      status: 'active',
      ip_allowlist: ['10.0.0.0/8', '::1'],
      permissions: [
        'scan',
        'policies:read',
        'policies:write',
        'keys:read',
        'keys:ephemeral',
        'keys:revoke',
        'activity:read',
        'usage:read',
      ],
    },
  });
  const refused: {
    name: string;
    fields: unknown;
    authorization?: string;
    status: number;
    code: string;
    path?: string;
  }[] = [
    { name: 'a wrong secret', fields, authorization: 'Bearer wrong', status: 401, code: 'INVALID_KEY' },
    { name: 'no authorization', fields, authorization: '', status: 401, code: 'INVALID_KEY' },
    {
      name: 'a key without admin',
      fields,
      authorization: `Bearer ${gateway.key}`,
      status: 403,
      code: 'FORBIDDEN',
    },
    {
      name: 'no name',
      fields: { ...fields, name: '' },
      status: 400,
      code: 'VALIDATION_FAILED',
      path: 'name',
    },
    {
      name: 'an agent that is no UUID',
      fields: { ...fields, default_agent_id: 'x' },
      status: 400,
      code: 'VALIDATION_FAILED',
      path: 'default_agent_id',
    },
    {
      name: 'an allowlist of rubbish',
      fields: { ...fields, ip_allowlist: ['10.0.0.0/33'] },
      status: 400,
      code: 'VALIDATION_FAILED',
      path: 'ip_allowlist.0',
    },
    {
      name: 'an unknown environment',
      fields: { ...fields, env_name: 'moon' },
      status: 400,
      code: 'VALIDATION_FAILED',
      path: 'env_name',
    },
    {
      name: "an environment that is not the agent's",
      fields: { ...fields, env_name: 'staging' },
      status: 400,
      code: 'VALIDATION_FAILED',
      path: 'env_name',
    },
    {
      name: 'an unknown permission',
      fields: { ...fields, permissions: ['fly'] },
      status: 400,
      code: 'VALIDATION_FAILED',
      path: 'permissions.0',
    },
    {
      name: 'a tenant id of rubbish',
      fields: { ...fields, tenant_id: '../x' },
      status: 400,
      code: 'VALIDATION_FAILED',
      path: 'tenant_id',
    },
  ];
  for (const { name, fields: asked, authorization = admin, status, code, path } of refused) {
    const reply = await gateway.api('POST', '/v1/keys', asked, authorization);
    t.equal(reply.status, status, name);
    t.equal(reply.headers.get('content-type'), 'application/problem+json', name);
    t.match(
      reply.body,
      { code, title: String, detail: String, type: /^urn:/, status, ...(path ? { errors: [{ path }] } : {}) },
      name,
    );
  }
  const registered = await gateway.api(
    'POST',
    '/v1/keys',
    { tenant_id: 'newcomer', name: 'n', default_agent_id: randomUUID() },
    admin,
  );
  t.match(
    registered,
    { status: 201, body: { tenant_id: 'newcomer', env_name: 'default' } },
    'an unknown tenant is registered',
  );
  const foreign = await gateway.api(
    'POST',
    '/v1/keys',
    { tenant_id: 'newcomer', name: 'n', default_agent_id: agentId },
    admin,
  );
  t.match(foreign, { status: 404 }, 'an agent of another tenant does not exist');
});

t.test('a scan answers every field of the specification', async (t) => {
  const gateway = await startTestGateway(t);
  const clean = await gateway.api('POST', '/v1/scan', {
    method: 'post',
    url: 'https://api.github.com/repos/acme/app/issues',
    body: { title: 'x' },
  });
  t.match(clean, {
    status: 200,
    body: {
      decision: 'ALLOW',
      risk_score: Number,
      risk_band: 'LOW',
      reason_codes: Array,
      trace_id: /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      tool_name: 'github',
      operation: 'create_issue',
      classifications: [],
      signals: Array,
    },
  });
  t.notOk('sanitized_body' in clean.body || 'approval_id' in clean.body || 'policy_id' in clean.body);

  const secret = awsKeyId();
  for (const body of [{ a: { b: [`x ${secret} y`] } }, `x ${secret} y`, [secret]]) {
    const reply = await gateway.api('POST', '/v1/scan', {
      method: 'POST',
      url: 'https://paste.example.org/',
      body,
    });
    t.match(reply.body, { decision: 'SANITIZE', classifications: ['SECRETS'], risk_band: 'HIGH' });
    t.equal(typeof reply.body.sanitized_body, typeof body, 'the type stays');
    t.equal(Array.isArray(reply.body.sanitized_body), Array.isArray(body));
    t.notMatch(JSON.stringify(reply.body), secret, 'the secret is nowhere in the answer');
    t.match(reply.body.findings[0], { class: 'SECRETS', location: /^body:\$/, confidence: 'high' });
  }
});

t.test('a scan that is not valid is refused with what to change', async (t) => {
  const gateway = await startTestGateway(t);
  const call = { method: 'GET', url: 'https://a.example/' };
  const cases: { name: string; body: unknown; status?: number; path?: string }[] = [
    { name: 'no JSON', body: '{"method":' },
    { name: 'no object', body: '"x"' },
    { name: 'nothing', body: '' },
    { name: 'no method', body: { url: call.url }, path: 'method' },
    { name: 'a method of rubbish', body: { ...call, method: 'GET /' }, path: 'method' },
    { name: 'a relative URL', body: { ...call, url: '/x' }, path: 'url' },
    { name: 'a file URL', body: { ...call, url: 'file:///etc/passwd' }, path: 'url' },
    { name: 'an agent id that is no UUID', body: { ...call, agent_id: 'x' }, path: 'agent_id' },
    { name: 'headers that are no object', body: { ...call, headers: 'x' }, path: 'headers' },
    { name: 'an environment that the key may not use', body: { ...call, env: 'staging' }, status: 403 },
  ];
  for (const { name, body, status = 400, path } of cases) {
    const reply = await gateway.api('POST', '/v1/scan', body);
    t.equal(reply.status, status, name);
    if (path) t.match(reply.body.errors, [{ path }], `${name}: the place is named`);
  }
  const big = await gateway.api('POST', '/v1/scan', { ...call, body: 'x'.repeat(256 * 1024 + 1) });
  t.match(big, {
    status: 413,
    body: { code: 'PAYLOAD_TOO_LARGE', limit_bytes: 256 * 1024, actual_bytes: 256 * 1024 + 1 },
  });
  t.equal(
    (await gateway.api('POST', '/v1/scan', call, `Bearer ${gateway.adminSecret}`)).status,
    401,
    'the admin secret does not scan',
  );
  const plain = await fetch(`${gateway.controlUrl}/v1/scan`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'text/plain' },
    body: '{}',
  });
  t.equal(plain.status, 415);
});

t.test(
  'agents: the key stands for its own, a new UUID is registered, one of another tenant is refused',
  async (t) => {
    const gateway = await startTestGateway(t);
    const call = { method: 'GET', url: 'https://a.example/' };
    const scan = (agent_id: string) => gateway.api('POST', '/v1/scan', { ...call, agent_id });
    t.equal((await scan(agentId)).status, 200);
    const fresh = randomUUID();
    t.equal((await scan(fresh)).status, 200);
    t.equal((await scan(fresh)).status, 200, 'and known from then on');
    const stranger = randomUUID();
    await gateway.mint({ tenant_id: 'other', default_agent_id: stranger });
    t.match(await scan(stranger), { status: 403, body: { code: 'CROSS_TENANT' } });
  },
);

t.test('policies: each apply is a version, the next call is judged by it, mistakes are named', async (t) => {
  const gateway = await startTestGateway(t);
  const rule = {
    rule_id: 'no-github',
    priority: 1,
    match: { tool_name: 'github' },
    condition: {},
    action: 'DENY',
  };
  const call = { method: 'GET', url: 'https://api.github.com/repos/acme/app' };
  const decision = async (): Promise<unknown> => (await gateway.api('POST', '/v1/scan', call)).body;
  t.match(await decision(), { decision: 'ALLOW' });
  const first = await gateway.apply([rule], 'base');
  t.match(first, {
    status: 200,
    body: { policy_id: String, name: 'base', env_name: null, version: 1, rules: [{ rule_id: 'no-github' }] },
  });
  t.match(await decision(), {
    decision: 'DENY',
    policy_id: first.body.policy_id,
    policy_name: 'base',
    reason_codes: ['POLICY_DENY'],
  });
  const second = await gateway.apply([{ ...rule, action: 'ALLOW' }], 'base');
  t.match(second.body, { version: 2, policy_id: first.body.policy_id });
  t.match(await decision(), { decision: 'ALLOW', policy_name: 'base' });
  t.match((await gateway.api('GET', '/v1/policies/by-name/base')).body, {
    version: 2,
    created_by: /^iv_live_/,
    description: '',
  });
  t.equal((await gateway.api('GET', '/v1/policies/by-name/none')).status, 404);

  const typo = await gateway.apply([{ ...rule, condition: { has_dataclass: ['PII'] } }], 'base');
  t.match(typo, {
    status: 400,
    body: { code: 'VALIDATION_FAILED', errors: [{ message: /has_data_class/ }] },
  });
  t.match(
    (await gateway.api('GET', '/v1/policies/by-name/base')).body,
    { version: 2 },
    'a refused apply changes nothing',
  );

  const yaml = await fetch(`${gateway.controlUrl}/v1/policies/apply`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/yaml' },
    body: 'name: from-yaml\nrules:\n  - { rule_id: r, priority: 1, match: {}, condition: {}, action: ALLOW }\n',
  });
  t.equal(yaml.status, 200);

  const versions = await Promise.all(Array.from({ length: 20 }, () => gateway.apply([rule], 'raced')));
  t.same(
    versions.map((it) => it.body.version).sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, i) => i + 1),
    'concurrent applies get consecutive versions',
  );
});

t.test('a key is of no use from an address outside its allowlist', async (t) => {
  const gateway = await startTestGateway(t);
  const { key } = await gateway.mint({ ip_allowlist: ['203.0.113.0/24'] });
  const call = { method: 'GET', url: 'https://a.example/' };
  const refused = { status: 403, body: { code: 'IP_NOT_ALLOWED', reason: 'IP_NOT_ALLOWED' } };
  t.match(await gateway.api('POST', '/v1/scan', call, `Bearer ${key}`), refused);
  t.match(await gateway.api('GET', '/v1/policies/by-name/x', undefined, `Bearer ${key}`), refused);
  const inside = await gateway.mint({ ip_allowlist: ['127.0.0.0/8'] });
  t.match(await gateway.api('POST', '/v1/scan', call, `Bearer ${inside.key}`), { status: 200 });
});

t.test('a destination on the denylist is denied, whatever the policies say', async (t) => {
  const tenants = [
    {
      id: 'acme',
      plan: 'enterprise',
      environments: ['production', 'staging'],
      denylist: ['*.evil.example', 'https://x.good.example/shut/'],
    },
  ];
  const gateway = await startTestGateway(t, { config: { tenants } });
  await gateway.apply([{ rule_id: 'all', priority: 1, match: {}, condition: {}, action: 'ALLOW' }]);
  const scan = (url: string, headers = {}) =>
    gateway.api('POST', '/v1/scan', { method: 'GET', url, headers });
  t.match(await scan('https://x.evil.example/'), {
    body: { decision: 'DENY', reason_codes: ['DENYLISTED'] },
  });
  t.match(await scan('https://x.good.example/', { 'X-Original-URL': '/shut/x' }), {
    body: { decision: 'DENY', reason_codes: ['DENYLISTED'] },
  });
  t.match(await scan('https://x.good.example/'), { body: { decision: 'ALLOW' } });
});

t.test('routes answer what they do not take', async (t) => {
  const gateway = await startTestGateway(t);
  t.match(await gateway.api('GET', '/v1/nothing'), { status: 404, body: { code: 'NOT_FOUND' } });
  t.match(await gateway.api('GET', '/v1/scan'), { status: 405, body: { code: 'METHOD_NOT_ALLOWED' } });
  t.match(await gateway.api('GET', `/v1/approvals/${randomUUID()}/status`), { status: 404 });
  t.match(await gateway.api('GET', '/v1/approvals/__proto__/status'), { status: 404 });
  t.match(await gateway.api('GET', '/healthz', undefined, ''), { status: 200 });
  t.match(await gateway.api('GET', '/readyz', undefined, ''), {
    status: 200,
    body: { status: 'ready', config: { generation: 1, last_error: null } },
  });
  const key = await gateway.mint({ permissions: ['scan'] });
  const reply = await gateway.api(
    'POST',
    '/v1/policies/apply',
    { name: 'x', rules: [] },
    `Bearer ${key.key}`,
  );
  t.match(reply, { status: 403, body: { code: 'FORBIDDEN', reason: 'FORBIDDEN', detail: /policies:write/ } });
  t.match(
    await gateway.api('DELETE', `/v1/keys/${gateway.keyId}`),
    { status: 409, body: { code: 'CONFLICT' } },
    'a key does not revoke itself',
  );
  t.match(await gateway.api('DELETE', `/v1/keys/${randomUUID()}`), { status: 404 });
});

t.test('a secret in the user information of a described URL is found, and its place told', async (t) => {
  const gateway = await startTestGateway(t);
  const token = expandSample('ghp_{crc:36}');
  const { body } = await gateway.api('POST', '/v1/scan', {
    method: 'GET',
    url: `https://x:${token}@a.example/p`,
  });
  t.match(body, { decision: 'DENY', classifications: ['SECRETS'] });
  t.match(
    body.findings.map((it: { location: string }) => it.location),
    ['userinfo'],
  );
  t.notMatch(JSON.stringify(body), token);
  const { body: trace } = await gateway.api('GET', `/v1/traces/${body.trace_id}`);
  t.equal(trace.url, 'https://a.example/p');
});
