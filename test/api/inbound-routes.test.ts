import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startGateway } from '../../src/daemon/gateway.ts';
import { basic, openSecureTunnel, send } from '../support/clients.ts';
import { agentId, apiClient, startTestGateway } from '../support/gateway.ts';
import { startUpstream, type UpstreamHandler } from '../support/upstream.ts';

const routesPath = '/v1/inbound-routes';

async function startLab(t: Test, config: object = {}, handler?: UpstreamHandler) {
  const upstream = await startUpstream(t, handler);
  const gateway = await startTestGateway(t, { upstream, config: { ...config } });
  const admin = `Bearer ${gateway.adminSecret}`;
  const base = { upstream: `https://api.test.example:${upstream.port}/base` };
  const call = async (path: string, headers: Record<string, string> = {}) => {
    const asked = http.request(new URL(path, gateway.controlUrl), { headers, agent: false });
    const answered = once(asked, 'response') as Promise<[http.IncomingMessage]>;
    asked.end();
    const [answer] = await answered;
    await answer.resume().toArray();
    return { status: answer.statusCode ?? 0, headers: answer.headers };
  };
  const api = (method: string, path: string, body?: unknown) => gateway.api(method, path, body, admin);
  return { gateway, upstream, base, call, api, ownKey: { authorization: `Bearer ${gateway.key}` } };
}

t.test('a route is made, followed, replaced and deleted, each from the next call on', async (t) => {
  const { gateway, upstream, base, call, api, ownKey } = await startLab(t);
  t.equal((await call('/inbound/crm/items', ownKey)).status, 404);
  const made = await api('POST', routesPath, { prefix: 'crm', ...base, allowed_methods: ['GET'] });
  t.match(made, {
    status: 201,
    body: {
      prefix: 'crm',
      tenant_id: 'acme',
      url: `${gateway.controlUrl}/inbound/crm`,
      upstream: base.upstream,
      agent: null,
      auth: { type: 'key' },
      allowed_methods: ['GET'],
      source: 'api',
      created_at: String,
      warnings: [],
    },
  });
  const answer = await call('/inbound/crm/items?a=1', ownKey);
  t.match(answer, { status: 200, headers: { 'x-service-decision': 'ALLOW' } });
  t.equal(upstream.requests.at(-1)?.url, '/base/items?a=1');
  t.same((await api('GET', `${routesPath}/crm`)).body, made.body);
  t.same((await api('GET', routesPath)).body.items, [made.body]);

  const changed = await api('PUT', `${routesPath}/crm`, { ...base, allowed_paths: ['/v2/**'] });
  t.match(changed, { status: 200, body: { allowed_paths: ['/v2/**'], allowed_methods: [] } });
  t.equal(changed.body.created_at, made.body.created_at);
  t.equal((await call('/inbound/crm/items', ownKey)).status, 404);
  t.equal((await call('/inbound/crm/v2/items', ownKey)).status, 200);

  t.match(await api('DELETE', `${routesPath}/crm`), { status: 200, body: { status: 'deleted' } });
  t.equal((await call('/inbound/crm/v2/items', ownKey)).status, 404);
  for (const [method, body] of [['GET'], ['PUT', base], ['DELETE']] as const)
    t.equal((await api(method, `${routesPath}/crm`, body)).status, 404, method);
  const { items } = (await api('GET', '/v1/audit?limit=1000')).body;
  const kinds = items.map((it: { kind: string }) => it.kind).filter((it: string) => it.startsWith('route.'));
  t.same(kinds.toSorted(), ['route.changed', 'route.created', 'route.deleted']);
});

