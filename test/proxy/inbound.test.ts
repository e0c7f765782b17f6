import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { startGateway } from '../../src/daemon/gateway.ts';
import {
  type ApiReply,
  agentId,
  startTestGateway,
  type TestGateway,
  writeTestConfig,
} from '../support/gateway.ts';
import { startUpstream, type TestUpstream, type UpstreamHandler } from '../support/upstream.ts';

const label = '[REDACTED:credential]';
/** Of a query, a header, a token: one for each run, so that nothing real stands here. */
const newSecret = (): string => `s${randomBytes(20).toString('hex')}`;

interface Lab {
  readonly gateway: TestGateway;
  readonly upstream: TestUpstream;
  readonly secret: string;
  /** A call of a route; as the gateway's key unless `headers` say otherwise. */
  call(path: string, options?: CallOptions): Promise<Answer>;
}

interface CallOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly at?: 'proxy' | 'control';
}

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

async function startLab(
  t: Test,
  routes: readonly object[],
  handler?: UpstreamHandler,
  extra: object = {},
): Promise<Lab> {
  const upstream = await startUpstream(t, handler);
  const secret = newSecret();
  const base = {
    tenant: 'acme',
    upstream: `https://api.test.example:${upstream.port}/base`,
    credential: 'bot',
  };
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      credentials: [{ name: 'bot', tenant: 'acme', type: 'bearer', value: secret }],
      inbound: routes.map((route) => ({ ...base, ...route })),
      ...extra,
    },
  });
  const call: Lab['call'] = async (path, { method = 'GET', headers, body, at = 'control' } = {}) => {
    const { hostname, port } = new URL(at === 'control' ? gateway.controlUrl : gateway.proxyUrl);
    const fields = { authorization: `Bearer ${gateway.key}`, ...headers };
    // Node's own client sends a path as it is written.
    const asked = http.request({ hostname, port, path, method, headers: fields, agent: false });
    const answered = once(asked, 'response') as Promise<[http.IncomingMessage]>;
    asked.end(body);
    const [answer] = await answered;
    const text = Buffer.concat(await answer.toArray()).toString();
    return { status: answer.statusCode ?? 0, headers: answer.headers, text };
  };
  return { gateway, upstream, secret, call };
}

/** Traces are written behind the answer: asks until it is there. */
async function traceOf(gateway: TestGateway, { headers }: Answer): Promise<ApiReply> {
  for (;;) {
    const reply = await gateway.api('GET', `/v1/traces/${headers['x-service-trace-id']}`);
    if (reply.status !== 404) return reply;
  }
}

const codeOf = ({ text }: Answer): unknown => JSON.parse(text).code;

t.test('sends a call to the upstream of its route, with the credential and without the key', async (t) => {
  const { gateway, upstream, secret, call } = await startLab(t, [{ prefix: 'bot' }]);
  for (const at of ['control', 'proxy'] as const) {
    const answer = await call('/inbound/bot/v1/items?a=1&b=%2F', {
      at,
      method: 'POST',
      body: '{"text":"hello"}',
    });
    t.equal(answer.status, 200);
    t.equal(answer.headers['x-service-decision'], 'ALLOW');
    t.match(answer.headers['x-service-trace-id'], /^[0-9a-f-]{36}$/);
    const got = upstream.requests.at(-1);
    t.equal(got?.url, '/base/v1/items?a=1&b=%2F');
    t.equal(got?.headers.authorization, `Bearer ${secret}`);
    t.equal(got?.body.toString(), '{"text":"hello"}');
    t.notMatch(JSON.stringify(got?.rawHeaders), gateway.key, 'the key of the caller does not go on');
    const trace = await traceOf(gateway, answer);
    t.notMatch(JSON.stringify(trace.body ?? {}), secret, 'no trace has the credential');
  }
});

