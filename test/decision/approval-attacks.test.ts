import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { stringify } from 'yaml';
import { basic, openSecureTunnel, send } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startUpstream } from '../support/upstream.ts';
import { admin, decide, pay, pending, rules, startHolding } from './held.ts';

/* An agent that wants a call to go out without anybody who has said yes to this very call. */

t.test('nobody else spends a grant', async (t) => {
  const tenants = ['acme', 'globex'].map((id) => ({
    id,
    plan: 'enterprise',
    environments: ['production', 'staging'],
  }));
  const gateway = await startTestGateway(t, { config: { tenants } });
  await gateway.apply(rules);
  const globex = await gateway.mint({ tenant_id: 'globex', default_agent_id: randomUUID() });
  await gateway.api('POST', '/v1/policies/apply', { name: 'test', rules }, `Bearer ${globex.key}`);
  const scan = async (key: string, fields: object) =>
    (await gateway.api('POST', '/v1/scan', { ...pay, agent_id: undefined, ...fields }, `Bearer ${key}`)).body;
  const named = randomUUID();
  const held = await scan(gateway.key, { agent_id: named });
  const path = `/v1/approvals/${held.approval_id}/decision?tenant_id=acme`;
  t.equal((await gateway.api('POST', path, { decision: 'approved' }, admin)).status, 200);

  const stranger = await gateway.mint({ default_agent_id: randomUUID() });
  const staged = await gateway.mint({ default_agent_id: randomUUID(), env_name: 'staging' });
  const thieves: readonly [name: string, key: string, fields: object][] = [
    ['a key of another agent', stranger.key, {}],
    ['a key of another agent that names the agent', stranger.key, { agent_id: named }],
    ['the key itself for its own agent', gateway.key, {}],
    ['a key of another environment', staged.key, {}],
    ['a key of another tenant', globex.key, {}],
    ['a key of another tenant that names the agent', globex.key, { agent_id: named }],
  ];
  for (const [name, key, fields] of thieves) {
    const { decision, approval_id, code } = await scan(key, fields);
    t.not(decision, 'ALLOW', name);
    t.not(approval_id, held.approval_id);
    t.ok(decision === 'REQUIRE_APPROVAL' || code === 'CROSS_TENANT', `${name} asks for itself`);
  }
  const sibling = await gateway.mint();
  t.match(
    await scan(sibling.key, { agent_id: named }),
    { decision: 'ALLOW' },
    'another key of the same agent',
  );
});

t.test('who asks for the same call as another cannot decide for both', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply(rules);
  const second = await gateway.mint({
    default_agent_id: randomUUID(),
    permissions: ['scan', 'approvals:decide'],
  });
  const named = { ...pay, agent_id: randomUUID() };
  const { body: first } = await gateway.api('POST', '/v1/scan', named);
  const asSecond = `Bearer ${second.key}`;
  const { body: own } = await gateway.api('POST', '/v1/scan', named, asSecond);
  const decideAs = (id: string) =>
    gateway.api('POST', `/v1/approvals/${id}/decision`, { decision: 'approved' }, asSecond);
  t.match(await decideAs(own.approval_id), { status: 403, body: { code: 'FORBIDDEN' } });
  t.match(await decideAs(first.approval_id), { status: 200 });
  t.match((await gateway.api('POST', '/v1/scan', named, asSecond)).body, {
    decision: 'REQUIRE_APPROVAL',
    approval_id: own.approval_id,
  });
});

t.test('identical is what is sent the same: bytes, not meanings', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply(rules);
  const scan = async (fields: object) =>
    (await gateway.api('POST', '/v1/scan', { ...pay, body: '{"a":1,"b":2}', ...fields })).body.approval_id;
  const url = `${pay.url}?a=1&b=2`;
  const asked = await scan({ url });
  const type = { 'content-type': 'application/json' };
  t.equal(await scan({ url, headers: { 'x-request-id': '1', ...type } }), asked, 'other headers');
  t.equal(
    await scan({ url: url.replace('https://api', 'HTTPS://API') }),
    asked,
    'one URL in another spelling',
  );
  for (const [name, fields] of Object.entries({
    'white space in JSON': { url, body: '{"a":1, "b":2}' },
    'the order of members': { url, body: '{"b":2,"a":1}' },
    'the order of the query': { url: `${pay.url}?b=2&a=1` },
    'another spelling of a query': { url: `${pay.url}?a=%31&b=2` },
  }))
    t.not(await scan(fields), asked, name);
});

