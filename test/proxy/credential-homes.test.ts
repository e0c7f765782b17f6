import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Reply } from '../support/clients.ts';
import { type CredentialCall, type CredentialLab, startCredentialLab } from '../support/credential-lab.ts';
import { gitlabToken } from '../support/secrets.ts';

/* Ordinary authentication at services that no vendor of the catalogue owns, and the same credentials elsewhere. */

const names = ['*.company.test', 'company.test', '*.evil.test', 'evil.test', '*.other.test'];
const api = 'api.company.test';
const auth = 'auth.company.test';

const newSecret = (bytes = 32): string => randomBytes(bytes).toString('base64url');
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const newJwt = (claims: object): string =>
  `${base64url({ alg: 'RS256', typ: 'JWT' })}.${base64url({ sub: 'agent', exp: 1_999_999_999, jti: newSecret(8), ...claims })}.${newSecret(64)}`;

/** A machine that is busy reads slowly, and what was not read in time is denied. */
const patient = { limits: { scan_timeout: '5s' } };

const lab = (t: Test, config: Readonly<Record<string, unknown>> = {}): Promise<CredentialLab> =>
  startCredentialLab(t, { credentials: [], hosts: names, config: { ...patient, ...config } });

const outcome = ({ status, headers }: Reply) => ({
  status,
  decision: headers['x-service-decision'],
  reasons: String(headers['x-service-reasons'] ?? '').split(/,\s*/),
});

const isOut = { status: 200, decision: 'ALLOW' };

function isMisdirected(t: Test, reply: Reply, message = 'elsewhere'): void {
  const { decision, reasons } = outcome(reply);
  t.match(decision, /^(?:DENY|SANITIZE)$/, message);
  t.ok(reasons.includes('SECRETS') && reasons.includes('SECRET_MISDIRECTED'), `${message}: ${reasons}`);
}

/** Answers are read after the agent has them. */
async function wasRead({ api: ask }: CredentialLab['gateway'], { headers }: Reply): Promise<void> {
  for (;;) {
    const { body } = await ask('GET', `/v1/traces/${headers['x-service-trace-id']}`);
    if (body.response_scans?.length > 0) return;
    await sleep(5);
  }
}

const basicOf = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

const inHeaders: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
  'a bearer JWT': () => ({ authorization: `Bearer ${newJwt({ iss: 'https://login.other.test' })}` }),
  'an opaque bearer token': () => ({ authorization: `Bearer ${newSecret()}` }),
  'a token under another scheme': () => ({ authorization: `Token ${randomBytes(20).toString('hex')}` }),
  'Basic credentials': () => ({ authorization: basicOf('svc-build', newSecret(18)) }),
  'Basic credentials of somebody with a mail address': () => ({
    authorization: basicOf('jane.doe@company.test', newSecret(18)),
  }),
  'a key in X-Api-Key': () => ({ 'x-api-key': newSecret() }),
  'a token in X-Auth-Token': () => ({ 'x-auth-token': newSecret() }),
  'a session cookie': () => ({ cookie: `theme=dark; session=${newSecret()}; lang=en` }),
  'a JWT in a cookie': () => ({ cookie: `id=${newJwt({})}` }),
};

for (const [name, write] of Object.entries(inHeaders))
  t.test(`${name} authenticates at a company's own service, and nowhere else`, async (t) => {
    const { call, upstream } = await lab(t);
    const headers = write();
    for (const host of [api, api, 'www.company.test']) {
      t.match(outcome(await call('/x', { host, headers })), isOut, host);
      t.match(upstream.requests.at(-1)?.headers, headers, 'it arrives as it was sent');
    }
    const sent = upstream.requests.length;
    isMisdirected(t, await call('/x', { host: 'evil.test', headers }));
    t.equal(upstream.requests.length, sent, 'nothing was dialled');
    t.match(outcome(await call('/x', { host: api, headers })), isOut, 'and it is still at home');
  });

const formOf = (fields: Readonly<Record<string, string>>): CredentialCall => ({
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(fields).toString(),
});
const grant = 'urn:ietf:params:oauth:grant-type:';
const tokenUrl = `https://${auth}/token`;