t.test('says on every answer what was decided, and why it did not go', async (t) => {
  const { gateway, upstream, call } = await startLab(t, [
    {
      prefix: 'bot',
      allowed_methods: ['GET', 'POST', 'DELETE'],
      allowed_paths: ['/v1/**'],
      max_body_bytes: 1000,
    },
    { prefix: 'lost', credential: 'nobody-has-set-it' },
  ]);
  await gateway.apply([
    { rule_id: 'no-delete', priority: 1, match: { methods: ['DELETE'] }, condition: {}, action: 'DENY' },
    {
      rule_id: 'hold',
      priority: 2,
      match: { url_patterns: ['*/v1/hold*'] },
      condition: {},
      action: 'REQUIRE_APPROVAL',
    },
  ]);
  const cases = [
    { path: '/inbound/nothing/v1/x', status: 404, code: 'NOT_FOUND' },
    { path: '/inbound/bot/v2/x', status: 404, code: 'NOT_FOUND' },
    {
      path: '/inbound/bot/v1/x',
      method: 'PUT',
      status: 405,
      code: 'METHOD_NOT_ALLOWED',
      allow: 'GET, POST, DELETE',
    },
    {
      path: '/inbound/bot/v1/x',
      headers: { authorization: 'Bearer nonsense' },
      status: 401,
      code: 'INVALID_KEY',
    },
    { path: '/inbound/bot/v1/x', headers: { authorization: '' }, status: 401, code: 'INVALID_KEY' },
    {
      path: '/inbound/bot/v1/x',
      method: 'POST',
      body: 'x'.repeat(1001),
      status: 413,
      code: 'PAYLOAD_TOO_LARGE',
    },
    { path: '/inbound/bot/v1/x', method: 'DELETE', status: 403, code: 'POLICY_DENIED' },
    { path: '/inbound/bot/v1/hold', status: 403, code: 'APPROVAL_REQUIRED', decision: 'REQUIRE_APPROVAL' },
    { path: '/inbound/lost/x', status: 502, code: 'CREDENTIAL_UNAVAILABLE', decision: 'ALLOW' },
  ];
  for (const { path, status, code, allow, decision = 'DENY', ...options } of cases) {
    const answer = await call(path, options);
    t.match(
      {
        status: answer.status,
        code: codeOf(answer),
        decision: answer.headers['x-service-decision'],
        allow: answer.headers.allow,
      },
      { status, code, decision, allow },
      `${options.method ?? 'GET'} ${path}`,
    );
    t.match(answer.headers['x-service-trace-id'], /^[0-9a-f-]{36}$/);
  }
  t.equal(upstream.connections(), 0, 'nothing of all that has reached the upstream');
});

t.test('leads nowhere but below the base of the upstream', async (t) => {
  const { upstream, call } = await startLab(t, [
    { prefix: 'bot', allowed_paths: ['/open/**', '/'] },
    { prefix: 'all' },
  ]);
  const refused = [
    '/inbound/all/../secret',
    '/inbound/all/a/../../../secret',
    '/inbound/all/%2e%2e/secret',
    '/inbound/all/%252e%252e/secret',
    '/inbound/all/..%2fsecret',
    '/inbound/all/..%5csecret',
    '/inbound/all/..;x=1/secret',
    '/inbound/all/.%2e;/secret',
    '/inbound/all/%c0%ae%c0%ae/secret',
    '/inbound/all/..%c0%afsecret',
    '/inbound/all/%25c0%25ae%25c0%25ae/secret',
    '/inbound/all/%u002e%u002e/secret',
    '/inbound/all/%uff0e%uff0e/secret',
    '/inbound/all//evil.test/x',
    '/inbound/all/a//b',
    '/inbound/all/%2f%2fevil.test',
    '/inbound/all/a%00b',
    '/inbound/bot/open/..%2fsecret',
  ];
  for (const path of refused) t.equal((await call(path)).status, 400, path);
  for (const path of ['/inbound/bot/open%2f..', '/inbound/bot/shut', '/inbound/bot/open;/x%2fshut'])
    t.ok([400, 404].includes((await call(path)).status), path);
  t.equal(upstream.connections(), 0);

  const allowed: Record<string, string> = {
    '/inbound/all': '/base',
    '/inbound/all/': '/base/',
    '/inbound/all/projects/acme%2Fapp': '/base/projects/acme%2Fapp',
    '/inbound/all/https:/evil.test/x': '/base/https:/evil.test/x',
    '/inbound/all/caf%c3%a9/a;b=c': '/base/caf%c3%a9/a;b=c',
    '/inbound/all/@evil.test': '/base/@evil.test',
    '/inbound/all/a.b/..c?x=../..': '/base/a.b/..c?x=../..',
    '/inbound/bot/open/x': '/base/open/x',
  };
  for (const [path, url] of Object.entries(allowed)) {
    t.equal((await call(path)).status, 200, path);
    t.equal(upstream.requests.at(-1)?.url, url);
  }
});

