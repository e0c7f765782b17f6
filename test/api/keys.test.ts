import { randomUUID } from 'node:crypto';
import t from 'tap';
import { agentId, startTestGateway } from '../support/gateway.ts';

const call = { method: 'POST', url: 'https://api.github.com/repos/acme/app/issues', body: { title: 'x' } };
const bearer = (key: string): string => `Bearer ${key}`;

t.test('keys are listed, shown with their counters, changed and revoked', async (t) => {
  const gateway = await startTestGateway(t);
  const admin = bearer(gateway.adminSecret);
  const { key, key_id: keyId } = await gateway.mint({
    name: 'second',
    per_minute: 600,
    require_nonce: false,
  });
  const isHidden = (body: unknown): void =>
    void t.notOk(JSON.stringify(body).includes(key), 'never its text');

  await gateway.api('POST', '/v1/scan', call, bearer(key));
  const shown = await gateway.api('GET', `/v1/keys/${keyId}`);
  isHidden(shown.body);
  t.match(shown, {
    status: 200,
    body: { key_id: keyId, status: 'active', calls_24h: 1, blocked_attempts: 0, per_minute: 600 },
  });
  t.match(shown.body.last_seen, /^\d{4}-\d\d-\d\dT/);

  const first = await gateway.api('GET', '/v1/keys?limit=1');
  t.match(first.body, { items: [{ key_id: keyId, name: 'second' }], next_cursor: String });
  const second = await gateway.api(
    'GET',
    `/v1/keys?limit=1&cursor=${encodeURIComponent(first.body.next_cursor)}`,
  );
  t.match(second.body.items, [{ key_id: gateway.keyId }]);
  isHidden(first.body);

  t.match(await gateway.api('PATCH', `/v1/keys/${keyId}`, { name: 'x' }), {
    status: 403,
    body: { code: 'FORBIDDEN' },
  });
  const change = { name: 'renamed', description: 'd', ip_allowlist: ['10.0.0.0/8'] };
  t.match(await gateway.api('PATCH', `/v1/keys/${keyId}`, change, admin), { status: 200, body: change });
  t.match(await gateway.api('POST', '/v1/scan', call, bearer(key)), {
    status: 403,
    body: { code: 'IP_NOT_ALLOWED', trace_id: String },
  });
  t.match(await gateway.api('GET', '/v1/usage', undefined, bearer(key)), {
    status: 403,
    body: { code: 'IP_NOT_ALLOWED' },
  });
  const blocked = await gateway.api('GET', `/v1/keys/${keyId}`);
  t.match(
    blocked.body,
    { blocked_attempts: 2, calls_24h: 1 },
    'calls and management requests count as attempts',
  );
  t.match(await gateway.api('PATCH', `/v1/keys/${keyId}`, { ip_allowlist: null }, admin), {
    body: { ip_allowlist: null, name: 'renamed' },
  });

  t.match(
    await gateway.api('DELETE', `/v1/keys/${gateway.keyId}`),
    { status: 409, body: { code: 'CONFLICT' } },
    'not by itself',
  );
  for (const round of ['once', 'again'])
    t.match(
      await gateway.api('DELETE', `/v1/keys/${keyId}`),
      { status: 200, body: { status: 'revoked', key_id: keyId } },
      round,
    );
  t.match(await gateway.api('POST', '/v1/scan', call, bearer(key)), {
    status: 401,
    body: { code: 'INVALID_KEY', trace_id: String },
  });
  t.match(
    await gateway.api('POST', '/v1/scan', '{', bearer(key)),
    { status: 401 },
    'a refused key learns nothing of its request',
  );

  const history = await gateway.api('GET', `/v1/keys/${keyId}/audit`);
  const kinds = history.body.items.map((it: { kind: string }) => it.kind);
  t.strictSame(
    kinds,
    ['key.revoked', 'key.updated', 'key.updated', 'key.created'],
    'newest first, once each',
  );
  t.match(history.body.items[0], {
    operator: gateway.key.slice(0, 12),
    subject: keyId,
    at: String,
    details: { prefix: key.slice(0, 12) },
  });
  isHidden(history.body);

  for (const path of [`/v1/keys/${randomUUID()}`, '/v1/keys/x', `/v1/keys/${randomUUID()}/audit`])
    t.match(await gateway.api('GET', path), { status: 404, body: { code: 'NOT_FOUND' } }, path);
  for (const query of ['limit=0', 'limit=1001', 'limit=x', 'cursor=%00', 'limit=1&limit=2'])
    t.match(await gateway.api('GET', `/v1/keys?${query}`), { status: 400, body: { errors: Array } }, query);
});