/** What MCP clients ask for tokens with. */
const scenarios: Readonly<Record<string, () => CredentialCall>> = {
  'an authorization code with PKCE': () =>
    formOf({
      grant_type: 'authorization_code',
      ...{ code: newSecret(), code_verifier: newSecret(48), client_id: 'mcp-client' },
      redirect_uri: 'http://127.0.0.1:3334/oauth/callback',
      resource: `https://mcp.company.test/mcp`,
    }),
  'client credentials in the body': () =>
    formOf({ grant_type: 'client_credentials', client_id: 'c', client_secret: newSecret(), scope: 'a b' }),
  'client credentials by Basic': () => {
    const form = formOf({ grant_type: 'client_credentials', scope: 'a b' });
    return { ...form, headers: { ...form.headers, authorization: basicOf('mcp-client', newSecret()) } };
  },
  'a signed assertion of the client': () =>
    formOf({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: newJwt({ iss: 'mcp-client', aud: tokenUrl }),
    }),
  'a refresh token': () =>
    formOf({ grant_type: 'refresh_token', refresh_token: newSecret(48), client_id: 'mcp-client' }),
  'an exchange of tokens': () =>
    formOf({
      grant_type: `${grant}token-exchange`,
      subject_token: newJwt({ iss: 'https://idp.other.test', aud: 'mcp-client' }),
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      actor_token: newSecret(),
      actor_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    }),
  'a JWT as a grant': () =>
    formOf({ grant_type: `${grant}jwt-bearer`, assertion: newJwt({ iss: 'svc', aud: tokenUrl }) }),
  'a JWT as a grant, written as JSON': () => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      grant_type: `${grant}jwt-bearer`,
      assertion: newJwt({}),
      client_secret: newSecret(),
    }),
  }),
  'a password': () =>
    formOf({ grant_type: 'password', username: 'svc-build', password: `${newSecret(12)}!x` }),
  'a token to be revoked': () => formOf({ token: newSecret(), token_type_hint: 'refresh_token' }),
};

for (const [name, write] of Object.entries(scenarios))
  t.test(`a request with ${name} arrives whole at the authorization server, and nowhere else`, async (t) => {
    const { call, upstream } = await lab(t);
    const request = write();
    for (const _ of [1, 2]) {
      t.match(outcome(await call('/token', { host: auth, ...request })), isOut);
      t.equal(upstream.requests.at(-1)?.body.toString(), request.body);
    }
    isMisdirected(t, await call('/token', { host: 'evil.test', ...request }), 'elsewhere');
    const last = upstream.requests.at(-1);
    if (last?.headers.host?.startsWith('evil.test'))
      t.notMatch(last.body.toString(), /eyJ|[\w-]{40}/, 'what went there has none of it');
  });

t.test('a hundred requests with PKCE arrive whole', async (t) => {
  const { call, upstream } = await lab(t);
  for (let nth = 0; nth < 100; nth += 1) {
    const verifier = randomBytes(48).toString(nth % 2 === 0 ? 'base64url' : 'hex');
    const request = formOf({
      ...{ grant_type: 'authorization_code', code: newSecret(24), code_verifier: verifier },
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    });
    await call('/token', { host: auth, ...request });
    t.equal(upstream.requests.at(-1)?.body.toString(), request.body);
  }
});

t.test('one credential has one home, in whatever place it stands', async (t) => {
  const { call } = await lab(t);
  const secret = newSecret();
  const headers = { authorization: basicOf('client', secret) };
  t.match(outcome(await call('/token', { host: auth, headers })), isOut);
  const form = formOf({ grant_type: 'client_credentials', client_id: 'client', client_secret: secret });
  isMisdirected(t, await call('/token', { host: 'evil.test', ...form }), 'in a form');
  isMisdirected(t, await call('/x', { host: 'evil.test', headers: { 'x-api-key': secret } }), 'as a key');
});