t.test('knows callers by a token, by their address, or lets everybody in, as the route says', async (t) => {
  const token = newSecret();
  const lab = await startLab(t, [
    { prefix: 'header', agent: agentId, auth: { type: 'token', header: 'X-Hook', value: token } },
    { prefix: 'query', agent: agentId, auth: { type: 'token', query: 't', value: token } },
    { prefix: 'near', agent: agentId, auth: { type: 'ip', allow: ['127.0.0.0/8'] } },
    { prefix: 'far', agent: agentId, auth: { type: 'ip', allow: ['10.0.0.0/8'] } },
    { prefix: 'open', agent: agentId, auth: 'none' },
  ]);
  const authorization = 'Bearer of-the-platform';
  const cases = [
    { path: '/inbound/header/x', headers: { 'x-hook': token }, status: 200 },
    { path: '/inbound/header/x', headers: { 'x-hook': `${token}x` }, status: 401 },
    { path: '/inbound/header/x', headers: {}, status: 401 },
    { path: `/inbound/query/x?a=1&t=${token}`, headers: {}, status: 200, url: '/base/x?a=1' },
    { path: `/inbound/query/x?t=${token}&t=${token}`, headers: {}, status: 401 },
    { path: `/inbound/query/x?a=1;t=${token}&b=2`, headers: {}, status: 200, url: '/base/x?a=1&b=2' },
    { path: `/inbound/query/x?t=${token};b=2`, headers: {}, status: 200, url: '/base/x?b=2' },
    { path: `/inbound/query/x?t=${token};t=x`, headers: {}, status: 401 },
    { path: '/inbound/query/x?t=', headers: {}, status: 401 },
    { path: '/inbound/header/x', headers: { 'x-hook': token, X_Hook: token }, status: 401 },
    { path: '/inbound/header/x', headers: { 'x-hook': token, X_Hook: 'x' }, status: 401 },
    { path: '/inbound/near/x', headers: {}, status: 200 },
    { path: '/inbound/far/x', headers: {}, status: 401 },
    { path: '/inbound/far/x', headers: { 'x-forwarded-for': '10.1.1.1' }, status: 401 },
    {
      path: '/inbound/open/x',
      headers: { 'x-service-agent-id': '0f0f0f0f-7a54-4b0e-9a55-0a2f6f0f7c11' },
      status: 200,
    },
  ];
  for (const { path, headers, status, url = '/base/x' } of cases) {
    const before = lab.upstream.requests.length;
    const answer = await lab.call(path, { headers: { authorization, ...headers } });
    t.equal(answer.status, status, `${path.slice(0, 20)} ${Object.keys(headers)}`);
    if (status !== 200) {
      t.equal(lab.upstream.requests.length, before);
      continue;
    }
    const got = lab.upstream.requests.at(-1);
    t.equal(got?.url, url);
    t.equal(got?.headers.authorization, `Bearer ${lab.secret}`);
    t.notMatch(JSON.stringify(got?.rawHeaders) + got?.url, token, 'the token does not go on');
    const trace = await traceOf(lab.gateway, answer);
    t.equal(trace.body.agent_id, agentId, 'the call is that of the route');
    t.equal(trace.body.entrance, 'inbound');
  }
});

