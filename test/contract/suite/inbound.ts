import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { awsKeyId } from '../../support/secrets.ts';
import { inboundAgentId, inboundSecrets } from './config.ts';
import { isoTime, type Lab, type Reply, uuid } from './lab.ts';

type Fields = Readonly<Record<string, string>>;

/** What the service does 7. Endpoints: ALL /inbound/{prefix}/*. */
export async function inboundRoutes(t: Test, lab: Lab): Promise<void> {
  const { key, apply, mint, admin, ephemeral, agentId } = await lab.tenant('inbound');
  const calls = (
    method: string,
    path: string,
    body?: unknown,
    headers: Fields = {},
    one = key,
  ): Promise<Reply> =>
    lab.call({ method, path: `/inbound/${path}`, authorization: `Bearer ${one}`, body, headers });
  const anonymous = (path: string, headers: Fields = {}): Promise<Reply> =>
    lab.call({ method: 'GET', path: `/inbound/${path}`, headers });
  const arrived = () => lab.upstream.requests.length;

  await t.test(
    'Endpoints, ALL /inbound/{prefix}/*: any method, path, query and body reach the upstream',
    async (t) => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const body = method === 'GET' ? undefined : { item: 'pencil' };
        const reply = await calls(method, 'by-key/orders/7?a=1&b=%20x', body);
        t.match(reply, { status: 200, body: { method, url: '/base/orders/7?a=1&b=%20x' } }, method);
        if (body) t.same(JSON.parse(reply.body.body), body, `${method}: with its body`);
        t.equal(reply.headers.get('x-service-decision'), 'ALLOW', `${method}: X-Service-Decision`);
        t.match(reply.headers.get('x-service-trace-id'), uuid, `${method}: X-Service-Trace-Id`);
        t.equal(reply.headers.get('x-of-upstream'), 'yes', `${method}: headers of the upstream`);
      }
      for (const method of ['HEAD', 'OPTIONS', 'PROPFIND']) {
        const reply = await calls(method, 'by-key/x');
        t.equal(reply.status, 200, method);
        t.equal(reply.headers.get('x-service-decision'), 'ALLOW', `${method}: X-Service-Decision`);
        t.equal(lab.upstream.requests.at(-1)?.method, method, `${method}: reaches the upstream`);
      }
      for (const status of [201, 404, 418, 500]) {
        const reply = await calls('GET', `by-key/x?status=${status}`);
        t.equal(reply.status, status, `the upstream's status ${status} is the answer's`);
        t.equal(reply.headers.get('x-service-decision'), 'ALLOW');
      }
      const trace = await calls('GET', 'by-key/x');
      t.match(
        await admin('GET', `/v1/traces/${trace.headers.get('x-service-trace-id')}`),
        { status: 200, body: { agent_id: inboundAgentId, decision: 'ALLOW' } },
        'the trace is of the agent that the route names',
      );
      const own = await calls('GET', 'own-agent/x');
      t.match(
        await admin('GET', `/v1/traces/${own.headers.get('x-service-trace-id')}`),
        { status: 200, body: { agent_id: agentId } },
        "without one, of the key's agent",
      );
      const proxied = await fetch(new URL('/inbound/by-key/x', lab.proxyUrl), {
        headers: { authorization: `Bearer ${key}` },
      });
      t.equal(proxied.status, 200, 'the proxy listener serves it, too');
      await proxied.text();
    },
  );

  await t.test(
    'What the service does 7: the stored credential reaches the upstream, and never the agent',
    async (t) => {
      const secrets = Object.values(inboundSecrets);
      const wants: Readonly<
        Record<string, (request: (typeof lab.upstream.requests)[number] | undefined) => boolean>
      > = {
        'by-key': (it) => it?.headers.authorization === `Bearer ${inboundSecrets.bearer}`,
        basic: (it) =>
          it?.headers.authorization ===
          `Basic ${Buffer.from(`robot:${inboundSecrets.password}`).toString('base64')}`,
        headers: (it) => it?.headers['x-api-key'] === inboundSecrets.header,
        query: (it) =>
          new URL(it?.url ?? '/', 'http://x').searchParams.get('api_key') === inboundSecrets.query,
      };
      for (const [prefix, isRight] of Object.entries(wants)) {
        const reply = await calls('POST', `${prefix}/x`, { a: 1 });
        t.equal(reply.status, 200, prefix);
        t.ok(isRight(lab.upstream.requests.at(-1)), `${prefix}: it was sent`);
        const told = JSON.stringify([reply.body, [...reply.headers]]);
        t.notOk(
          secrets.some(
            (it) => told.includes(it) || told.includes(Buffer.from(`robot:${it}`).toString('base64')),
          ),
          `${prefix}: an upstream that echoes it is redacted`,
        );
        t.match(told, /\[REDACTED:credential\]/, `${prefix}: and says so`);
        const sent = JSON.stringify(lab.upstream.requests.at(-1)?.rawHeaders);
        t.notOk(sent.includes(key), `${prefix}: the caller's gateway key is not forwarded`);
        const trace = await admin('GET', `/v1/traces/${reply.headers.get('x-service-trace-id')}`);
        t.notOk(
          secrets.some((it) => JSON.stringify(trace.body).includes(it)),
          `${prefix}: nor does the trace have it`,
        );
      }
      await calls('GET', 'headers/x', undefined, { 'X-Api-Key': 'of the agent' });
      t.equal(
        lab.upstream.requests.at(-1)?.headers['x-api-key'],
        inboundSecrets.header,
        'it replaces what the agent sends',
      );
    },
  );

  await t.test('Endpoints, ALL /inbound/{prefix}/*: status and headers of every decision', async (t) => {
    const decide = async (action: string, body: unknown) => {
      await apply([{ rule_id: 'r', action, reason_code: 'FOR_TEST' }]);
      const before = arrived();
      const reply = await calls('POST', 'by-key/x', body);
      return { ...reply, sent: arrived() - before };
    };
    const cases: readonly [
      action: string,
      decision: string,
      status: number,
      code: string | undefined,
      sent: number,
    ][] = [
      ['ALLOW', 'ALLOW', 200, undefined, 1],
      ['SANITIZE', 'SANITIZE', 200, undefined, 1],
      ['DENY', 'DENY', 403, 'POLICY_DENIED', 0],
      ['OPEN_INCIDENT', 'DENY', 403, 'POLICY_DENIED', 0],
      ['REQUIRE_APPROVAL', 'REQUIRE_APPROVAL', 403, 'APPROVAL_REQUIRED', 0],
    ];
    for (const [action, decision, status, code, sent] of cases) {
      const reply = await decide(action, { n: randomUUID() });
      t.equal(reply.status, status, `${action}: ${status}`);
      t.equal(reply.headers.get('x-service-decision'), decision, `${action}: X-Service-Decision ${decision}`);
      t.match(reply.headers.get('x-service-trace-id'), uuid, `${action}: X-Service-Trace-Id`);
      t.equal(
        reply.headers.get('x-service-reasons')?.split(/, ?/)[0],
        'FOR_TEST',
        `${action}: X-Service-Reasons`,
      );
      t.equal(reply.sent, sent, `${action}: the upstream sees ${sent} calls`);
      if (code)
        t.match(
          reply.body,
          { code, status, trace_id: reply.headers.get('x-service-trace-id') },
          `${action}: ${code}`,
        );
      if (decision !== 'REQUIRE_APPROVAL') continue;
      t.match(reply.headers.get('x-service-approval-id'), uuid, 'X-Service-Approval-Id');
      t.match(reply.body, { approval_id: uuid, status_url: /\/v1\/approvals\/.*\/status$/ });
      t.match(reply.headers.get('retry-after'), /^\d+$/);
    }
    const secret = awsKeyId();
    const sanitized = await decide('SANITIZE', { note: secret });
    t.equal(
      lab.upstream.requests.at(-1)?.body.toString(),
      '{"note":"[REDACTED:aws-access-key-id]"}',
      'sent sanitized',
    );
    t.equal(sanitized.status, 200);
    await apply([{ rule_id: 'r', match: { tool_name: 'nothing' }, action: 'DENY' }]);
  });

  await t.test('Inbound routes: how callers are known', async (t) => {
    const { hook } = inboundSecrets;
    const foreign = await lab.tenant('foreign');
    const dead = await mint();
    await admin('DELETE', `/v1/keys/${dead.key_id}`);
    const away = await mint({ ip_allowlist: ['192.0.2.1'] });
    const cases: readonly [
      name: string,
      ask: () => Promise<Reply>,
      status: number,
      code: string | undefined,
    ][] = [
      ['key: a key of the tenant', () => calls('GET', 'by-key/x'), 200, undefined],
      ['key: none', () => anonymous('by-key/x'), 401, 'INVALID_KEY'],
      ['key: rubbish', () => anonymous('by-key/x', { authorization: 'Bearer rubbish' }), 401, 'INVALID_KEY'],
      ['key: a revoked one', () => calls('GET', 'by-key/x', undefined, {}, dead.key), 401, 'INVALID_KEY'],
      [
        'key: of another tenant',
        () => calls('GET', 'by-key/x', undefined, {}, foreign.key),
        404,
        'NOT_FOUND',
      ],
      [
        'key: from another address',
        () => calls('GET', 'by-key/x', undefined, {}, away.key),
        403,
        'IP_NOT_ALLOWED',
      ],
      ['token: in the header', () => anonymous('by-token/x', { 'X-Hook': hook }), 200, undefined],
      ['token: a wrong one', () => anonymous('by-token/x', { 'X-Hook': `${hook}x` }), 401, 'INVALID_KEY'],
      ['token: none', () => anonymous('by-token/x'), 401, 'INVALID_KEY'],
      ['token: in the query', () => anonymous(`by-query/x?t=${hook}`), 200, undefined],
      ['token: a wrong one in the query', () => anonymous('by-query/x?t=no'), 401, 'INVALID_KEY'],
      ['ip: inside', () => anonymous('by-address/x'), 200, undefined],
      ['none: anybody', () => anonymous('by-nobody/x'), 200, undefined],
      ['an unknown prefix', () => calls('GET', 'unknown/x'), 404, 'NOT_FOUND'],
      ['a prefix that none may have', () => calls('GET', 'UPPER/x'), 404, 'NOT_FOUND'],
    ];
    for (const [name, ask, status, code] of cases) {
      const reply = await ask();
      t.equal(reply.status, status, name);
      if (!code) continue;
      t.match(reply.body, { code }, `${name}: ${code}`);
      t.equal(reply.headers.get('x-service-decision'), 'DENY', `${name}: the decision is DENY`);
      t.match(reply.headers.get('x-service-trace-id'), uuid, `${name}: with a trace id`);
      t.equal(reply.headers.get('x-service-reasons'), code, `${name}: and the reason`);
    }
    const token = JSON.stringify(lab.upstream.requests.slice(-8).map((it) => [it.url, it.rawHeaders]));
    t.notOk(token.includes(hook), 'the token of the route is not forwarded');
  });

  await t.test('Inbound routes: bounds of a route, and what is not there', async (t) => {
    const cases: readonly [
      name: string,
      ask: () => Promise<Reply>,
      status: number,
      code: string | undefined,
    ][] = [
      ['an allowed method and path', () => calls('GET', 'narrow/open/x'), 200, undefined],
      ['another method', () => calls('POST', 'narrow/open/x', {}), 405, 'METHOD_NOT_ALLOWED'],
      ['another path', () => calls('GET', 'narrow/closed/x'), 404, 'NOT_FOUND'],
      ['a body within the limit', () => calls('POST', 'small/x', 'x'.repeat(1024)), 200, undefined],
      ['a body over the limit', () => calls('POST', 'small/x', 'x'.repeat(1025)), 413, 'PAYLOAD_TOO_LARGE'],
      ['a credential that was never set', () => calls('GET', 'unset/x'), 502, 'CREDENTIAL_UNAVAILABLE'],
      ['an upstream that is not there', () => calls('GET', 'nowhere/x'), 502, 'UPSTREAM_UNREACHABLE'],
    ];
    for (const [name, ask, status, code] of cases) {
      const before = arrived();
      const reply = await ask();
      t.equal(reply.status, status, name);
      const decision = status === 200 || status === 502 ? 'ALLOW' : 'DENY';
      t.equal(reply.headers.get('x-service-decision'), decision, `${name}: X-Service-Decision`);
      t.match(reply.headers.get('x-service-trace-id'), uuid, `${name}: X-Service-Trace-Id`);
      if (!code) continue;
      t.match(reply.body, { code }, `${name}: ${code}`);
      t.equal(arrived(), before, `${name}: nothing was sent`);
    }
  });

  await t.test('Inbound routes: an address or a path outside of what the route allows', async (t) => {
    const before = arrived();
    const away = await anonymous('other-address/x');
    t.match(
      away,
      { status: 401, body: { code: 'INVALID_KEY' } },
      'an address outside of the list is nobody it knows',
    );
    t.equal(away.headers.get('x-service-decision'), 'DENY');
    const elsewhere = await anonymous('by-address/x', { 'x-forwarded-for': '192.0.2.1' });
    t.equal(elsewhere.status, 401, 'nor is one behind a trusted proxy');
    t.equal(
      (await anonymous('other-address/x', { 'x-forwarded-for': '192.0.2.1' })).status,
      200,
      'where it counts',
    );
    const sent = lab.upstream.requests.at(-1)?.headers ?? {};
    t.notOk('x-forwarded-for' in sent, 'the way to here is nothing for the upstream');
    t.match(
      await calls('GET', 'narrow/open/%2e%2e/closed'),
      { status: 400, body: { code: 'VALIDATION_FAILED' } },
      'a path that climbs out of what is allowed',
    );
    t.equal(arrived(), before + 1, 'nothing else was sent');
  });

  await t.test('Inbound routes: a credential of the vault is set, used, replaced and revoked', async (t) => {
    const [first, second] = [randomUUID(), randomUUID()];
    const put = (value: string) =>
      admin('PUT', '/v1/credentials/unset', { type: 'bearer', secret: { value } });
    for (const value of [first, second]) {
      const answer = await put(value);
      t.match(answer, { status: 200, body: { name: 'unset', type: 'bearer', changed_at: isoTime } });
      t.notOk(JSON.stringify(answer.body).includes(value), 'what is set is not answered');
      t.equal((await calls('GET', 'unset/x')).status, 200);
      t.equal(
        lab.upstream.requests.at(-1)?.headers.authorization,
        `Bearer ${value}`,
        'from the next call on',
      );
    }
    const told = JSON.stringify([await admin('GET', '/v1/credentials'), await admin('GET', '/v1/audit')]);
    t.match(told, /credential\.set/, 'the audit log has it');
    t.notOk(told.includes(first) || told.includes(second), 'without the secret');
    t.match(await admin('DELETE', '/v1/credentials/unset'), { status: 200, body: { status: 'revoked' } });
    t.match(
      await calls('GET', 'unset/x'),
      { status: 502, body: { code: 'CREDENTIAL_UNAVAILABLE' } },
      'revoked: the call is not sent without it',
    );
    for (const fields of [{ type: 'sword' }, { secret: {} }, { secret: 'text' }, { secret: { value: 7 } }]) {
      const reply = await admin('PUT', '/v1/credentials/unset', {
        type: 'bearer',
        secret: { value: 'x' },
        ...fields,
      });
      t.match(reply, { status: 400, body: { errors: [{ path: /^(type|secret)/ }] } }, JSON.stringify(fields));
    }
  });

  await t.test('Inbound routes: a path does not leave the base of the upstream', async (t) => {
    const before = arrived();
    const rests = [
      '%2e%2e/admin',
      '..%2fadmin',
      '%2e%2e%2fadmin',
      '..%5cadmin',
      '/evil.test/x',
      '%2f%2fevil.test',
      'a/%2e%2e/%2e%2e/admin',
    ];
    for (const rest of rests) await calls('GET', `by-key/${rest}`);
    for (const { url } of lab.upstream.requests.slice(before)) {
      t.match(url, /^\/base\//, url);
      t.notMatch(decodeURIComponent(url), /\.\.[/\\]/, `${url}: without dot segments`);
    }
    t.pass('whatever was refused did not reach it');
  });

  await t.test('Inbound routes: ephemeral keys and quotas hold', async (t) => {
    const { key: once } = await ephemeral({ max_uses: 1 });
    t.equal((await calls('GET', 'by-key/x', undefined, {}, once)).status, 200);
    t.match(await calls('GET', 'by-key/x', undefined, {}, once), {
      status: 401,
      body: { code: 'INVALID_KEY' },
    });
    const { key: narrow } = await ephemeral({ scope: { tools: ['github'] } });
    const outside = await calls('GET', 'by-key/x', undefined, {}, narrow);
    t.equal(outside.status, 403, 'out of scope is 403 on the proxies');
    t.equal(outside.headers.get('x-service-reasons')?.split(',')[0], 'EPHEMERAL_SCOPE_VIOLATION');
    const small = await lab.tenant('inbound-small');
    const statuses = [];
    for (let n = 0; n < 4; n++)
      statuses.push((await calls('GET', 'quota/x', undefined, {}, small.key)).status);
    t.same(statuses, [200, 200, 200, 429], 'each inbound request counts');
    const over = await calls('GET', 'quota/x', undefined, {}, small.key);
    t.match(over, { status: 429, body: { code: 'QUOTA_EXCEEDED' } });
    t.equal(over.headers.get('x-service-decision'), 'DENY');
  });
}