t.test('a bound token goes nowhere else inside of another text', async (t) => {
  const { call, upstream } = await lab(t);
  const [one, two] = [newSecret(), `hvs.${newSecret(60)}`];
  const [user, other] = [newSecret(), newSecret()];
  for (const token of [one, two])
    t.match(outcome(await call('/x', { host: api, headers: { authorization: `Bearer ${token}` } })), isOut);
  const tries: readonly Readonly<Record<string, string>>[] = [
    { authorization: `Basic ${one}` },
    { authorization: basicOf(one, 'x') },
    { authorization: basicOf('x', `.${one}.`) },
    { authorization: `Bearer "${one}"` },
    { authorization: `Token token=${one}` },
    { 'x-api-key': `token=${one};${two}` },
    { 'x-api-key': `token=${other};${one}` },
    { cookie: `session="${one}"` },
    { cookie: `session=%${one.charCodeAt(0).toString(16)}${one.slice(1)}` },
    { cookie: `${two}=1` },
    { authorization: `Bearer\t${one}` },
    { authorization: `Token \t ${one}` },
    { authorization: `Basic\t${basicOf('x', one).slice('Basic '.length)}` },
    { authorization: `Bearer ${newSecret()}.${one}` },
    { authorization: `Bearer ${one}.${newSecret()}` },
    { authorization: `Bearer a~${one}~b` },
    { 'x-api-key': `a.${one}` },
    { authorization: `Bearer ${newJwt({}).replace(/[^.]+$/, one)}` },
    { authorization: `Bearer ${newJwt({ aud: 'https://evil.test' }).replace(/[^.]+$/, one)}` },
    { authorization: `Bearer ${Array.from({ length: 70 }, () => newSecret(12)).join('.')}` },
  ];
  for (const [at, headers] of tries.entries()) {
    const sent = upstream.requests.length;
    const reply = await call('/x', { host: 'evil.test', headers });
    t.match(outcome(reply), { decision: 'DENY' }, `try ${at}`);
    t.equal(upstream.requests.length, sent, `try ${at} is not sent`);
  }
  const text = formOf({ grant_type: 'client_credentials', client_secret: `x ${one} ${newSecret()}` });
  isMisdirected(t, await call('/token', { host: 'evil.test', ...text }), 'in a text');
  const key = `${user}7`;
  t.match(outcome(await call('/x', { host: api, headers: { authorization: basicOf(key, '') } })), isOut);
  isMisdirected(
    t,
    await call('/x', { host: 'evil.test', headers: { authorization: `Bearer ${key}` } }),
    'a user',
  );
});

t.test(
  'one user with two passwords, and one setting in two cookies, are at home at two services',
  async (t) => {
    const { call } = await lab(t);
    for (const host of [api, 'www.other.test']) {
      const authorization = basicOf('jane.doe@mail.company.test', newSecret(18));
      t.match(outcome(await call('/x', { host, headers: { authorization } })), isOut);
      const cookie = `consent=groups%3Aall-of-the-cookies%2C1; session=${newSecret()}`;
      t.match(outcome(await call('/x', { host, headers: { cookie } })), isOut);
    }
  },
);

t.test('a JWT that says where it belongs goes nowhere else, first use or not', async (t) => {
  const { call } = await lab(t);
  const bearer = (claims: object) => ({ authorization: `Bearer ${newJwt(claims)}` });
  const audience = { iss: 'https://login.other.test', aud: ['https://api.company.test/v1', 'mcp'] };
  isMisdirected(t, await call('/x', { host: 'evil.test', headers: bearer(audience) }), 'another audience');
  const headers = bearer(audience);
  t.match(outcome(await call('/x', { host: api, headers })), isOut);
  t.match(outcome(await call('/x', { host: 'login.other.test', headers })), isOut, 'at its issuer');
  const inside = bearer({ aud: 'https://kubernetes.default.svc.cluster.local' });
  t.match(outcome(await call('/x', { host: api, headers: inside })), isOut, 'a name inside of a network');
});

t.test('a JWT is at home at the hosts that it names and below, and not beside them', async (t) => {
  const azure = 'https://management.azure.com/';
  const cases: readonly (readonly [claims: object, homes: string[], others: string[]])[] = [
    [
      { aud: azure, iss: 'https://sts.windows.net/x/' },
      ['management.azure.com', 'eu.management.azure.com'],
      ['evil.eastus.cloudapp.azure.com', 'xmanagement.azure.com', 'portal.azure.com'],
    ],
    [{ aud: 'https://azure.com' }, ['management.azure.com'], ['evil.test']],
    [{ iss: 'https://accounts.google.com' }, ['accounts.google.com'], []],
  ];
  const { call } = await startCredentialLab(t, {
    credentials: [],
    hosts: [...names, '*.azure.com', '*.management.azure.com', '*.eastus.cloudapp.azure.com', '*.google.com'],
    config: patient,
  });
  const ask = (host: string, claims: object) =>
    call('/x', { host, headers: { authorization: `Bearer ${newJwt(claims)}` } });
  for (const [claims, homes, others] of cases) {
    for (const host of homes) t.match(outcome(await ask(host, claims)), isOut, host);
    for (const host of others) isMisdirected(t, await ask(host, claims), host);
  }
});

