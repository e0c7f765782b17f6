import type { Socket } from 'node:net';
import t from 'tap';
import { newKeyText } from '../../src/core/key-text.ts';
import { clientAddressOf } from '../../src/wire/server/client-address.ts';
import { adminSecret, startTestGateway } from '../support/gateway.ts';

const call = { method: 'GET', url: 'https://api.example.org/' };

t.test('what fails to authenticate too often has to wait, and nothing else', async (t) => {
  const gateway = await startTestGateway(t);
  let refused = await gateway.api('GET', '/v1/usage', undefined, 'Bearer wrong');
  t.match(refused, { status: 401, body: { code: 'INVALID_KEY' } });
  t.equal(refused.headers.get('www-authenticate'), 'Bearer');
  for (let i = 0; i < 200 && refused.status === 401; i++)
    refused = await gateway.api('GET', '/v1/usage', undefined, `Bearer ${newKeyText('live')}`);
  t.match(refused, { status: 429, body: { code: 'RATE_LIMITED' } });
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
  t.match(await gateway.api('GET', '/healthz', undefined, ''), { status: 200 });
  t.match(await gateway.api('GET', '/v1/usage'), { status: 200 }, 'a key that is valid');
  t.match(await gateway.api('POST', '/v1/scan', call), { status: 200 }, 'and its calls');
  const asAdmin = (secret: string) => gateway.api('GET', '/v1/usage', undefined, `Bearer ${secret}`);
  t.match(await asAdmin(adminSecret), { status: 200 }, 'keys that fail do not hold up the admin secret');

  let guessed = await asAdmin('guessed');
  for (let i = 0; i < 200 && guessed.status === 401; i++) guessed = await asAdmin(`guessed ${i}`);
  t.match(guessed, { status: 401 }, 'what is no token is not even a guess');
  for (let i = 0; i < 200 && guessed.status === 401; i++) guessed = await asAdmin(`guessed-${i}`);
  t.match(guessed, { status: 429, body: { code: 'RATE_LIMITED' } });
  t.match(await asAdmin(adminSecret), { status: 429 }, 'no secret of this address is compared any more');
  t.match(await gateway.api('GET', '/v1/usage'), { status: 200 });
});

t.test('a key from an address that it may not be used from costs its tenant nothing', async (t) => {
  const gateway = await startTestGateway(t);
  const { key, key_id: keyId } = await gateway.mint({ ip_allowlist: ['203.0.113.0/24'] });
  const ask = async (body: string, nonce: string) => {
    const response = await fetch(new URL('/v1/scan', gateway.controlUrl), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-service-timestamp': String(Math.floor(Date.now() / 1000)),
        'x-service-nonce': nonce,
      },
      body,
    });
    return { status: response.status, code: ((await response.json()) as { code?: string }).code };
  };
  const refused = { status: 403, code: 'IP_NOT_ALLOWED' };
  t.match(await ask(JSON.stringify(call), 'nonce-one'), refused);
  t.match(await ask('{', 'nonce-one'), refused, 'whatever else is wrong');
  t.match((await gateway.api('GET', `/v1/keys/${keyId}`)).body, { blocked_attempts: 2, calls_24h: 0 });

  let last = await ask('{', 'nonce-two');
  for (let i = 0; i < 200 && last.status === 403; i++) last = await ask('{', 'nonce-two');
  t.match(last, { status: 429, code: 'RATE_LIMITED' }, 'too often is a failure like any other');
  t.match(
    await gateway.api('POST', '/v1/scan', call),
    { status: 200 },
    'other keys of the address are not meant',
  );

  const change = { ip_allowlist: ['127.0.0.0/8'] };
  await gateway.api('PATCH', `/v1/keys/${keyId}`, change, `Bearer ${adminSecret}`);
  t.match(await ask(JSON.stringify(call), 'nonce-one'), { status: 200 }, 'no nonce was used up');
});