t.test('a web page of another site cannot call a route that asks for no secret', async (t) => {
  const routes = [
    { prefix: 'open', agent: agentId, auth: 'none' },
    { prefix: 'near', agent: agentId, auth: { type: 'ip', allow: ['127.0.0.0/8'] } },
    { prefix: 'page', agent: agentId, auth: 'none', allowed_sites: ['*.app.test.example'] },
    { prefix: 'all', agent: agentId, auth: 'none', allowed_sites: ['*'] },
    { prefix: 'keyed' },
  ];
  const lab = await startLab(t, routes, undefined, {
    control: { listen: '127.0.0.1:0', names: ['gate.test.example', '*.corp.test.example'] },
  });
  const evil = 'evil.test.example';
  const page = 'a.app.test.example';
  type Fields = Record<string, string>;
  const cases: readonly [name: string, prefixes: string[], headers: Fields, isTaken: boolean][] = [
    ['no more than Host', ['open', 'near', 'page', 'all', 'keyed'], {}, true],
    ['a name of the loopback', ['open', 'near'], { host: 'localhost:8081' }, true],
    ['the same, with its dot', ['open'], { host: 'LOCALHOST.' }, true],
    ['an address behind a port that is mapped', ['open', 'near'], { host: '192.0.2.7' }, true],
    ['a name of the configuration', ['open', 'near'], { host: 'gate.test.example' }, true],
    ['a glob of the configuration', ['open'], { host: 'x.corp.test.example:8443' }, true],
    ['a name that was bound to our address', ['open', 'near', 'page'], { host: evil }, false],
    ['the same, of the same origin', ['open', 'near'], { host: evil, origin: `http://${evil}` }, false],
    ['a name that only ends like ours', ['open'], { host: 'evilgate.test.example' }, false],
    ['no address of a host', ['open', 'near'], { host: '0.0.0.0' }, false],
    ['no address of a host, in IPv6', ['open', 'near'], { host: '[0::0.0.0.0]' }, false],
    ['our address as IPv6', ['open', 'near'], { host: '[::ffff:127.0.0.1]' }, false],
    ['no address of a host, as IPv6', ['open', 'near'], { host: '[0:0:0:0:0:FFFF:0:0]:80' }, false],
    ['an address as IPv6', ['open', 'near'], { host: '[::ffff:c000:207]' }, false],
    ['an address of IPv6', ['open', 'near'], { host: '[2001:db8::7]:8081' }, true],
    ['no host at all', ['open'], { host: 'evil@127.0.0.1' }, false],
    ['another site', ['open', 'near', 'page'], { origin: `https://${evil}` }, false],
    ['another site at an address', ['open', 'near'], { origin: 'http://192.0.2.7' }, false],
    ['a page from nowhere', ['open', 'near', 'page'], { origin: 'null' }, false],
    ['an extension', ['open'], { origin: 'chrome-extension://localhost' }, false],
    ['our own site', ['open', 'near'], { origin: 'http://localhost:3000' }, true],
    [
      'a page of another site that sends no Origin',
      ['open', 'near'],
      { 'sec-fetch-site': 'Cross-Site' },
      false,
    ],
    ['a page of ours that does not', ['open', 'near'], { 'sec-fetch-site': 'same-origin' }, true],
    ['a link on another site', ['open', 'near', 'page'], { referer: `http://${evil}/a?b` }, false],
    ['a link on a site that looks like ours', ['open'], { referer: `http://localhost@${evil}/` }, false],
    ['a link without a site', ['open'], { referer: 'about:client' }, false],
    ['a link on a page of ours', ['open', 'near'], { referer: 'http://localhost:3000/a' }, true],
    ['a link on a site of the route', ['page', 'all'], { referer: `https://${page}/a` }, true],
    [
      'the same, as its browser tells it',
      ['page', 'all'],
      { referer: `https://${page}/a`, 'sec-fetch-site': 'cross-site' },
      true,
    ],
    [
      'a page beside ours that sends no Origin',
      ['open', 'near', 'page'],
      { 'sec-fetch-site': 'same-site' },
      false,
    ],
    [
      'a page beside ours that shows where it is',
      ['open'],
      { referer: 'http://localhost:3000/', 'sec-fetch-site': 'same-site' },
      false,
    ],
    [
      'a page of ours on another port',
      ['open'],
      { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' },
      true,
    ],
    ['any page beside ours', ['all', 'keyed'], { 'sec-fetch-site': 'same-site' }, true],
    ['an address that somebody has typed in', ['open'], { 'sec-fetch-site': 'none' }, true],
    [
      'a site of the route',
      ['page', 'all'],
      { origin: `https://${page}`, 'sec-fetch-site': 'cross-site' },
      true,
    ],
    ['a name of the route', ['page'], { host: page }, true],
    ['a site of another route', ['open', 'near'], { origin: `https://${page}` }, false],
    [
      'any site',
      ['all', 'keyed'],
      { host: evil, origin: `https://${evil}`, 'sec-fetch-site': 'cross-site' },
      true,
    ],
  ];
  for (const [name, prefixes, headers, isTaken] of cases)
    for (const prefix of prefixes)
      for (const at of ['control', 'proxy'] as const) {
        const before = lab.upstream.requests.length;
        const shown: Fields =
          prefix === 'keyed' ? headers : { ...headers, authorization: 'Bearer of-the-platform' };
        const answer = await lab.call(`/inbound/${prefix}/x`, { headers: shown, at });
        t.equal(answer.status, isTaken ? 200 : 403, `${name}: ${prefix} at ${at}`);
        t.equal(lab.upstream.requests.length - before, isTaken ? 1 : 0);
      }
  const answer = await lab.call('/inbound/open/x', { headers: { host: evil, authorization: 'Bearer x' } });
  t.match(answer.text, /Host names another host.*"code":"FORBIDDEN"/s);
  const trace = await traceOf(lab.gateway, answer);
  t.match(trace.body, { decision: 'DENY', entrance: 'inbound', agent_id: agentId }, 'and leaves a trace');
});

t.test('a listener on all addresses has no name for pages of other sites', async (t) => {
  const routes = [{ prefix: 'open', agent: agentId, auth: 'none' }];
  const listen = '0.0.0.0:0';
  const lab = await startLab(t, routes, undefined, { control: { listen }, proxy: { listen } });
  const named = await startLab(t, routes, undefined, { control: { listen, names: ['0.0.0.0'] } });
  const nowhere = ['0.0.0.0', '0', '0x0.0', '[::]', '[::ffff:0.0.0.0]', '[::ffff:127.0.0.1]'];
  for (const at of ['control', 'proxy'] as const) {
    const ask = async (headers: Record<string, string>) =>
      (await lab.call('/inbound/open/x', { headers: { ...headers, authorization: 'Bearer x' }, at })).status;
    for (const host of nowhere) {
      t.equal(await ask({ host }), 403, `Host ${host} at ${at}`);
      const origin = `http://${host}:3000`;
      t.equal(await ask({ host: '127.0.0.1', origin }), 403, `Origin ${origin} at ${at}`);
      t.equal(await ask({ host, origin }), 403, `both ${host} at ${at}`);
    }
    t.equal(await ask({ host: '127.0.0.1' }), 200);
    t.equal(await ask({ host: 'localhost', origin: 'http://127.0.0.1:3000' }), 200);
  }
  const headers = { host: '0.0.0.0:8081', authorization: 'Bearer x' };
  t.equal(
    (await named.call('/inbound/open/x', { headers })).status,
    200,
    'unless the configuration names it',
  );
});

t.test('believes the addresses that trusted proxies tell, and no others', async (t) => {
  const routes = [{ prefix: 'far', agent: agentId, auth: { type: 'ip', allow: ['10.0.0.0/8'] } }];
  const lab = await startLab(t, routes, undefined, { control: { trusted_proxies: ['127.0.0.1/32'] } });
  const platform = { authorization: 'Bearer of-the-platform' };
  const from = async (forwarded: string): Promise<number> =>
    (await lab.call('/inbound/far/x', { headers: { ...platform, 'x-forwarded-for': forwarded } })).status;
  t.equal(await from('10.1.1.1'), 200);
  t.equal(
    lab.upstream.requests.at(-1)?.headers['x-forwarded-for'],
    undefined,
    'it is nothing for the upstream',
  );
  t.equal(await from('10.1.1.1, 192.0.2.7'), 401, 'the rightmost counts');
  for (const spelling of [
    '::ffff:10.1.1.1',
    '::ffff:a01:101',
    '0:0:0:0:0:FFFF:10.1.1.1',
    '[::ffff:a01:101]:8',
  ])
    t.equal(await from(spelling), 200, spelling);
});

t.test('all of IPv6 is nothing of IPv4', async (t) => {
  const routes = [{ prefix: 'six', agent: agentId, auth: { type: 'ip', allow: ['::/0'] } }];
  const platform = { authorization: 'Bearer of-the-platform' };
  const lab = await startLab(t, routes, undefined, { control: { trusted_proxies: ['127.0.0.1/32'] } });
  const from = async (forwarded: string): Promise<number> =>
    (await lab.call('/inbound/six/x', { headers: { ...platform, 'x-forwarded-for': forwarded } })).status;
  t.equal(await from('2001:db8::1'), 200);
  for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '::ffff:808:808'])
    t.equal(await from(address), 401, address);
});