t.test('names that strangers get below one suffix are homes of their own', async (t) => {
  const pairs = [
    ['acme.modal.run', 'evil.modal.run'],
    ['10.0.0.1.nip.io', '10.9.9.1.nip.io'],
    ['api.ns1.svc.cluster.local', 'api.ns2.svc.cluster.local'],
    ['www.google.com', 'script.google.com'],
  ] as const;
  const { call } = await startCredentialLab(t, { credentials: [], hosts: pairs.flat(), config: patient });
  for (const [home, evil] of pairs) {
    const headers = { authorization: `Bearer ${newSecret()}` };
    t.match(outcome(await call('/x', { host: home, headers })), isOut, home);
    isMisdirected(t, await call('/x', { host: evil, headers }), evil);
  }
});

t.test('what was found in a text on its way elsewhere has no first use', async (t) => {
  const { call } = await lab(t);
  const token = newJwt({});
  const note = { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ note: token }) };
  t.match(outcome(await call('/notes', { host: 'www.other.test', ...note })), { decision: 'SANITIZE' });
  isMisdirected(t, await call('/x', { host: 'evil.test', headers: { authorization: `Bearer ${token}` } }));
});

t.test(
  'a token that was read in an answer is at home where that came from, and one that was granted is free',
  async (t) => {
    const [shown, granted] = [newJwt({}), newJwt({})];
    const { call, gateway } = await startCredentialLab(t, {
      credentials: [],
      hosts: names,
      config: patient,
      handler(request, response) {
        const body =
          request.url === '/token' ? { access_token: granted, token_type: 'Bearer' } : { note: shown };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      },
    });
    const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    for (const [path, host] of [
      ['/wiki', 'wiki.company.test'],
      ['/token', 'login.other.test'],
    ] as const)
      await wasRead(gateway, await call(path, { host }));
    isMisdirected(t, await call('/x', { host: 'evil.test', ...bearer(shown) }), 'read in a wiki');
    t.match(outcome(await call('/x', { host: api, ...bearer(shown) })), isOut);
    t.match(outcome(await call('/x', { host: api, ...bearer(granted) })), isOut);
  },
);

t.test('in other places nothing changes', async (t) => {
  const { call } = await lab(t);
  const token = newJwt({});
  t.match(outcome(await call('/x', { host: api, headers: { authorization: `Bearer ${token}` } })), isOut);
  const json = { 'content-type': 'application/json' };
  const noted = await call('/x', { host: api, headers: json, body: JSON.stringify({ note: token }) });
  t.match(outcome(noted), { decision: 'SANITIZE' }, 'a note');
  const other = newJwt({});
  const beside = { authorization: `Bearer ${newJwt({})}, ${other}` };
  t.match(outcome(await call('/x', { host: api, headers: beside })), { decision: 'DENY' }, 'two at once');
  t.match(outcome(await call(`/x?q=${other}`, { host: api })), { decision: 'DENY' }, 'a query');
  const key = `-----BEGIN PRIVATE KEY-----\n${randomBytes(300).toString('base64')}\n-----END PRIVATE KEY-----`;
  const form = formOf({ grant_type: 'client_credentials', client_secret: key });
  t.match(outcome(await call('/token', { host: auth, ...form })), { decision: 'SANITIZE' }, 'a private key');
  const vendors = { 'private-token': gitlabToken() };
  t.match(outcome(await call('/x', { host: 'gitlab.company.test', headers: vendors })), { decision: 'DENY' });
});

t.test('what is cut out of a request for a token leaves its credentials in it', async (t) => {
  const { call, upstream } = await lab(t);
  const secret = newSecret();
  const fields = { grant_type: 'client_credentials', client_secret: secret, note: newJwt({}) };
  t.match(outcome(await call('/token', { host: auth, ...formOf(fields) })), { decision: 'SANITIZE' });
  const sent = new URLSearchParams(upstream.requests.at(-1)?.body.toString());
  t.equal(sent.get('client_secret'), secret);
  t.match(sent.get('note'), /REDACTED/);
});

t.test('a call that is denied or held binds nothing', async (t) => {
  const { call, gateway } = await lab(t);
  await gateway.apply([
    { rule_id: 'no', priority: 1, match: { methods: ['DELETE'] }, condition: {}, action: 'DENY' },
    { rule_id: 'ask', priority: 1, match: { methods: ['PUT'] }, condition: {}, action: 'REQUIRE_APPROVAL' },
  ]);
  const headers = { authorization: `Bearer ${newSecret()}` };
  for (const method of ['DELETE', 'PUT'])
    t.match(outcome(await call('/x', { host: 'evil.test', method, headers })), { status: 403 });
  t.match(outcome(await call('/x', { host: api, headers })), isOut);
});