t.test('its callers may be known by a token, by their address, or not at all', async (t) => {
  const { gateway, upstream, base, call, api } = await startLab(t);
  const token = randomBytes(20).toString('hex');
  const own = { ...base, agent: agentId };
  const byToken = { type: 'token', header: 'X-Hook', value: token };
  const made = await api('POST', routesPath, { prefix: 'hook', ...own, auth: byToken });
  t.match(made, { status: 201, body: { auth: { type: 'token', header: 'X-Hook' } } });
  const shown = [made, await api('GET', routesPath), await api('GET', '/v1/audit?limit=1000')];
  t.notMatch(JSON.stringify(shown.map((it) => it.body)), token, 'what they show is never shown');
  t.equal((await call('/inbound/hook/a', { 'X-Hook': token })).status, 200);
  t.notMatch(JSON.stringify(upstream.requests.at(-1)?.rawHeaders), token);
  t.equal((await call('/inbound/hook/a', { 'X-Hook': 'wrong' })).status, 401);

  await api('POST', routesPath, { prefix: 'near', ...own, auth: { type: 'ip', allow: ['127.0.0.0/8'] } });
  await api('POST', routesPath, { prefix: 'far', ...own, auth: { type: 'ip', allow: ['10.0.0.0/8'] } });
  t.equal((await call('/inbound/near/a')).status, 200);
  t.equal((await call('/inbound/far/a')).status, 401);
  const open = await api('POST', routesPath, { prefix: 'open', ...own, auth: 'none' });
  t.match(open.body.warnings, [/anybody/i]);
  const answer = await call('/inbound/open/a');
  t.equal(answer.status, 200);
  const trace = await api('GET', `/v1/traces/${answer.headers['x-service-trace-id']}`);
  t.equal(trace.body.agent_id, agentId, 'the agent of the route makes the call');

  t.equal((await api('PUT', `${routesPath}/open`, { ...own, auth: 'key' })).status, 200);
  t.equal((await call('/inbound/open/a')).status, 401);
  t.equal((await api('PUT', `${routesPath}/open`, { ...own, auth: 'none' })).status, 200);
  t.equal((await call('/inbound/open/a')).status, 200, 'and open again');
  const keys = (await api('GET', '/v1/keys?limit=1000')).body.items.map((it: { name: string }) => it.name);
  t.notOk(
    keys.some((it: string) => it.startsWith('inbound ')),
    'the keys that stand for them are not among those of the API',
  );
  await api('DELETE', `${routesPath}/open`);
  await api('POST', routesPath, { prefix: 'open', ...own, auth: 'none' });
  t.equal((await call('/inbound/open/a')).status, 200, 'a route that is made again works again');
  await gateway.reload();
  t.equal((await call('/inbound/open/a')).status, 200, 'after a reload as well');
});

t.test('a route whose token cannot be opened any more is shown, and keeps no other from being', async (t) => {
  const { gateway, base, call, api, ownKey } = await startLab(t);
  const own = { ...base, agent: agentId };
  const auth = { type: 'token', header: 'X-Hook', value: randomBytes(20).toString('hex') };
  await api('POST', routesPath, { prefix: 'crm', ...base });
  const { body: made } = await api('POST', routesPath, { prefix: 'hook', ...own, auth });
  await api('POST', routesPath, { prefix: 'lost', ...own, auth });
  await gateway.stop();
  rmSync(join(gateway.dir, 'data/vault-key'));
  const again = await startGateway(gateway.configFile, {});
  t.teardown(() => again.stop(1000));
  const admin = `Bearer ${gateway.adminSecret}`;
  const client = apiClient(again.controlUrl);
  const { status, body } = await client('GET', routesPath, undefined, admin);
  t.equal(status, 200);
  t.same(
    body.items.map((it: { prefix: string }) => it.prefix),
    ['crm', 'hook', 'lost'],
  );
  const [crm, hook] = body.items;
  t.same(crm.warnings, []);
  t.match(hook, { auth: { type: 'token', header: 'X-Hook' }, warnings: [/cannot be opened .* replaced/] });
  t.same({ ...hook, url: made.url, warnings: [] }, made, 'all else is as it was');
  t.same((await client('GET', `${routesPath}/hook`, undefined, admin)).body, hook);
  t.ok(await again.reload());
  const at = (path: string) => new URL(path, again.controlUrl).href;
  t.equal((await call(at('/inbound/crm/a'), ownKey)).status, 200);
  t.equal((await call(at('/inbound/hook/a'), { 'X-Hook': auth.value })).status, 502);
  const replaced = await client('PUT', `${routesPath}/hook`, { ...own, auth }, admin);
  t.match(replaced, { status: 200, body: { warnings: [] } });
  t.equal((await call(at('/inbound/hook/a'), { 'X-Hook': auth.value })).status, 200);
  t.equal((await client('DELETE', `${routesPath}/lost`, undefined, admin)).status, 200);
});