t.test('what is no key is turned away', async (t) => {
  const gateway = await startTestGateway(t);
  const { key } = gateway;
  const last = key.endsWith('0') ? '1' : '0';
  const cases: { name: string; authorization: string }[] = [
    { name: 'nothing', authorization: '' },
    { name: 'another scheme', authorization: `Basic ${key}` },
    { name: 'no scheme', authorization: key },
    { name: 'two keys', authorization: `Bearer ${key} ${key}` },
    { name: 'a wrong prefix', authorization: `Bearer sk${key.slice(2)}` },
    { name: 'a wrong checksum', authorization: `Bearer ${key.slice(0, -1)}${last}` },
    { name: 'a key that nobody minted', authorization: `Bearer ${newKeyText('live')}` },
  ];
  for (const { name, authorization } of cases) {
    for (const [method, path, body] of [
      ['GET', '/v1/keys', undefined],
      ['POST', '/v1/scan', call],
      ['POST', '/v1/scan', '{'],
    ] as const)
      t.match(
        await gateway.api(method, path, body, authorization),
        { status: 401, body: { code: 'INVALID_KEY' } },
        `${name}: ${path}`,
      );
  }
});

t.test('the client behind trusted proxies is the rightmost that is none of them', (t) => {
  const cases: { name: string; peer: string; forwarded?: string; want: string }[] = [
    {
      name: 'a stranger says what it likes',
      peer: '203.0.113.9',
      forwarded: '10.1.1.1',
      want: '203.0.113.9',
    },
    { name: 'a proxy tells', peer: '10.0.0.1', forwarded: '198.51.100.7', want: '198.51.100.7' },
    {
      name: 'a proxy behind a proxy',
      peer: '10.0.0.1',
      forwarded: '198.51.100.7, 10.0.0.2',
      want: '198.51.100.7',
    },
    {
      name: 'what the client put before',
      peer: '10.0.0.1',
      forwarded: '127.0.0.1, 198.51.100.7',
      want: '198.51.100.7',
    },
    { name: 'nothing was told', peer: '10.0.0.1', want: '10.0.0.1' },
    {
      name: 'rubbish ends the search',
      peer: '10.0.0.1',
      forwarded: '198.51.100.7, unknown',
      want: '10.0.0.1',
    },
    { name: 'all of them are proxies', peer: '10.0.0.1', forwarded: '10.0.0.3, 10.0.0.2', want: '10.0.0.3' },
    { name: 'with a port', peer: '::ffff:10.0.0.1', forwarded: '198.51.100.7:4711', want: '198.51.100.7' },
    { name: 'in brackets', peer: '10.0.0.1', forwarded: '[2001:db8::1]:4711', want: '2001:db8::1' },
    {
      name: 'an IPv4-mapped address in whatever spelling',
      peer: '10.0.0.1',
      forwarded: '198.51.100.7, ::ffff:a00:9, 0:0:0:0:0:FFFF:10.0.0.2',
      want: '198.51.100.7',
    },
    {
      name: 'an IPv4-mapped proxy',
      peer: '10.0.0.1',
      forwarded: '198.51.100.7, ::FFFF:10.0.0.9',
      want: '198.51.100.7',
    },
  ];
  for (const { name, peer, forwarded, want } of cases) {
    const socket = { remoteAddress: peer } as Socket;
    const request = { socket, fields: forwarded === undefined ? [] : ['X-Forwarded-For', forwarded] };
    t.equal(clientAddressOf(request, ['10.0.0.0/8']), want, name);
    t.equal(clientAddressOf(request, ['10.0.0.0/8', '::/0']), want, `${name}, and all of IPv6 is trusted`);
    t.equal(clientAddressOf(request, []), peer.replace('::ffff:', ''), `${name}, but nobody is trusted`);
  }
  t.end();
});

