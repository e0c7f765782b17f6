import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import type { Test } from 'tap';
import { isoTime, type Lab } from './lab.ts';

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
      const name = `${status} ${code}: ${asked.method} ${asked.path.replace(/[0-9a-f-]{36}/, '…')}`;
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

  await t.test('Errors: 400 names each field by errors[], wherever it stands', async (t) => {
    const { key, keyId } = await lab.tenant('errors');
    const authorization = `Bearer ${key}`;
    const aCall = { method: 'GET', url: 'https://a.test/' };
    const stamp = String(Math.floor(Date.now() / 1000));
    const cases: readonly [name: string, path: RegExp, request: Partial<Parameters<Lab['call']>[0]>][] = [
      ['a body that ends too early', /^$|^body$/, { body: '{"method":' }],
      ['a body that is no object', /^$|^body$/, { body: '[]' }],
      ['two fields at once', /^method$/, { body: { method: 7, url: 7 } }],
      ['a query', /^limit$/, { method: 'GET', path: '/v1/keys?limit=0' }],
      ['a query of its own', /^from$/, { method: 'GET', path: '/v1/traces?from=yesterday' }],
      ['a filter', /^agent$/, { method: 'GET', path: '/v1/traces?agent=me' }],
      ['a timestamp alone', /^x-service-nonce$/, { body: aCall, headers: { 'X-Service-Timestamp': stamp } }],
      [
        'a short nonce',
        /^x-service-nonce$/,
        { body: aCall, headers: { 'X-Service-Timestamp': stamp, 'X-Service-Nonce': 'x' } },
      ],
      [
        'no tenant',
        /^tenant_id$/,
        { method: 'GET', path: '/v1/usage', authorization: `Bearer ${lab.adminSecret}` },
      ],
      [
        'a change',
        /^name$/,
        {
          method: 'PATCH',
          path: `/v1/keys/${keyId}?tenant_id=errors`,
          body: { name: '' },
          authorization: `Bearer ${lab.adminSecret}`,
        },
      ],
    ];
    for (const [name, path, request] of cases) {
      const reply = await lab.call({ method: 'POST', path: '/v1/scan', authorization, ...request });
      t.match(
        reply,
        { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path, message: /./ }] } },
        name,
      );
    }
  });

  await t.test('Endpoints: all bodies are JSON', async (t) => {
    const { api, key, keyId, agentId } = await lab.tenant('errors');
    const paths = [
      `/v1/keys/${keyId}`,
      `/v1/keys/${keyId}/audit`,
      '/v1/keys',
      '/v1/agents',
      `/v1/agents/${agentId}`,
    ];
    paths.push(
      '/v1/policies',
      '/v1/incidents',
      '/v1/traces',
      '/v1/audit',
      '/v1/approvals',
      '/v1/usage',
      '/v1/openapi.json',
    );
    for (const path of paths) {
      const { status, headers, body } = await api('GET', path);
      const name = path.replace(keyId, '…').replace(agentId, '…');
      t.match(
        [status, typeof body, headers.get('content-type')],
        [200, 'object', /^application\/json\b/],
        name,
      );
      t.equal(headers.get('cache-control'), 'no-store', `${name}: is kept by nobody on the way`);
    }
    for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
      const reply = await lab.call({
        method: 'POST',
        path: '/v1/scan',
        authorization: `Bearer ${key}`,
        body: { method: 'GET', url: 'https://a.test/' },
        headers: { 'content-type': type },
      });
      t.equal(reply.status, 200, type);
    }
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
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`x-${n}`, '1']));
    const cases: readonly [name: string, headers: object, status: number, code: string][] = [
      ['a head of 70 KB', { 'x-a': 'x'.repeat(70_000) }, 431, 'HEADERS_TOO_LARGE'],
      ['300 fields', many, 431, 'HEADERS_TOO_LARGE'],
      ['Expect', { expect: 'cake' }, 417, 'EXPECTATION_FAILED'],
      ['a huge key', { authorization: `Bearer ${'k'.repeat(20_000)}` }, 401, 'INVALID_KEY'],
    ];
    for (const [name, headers, status, code] of cases) {
      const reply = await lab.call({
        method: 'GET',
        path: '/v1/usage',
        authorization,
        headers: { ...headers },
      });
      t.match(reply, { status, body: { code, status } }, `${name}: ${status} ${code}`);
      t.match(reply.headers.get('content-type'), /^application\/problem\+json/, `${name}: problem+json`);
    }
    const deep = `{"method":"POST","url":"https://a.test/","body":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const reply = await lab.call({ method: 'POST', path: '/v1/scan', authorization, body: deep });
    t.equal(reply.status, 200, 'a body of great depth');
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
      ['half of a surrogate pair', { description: 'a\ud800' }, /^description$/],
      ['half of a surrogate pair in a name', { name: 'a\udc00' }, /^name$/],
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