t.test('sends on no field that says another way, path or length than the request', async (t) => {
  const lab = await startLab(t, [{ prefix: 'bot', allowed_paths: ['/open/**'] }]);
  const dropped = {
    'X-Original-URL': '/shut',
    'X-Rewrite-URL': '/shut',
    'X-Forwarded-Prefix': '/shut',
    'X-Original-URI': '/shut',
    'X-Script-Name': '/open',
    Forwarded: 'host=other.example',
    X_Original_URL: '/shut',
    'X.Rewrite.URL': '/shut',
    'X~Original~URL': '/shut',
    'X!Forwarded!Host': 'other.example',
    X_Forwarded_For: '10.9.9.9',
    'X-Original-Forwarded-For': '10.9.9.9',
    'X-Cluster-Client-IP': '10.9.9.9',
    X_Real_IP: '10.9.9.9',
    Content_Length: '4',
    Transfer_Encoding: 'chunked',
    'Content~Length': '4',
  };
  const answer = await lab.call('/inbound/bot/open/x', {
    method: 'POST',
    headers: { ...dropped, 'X-Kept_As-It-Is': '1' },
    body: '{}',
  });
  t.equal(answer.status, 200);
  const got = lab.upstream.requests.at(-1);
  const names = (got?.rawHeaders ?? []).filter((_, i) => i % 2 === 0).map((it) => it.toLowerCase());
  for (const name of Object.keys(dropped)) t.notOk(names.includes(name.toLowerCase()), name);
  t.ok(names.includes('x-kept_as-it-is'));
  t.equal(got?.body.toString(), '{}');
});