t.test('an ephemeral key is what its parent is, for as long and as often as it was asked', async (t) => {
  const gateway = await startTestGateway(t);
  const parent = await gateway.mint({
    name: 'parent',
    ip_allowlist: ['127.0.0.0/8', '::1'],
    env_names: ['staging'],
  });
  const ask = (body: unknown, key = parent.key) =>
    gateway.api('POST', '/v1/keys/ephemeral', body, bearer(key));
  const beforeMs = Date.now();
  const made = await ask({ max_uses: 2, scope: { tools: ['github'], verbs: ['WRITE'] }, description: 'd' });
  t.match(made, {
    status: 201,
    body: {
      key: /^iv_eph_[0-9A-Za-z]{49}$/,
      ephemeral_id: made.body.key_id,
      prefix: made.body.key.slice(0, 12),
      max_uses: 2,
      scope: { tools: ['github'], verbs: ['WRITE'] },
      type: 'ephemeral',
      permissions: ['scan'],
      tenant_id: 'acme',
      env_name: 'production',
      default_agent_id: agentId,
      ip_allowlist: ['127.0.0.0/8', '::1'],
    },
  });
  const livesMs = Date.parse(made.body.expires_at) - beforeMs;
  t.ok(livesMs >= 600_000 && livesMs < 660_000, 'ten minutes by default');

  const use = (key: string, url = call.url) => gateway.api('POST', '/v1/scan', { ...call, url }, bearer(key));
  const outside = await use(made.body.key, 'https://slack.com/api/chat.postMessage');
  t.match(outside, {
    status: 200,
    body: { decision: 'DENY', reason_codes: ['EPHEMERAL_SCOPE_VIOLATION'], violations: [/slack/] },
  });
  t.match(await use(made.body.key), { status: 200, body: { decision: 'ALLOW' } });
  t.match(
    await use(made.body.key),
    { status: 401, body: { code: 'INVALID_KEY' } },
    'what was out of scope has spent a use',
  );
  t.match(await gateway.api('GET', `/v1/keys/${made.body.key_id}`), {
    body: { status: 'expired', expired_reason: 'max_uses' },
  });

  const free = (await ask(undefined)).body;
  t.match(free, { max_uses: null, scope: null }, 'nothing needs to be asked for');
  for (let i = 0; i < 3; i++) t.match(await use(free.key), { status: 200 }, 'unlimited within its lifetime');
  t.match(await ask({}, free.key), { status: 403, body: { code: 'FORBIDDEN', detail: /keys:ephemeral/ } });
  t.match(await gateway.api('DELETE', `/v1/keys/${parent.key_id}`, undefined, bearer(free.key)), {
    status: 403,
  });
  t.match(await gateway.api('DELETE', `/v1/keys/${parent.key_id}`), { status: 200 });
  t.match(await use(free.key), { status: 401 }, 'it dies with its parent');
  t.match(await gateway.api('GET', `/v1/keys/${free.key_id}`), { body: { status: 'revoked' } });

  const refused: { name: string; body: unknown; path: string }[] = [
    { name: 'no time at all', body: { ttl_seconds: 0 }, path: 'ttl_seconds' },
    { name: 'years', body: { ttl_seconds: 1e9 }, path: 'ttl_seconds' },
    { name: 'half a second', body: { ttl_seconds: 0.5 }, path: 'ttl_seconds' },
    { name: 'no use', body: { max_uses: 0 }, path: 'max_uses' },
    { name: 'too many uses', body: { max_uses: 1001 }, path: 'max_uses' },
    { name: 'a scope of the wrong type', body: { scope: 'github' }, path: 'scope' },
    { name: 'tools of the wrong type', body: { scope: { tools: 'github' } }, path: 'scope.tools' },
    { name: 'an unknown verb', body: { scope: { verbs: ['FLY'] } }, path: 'scope.verbs.0' },
  ];
  for (const { name, body, path } of refused)
    t.match(
      await gateway.api('POST', '/v1/keys/ephemeral', body),
      { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } },
      name,
    );
  t.match(await ask({}, gateway.adminSecret), { status: 401 }, 'not with the admin secret');
  const blind = await gateway.mint({ name: 'blind', permissions: ['keys:ephemeral'] });
  t.match(
    await ask({}, blind.key),
    { status: 403, body: { detail: /"scan"/ } },
    'it may not do what its parent may not',
  );
});