t.test('what cannot be is refused, with the field that is wrong', async (t) => {
  const { base, api } = await startLab(t, {
    tenants: [{ id: 'acme', environments: ['production', 'staging'] }, { id: 'other' }],
    inbound: [{ prefix: 'written', tenant: 'acme', upstream: 'https://api.test.example' }],
  });
  const path = `${routesPath}?tenant_id=acme`;
  const wrong: readonly (readonly [object, string | RegExp])[] = [
    [{ prefix: 'UPPER' }, 'prefix'],
    [{ prefix: 'a/b' }, 'prefix'],
    [{ upstream: 'ftp://api.test.example' }, 'upstream'],
    [{ upstream: 'https://user:pass@api.test.example' }, 'upstream'],
    [{ upstream: 'https://api.test.example/?a=1' }, 'upstream'],
    [{ upstream: 'https://169.254.169.254/latest' }, 'upstream'],
    [{ agent: 'support-bot' }, 'agent'],
    [{ agent: randomUUID() }, 'agent'],
    [{ tool: 'gihtub' }, 'tool'],
    [{ credential: 'nobody-has-set-it' }, 'credential'],
    [{ auth: 'none' }, 'agent'],
    [{ agent: agentId, auth: { type: 'token', value: 'abc' } }, 'auth'],
    [{ agent: agentId, auth: { type: 'ip', allow: ['somewhere'] } }, /auth/],
    [{ allowed_path: ['/v1/**'] }, ''],
    [{ max_body_bytes: 'much' }, 'max_body_bytes'],
    [{ response_scan: { mode: 'sometimes' } }, /response_scan/],
  ];
  for (const [fields, field] of wrong) {
    const answer = await api('POST', path, { tenant_id: 'acme', prefix: 'crm', ...base, ...fields });
    t.match(answer, { status: 400, body: { code: 'VALIDATION_FAILED' } }, JSON.stringify(fields));
    t.match(answer.body.errors?.[0]?.path, field, JSON.stringify(fields));
  }
  const inTenant = (tenantId: string, prefix: string) => ({ tenant_id: tenantId, prefix, ...base });
  t.match(await api('POST', routesPath, inTenant('acme', 'written')), { status: 409 });
  t.match(await api('PUT', `${routesPath}/written`, { tenant_id: 'acme', ...base }), { status: 409 });
  t.match(await api('DELETE', `${routesPath}/written?tenant_id=acme`), { status: 409 });
  t.match(await api('GET', `${routesPath}/written?tenant_id=acme`), {
    status: 200,
    body: { source: 'file' },
  });
  t.match(await api('POST', routesPath, inTenant('acme', 'crm')), { status: 201 });
  t.match(await api('POST', routesPath, inTenant('acme', 'crm')), { status: 409 });
  t.match(await api('POST', routesPath, inTenant('other', 'crm')), { status: 409 }, 'unique over tenants');
  t.match(await api('GET', `${routesPath}/crm?tenant_id=other`), { status: 404 });
  t.match(await api('DELETE', `${routesPath}/crm?tenant_id=other`), { status: 404 });
});

t.test('a key needs the permission, and another one to send a credential', async (t) => {
  const { gateway, base, api } = await startLab(t);
  const as = async (...permissions: string[]) => {
    const { key } = await gateway.mint({ name: permissions.join(), permissions });
    return (method: string, path: string, body?: unknown) => gateway.api(method, path, body, `Bearer ${key}`);
  };
  const secret = randomBytes(20).toString('hex');
  await api('PUT', '/v1/credentials/crm', { type: 'bearer', secret: { value: secret } });
  const [scanner, maker, keeper] = [
    await as('scan'),
    await as('routes:write'),
    await as('routes:write', 'credentials:write'),
  ];
  const withCredential = { prefix: 'crm', ...base, credential: 'crm' };
  t.match(await scanner('GET', routesPath), { status: 403, body: { code: 'FORBIDDEN' } });
  t.match(await scanner('POST', routesPath, { prefix: 'plain', ...base }), { status: 403 });
  t.match(await maker('POST', routesPath, { prefix: 'plain', ...base }), { status: 201 });
  t.match(await maker('POST', routesPath, withCredential), {
    status: 403,
    body: { detail: /credentials:write/ },
  });
  t.match(await keeper('POST', routesPath, withCredential), { status: 201 });
  t.match(await maker('PUT', `${routesPath}/crm`, { upstream: 'https://evil.example', credential: 'crm' }), {
    status: 403,
  });
});

