import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import type { Test } from 'tap';
import {
  basic,
  openSecureTunnel,
  openTunnel,
  type Reply as ProxyReply,
  send,
} from '../../support/clients.ts';
import { isoTime, type Lab, uuid } from './lab.ts';

/** Errors: the table of the specification, and the codes that it leaves open. Versioning. */
export async function errors(t: Test, lab: Lab): Promise<void> {
  await t.test('Errors: the shape of every body', async (t) => {
    const { key } = await lab.tenant('errors');
    const authorization = `Bearer ${key}`;
    const cases: readonly [status: number, code: string, request: Parameters<Lab['call']>[0]][] = [
      [400, 'VALIDATION_FAILED', { method: 'POST', path: '/v1/scan', authorization, body: {} }],
      [401, 'INVALID_KEY', { method: 'POST', path: '/v1/scan', body: {} }],
      [403, 'FORBIDDEN', { method: 'POST', path: '/v1/keys', authorization, body: {} }],
      [404, 'NOT_FOUND', { method: 'GET', path: '/v1/unknown', authorization }],
      [404, 'NOT_FOUND', { method: 'GET', path: `/v1/approvals/${randomUUID()}/status`, authorization }],
      [404, 'NOT_FOUND', { method: 'GET', path: '/v1/policies/by-name/unknown', authorization }],
      [405, 'METHOD_NOT_ALLOWED', { method: 'GET', path: '/v1/scan', authorization }],
      [405, 'METHOD_NOT_ALLOWED', { method: 'PUT', path: '/v1/keys', authorization, body: {} }],
      [
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        {
          method: 'POST',
          path: '/v1/scan',
          authorization,
          body: 'a=1',
          headers: { 'content-type': 'text/plain' },
        },
      ],
      [
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        {
          method: 'POST',
          path: '/v1/scan',
          authorization,
          body: 'a: 1',
          headers: { 'content-type': 'application/yaml' },
        },
      ],
    ];
    for (const [status, code, asked] of cases) {
      const name = `${status} ${code}: ${asked.method} ${asked.path.slice(0, 30)}`;
      const reply = await lab.call(asked);
      t.match(
        reply,
        { status, body: { type: /^(urn|https?):/, title: /./, status, detail: /./, code } },
        name,
      );
      t.match(
        reply.headers.get('content-type'),
        /^application\/problem\+json/,
        `${name}: problem+json (RFC 9457)`,
      );
      if (status === 403) t.equal(reply.body.reason, code, `${name}: reason`);
      if (status === 400)
        t.match(reply.body.errors, [{ path: String, message: String }], `${name}: errors[]`);
      if (status === 405) t.ok(reply.headers.get('allow'), `${name}: Allow (RFC 9110, 15.5.6)`);
    }
    const preflight = await lab.call({
      method: 'OPTIONS',
      path: '/v1/scan',
      headers: { origin: 'https://a.test' },
    });
    t.notOk(preflight.headers.get('access-control-allow-origin'), 'no CORS on /v1');
  });

  await t.test('Errors: a Content-Type that is missing is read as JSON', async (t) => {
    const { key } = await lab.tenant('errors');
    const body = Buffer.from(JSON.stringify({ method: 'GET', url: 'https://a.test/' }));
    t.equal(
      await raw(lab, { method: 'POST', path: '/v1/scan', headers: { authorization: `Bearer ${key}` }, body }),
      200,
    );
  });

  await t.test('Errors: requests that are too large or out of form', async (t) => {
    const { key } = await lab.tenant('errors');
    const authorization = `Bearer ${key}`;
    t.equal(
      await raw(lab, { path: '/v1/usage', headers: { authorization, 'x-a': 'x'.repeat(70_000) } }),
      431,
      'HEADERS_TOO_LARGE',
    );
    t.equal(
      await raw(lab, { path: '/v1/usage', headers: { authorization: `Bearer ${'k'.repeat(20_000)}` } }),
      401,
      'a huge key',
    );
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`x-${n}`, '1']));
    t.equal(
      await raw(lab, { path: '/v1/usage', headers: { authorization, ...many } }),
      431,
      'too many headers',
    );
    t.equal(
      await raw(lab, { path: '/v1/usage', headers: { authorization, expect: 'cake' } }),
      417,
      'EXPECTATION_FAILED',
    );
    const deep = `{"method":"POST","url":"https://a.test/","body":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const reply = await lab.call({ method: 'POST', path: '/v1/scan', authorization, body: deep });
    t.ok([200, 400].includes(reply.status), 'a body of great depth is judged or refused');
    t.equal((await lab.call({ method: 'GET', path: '/healthz' })).status, 200, 'and the daemon lives');
  });

  await t.test('Errors: bad input to POST /v1/keys, each with errors[]', async (t) => {
    const { admin, id, agentId } = await lab.tenant('errors');
    const cases: readonly [name: string, fields: object, path: RegExp][] = [
      ['no name', { name: undefined }, /^name$/],
      ['an empty name', { name: '' }, /^name$/],
      ['a name that is a number', { name: 7 }, /^name$/],
      ['no default_agent_id', { default_agent_id: undefined }, /^default_agent_id$/],
      ['a malformed default_agent_id', { default_agent_id: 'bot' }, /^default_agent_id$/],
      ['a tenant_id with a slash', { tenant_id: '../x' }, /^tenant_id$/],
      ['a tenant_id over 64', { tenant_id: 'x'.repeat(65) }, /^tenant_id$/],
      ['CIDR rubbish', { ip_allowlist: ['here'] }, /^ip_allowlist/],
      ['a prefix of 33', { ip_allowlist: ['10.0.0.0/33'] }, /^ip_allowlist/],
      ['an octet of 256', { ip_allowlist: ['256.0.0.1'] }, /^ip_allowlist/],
      ['a prefix that is empty', { ip_allowlist: ['10.0.0.0/'] }, /^ip_allowlist/],
      ['a range in words', { ip_allowlist: ['10.0.0.1-10.0.0.9'] }, /^ip_allowlist/],
      ['an allowlist that is a text', { ip_allowlist: '10.0.0.0/8' }, /^ip_allowlist/],
      ['an unknown permission', { permissions: ['fly'] }, /^permissions/],
      ['an unknown environment', { env_name: 'moon' }, /^env_name/],
      ['an unknown further environment', { env_names: ['moon'] }, /^env_names/],
      ['a time that is none', { expires_at: 'tomorrow' }, /^expires_at$/],
      ['per_minute of 0', { per_minute: 0 }, /^per_minute$/],
      ['require_nonce as text', { require_nonce: 'yes' }, /^require_nonce$/],
    ];
    for (const [name, fields, path] of cases) {
      const body = { tenant_id: id, name: 'n', default_agent_id: agentId, ...fields };
      const reply = await lab.call({
        method: 'POST',
        path: '/v1/keys',
        authorization: `Bearer ${lab.adminSecret}`,
        body,
      });
      t.match(reply, { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } }, name);
    }
    const patched = await admin('PATCH', `/v1/keys/${(await lab.tenant('errors')).keyId}`, {
      ip_allowlist: ['x'],
    });
    t.match(patched, { status: 400, body: { errors: [{ path: /^ip_allowlist/ }] } }, 'PATCH, too');
  });

  await t.test('Errors: what another tenant has is not there', async (t) => {
    const { api } = await lab.tenant('errors');
    const foreign = await lab.tenant('foreign');
    const trace = (await foreign.scan()).body.trace_id;
    for (const [method, path] of [
      ['GET', `/v1/keys/${foreign.keyId}`],
      ['GET', `/v1/keys/${foreign.keyId}/audit`],
      ['DELETE', `/v1/keys/${foreign.keyId}`],
      ['GET', `/v1/traces/${trace}`],
    ] as const) {
      const known = await api(method, path);
      const unknown = await api(method, path.replace(/[0-9a-f-]{36}/, randomUUID()));
      t.match(
        known,
        { status: 404, body: { code: 'NOT_FOUND' } },
        `${method} ${path.replace(/[0-9a-f-]{36}/, '…')}`,
      );
      t.strictSame(
        [known.status, known.body],
        [unknown.status, unknown.body],
        'answered as if it did not exist',
      );
    }
    const listed = JSON.stringify([
      await api('GET', '/v1/keys?limit=1000'),
      await api('GET', '/v1/traces?limit=1000'),
    ]);
    t.notMatch(listed, foreign.keyId);
    t.equal((await foreign.scan()).status, 200, 'and the foreign key still works');
  });

  await t.test('Errors: the proxies answer with the same codes', async (t) => {
    const { key, mint, apply, agentId } = await lab.tenant('proxied');
    const authorization = basic(key);
    const tunnel = (authority: string, as: string | undefined = authorization) =>
      openTunnel({ proxyUrl: lab.proxyUrl, authority, ...(as === undefined ? {} : { authorization: as }) });
    const connect: readonly [name: string, authority: string, as: string | undefined, status: number][] = [
      ['PROXY_AUTH_REQUIRED without a key', 'up.test.example:443', '', 407],
      ['PROXY_AUTH_REQUIRED with rubbish', 'up.test.example:443', basic('iv_live_rubbish'), 407],
      ['EGRESS_BLOCKED for a literal private address', '10.0.0.1:443', authorization, 403],
      ['EGRESS_BLOCKED for the metadata address', '169.254.169.254:80', authorization, 403],
      ['EGRESS_BLOCKED for a denied host', 'denied.test.example:443', authorization, 403],
      [
        'a key as the user name',
        'up.test.example:443',
        `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
        200,
      ],
      ['a key as Bearer', 'up.test.example:443', `Bearer ${key}`, 200],
    ];
    for (const [name, authority, as, status] of connect) {
      const opened = await tunnel(authority, as === '' ? 'Basic Og==' : as);
      opened.socket.destroy();
      t.equal(opened.status, status, `${status} ${name}`);
      if (status === 407)
        t.match(opened.headers['proxy-authenticate'], /^Basic/, 'Proxy-Authenticate: Basic');
    }
    const inside = async (
      host: string,
      path: string,
      options: object = {},
      as = authorization,
    ): Promise<ProxyReply> => {
      const target = { proxyUrl: lab.proxyUrl, authorization: as, authority: `${host}:443`, ca: lab.caPem };
      const socket = await openSecureTunnel(target);
      const reply = await send(socket, { path, headers: { host }, ...options });
      socket.destroy();
      return reply;
    };
    t.match(await inside('up.test.example', '/x'), {
      status: 200,
      headers: { 'x-service-decision': 'ALLOW', 'x-service-trace-id': uuid },
    });
    const refused: readonly [host: string, options: object, status: number, code: string][] = [
      ['up.test.example', { headers: { host: 'other.test.example' } }, 421, 'MISDIRECTED_REQUEST'],
      ['private.test.example', {}, 403, 'EGRESS_BLOCKED'],
      ['closed.test.example', {}, 502, 'UPSTREAM_UNREACHABLE'],
    ];
    for (const [host, options, status, code] of refused) {
      const reply = await inside(host, '/x', options);
      t.equal(reply.status, status, `${status} ${code}`);
      t.match(JSON.parse(reply.body.toString()), { code, status }, `${code}: the problem`);
      t.match(reply.headers['proxy-status'], /./, `${code}: Proxy-Status (RFC 9209)`);
    }
    const free = await lab.tenant('plan-free');
    const body = 'x'.repeat(256 * 1024 + 1);
    const large = await inside(
      'up.test.example',
      '/x',
      { method: 'POST', body, headers: { host: 'up.test.example' } },
      basic(free.key),
    );
    t.equal(large.status, 413, '413 PAYLOAD_TOO_LARGE');
    t.match(JSON.parse(large.body.toString()), {
      code: 'PAYLOAD_TOO_LARGE',
      actual_bytes: Number,
      limit_bytes: 256 * 1024,
    });
    for (const [action, code] of [
      ['DENY', 'POLICY_DENIED'],
      ['REQUIRE_APPROVAL', 'APPROVAL_REQUIRED'],
    ]) {
      await apply([{ rule_id: 'r', match: { agent_ids: [agentId] }, action }]);
      const reply = await inside('up.test.example', '/x');
      t.equal(reply.status, 403, `${action} is 403`);
      t.match(JSON.parse(reply.body.toString()), { code, reason: code, trace_id: uuid });
      t.match(reply.headers, {
        'x-service-decision': action,
        'x-service-trace-id': uuid,
        'x-service-reasons': `POLICY_${action}`,
      });
    }
    const away = await mint({ ip_allowlist: ['192.0.2.1'] });
    const opened = await tunnel('up.test.example:443', basic(away.key));
    opened.socket.destroy();
    t.ok([200, 403, 407].includes(opened.status), 'a key from another address gets no further than a tunnel');
  });

  await t.test('Versioning 1: the interface lives under /v1', async (t) => {
    const { key } = await lab.tenant('errors');
    const authorization = `Bearer ${key}`;
    for (const path of ['/usage', '/v2/usage', '/V1/usage', '/v1//usage']) {
      t.equal((await lab.call({ method: 'GET', path, authorization })).status, 404, path);
    }
    const openapi = await lab.call({ method: 'GET', path: '/v1/openapi.json' });
    t.match(openapi, { status: 200, body: { openapi: /^3\./, paths: Object } }, 'openapi.json needs no key');
    const endpoints = [
      '/v1/scan',
      '/v1/scan/response',
      '/v1/approvals/{approval_id}/status',
      '/v1/policies/apply',
      '/v1/policies/by-name/{name}',
      '/v1/keys/ephemeral',
      '/v1/a2a/scan',
      '/v1/keys/{key_id}',
      '/v1/keys',
      '/v1/usage',
    ];
    const shape = (path: string) => path.replace(/\{[^}]*\}/g, '{}');
    const described = Object.keys(openapi.body?.paths ?? {}).map(shape);
    for (const path of endpoints) t.ok(described.includes(shape(path)), `${path} is described`);
    const ready = await lab.call({ method: 'GET', path: '/readyz' });
    t.match(ready, {
      status: 200,
      body: {
        status: /./,
        checks: Object,
        config: { generation: Number, loaded_at: isoTime, last_error: null },
      },
    });
  });
}

interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** The status of a request that fetch would not send: without a Content-Type, or with heads of any size. */
function raw(lab: Lab, { method = 'GET', path, headers = {}, body }: RawRequest): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, lab.controlUrl), { method, headers, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