t.test('a denial stands whatever else is put into the headers', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply(rules);
  const { body: held } = await gateway.api('POST', '/v1/scan', pay);
  await decide(gateway, held.approval_id, 'denied');
  for (const headers of [{ 'x-note': 'SSN 536-22-8726' }, { 'x-amz-acl': 'private' }]) {
    const { body } = await gateway.api('POST', '/v1/scan', {
      ...pay,
      headers: { ...pay.headers, ...headers },
    });
    t.match(body, { decision: 'DENY', reason_codes: ['RECENT_APPROVAL_DENIAL'] });
  }
});

t.test('what is found in a header since it was approved is asked about again', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply(rules);
  const { body: held } = await gateway.api('POST', '/v1/scan', pay);
  const path = `/v1/approvals/${held.approval_id}/decision`;
  await gateway.api('POST', path, { decision: 'approved', scope: 'window' }, admin);
  const leaking = { ...pay, headers: { ...pay.headers, 'x-note': 'SSN 536-22-8726' } };
  t.match((await gateway.api('POST', '/v1/scan', leaking)).body, { decision: 'REQUIRE_APPROVAL' });
  t.match((await gateway.api('POST', '/v1/scan', pay)).body, { decision: 'ALLOW' });
});

t.test('an argument in a header is shown, and cannot be another one once it was approved', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply([{ rule_id: 'ask', action: 'REQUIRE_APPROVAL' }]);
  const upload = (argument: object, more: object = {}) => ({
    method: 'POST',
    url: 'https://content.dropboxapi.com/2/files/upload',
    headers: {
      'dropbox-api-arg': JSON.stringify(argument),
      'content-type': 'application/octet-stream',
      ...more,
    },
    body: 'report',
  });
  const scan = async (call: object) => (await gateway.api('POST', '/v1/scan', call)).body;
  const held = await scan(upload({ path: '/public/a', mode: 'add' }, { 'x-request-id': '1' }));
  const { body } = await gateway.api('GET', `/v1/approvals/${held.approval_id}`);
  t.match(body.covers.once, '“dropbox-api-arg: {"path":"/public/a","mode":"add"}”');
  await decide(gateway, held.approval_id, 'approved');
  const other = await scan(upload({ path: '/finance/payroll', mode: 'overwrite' }));
  t.match(other, { decision: 'REQUIRE_APPROVAL' }, 'another argument asks again');
  t.match(await scan(upload({ path: '/public/a', mode: 'add' }, { 'x-request-id': '2' })), {
    decision: 'ALLOW',
  });
});

t.test('shown headers are redacted and bounded', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply([{ rule_id: 'ask', action: 'REQUIRE_APPROVAL' }]);
  const headers = {
    'dropbox-api-arg': `{"path":"/fran\u202ecais","mail":"ann@example.com","to":"${'a'.repeat(300)}"}`,
    'x-amz-server-side-encryption-customer-key': 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
    ...Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`x-ms-argument-${i}`, 'v'])),
  };
  const { body: held } = await gateway.api('POST', '/v1/scan', { ...pay, headers });
  t.equal(held.decision, 'REQUIRE_APPROVAL');
  const { once: shown } = (await gateway.api('GET', `/v1/approvals/${held.approval_id}`)).body.covers;
  t.match(shown, /“dropbox-api-arg: \{"path":"[^”]{200,}…”/);
  t.match(shown, '“x-amz-server-side-encryption-customer-key: …”');
  t.notMatch(shown, /ann@example|\u202e|MDEyMzQ1/);
  t.match(shown, 'x-ms-argument-5');
  t.notMatch(shown, 'x-ms-argument-6');
});