t.test('a fresh request is taken once', async (t) => {
  const gateway = await startTestGateway(t);
  const nowSeconds = Math.floor(Date.now() / 1000);
  const ask = async (headers: Record<string, string>, key = gateway.key) => {
    const response = await fetch(new URL('/v1/scan', gateway.controlUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(call),
    });
    return { status: response.status, code: ((await response.json()) as { code?: string }).code };
  };
  const fresh = (nonce: string, seconds = nowSeconds) => ({
    'x-service-timestamp': String(seconds),
    'x-service-nonce': nonce,
  });
  t.match(await ask(fresh('nonce-one')), { status: 200 });
  t.match(await ask(fresh('nonce-one')), { status: 409, code: 'REPLAYED' });
  t.match(await ask(fresh('nonce-old', nowSeconds - 3600)), { status: 409, code: 'REPLAYED' });
  t.match(await ask({ 'x-service-nonce': 'nonce-two' }), { status: 400 });
  t.match(await ask(fresh('short')), { status: 400 });
  const { key } = await gateway.mint({ require_nonce: true });
  t.match(await ask({}, key), { status: 400, code: 'VALIDATION_FAILED' }, 'a key that demands them');
  t.match(await ask(fresh('nonce-one'), key), { status: 200 }, 'nonces are unique by key');
});

t.test('the interface describes itself', async (t) => {
  const gateway = await startTestGateway(t);
  const { status, body } = await gateway.api('GET', '/v1/openapi.json', undefined, '');
  t.equal(status, 200);
  t.equal(body.openapi, '3.1.0');
  const text = JSON.stringify(body);
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
    t.ok(body.components.schemas[name ?? ''], `${name} is there`);
  t.notMatch(text, /"\$ref":"#\/(?:\$defs|definitions)/, 'no reference leads out of the document');
  const promised = [
    'post /v1/scan',
    'post /v1/scan/response',
    'get /v1/approvals/{approval_id}/status',
    'post /v1/policies/apply',
    'get /v1/policies/by-name/{name}',
    'post /v1/keys/ephemeral',
    'post /v1/a2a/scan',
    'delete /v1/keys/{key_id}',
    'post /v1/keys',
    'get /v1/usage',
  ];
  for (const it of promised) {
    const [method = '', path = ''] = it.split(' ');
    t.match(
      body.paths[path]?.[method],
      { summary: String, tags: Array, security: Array, responses: { default: Object } },
      it,
    );
  }
  const fields = body.paths['/v1/scan'].post.requestBody.content['application/json'].schema;
  t.match(fields.required.sort(), ['method', 'url']);
});

t.test('a method that is not there names those that are', async (t) => {
  const gateway = await startTestGateway(t);
  t.match(await gateway.api('PUT', '/v1/keys'), {
    status: 405,
    body: { code: 'METHOD_NOT_ALLOWED', detail: /GET/ },
  });
  t.equal((await gateway.api('PUT', '/v1/keys')).headers.get('allow'), 'GET, POST');
  t.match(await gateway.api('GET', '/v1/nothing'), { status: 404 });
  t.match(await gateway.api('GET', '/readyz', undefined, ''), {
    status: 200,
    body: { status: 'ready', checks: { state: 'ok' }, config: { generation: 1 } },
  });
});

t.test('policies are tried without being applied, and listed page by page', async (t) => {
  const gateway = await startTestGateway(t);
  const rules = [{ rule_id: 'r', match: {}, condition: {}, action: 'DENY' }];
  t.match(await gateway.api('POST', '/v1/policies/validate', { name: 'tried', rules }), {
    status: 200,
    body: { valid: true, warnings: [] },
  });
  t.match(await gateway.api('POST', '/v1/policies/validate', { name: 'tried', rules: [{ rule_id: 'r' }] }), {
    status: 400,
  });
  t.match(await gateway.api('GET', '/v1/policies/by-name/tried'), { status: 404 });
  for (const name of ['b', 'a', 'a']) await gateway.apply(rules, name);
  const { body: first } = await gateway.api('GET', '/v1/policies?limit=1');
  t.match(first, { items: [{ name: 'a', version: 2 }], next_cursor: String });
  const { body: second } = await gateway.api('GET', `/v1/policies?limit=1&cursor=${first.next_cursor}`);
  t.match(second, { items: [{ name: 'b', version: 1 }], next_cursor: null });
});
