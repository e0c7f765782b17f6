import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { keyDigest, keyPrefix, newKeyText } from '../../src/core/key-text.ts';
import { sessionsPerSecretMax } from '../../src/state/rules/sessions.ts';
import { adminSecret, denyDeletes, startTestGateway, type TestGateway } from '../support/gateway.ts';

interface Ask {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks as a browser does: with a cookie, and without `Authorization`. */
function browserOf({ controlUrl }: Pick<TestGateway, 'controlUrl'>) {
  return async (path: string, { method = 'GET', body, headers = {} }: Ask = {}) => {
    const response = await fetch(new URL(path, controlUrl), {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked into field by field
    const answered: any = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, body: answered };
  };
}

const cookieIn = (headers: Headers): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? '';

async function signIn(gateway: TestGateway, secret: string, headers: Readonly<Record<string, string>> = {}) {
  const ask = browserOf(gateway);
  const answer = await ask('/v1/console/sessions', { method: 'POST', body: { secret }, headers });
  if (answer.status !== 201) throw new Error(`signing in answered ${answer.status}: ${answer.body.detail}`);
  const cookie = cookieIn(answer.headers);
  const csrf: string = answer.body.csrf_token;
  return {
    answer,
    cookie,
    csrf,
    sessionId: answer.body.session_id as string,
    get: (path: string, more: Readonly<Record<string, string>> = {}) =>
      ask(path, { headers: { cookie, ...more } }),
    change: (method: string, path: string, body?: unknown, more: Readonly<Record<string, string>> = {}) =>
      ask(path, { method, body, headers: { cookie, 'x-postern-csrf': csrf, ...more } }),
  };
}

const note = { name: 'by-cookie', rules: [denyDeletes] };

t.test('whoever signs in acts with a cookie as with the secret', async (t) => {
  const gateway = await startTestGateway(t);
  const ask = browserOf(gateway);
  const key = await signIn(gateway, gateway.key);
  const [value = '', ...flags] = (key.answer.headers.get('set-cookie') ?? '').split('; ');
  t.same(flags, ['Path=/', 'HttpOnly', 'SameSite=Strict'], 'in plain text a cookie is not marked Secure');
  t.match(
    value,
    /^postern_session_[0-9a-f]{8}=acme\.[0-9a-f-]{36}\.[A-Za-z0-9_-]{43}$/,
    'with 256 random bits',
  );
  t.match(key.answer.headers.get('cache-control'), 'no-store');
  t.match(key.answer.body, { role: 'developer', tenant_id: 'acme', subject: keyPrefix(gateway.key) });
  t.same((await key.get('/v1/console/sessions/current')).body, key.answer.body, 'a page that is loaded anew');
  t.match(await key.get('/v1/keys'), { status: 200, body: { items: { length: 1 } } });
  t.match(await key.change('POST', '/v1/policies/apply', note), { status: 200, body: { version: 1 } });
  const call = { method: 'GET', url: 'https://api.example.org/' };
  t.match(await key.change('POST', '/v1/scan', call), { status: 200 }, 'calls too');
  t.match(await key.get('/v1/console/sessions'), { status: 403 }, 'sessions are for an admin');

  const admin = await signIn(gateway, adminSecret);
  t.match(admin.answer.body, { role: 'admin', tenant_id: 'acme', subject: 'admin' });
  t.match(await admin.change('POST', '/v1/scan', call), { status: 403 }, 'what is for keys ends no session');
  t.match(await admin.change('POST', '/v1/keys', { name: 'k', default_agent_id: gateway.agentId }), {
    status: 201,
  });
  const { items } = (await admin.get('/v1/console/sessions')).body;
  t.match(items, [{ subject: 'admin', is_current: true }, { subject: keyPrefix(gateway.key) }]);
  t.notMatch(JSON.stringify(items), /token|hash|secret/);

  t.match(await admin.change('DELETE', `/v1/console/sessions/${key.sessionId}`), { status: 204 });
  t.match(await key.get('/v1/keys'), { status: 401, body: { code: 'INVALID_KEY' } });
  t.match(await admin.change('DELETE', `/v1/console/sessions/${key.sessionId}`), { status: 404 });
  const out = await admin.change('DELETE', '/v1/console/sessions/current');
  t.match(out, { status: 204, body: undefined });
  t.match(out.headers.get('set-cookie'), /^postern_session_[0-9a-f]{8}=; .*Max-Age=0/);
  t.match(await admin.get('/v1/keys'), { status: 401 });
  t.match(await ask('/v1/console/sessions/current'), { status: 401 }, 'there is no session');
  t.match(
    await gateway.api('GET', '/v1/console/sessions/current'),
    { status: 401 },
    'a key by itself has none',
  );

  const { body: log } = await gateway.api('GET', '/v1/audit');
  const kinds = log.items
    .map((it: { kind: string }) => it.kind)
    .filter((it: string) => it.startsWith('session'));
  t.same(kinds, ['session.closed', 'session.revoked', 'session.opened', 'session.opened']);
  const state = readFileSync(join(gateway.dir, 'data', 'state.db-wal'), 'latin1');
  for (const it of [key, admin]) {
    const token = it.cookie.split('.')[2] ?? '';
    t.notOk(state.includes(token), 'the state has no token');
    t.notOk(state.includes(it.csrf), 'and no CSRF token');
    t.notOk(JSON.stringify(log).includes(token));
  }
});

t.test('another site changes nothing, and reads nothing', async (t) => {
  const gateway = await startTestGateway(t);
  const ask = browserOf(gateway);
  const session = await signIn(gateway, gateway.key);
  const apply = (headers: Readonly<Record<string, string>>) =>
    ask('/v1/policies/apply', {
      method: 'POST',
      body: note,
      headers: { cookie: session.cookie, ...headers },
    });
  const own = { 'x-postern-csrf': session.csrf };
  const other = await signIn(gateway, gateway.key);
  const cases: { name: string; headers: Record<string, string> }[] = [
    { name: 'no CSRF token', headers: {} },
    { name: 'an empty one', headers: { 'x-postern-csrf': '' } },
    { name: 'the one of another session', headers: { 'x-postern-csrf': other.csrf } },
    { name: 'a foreign Origin', headers: { ...own, origin: 'https://evil.example' } },
    { name: 'another port', headers: { ...own, origin: 'http://127.0.0.1:1' } },
    { name: 'an opaque Origin', headers: { ...own, origin: 'null' } },
    { name: 'another site', headers: { ...own, 'sec-fetch-site': 'cross-site' } },
    { name: 'another port of the same site', headers: { ...own, 'sec-fetch-site': 'same-site' } },
  ];
  for (const { name, headers } of cases)
    t.match(await apply(headers), { status: 403, body: { code: 'FORBIDDEN' } }, name);
  t.match(await gateway.api('GET', '/v1/policies'), { body: { items: { length: 0 } } });
  for (const it of ['cross-site', 'same-site'])
    t.match(await session.get('/v1/keys', { 'sec-fetch-site': it }), { status: 403 }, 'nor is it read');
  const { host } = new URL(gateway.controlUrl);
  t.match(await apply({ ...own, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }), {
    status: 200,
  });
  t.match(await apply({ ...own, origin: `http://${host}` }), { status: 200 });
  const behind = { origin: 'https://gate.example', 'x-forwarded-host': 'gate.example' };
  t.match(await apply({ ...own, ...behind }), { status: 200 }, 'behind a proxy that tells its name');

  const foreign = await ask('/v1/console/sessions', {
    method: 'POST',
    body: { secret: gateway.key },
    headers: { origin: 'https://evil.example' },
  });
  t.match(foreign, { status: 403 }, 'nobody is signed in by another site');
  t.equal(foreign.headers.get('set-cookie'), null);
  const tls = await signIn(gateway, gateway.key, behind);
  t.match(
    tls.answer.headers.get('set-cookie'),
    /^__Host-postern_session_.*; Path=\/; .*; Secure$/,
    'behind TLS',
  );
});

t.test('a session can do what its secret can do now', async (t) => {
  const gateway = await startTestGateway(t);
  const ask = browserOf(gateway);
  const reads = ['activity:read', 'policies:read', 'keys:read', 'usage:read'];
  const asAdmin = (method: string, path: string, body?: unknown) =>
    gateway.api(method, path, body, `Bearer ${adminSecret}`);
  const roles: { permissions: string[]; role: string }[] = [
    { permissions: ['admin'], role: 'admin' },
    { permissions: [...reads, 'policies:write'], role: 'developer' },
    { permissions: [...reads, 'approvals:decide'], role: 'reviewer' },
    { permissions: reads, role: 'auditor' },
  ];
  for (const { permissions, role } of roles) {
    const { key } = await gateway.mint({ permissions });
    t.match((await signIn(gateway, key)).answer.body, { role });
  }

  const auditor = await gateway.mint({ permissions: reads });
  const session = await signIn(gateway, auditor.key);
  const changes: [string, string, unknown?][] = [
    ['POST', '/v1/policies/apply', note],
    ['DELETE', '/v1/policies/by-name/x'],
    ['POST', '/v1/agents/suspend', {}],
    ['POST', `/v1/agents/${gateway.agentId}/suspend`, {}],
    ['POST', '/v1/incidents', { title: 'x', severity: 'low' }],
    ['POST', '/v1/approvals/8b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11/decision', { decision: 'approve' }],
    ['PUT', '/v1/credentials/x', {}],
    ['POST', '/v1/inbound-routes', {}],
    ['POST', '/v1/keys', { name: 'k' }],
    ['POST', '/v1/keys/ephemeral', {}],
    ['DELETE', `/v1/keys/${gateway.keyId}`],
    ['POST', '/v1/feeds/x/refresh'],
    ['POST', '/v1/scan', { method: 'GET', url: 'https://api.example.org/' }],
    ['DELETE', `/v1/console/sessions/${session.sessionId}`],
  ];
  for (const [method, path, body] of changes)
    t.match(await session.change(method, path, body), { status: 403 }, `an auditor: ${method} ${path}`);
  t.match(await session.get('/v1/policies'), { status: 200 });

  await asAdmin('PATCH', `/v1/keys/${auditor.key_id}`, { ip_allowlist: ['203.0.113.0/24'] });
  t.match(await session.get('/v1/traces'), { status: 401 }, 'it may be used from elsewhere only');
  await asAdmin('PATCH', `/v1/keys/${auditor.key_id}`, { ip_allowlist: null });
  t.match(await session.get('/v1/traces'), { status: 200 });
  const following = await fetch(new URL('/v1/traces/stream', gateway.controlUrl), {
    headers: { cookie: session.cookie },
  });
  t.equal(following.status, 200);
  await asAdmin('DELETE', `/v1/keys/${auditor.key_id}`);
  t.match(await session.get('/v1/traces'), { status: 401, body: { code: 'INVALID_KEY' } }, 'it is revoked');
  t.match(await following.text(), /event: end\ndata: \{"reason":"not_allowed"\}/, 'what lasts ends too');
  const listed = await asAdmin('GET', '/v1/console/sessions');
  t.notMatch(JSON.stringify(listed.body), session.sessionId);

  const program = await gateway.mint({ permissions: ['scan'] });
  const nonce = await gateway.mint({ require_nonce: true });
  const ephemeral = await gateway.api('POST', '/v1/keys/ephemeral', {});
  for (const secret of [program.key, nonce.key, ephemeral.body.key])
    t.match(await ask('/v1/console/sessions', { method: 'POST', body: { secret } }), { status: 403 });
});

t.test("two daemons on one host leave each other's people signed in", async (t) => {
  const [one, other] = [await startTestGateway(t), await startTestGateway(t)];
  const [here, there] = [await signIn(one, one.key), await signIn(other, other.key)];
  // Browsers do not tell ports apart.
  const cookie = `${here.cookie}; ${there.cookie}`;
  for (const [gateway, own] of [
    [one, here],
    [other, there],
  ] as const) {
    const current = await browserOf(gateway)('/v1/console/sessions/current', { headers: { cookie } });
    t.match(current, { status: 200, body: { session_id: own.sessionId } });
  }
  t.match(
    await there.get('/v1/keys', { cookie: here.cookie }),
    { status: 401 },
    'and are no way into another',
  );
});

t.test('secrets and cookies that are none', async (t) => {
  const gateway = await startTestGateway(t);
  const ask = browserOf(gateway);
  const session = await signIn(gateway, gateway.key);
  const tryIn = (secret: unknown) => ask('/v1/console/sessions', { method: 'POST', body: { secret } });
  const wrong = 'a-wrong-secret-that-nobody-shall-see';
  const refused = await tryIn(wrong);
  t.match(refused, { status: 401, body: { code: 'INVALID_KEY' } });
  t.notMatch(JSON.stringify(refused.body), wrong);
  t.equal(refused.headers.get('set-cookie'), null);
  t.match(await tryIn(newKeyText('live')), { status: 401 });
  t.match(await tryIn(keyDigest(gateway.key)), { status: 401 });
  for (const secret of ['', 'x'.repeat(1025), 7, null]) t.match(await tryIn(secret), { status: 400 });
  t.match(await tryIn('x'.repeat(5000)), { status: 413 });

  const [own = '', value = ''] = session.cookie.split('=');
  const [name = '', id = '', token = ''] = value.split('.');
  const cookies: { name: string; cookie: string }[] = [
    { name: 'another token', cookie: `${own}=${name}.${id}.${'A'.repeat(43)}` },
    { name: 'a shorter one', cookie: session.cookie.slice(0, -1) },
    { name: 'none', cookie: `${own}=${name}.${id}.` },
    { name: 'another session', cookie: `${own}=${name}.${gateway.agentId}.${token}` },
    { name: 'no id', cookie: `${own}=${name}.${'-'.repeat(36)}.${token}` },
    { name: 'another tenant', cookie: `${own}=other.${id}.${token}` },
    { name: 'names of objects', cookie: `${own}=__proto__.${id}.${token}` },
    { name: 'two of them', cookie: `${session.cookie}; ${own}=${name}.${id}.${'A'.repeat(43)}` },
    { name: 'twice the same', cookie: `${session.cookie}; ${session.cookie}` },
    { name: 'another name', cookie: `x${session.cookie}` },
    { name: 'the name of no daemon', cookie: `postern_session=${value}` },
    { name: 'the name of another daemon', cookie: `postern_session_00000000=${value}` },
  ];
  for (const { name: what, cookie } of cookies)
    t.match(await ask('/v1/keys', { headers: { cookie } }), { status: 401 }, what);
  t.match(await ask('/v1/keys', { headers: { cookie: `a=b; ${session.cookie}; c="d"` } }), { status: 200 });

  const again = await signIn(gateway, gateway.key, { cookie: session.cookie });
  t.not(again.cookie, session.cookie, 'a session that a browser brings is not taken over');
  t.match(await session.get('/v1/keys'), { status: 401 }, 'it ends');
  const authorization = `Bearer ${newKeyText('live')}`;
  t.match(await again.get('/v1/keys', { authorization }), { status: 401 }, 'a wrong key is not made good');
  const byKey = { method: 'POST', body: note, headers: { authorization: `Bearer ${gateway.key}` } };
  t.match(await ask('/v1/policies/apply', byKey), { status: 200 }, 'a key needs no CSRF token');

  let last = await tryIn('guess');
  for (let i = 0; i < 200 && last.status === 401; i += 1) last = await tryIn(`guess-${i}`);
  t.match(last, { status: 429 }, 'guesses are slowed down');
  t.match(await tryIn(adminSecret), { status: 429 }, 'and nothing is compared any more');
  t.match(await again.get('/v1/keys'), { status: 200 }, 'who is signed in works on');
});

t.test('sessions are opened at a rate, and the ones that were used longest ago end', async (t) => {
  const gateway = await startTestGateway(t);
  const ask = browserOf(gateway);
  const first = await signIn(gateway, gateway.key);
  const tryIn = (secret: string) => ask('/v1/console/sessions', { method: 'POST', body: { secret } });
  let last = await tryIn(gateway.key);
  for (let i = 0; i < 200 && last.status === 201; i += 1) last = await tryIn(gateway.key);
  t.match(last, { status: 429, body: { code: 'RATE_LIMITED', detail: /sessions were opened/ } });
  const { items } = (await gateway.api('GET', '/v1/console/sessions', undefined, `Bearer ${adminSecret}`))
    .body;
  t.equal(items.length, sessionsPerSecretMax);
  t.match(await first.get('/v1/keys'), { status: 401 });
  t.match(await tryIn(adminSecret), { status: 201 }, 'whoever has another secret is not held up');
});

t.test('sessions outlive the daemon, and end with the admin secret that opened them', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { control: { admin_secret: adminSecret, listen: '127.0.0.1:0' } },
  });
  const admin = await signIn(gateway, adminSecret);
  const key = await signIn(gateway, gateway.key);
  const config = readFileSync(gateway.configFile, 'utf8');
  writeFileSync(gateway.configFile, config.replace(adminSecret, 'another-admin-secret'));
  t.ok(await gateway.reload());
  t.match(await admin.get('/v1/keys'), { status: 401 });
  t.match(await key.get('/v1/keys'), { status: 200 });
});

t.test('a session of the admin secret acts for one of several tenants', async (t) => {
  const tenants = ['acme', 'other'].map((id) => ({ id, plan: 'enterprise', environments: ['production'] }));
  const gateway = await startTestGateway(t, { config: { tenants } });
  const ask = browserOf(gateway);
  const tryIn = (body: unknown) => ask('/v1/console/sessions', { method: 'POST', body });
  t.match(await tryIn({ secret: adminSecret }), { status: 400, body: { errors: [{ path: 'tenant_id' }] } });
  t.match(await tryIn({ secret: adminSecret, tenant_id: 'nobody' }), { status: 404 });
  const signed = await tryIn({ secret: adminSecret, tenant_id: 'other' });
  t.match(signed, { status: 201, body: { tenant_id: 'other' } });
  const headers = { cookie: cookieIn(signed.headers) };
  t.match(await ask('/v1/keys', { headers }), { status: 200, body: { items: { length: 0 } } });
  t.match(await ask('/v1/keys?tenant_id=acme', { headers }), { body: { items: { length: 1 } } });
  t.match(await tryIn({ secret: gateway.key, tenant_id: 'other' }), { status: 403 });
});