t.test('a key makes no route for an agent of an environment that it may not name', async (t) => {
  const stagingId = randomUUID();
  const { gateway, base, api } = await startLab(t, {
    agents: [
      { id: agentId, tenant: 'acme', env: 'production', name: 'support-bot' },
      { id: stagingId, tenant: 'acme', env: 'staging', name: 'trial-bot' },
    ],
  });
  const as = async (fields: object) => {
    const { key } = await gateway.mint({ default_agent_id: stagingId, ...fields });
    return (method: string, path: string, body?: unknown) => gateway.api(method, path, body, `Bearer ${key}`);
  };
  const trial = await as({ permissions: ['routes:write'] });
  const both = await as({ permissions: ['routes:write'], env_names: ['staging', 'production'] });
  const admin = await as({ permissions: ['admin'] });
  const open = { ...base, auth: 'none' };
  const ofProduction = { ...open, agent: agentId };
  const refused = { status: 403, body: { code: 'CROSS_ENVIRONMENT' } };
  t.match(await trial('POST', routesPath, { prefix: 'own', ...open, agent: stagingId }), { status: 201 });
  t.match(await trial('POST', routesPath, { prefix: 'live', ...ofProduction }), refused);
  t.match(await trial('PUT', `${routesPath}/own`, ofProduction), refused);
  t.match(await both('POST', routesPath, { prefix: 'live', ...ofProduction }), { status: 201 });
  t.match(
    await trial('PUT', `${routesPath}/live`, { ...open, agent: stagingId }),
    refused,
    'nor takes its place',
  );
  t.match(await trial('DELETE', `${routesPath}/live`), refused);
  t.match(await admin('PUT', `${routesPath}/live`, ofProduction), { status: 200 });
  const written = { ...ofProduction, agent: agentId.toUpperCase() };
  t.match(await api('PUT', `${routesPath}/live`, written), { status: 200 });
  t.match(await trial('DELETE', `${routesPath}/live`), refused, 'however it is written');
});

t.test('a route sends its credential, which comes back to nobody', async (t) => {
  const secret = `s${randomBytes(20).toString('hex')}`;
  const { gateway, upstream, base, call, api, ownKey } = await startLab(t, {}, (_, response) => {
    response.end(secret);
  });
  await api('PUT', '/v1/credentials/crm', { type: 'bearer', secret: { value: secret } });
  const made = { prefix: 'crm', ...base, credential: 'crm' };
  t.match(await api('POST', routesPath, made), { status: 201, body: { credential: 'crm' } });
  t.equal((await call('/inbound/crm/a', ownKey)).status, 200);
  t.equal(upstream.requests.at(-1)?.headers.authorization, `Bearer ${secret}`);

  const tunnel = await openSecureTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority: `api.test.example:${upstream.port}`,
    ca: readFileSync(gateway.caFile, 'utf8'),
  });
  t.teardown(() => tunnel.destroy());
  const host = `api.test.example:${upstream.port}`;
  const proxied = await send(tunnel, { path: '/echo', headers: { host } });
  t.equal(String(proxied.body), '[REDACTED:credential]', 'nor by another way to the same host');

  await api('DELETE', '/v1/credentials/crm');
  const asked = upstream.requests.length;
  t.equal((await call('/inbound/crm/a', ownKey)).status, 502, 'it goes not without');
  t.equal(upstream.requests.length, asked);
  await api('PUT', '/v1/credentials/crm', { type: 'bearer', secret: { value: `${secret}2` } });
  t.equal((await call('/inbound/crm/a', ownKey)).status, 200);
  t.equal(upstream.requests.at(-1)?.headers.authorization, `Bearer ${secret}2`);
});