/** One that no detector could find by chance. */
const secret = awsKeyId();

const hostile: readonly [name: string, call: object, findings: readonly object[]][] = [
  ['the path', { url: `https://a.test/x/${secret}/y` }, [{ location: 'path' }]],
  ['the query', { url: `https://a.test/?token=${secret}` }, [{ location: 'query:token' }]],
  ['an escaped query', { url: `https://a.test/?t=%41${secret.slice(1)}` }, [{ location: 'query:t' }]],
  ['the fragment', { url: `https://a.test/#${secret}` }, [{}]],
  ['the user information', { url: `https://bot:${secret}@a.test/` }, [{}]],
  ['a header', { headers: { 'x-key': secret } }, [{ location: 'header:x-key' }]],
  ['a long body, at its end', { body: `${'a '.repeat(50_000)}${secret}` }, [{}]],
  ['the name of a member', { body: { [secret]: 1 } }, [{}]],
  ['an encoded text', { body: { data: Buffer.from(`key=${secret}`).toString('base64') } }, [{}]],
];

t.test('whoever decides is told what was found where, and not what it is, in', async (t) => {
  const gateway = await startTestGateway(t, { config: { limits: { scan_timeout: '60s' } } });
  await gateway.apply([{ rule_id: 'ask', match: {}, condition: {}, action: 'REQUIRE_APPROVAL' }]);
  for (const [name, call, findings] of hostile) {
    const { body: held } = await gateway.api('POST', '/v1/scan', { ...pay, ...call });
    const { body: shown } = await gateway.api('GET', `/v1/approvals/${held.approval_id}`, undefined, admin);
    t.match(shown.findings, findings, name);
    t.match(shown.findings[0], { class: 'SECRETS', kind: String, confidence: String });
    const { body: listed } = await gateway.api('GET', '/v1/approvals', undefined, admin);
    const { body: trace } = await gateway.api('GET', `/v1/traces/${held.trace_id}`);
    for (const text of [shown, listed, trace, held].map((it) => JSON.stringify(it)))
      t.notOk(text.includes(secret) || text.includes(secret.slice(4)), `${name}: nowhere`);
  }
});

t.test('bodies that are not plain text are shown as far as they can be read', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, {
    upstream,
    config: { limits: { max_body_bytes: '2MB', scan_timeout: '60s' } },
  });
  await gateway.apply(rules);
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(gateway.caFile, 'utf8');
  const shownFor = async (body: Buffer, headers: Readonly<Record<string, string>> = {}) => {
    const target = { proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca };
    const socket = await openSecureTunnel(target);
    t.teardown(() => socket.destroy());
    const reply = await send(socket, {
      method: 'POST',
      path: '/x',
      headers: { host: authority, 'content-length': body.length, ...headers },
      body,
    });
    const { approval_id: id, status_url, code, detail } = JSON.parse(reply.body.toString());
    t.match(reply, { status: 403, headers: { 'retry-after': '5', 'x-service-approval-id': id } });
    t.equal(code, 'APPROVAL_REQUIRED', detail);
    t.equal(status_url, `${gateway.controlUrl}/v1/approvals/${id}/status`);
    return (await gateway.api('GET', `/v1/approvals/${id}`, undefined, admin)).body;
  };
  const text = Buffer.from(JSON.stringify({ note: 'pay Jane', key: secret }));
  const compressed = gzipSync(text);
  const json = { 'content-type': 'application/json' };
  const zipped = await shownFor(compressed, { ...json, 'content-encoding': 'gzip' });
  t.match(zipped, { body_bytes: compressed.length, body_preview: /pay Jane/ });
  t.match(zipped.findings, [{ class: 'SECRETS', location: 'body:$.key' }]);
  t.notOk(JSON.stringify(zipped).includes(secret));
  const large = await shownFor(Buffer.concat([Buffer.alloc(1 << 20, 'a '), text]));
  t.equal(large.body_bytes, (1 << 20) + text.length);
  t.match(large.body_preview, /^(a )+… \[and \d+ bytes more\]$/);
  t.match(large.findings, [{ class: 'SECRETS' }], 'what is behind the preview is named');
  const binary = await shownFor(Buffer.from(`\0\x01\xff ${secret} \x9f`, 'latin1'));
  t.notOk(JSON.stringify(binary).includes(secret));
  t.match(binary.body_preview, /^\\u\{0\}\\u\{1\}\ufffd \[REDACTED:/);
  t.equal(upstream.requests.length, 0);
});