t.test('takes no method that the route does not, by whatever name', async (t) => {
  const lab = await startLab(t, [{ prefix: 'bot', allowed_methods: ['GET', 'POST'] }]);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const cases: { path?: string; headers?: Record<string, string>; body?: string; status?: number }[] = [
    { headers: { 'X-HTTP-Method-Override': 'DELETE' } },
    { headers: { X_HTTP_Method_Override: 'DELETE' } },
    { headers: { 'X~HTTP~Method~Override': 'DELETE' } },
    { path: '?_method%00=DELETE' },
    { headers: { 'X-HTTP-Method-Override': 'GET' }, status: 200 },
    { path: '?_method=DELETE' },
    { path: '?a=1;%5fmethod=%44ELETE' },
    { headers: form, body: 'a=1&_method=delete' },
    { headers: form, body: 'a=1&method=delete', status: 200 },
  ];
  for (const { path = '', headers = {}, body = '{}', status = 405 } of cases) {
    const answer = await lab.call(`/inbound/bot/x${path}`, { method: 'POST', headers, body });
    t.equal(answer.status, status, JSON.stringify({ path, headers, body }));
  }
  t.equal(lab.upstream.requests.length, cases.filter((it) => it.status === 200).length);
});

t.test('tells nobody without a key which routes there are', async (t) => {
  const { gateway, call } = await startLab(t, [
    { prefix: 'bot' },
    { prefix: 'hook', agent: agentId, auth: { type: 'token', header: 'X-Hook', value: newSecret() } },
    { prefix: 'near', agent: agentId, auth: { type: 'ip', allow: ['10.0.0.0/8'] } },
  ]);
  const revoked = await gateway.mint();
  await gateway.api('DELETE', `/v1/keys/${revoked.key_id}`);
  const asked = async (prefix: string, authorization: string) => {
    const answer = await call(`/inbound/${prefix}/x`, { headers: { authorization } });
    return { status: answer.status, problem: { ...JSON.parse(answer.text), trace_id: undefined } };
  };
  const unknown = await asked('none', 'Bearer nonsense');
  t.equal(unknown.status, 401);
  for (const prefix of ['bot', 'hook', 'near'])
    t.same(await asked(prefix, 'Bearer nonsense'), unknown, prefix);
  t.same(await asked('none', `Bearer ${revoked.key}`), await asked('bot', `Bearer ${revoked.key}`));
  t.equal((await asked('none', `Bearer ${gateway.key}`)).status, 404);
});

t.test('who tries tokens is held up, and nobody who shows a key', async (t) => {
  const token = newSecret();
  const { gateway, call } = await startLab(t, [
    { prefix: 'bot' },
    { prefix: 'hook', agent: agentId, auth: { type: 'token', header: 'X-Hook', value: token } },
  ]);
  const hook = async (value: string) =>
    (await call('/inbound/hook/x', { headers: { 'x-hook': value } })).status;
  let status = await hook('guess');
  for (let i = 0; i < 200 && status === 401; i++) status = await hook(`guess ${i}`);
  t.equal(status, 429);
  t.equal(await hook(token), 429, 'the right one is not compared any more');
  t.equal((await call('/inbound/bot/x')).status, 200);
  t.equal((await gateway.api('GET', '/v1/usage', undefined, `Bearer ${gateway.adminSecret}`)).status, 200);
});