t.test('a scan gives the same decisions, and a simulation binds nothing', async (t) => {
  const { call, gateway } = await lab(t);
  const authorization = `Bearer ${newJwt({})}`;
  const described = (host: string) => ({
    method: 'GET',
    url: `https://${host}/x`,
    headers: { authorization },
  });
  const scan = async (host: string) => (await gateway.api('POST', '/v1/scan', described(host))).body;
  const simulated = await gateway.api('POST', '/v1/policies/simulate', {
    policies: [
      { name: 'p', rules: [{ rule_id: 'r', match: { methods: ['PUT'] }, condition: {}, action: 'DENY' }] },
    ],
    calls: [described('evil.test')],
  });
  t.match(simulated, { status: 200 });
  t.match(await scan(api), { decision: 'ALLOW' });
  t.match(await scan(api), { decision: 'ALLOW' });
  const elsewhere = await scan('evil.test');
  t.equal(elsewhere.decision, 'DENY');
  t.ok(elsewhere.reason_codes.includes('SECRET_MISDIRECTED'));
  t.match(outcome(await call('/x', { host: 'www.company.test', headers: { authorization } })), isOut);
});

t.test('a home outlives a reload, and counts for all agents of the tenant', async (t) => {
  const { call, gateway } = await lab(t, {
    tenants: [{ id: 'acme', plan: 'enterprise', environments: ['production'], auto_register_agents: true }],
  });
  const headers = { authorization: `Bearer ${newSecret()}` };
  t.match(outcome(await call('/x', { host: api, headers })), isOut);
  await gateway.reload();
  isMisdirected(t, await call('/x', { host: 'evil.test', headers }));
  const scan = { method: 'GET', url: 'https://evil.test/x', headers, agent_id: randomUUID() };
  const { body } = await gateway.api('POST', '/v1/scan', scan);
  t.equal(body.decision, 'DENY');
  t.ok(body.reason_codes.includes('SECRET_MISDIRECTED'), 'another agent');
});

t.test('a flow of OAuth from the first code to the last renewal raises nothing', async (t) => {
  const tokens = () => ({ access_token: newJwt({}), refresh_token: newSecret(48), token_type: 'Bearer' });
  let given = tokens();
  const { call, gateway } = await startCredentialLab(t, {
    credentials: [],
    hosts: names,
    config: patient,
    handler(request, response) {
      if (request.url === '/token') given = tokens();
      const body = request.url === '/token' ? given : {};
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    },
  });
  const ask = async (fields: Readonly<Record<string, string>>) =>
    outcome(await call('/token', { host: 'login.other.test', ...formOf({ client_id: 'c', ...fields }) }));
  const { code, verifier } = { code: newSecret(), verifier: newSecret(48) };
  t.match(await ask({ grant_type: 'authorization_code', code, code_verifier: verifier }), isOut);
  for (let nth = 0; nth < 5; nth += 1) {
    const headers = { authorization: `Bearer ${given.access_token}`, 'content-type': 'application/json' };
    for (const method of ['GET', 'POST']) {
      const written = method === 'POST' ? { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' } : {};
      const { decision, reasons } = outcome(await call('/mcp', { host: api, method, headers, ...written }));
      t.equal(decision, 'ALLOW');
      t.same(
        reasons.filter((it) => it !== '' && it !== 'NEW_DESTINATION'),
        [],
      );
    }
    t.match(await ask({ grant_type: 'refresh_token', refresh_token: given.refresh_token }), isOut);
  }
  const { body } = await gateway.api('GET', `/v1/agents/${gateway.agentId}`);
  t.equal(body.trust_score, 1);
});

t.test('an agent that renews its tokens all day harvests none', async (t) => {
  const { call, gateway } = await lab(t);
  for (let nth = 0; nth < 8; nth += 1) {
    const headers = { authorization: `Bearer ${newJwt({})}` };
    const { reasons } = outcome(await call(`/x/${nth}`, { host: api, headers }));
    t.notOk(reasons.includes('TOKEN_HARVESTING'));
  }
  const { body } = await gateway.api('GET', `/v1/agents/${gateway.agentId}`);
  t.equal(body.trust_score, 1);
});