t.test('a call that is held while a policy file begins to deny it is not sent by its grant', async (t) => {
  const { upstream, gateway, connect, call } = await startHolding(t);
  const answer = send(await connect(), call);
  const [approval] = await pending(gateway, 1);
  const denying = { name: 'stop', rules: [{ ...rules[0], action: 'DENY' }] };
  writeFileSync(join(gateway.dir, 'policies', 'stop.yaml'), stringify(denying));
  t.ok(await gateway.reload());
  await decide(gateway, approval?.approval_id ?? '', 'approved');
  t.match(JSON.parse((await answer).body.toString()), {
    code: 'APPROVAL_REQUIRED',
    approval_id: approval?.approval_id,
  });
  t.match(JSON.parse((await send(await connect(), call)).body.toString()), { code: 'POLICY_DENIED' });
  t.equal(upstream.requests.length, 0);
});

t.test('a decision whose body comes when the approval has ended comes too late', async (t) => {
  const tenants = [{ id: 'acme', plan: 'enterprise', approvals: { ttl: '1s' } }];
  const gateway = await startTestGateway(t, { config: { tenants, agents: [] } });
  await gateway.apply(rules);
  const { body: held } = await gateway.api('POST', '/v1/scan', pay);
  const { hostname, port } = new URL(gateway.controlUrl);
  const text = JSON.stringify({ decision: 'approved' });
  const request = http.request({
    host: hostname,
    port,
    method: 'POST',
    path: `/v1/approvals/${held.approval_id}/decision`,
    headers: { authorization: admin, 'content-type': 'application/json', 'content-length': text.length },
  });
  const answered = once(request, 'response');
  request.write(text.slice(0, 5));
  const status = async () =>
    (await gateway.api('GET', `/v1/approvals/${held.approval_id}/status`)).body.status;
  while ((await status()) === 'pending') await new Promise((done) => setTimeout(done, 20));
  request.end(text.slice(5));
  const [response] = await answered;
  const body = JSON.parse(Buffer.concat(await response.toArray()).toString());
  t.equal(response.statusCode, 409);
  t.match(body, { standing: { decision: 'expired', decided_at: null } });
  t.equal(await status(), 'expired', 'what has expired stays so');
});

t.test('each step of an approval is an audit entry, with who took it', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply(rules);
  const { body: held } = await gateway.api('POST', '/v1/scan', pay);
  const analyst = await gateway.mint({ default_agent_id: randomUUID(), permissions: ['approvals:decide'] });
  const path = `/v1/approvals/${held.approval_id}/decision`;
  await gateway.api('POST', path, { decision: 'approved' }, `Bearer ${analyst.key}`);
  const { body: sent } = await gateway.api('POST', '/v1/scan', pay);
  const { body } = await gateway.api('GET', `/v1/audit?subject=${held.approval_id}`, undefined, admin);
  const asker = gateway.key.slice(0, 12);
  t.match(body.items, [
    { kind: 'approval.used', operator: asker, details: { trace_id: sent.trace_id } },
    { kind: 'approval.decided', operator: analyst.key.slice(0, 12), details: { decision: 'approved' } },
    { kind: 'approval.requested', operator: asker, details: { trace_id: held.trace_id } },
  ]);
  t.equal(body.items.length, 3);
  const { body: trace } = await gateway.api('GET', `/v1/traces/${sent.trace_id}`);
  t.equal(trace.approval_id, held.approval_id, 'and the trace says by whose word it went');
});