t.test('calls of a route count among the connections of their key', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const tenants = [{ id: 'acme', plan: 'enterprise', limits: { max_connections_per_agent: 2 } }];
  const agents = [{ id: agentId, tenant: 'acme', name: 'bot' }];
  const slow: UpstreamHandler = (_request, response) => void released.then(() => response.end());
  const { call } = await startLab(t, [{ prefix: 'bot' }], slow, { tenants, agents });
  t.teardown(release);
  const asked = Array.from({ length: 3 }, () => call('/inbound/bot/x'));
  const first = await Promise.race(asked);
  t.equal(first.status, 503);
  t.equal(codeOf(first), 'GATEWAY_BUSY');
  release();
  const statuses = (await Promise.all(asked)).map((it) => it.status);
  t.same(statuses.sort(), [200, 200, 503]);
});

t.test('takes no key of another tenant, and shows it nothing', async (t) => {
  const lab = await startLab(t, [{ prefix: 'bot' }], undefined, {
    tenants: [
      { id: 'acme', plan: 'enterprise' },
      { id: 'other', plan: 'enterprise' },
    ],
    agents: [
      { id: agentId, tenant: 'acme', name: 'bot' },
      { id: 'aaaaaaaa-7a54-4b0e-9a55-0a2f6f0f7c11', tenant: 'other', name: 'bot' },
    ],
  });
  const { key } = await lab.gateway.mint({
    tenant_id: 'other',
    default_agent_id: 'aaaaaaaa-7a54-4b0e-9a55-0a2f6f0f7c11',
  });
  const answer = await lab.call('/inbound/bot/x', { headers: { authorization: `Bearer ${key}` } });
  t.equal(answer.status, 404);
  t.same(
    { ...JSON.parse(answer.text), trace_id: undefined },
    { ...JSON.parse((await lab.call('/inbound/none/x')).text), trace_id: undefined },
    'just as where there is no route',
  );
  t.equal(lab.upstream.connections(), 0);
});

t.test('calls of a route that names its tool are calls of that tool, whatever the host', async (t) => {
  const { gateway, call } = await startLab(
    t,
    [{ prefix: 'relay', tool: 'slack' }, { prefix: 'own', tool: 'in_house' }, { prefix: 'plain' }],
    undefined,
    { tools: [{ name: 'in_house' }] },
  );
  await gateway.apply([
    {
      rule_id: 'quiet',
      match: { tool_name: 'slack', operations: ['post_message'], channel_patterns: ['#secret*'] },
      condition: {},
      action: 'DENY',
    },
  ]);
  const posting = (text: string) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ channel: text, text: 'hello' }),
  });
  const cases = [
    {
      path: '/inbound/relay/chat.postMessage',
      channel: '#open',
      status: 200,
      tool: 'slack',
      operation: 'post_message',
    },
    {
      path: '/inbound/relay/api/chat.postMessage',
      channel: '#secret-plans',
      status: 403,
      tool: 'slack',
      operation: 'post_message',
    },
    {
      path: '/inbound/relay/chat.postMessage',
      channel: '#secret-plans',
      status: 403,
      tool: 'slack',
      operation: 'post_message',
    },
    {
      path: '/inbound/own/chat.postMessage',
      channel: '#secret-plans',
      status: 200,
      tool: 'in_house',
      operation: 'http_post',
    },
    {
      path: '/inbound/plain/chat.postMessage',
      channel: '#secret-plans',
      status: 200,
      tool: 'custom_proxy',
      operation: 'http_post',
    },
  ];
  for (const { path, channel, status, tool, operation } of cases) {
    const answer = await call(path, posting(channel));
    t.equal(answer.status, status, `${path} ${channel}`);
    t.match((await traceOf(gateway, answer)).body, { tool_name: tool, operation }, path);
  }
});

t.test(
  'a tool that is not there is a mistake, so that no rule for the one that is meant is passed by',
  async (t) => {
    const inbound = [{ prefix: 'bot', tenant: 'acme', upstream: 'https://relay.test.example', tool: 'slak' }];
    const { configFile } = writeTestConfig(t, { config: { inbound } });
    await t.rejects(
      startGateway(configFile, {}),
      /inbound\[0\]\.tool: there is no such tool; did you mean "slack"\?/,
    );
  },
);