t.test('every route names the permission that is lacking', async (t) => {
  const gateway = await startTestGateway(t);
  const { key: bare } = await gateway.mint({ name: 'bare', permissions: [] });
  const { key: all } = await gateway.mint({ name: 'all', permissions: ['admin'] });
  const id = randomUUID();
  const cases: { method: string; path: string; permission: string; body?: unknown }[] = [
    { method: 'GET', path: '/v1/keys', permission: 'keys:read' },
    { method: 'GET', path: `/v1/keys/${id}`, permission: 'keys:read' },
    { method: 'GET', path: `/v1/keys/${id}/audit`, permission: 'keys:read' },
    { method: 'PATCH', path: `/v1/keys/${id}`, permission: 'admin', body: {} },
    { method: 'POST', path: '/v1/keys', permission: 'admin', body: {} },
    { method: 'DELETE', path: `/v1/keys/${id}`, permission: 'keys:revoke' },
    { method: 'POST', path: '/v1/keys/ephemeral', permission: 'keys:ephemeral', body: {} },
    { method: 'GET', path: '/v1/usage', permission: 'usage:read' },
    { method: 'GET', path: '/v1/traces', permission: 'activity:read' },
    { method: 'GET', path: `/v1/traces/${id}`, permission: 'activity:read' },
    { method: 'GET', path: '/v1/audit', permission: 'activity:read' },
    { method: 'GET', path: '/v1/agents', permission: 'activity:read' },
    { method: 'PATCH', path: `/v1/agents/${id}`, permission: 'agents:write', body: {} },
    { method: 'POST', path: `/v1/agents/${id}/suspend`, permission: 'agents:write' },
    { method: 'POST', path: `/v1/agents/${id}/reactivate`, permission: 'agents:write' },
    { method: 'POST', path: `/v1/agents/${id}/reset-trust`, permission: 'agents:write' },
    { method: 'GET', path: '/v1/approvals', permission: 'approvals:decide' },
    { method: 'POST', path: `/v1/approvals/${id}/decision`, permission: 'approvals:decide', body: {} },
    { method: 'GET', path: '/v1/incidents', permission: 'incidents:write' },
    { method: 'POST', path: '/v1/incidents', permission: 'incidents:write', body: {} },
    { method: 'POST', path: `/v1/incidents/${id}/transition`, permission: 'incidents:write', body: {} },
    { method: 'POST', path: `/v1/incidents/${id}/notes`, permission: 'incidents:write', body: {} },
    { method: 'GET', path: '/v1/policies/by-name/x', permission: 'policies:read' },
    { method: 'POST', path: '/v1/policies/apply', permission: 'policies:write', body: {} },
    { method: 'POST', path: '/v1/scan', permission: 'scan', body: call },
    { method: 'POST', path: '/v1/scan/response', permission: 'scan', body: {} },
  ];
  for (const { method, path, permission, body } of cases) {
    const reply = await gateway.api(method, path, body, bearer(bare));
    t.match(reply, { status: 403, body: { code: 'FORBIDDEN', reason: 'FORBIDDEN' } }, `${method} ${path}`);
    t.match(reply.body.detail, `"${permission}"`, `${method} ${path} names it`);
    t.not(
      (await gateway.api(method, path, body, bearer(all))).status,
      403,
      `${method} ${path} is open to admin`,
    );
  }
});

t.test('the admin secret acts for the tenant that is named', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { tenants: [{ id: 'acme', environments: ['production'] }, { id: 'other' }] },
  });
  const admin = bearer(gateway.adminSecret);
  const ask = (path: string) => gateway.api('GET', path, undefined, admin);
  t.match(
    await ask('/v1/usage'),
    { status: 400, body: { errors: [{ path: 'tenant_id' }] } },
    'one of several must be named',
  );
  t.match(await ask('/v1/usage?tenant_id=other'), {
    status: 200,
    body: { tenant_id: 'other', scans_limit: 1000 },
  });
  t.match(await ask('/v1/usage?tenant_id=nobody'), { status: 404 });
  t.match(
    await gateway.api('GET', '/v1/usage?tenant_id=other'),
    { status: 403, body: { code: 'FORBIDDEN' } },
    'a key has its own',
  );
  t.match(
    await ask(`/v1/keys/${gateway.keyId}?tenant_id=other`),
    { status: 404 },
    'what is of another tenant does not exist',
  );
  t.match(await ask(`/v1/keys/${gateway.keyId}?tenant_id=acme`), { status: 200 });
  for (const path of ['/v1/scan', '/v1/scan/response', '/v1/a2a/scan', '/v1/keys/ephemeral'])
    t.match(
      await gateway.api('POST', path, call, admin),
      { status: 401, body: { code: 'INVALID_KEY' } },
      path,
    );
});