t.test('shows the caller no credential that an upstream echoes', async (t) => {
  const lab = await startLab(t, [{ prefix: 'bot' }], (request, response) => {
    const sent = request.headers.authorization ?? '';
    const secret = sent.slice('Bearer '.length);
    const way = request.url?.split('/').at(-1);
    if (way === 'gzip') {
      response.writeHead(200, { 'Content-Encoding': 'gzip' });
      response.end(gzipSync(sent));
    } else if (way === 'redirect') {
      response.writeHead(302, { Location: `https://x.test/?token=${secret}`, 'Set-Cookie': `a=${sent}` });
      response.end(sent);
    } else if (way === 'cut') {
      response.writeHead(500, { Trailer: 'X-Echo' });
      for (const byte of `error: ${sent}.`) response.write(byte);
      response.addTrailers({ 'X-Echo': secret });
      response.end();
    } else if (way === 'encoded') {
      response.end(
        [
          Buffer.from(sent).toString('base64'),
          Buffer.from(sent).toString('hex'),
          encodeURIComponent(sent),
        ].join(' '),
      );
    } else {
      const body = JSON.stringify({ headers: request.headers });
      response.writeHead(200, { 'Content-Length': Buffer.byteLength(body), ETag: `"${secret}"` });
      response.end(body);
    }
  });
  for (const way of ['json', 'redirect', 'cut', 'encoded']) {
    const answer = await lab.call(`/inbound/bot/${way}`);
    t.match(answer.text, label, way);
    const all = answer.text + JSON.stringify(answer.headers);
    for (const form of ['utf8', 'hex', 'base64'] as const)
      t.notMatch(all, Buffer.from(lab.secret).toString(form).slice(4, 30), `${way}: ${form}`);
  }
  t.equal((await lab.call('/inbound/bot/cut')).text, `error: ${label}.`);
  const answer = await lab.call('/inbound/bot/gzip', { headers: { 'accept-encoding': 'gzip' } });
  t.match(answer, { status: 200, text: label }, 'one that is compressed all the same goes on plain');
  t.equal(answer.headers['content-encoding'], undefined);
  t.equal(lab.upstream.requests.at(-1)?.headers['accept-encoding'], 'identity');
});

t.test(
  'a route with a credential answers with the whole where a part is asked for, and to HEAD with its length',
  async (t) => {
    const { call } = await startLab(t, [{ prefix: 'bot' }], (request, response) => {
      if (request.headers.range) response.writeHead(206, { 'Content-Range': 'bytes 0-3/9' }).end('part');
      else response.writeHead(200, { 'Content-Length': 9 }).end('the whole');
    });
    const headers = { range: 'bytes=0-3' };
    t.match(await call('/inbound/bot/x', { headers }), { status: 200, text: 'the whole' });
    const head = await call('/inbound/bot/x', { method: 'HEAD' });
    t.match(head, { status: 200, text: '', headers: { 'content-length': '9' } });
  },
);

t.test('messages in a coding that is not read do not go out', async (t) => {
  const { call, upstream } = await startLab(t, [{ prefix: 'rpc' }]);
  const method = 'POST';
  // In ASCII, as the body of a call is text here.
  const frame = (flag: number) => `${String.fromCharCode(flag)}\0\0\0\x05coded`;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const cases = [
    { type: 'application/grpc', coding: { 'grpc-encoding': 'snappy' }, body: frame(1) },
    { type: 'application/grpc-web+proto', coding: { 'grpc-encoding': 'br' }, body: frame(1) },
    { type: 'application/grpc-web-text', coding: { 'grpc-encoding': 'gzip' }, body: base64(frame(1)) },
    { type: 'application/grpc-web-text', coding: {}, body: base64(frame(0)) + base64(frame(1)) },
    { type: 'application/connect+proto', coding: { 'connect-content-encoding': 'lz4' }, body: frame(1) },
  ];
  for (const { type, coding, body } of cases) {
    const headers: Record<string, string> = { 'content-type': type, ...coding };
    const { status, headers: told } = await call('/inbound/rpc/pkg.Service/Method', {
      method,
      body,
      headers,
    });
    t.match({ status, told }, { status: 403, told: { 'x-service-reasons': /^UNREADABLE/ } }, type);
  }
  t.equal(upstream.requests.length, 0);
  const headers = { 'content-type': 'application/grpc-web+proto', 'grpc-encoding': 'snappy' };
  const readable = { method, body: frame(0), headers };
  t.match(await call('/inbound/rpc/pkg.Service/Method', readable), { status: 200 });
});
