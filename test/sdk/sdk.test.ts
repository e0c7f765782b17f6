import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { problems } from '../../src/core/errors.ts';
import { problemCodes } from '../../src/sdk/errors.ts';
import { createPostern, type Postern, PosternError, type PosternOptions } from '../../src/sdk/index.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startUpstream, type TestUpstream, type UpstreamHandler } from '../support/upstream.ts';
import { allowed, failureOf, firstPending, startAgentLab } from './support.ts';

/* The client `postern/sdk`, with a running gateway, and with servers that answer in a gateway's place what none would. */

const key = 'iv_live_a-key-that-nobody-may-see';
const call = { method: 'POST', url: 'https://api.example.org/let', body: { n: 1 } };

t.test('the codes of the gateway are all known', async (t) => {
  t.same([...problemCodes], Object.keys(problems));
});

t.test('a call is judged, with all that the gateway says of it', async (t) => {
  const { postern, client, gateway } = await startAgentLab(t);
  const secret = awsKeyId();
  const result = await postern.scan({
    method: 'POST',
    url: 'https://api.example.org/clean',
    headers: { 'x-list': ['a', 'b'] },
    body: { note: secret, n: [1, null] },
    context: 'a greeting',
  });
  t.match(result, {
    decision: 'SANITIZE',
    riskScore: Number,
    riskBand: /^(?:LOW|MEDIUM|HIGH|CRITICAL)$/,
    reasonCodes: ['POLICY_SANITIZE', 'SECRETS'],
    traceId: /^[\da-f-]{36}$/,
    toolName: 'custom_proxy',
    operation: 'http_post',
    classifications: ['SECRETS'],
    sanitizedBody: { note: /^\[REDACTED:/, n: [1, null] },
    policyName: 'test',
    policyId: String,
    findings: [{ class: 'SECRETS', kind: String, location: 'body:$.note', confidence: 'high' }],
    matchedRules: [{ rule_id: 'clean' }],
    explanation: [String],
    violations: [],
    tags: [],
  });
  t.notOk('approvalId' in result, 'what is absent stays absent');
  const [one, other] = [randomUUID(), randomUUID()];
  const named = client({ agentId: one, agentName: 'a writer', runtimeType: 'crewai' });
  const agentOf = async (traceId: string) => (await gateway.api('GET', `/v1/traces/${traceId}`)).body;
  t.match(await agentOf((await named.scan(call)).traceId), {
    ...{ agent_id: one, agent_name: 'a writer', runtime_type: 'crewai' },
  });
  const { traceId } = await named.scan({ ...call, agentId: other });
  t.match(
    await agentOf(traceId),
    { agent_id: other, agent_name: 'a writer' },
    'what a call says goes before',
  );
});

t.test('bytes are judged as they are sent', async (t) => {
  const { postern } = await startAgentLab(t, undefined, {
    config: { tenants: [{ id: 'acme', plan: 'team', environments: ['production'] }] },
  });
  const url = 'https://api.example.org/clean';
  const secret = awsKeyId();
  const limit = 262_144;
  const judge = (body: Uint8Array, headers = {}) => postern.scan({ method: 'POST', url, body, headers });
  const bytes = (result: { sanitizedBody?: unknown }): Buffer =>
    Buffer.from(result.sanitizedBody as Uint8Array);

  const text = await judge(Buffer.from(`\ufeffkey ${secret} ü`));
  t.match(bytes(text).toString(), /^\ufeffkey \[REDACTED:[^\]]+\] ü$/, 'a text, with its byte order mark');
  const latin1 = await judge(Buffer.from(`key ${secret} \xfc`, 'latin1'), { 'content-type': 'text/plain' });
  t.match(bytes(latin1).toString('latin1'), /^key \[REDACTED:[^\]]+\] \xfc$/, 'text in another coding');
  const zipped = await judge(gzipSync(`key ${secret}`), { 'Content-Encoding': 'gzip' });
  t.match(bytes(zipped).toString(), /^key \[REDACTED:/, 'compressed bytes are answered as they are without');
  const same = randomBytes(1000);
  t.ok(bytes(await judge(same)).equals(same), 'what has nothing to cut comes back as it was');

  const quotes = await judge(Buffer.alloc(limit, '"'));
  t.equal(bytes(quotes).length, limit, 'a text of nothing but escapes may be as large as any');
  t.equal(bytes(await judge(Buffer.alloc(limit, 0xff))).length, limit, 'and so may bytes');
  t.match(await failureOf(judge(Buffer.alloc(limit + 1, 0xff))), {
    code: 'PAYLOAD_TOO_LARGE',
    status: 413,
    actualBytes: limit + 1,
    limitBytes: limit,
  });
});

t.test('an answer is reported, and kept with its call', async (t) => {
  const { postern, gateway } = await startAgentLab(t);
  const { traceId } = await postern.scan(call);
  for (const responseBody of [
    { a: awsKeyId() },
    `a ${awsKeyId()}`,
    Buffer.from(`\xff ${awsKeyId()}`, 'latin1'),
  ])
    t.match(await postern.scanResponse({ traceId, responseBody, responseStatus: 200 }), {
      traceId,
      dataClasses: ['SECRETS'],
      fieldsRedactedCount: 1,
      contentFingerprint: String,
      injection: { detected: false, score: 0 },
    });
  t.equal((await gateway.api('GET', `/v1/traces/${traceId}`)).body.response_scans.length, 3);
  t.match(await failureOf(postern.scanResponse({ traceId: randomUUID() })), {
    code: 'NOT_FOUND',
    status: 404,
  });
});

t.test('an ephemeral key does what its scope lets it', async (t) => {
  const { postern, client } = await startAgentLab(t);
  const minted = await postern.mintEphemeralKey({
    ttlSeconds: 60,
    maxUses: 1,
    scope: { tools: ['github'], verbs: [] },
    description: 'for a test',
  });
  t.match(minted, { key: /^iv_eph_/, keyId: String, prefix: /^iv_eph_/, expiresAt: /^\d{4}-/, maxUses: 1 });
  const child = client({ key: minted.key });
  t.match(await child.scan(call), { decision: 'DENY', violations: [String] });
  t.match(await failureOf(child.scan(call)), { code: 'INVALID_KEY', status: 401 }, 'it is used up');
  t.match(await postern.mintEphemeralKey(), { maxUses: null }, 'by default as often as one likes');
  t.match(await failureOf(postern.mintEphemeralKey({ ttlSeconds: 0 })), {
    code: 'VALIDATION_FAILED',
    errors: [{ path: 'ttl_seconds', message: String }],
  });
});

t.test('an approval is waited for until it is decided, or as long as is asked', async (t) => {
  const lab = await startAgentLab(t);
  const { postern } = lab;
  const held = { ...call, url: 'https://api.example.org/ask' };
  const { approvalId = '' } = await postern.scan(held);
  t.match(await postern.waitForApproval(approvalId, { timeoutMs: 0 }), { status: 'pending', approvalId });
  t.match(await postern.waitForApproval(approvalId, { timeoutMs: 1100 }), { status: 'pending' });
  const waits = postern.waitForApproval(approvalId);
  await lab.decide(approvalId, 'denied', { note: 'not today' });
  t.match(await waits, { status: 'denied', note: 'not today', decidedAt: /^\d{4}-/, expiresAt: /^\d{4}-/ });
  t.equal((await postern.scan(held)).decision, 'DENY');

  const second = (await postern.scan({ ...held, body: 'other' })).approvalId ?? '';
  const leaving = new AbortController();
  const left = failureOf(postern.waitForApproval(second, { signal: leaving.signal }));
  leaving.abort(new Error('enough'));
  t.match(await left, { message: 'enough' });
  t.match(await failureOf(postern.waitForApproval(randomUUID())), { code: 'NOT_FOUND' });
  t.match(
    await failureOf(postern.waitForApproval('../keys')),
    { name: 'TypeError' },
    'an id leads nowhere else',
  );
  t.equal(await firstPending(lab), second);
});

t.test('a key that demands nonces gets them', async (t) => {
  const { gateway, client } = await startAgentLab(t);
  const { key: careful } = await gateway.mint({ require_nonce: true });
  t.match(await failureOf(client({ key: careful }).scan(call)), { code: 'VALIDATION_FAILED' });
  const protectedClient = client({ key: careful, replayProtection: true });
  for (let n = 0; n < 2; n += 1) t.match(await protectedClient.scan(call), { decision: 'ALLOW' });
});

/** A server in the place of the gateway. */
async function inItsPlace(
  t: Test,
  handler: UpstreamHandler,
  options: Partial<PosternOptions> = {},
): Promise<{ server: TestUpstream; postern: Postern }> {
  const server = await startUpstream(t, handler, { tls: false });
  return { server, postern: createPostern({ url: server.origin, key, timeoutMs: 60_000, ...options }) };
}

type Answer = readonly [status: number, body: string, headers?: Record<string, string>] | 'cut';

/** Answers one after the other, and the last one ever after. */
function answers(...all: readonly Answer[]): UpstreamHandler {
  let at = 0;
  return (_request, response) => {
    const answer = all[Math.min(at++, all.length - 1)] ?? 'cut';
    if (answer === 'cut') response.destroy();
    else response.writeHead(answer[0], answer[2] ?? { 'content-type': 'application/json' }).end(answer[1]);
  };
}

const good: Answer = [200, JSON.stringify(allowed)];
const problem = (status: number, code: string, headers = {}): Answer => [
  status,
  JSON.stringify({ code, detail: `it says ${key}`, status }),
  { 'content-type': 'application/problem+json', ...headers },
];

const attempts: readonly [name: string, handler: readonly Answer[], requests: number, code?: string][] = [
  ['5xx is asked again', [problem(503, 'GATEWAY_BUSY'), good], 2],
  ['but once', [problem(503, 'SHUTTING_DOWN')], 2, 'SHUTTING_DOWN'],
  ['a connection that is cut, too', ['cut', good], 2],
  ['and that once as well', ['cut'], 2, 'GATEWAY_UNREACHABLE'],
  ['a failure of what stands before the gateway', [[502, '<html>'], good], 2],
  ['Retry-After is waited for', [problem(503, 'GATEWAY_BUSY', { 'retry-after': '1' }), good], 2],
  ['where it is not too long', [problem(503, 'GATEWAY_BUSY', { 'retry-after': '6' })], 1, 'GATEWAY_BUSY'],
  [
    'as a date as well',
    [problem(503, 'GATEWAY_BUSY', { 'retry-after': 'Fri, 31 Dec 2999 23:59:59 GMT' })],
    1,
    'GATEWAY_BUSY',
  ],
  ['429 is not', [problem(429, 'RATE_LIMITED', { 'retry-after': '1' })], 1, 'RATE_LIMITED'],
  ['nor is 4xx', [problem(400, 'VALIDATION_FAILED')], 1, 'VALIDATION_FAILED'],
];

for (const [name, given, requests, code] of attempts) {
  t.test(`the second attempt: ${name}`, async (t) => {
    const { server, postern } = await inItsPlace(t, answers(...given), { replayProtection: true });
    const outcome = await postern.scan(call).catch((error: unknown) => error);
    t.match(outcome, code === undefined ? { decision: 'ALLOW' } : { name: 'PosternError', code });
    t.equal(server.requests.length, requests);
    const nonces = server.requests.map((it) => it.headers['x-service-nonce']);
    t.equal(new Set(nonces).size, requests, 'each attempt has a nonce of its own');
    t.notMatch(inspect(outcome, { depth: 9, showHidden: true }), key, 'the key is in no error');
  });
}

/** As many as the letters of the key: none of them stands in the text as it is. */
const escaped = Array.from(key, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

t.test('a server in the place of the gateway that says the key again puts it into no error', async (t) => {
  const echo = createServer((socket) => {
    socket.on('error', () => undefined);
    // The head of the request, as it came: no answer of HTTP.
    socket.once('data', (head) => socket.end(head));
  }).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  t.teardown(() => echo.close());
  const { port } = echo.address() as AddressInfo;
  const denial = { ...allowed, decision: 'DENY', explanation: [`it says ${key}`] };
  const outcomes = [
    await failureOf(createPostern({ url: `http://127.0.0.1:${port}`, key }).scan(call)),
    await failureOf(
      (await inItsPlace(t, answers([403, `{"code":"FORBIDDEN","detail":"${escaped}"}`]))).postern.scan(call),
    ),
    await (await inItsPlace(t, answers([200, JSON.stringify(denial)]))).postern
      .scan(call)
      .catch((it: unknown) => it),
  ];
  t.match(outcomes[0], { code: 'GATEWAY_UNREACHABLE' });
  t.match(outcomes[1], { code: 'FORBIDDEN', message: /\[key\]/ });
  for (const it of outcomes) t.notMatch(inspect(it, { depth: 9, showHidden: true }), key);
});

t.test('what the gateway says of a failure is in the error', async (t) => {
  const traceId = randomUUID();
  const said = {
    code: 'RATE_LIMITED',
    detail: 'slower',
    trace_id: traceId,
    errors: [{ path: 'a', message: 'b' }, 7],
  };
  const { postern } = await inItsPlace(t, answers([429, JSON.stringify(said), { 'retry-after': '7' }]));
  t.match(await failureOf(postern.scan(call)), {
    ...{ code: 'RATE_LIMITED', detail: 'slower', status: 429, traceId, retryAfterMs: 7000 },
    errors: [{ path: 'a', message: 'b' }],
  });
});

const huge = 'x'.repeat(70_000);
const relied: readonly [name: string, body: string][] = [
  ['no JSON', '{"decision":"ALLOW"'],
  ['nothing', ''],
  ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('latin1')],
  ['a page', '<html>ok</html>'],
  ['no object', '[]'],
  ['null', 'null'],
  ['too much', JSON.stringify({ ...allowed, junk: huge })],
  ['too deep', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
  ['another decision', JSON.stringify({ ...allowed, decision: 'allow' })],
  ['a list of decisions', JSON.stringify({ ...allowed, decision: ['ALLOW'] })],
  [
    'an inherited decision',
    JSON.stringify(allowed).replace('"decision"', '"__proto__":{"decision":"ALLOW"},"x"'),
  ],
  ['no trace', JSON.stringify({ ...allowed, trace_id: 'x' })],
  ['reasons of another type', JSON.stringify({ ...allowed, reason_codes: 'ALLOW' })],
  ['a score out of bounds', JSON.stringify({ ...allowed, risk_score: 7 })],
  ['signals of another type', JSON.stringify({ ...allowed, signals: [null] })],
  ['an approval without an id', JSON.stringify({ ...allowed, decision: 'REQUIRE_APPROVAL' })],
  [
    'an id that leads elsewhere',
    JSON.stringify({ ...allowed, decision: 'REQUIRE_APPROVAL', approval_id: '../keys' }),
  ],
];

t.test('an answer that cannot be relied on is none', async (t) => {
  let body = '';
  const { server, postern } = await inItsPlace(
    t,
    (_request, response) => {
      response.end(Buffer.from(body, 'latin1'));
    },
    { answerBytesMax: 65_536 },
  );
  for (const [at, [name, text]] of relied.entries()) {
    body = text;
    const error = await failureOf(postern.scan(call));
    t.match(error, { name: 'PosternError', code: 'INVALID_ANSWER' }, name);
    t.equal(server.requests.length, at + 1, `${name}: not asked again`);
  }
  body = JSON.stringify({ ...allowed, sanitized_body: '?' });
  t.match(await failureOf(postern.scan({ ...call, body: Uint8Array.of(255) })), { code: 'INVALID_ANSWER' });
  body = JSON.stringify({ approval_id: randomUUID(), status: 'approved', expires_at: 'x' });
  t.match(
    await failureOf(postern.waitForApproval(randomUUID())),
    { code: 'INVALID_ANSWER' },
    'an approval of something else',
  );
});

t.test('the key follows no redirect', async (t) => {
  const elsewhere = await startUpstream(t, undefined, { tls: false });
  for (const status of [301, 302, 303, 307, 308]) {
    const { server, postern } = await inItsPlace(t, answers([status, '', { location: elsewhere.origin }]));
    t.match(await failureOf(postern.scan(call)), { code: 'INVALID_ANSWER', status });
    t.equal(server.requests.length, 1);
  }
  t.equal(elsewhere.connections(), 0);
});

t.test('no answer in time is a failure, whether nothing comes or little by little', async (t) => {
  const silent = await inItsPlace(t, () => undefined, { timeoutMs: 300 });
  t.match(await failureOf(silent.postern.scan(call)), { code: 'GATEWAY_TIMEOUT' });
  const slow = await inItsPlace(
    t,
    (_request, response) => {
      const timer = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(timer));
    },
    { timeoutMs: 300 },
  );
  t.match(await failureOf(slow.postern.scan(call)), { code: 'GATEWAY_TIMEOUT' });
  t.equal(silent.server.requests.length + slow.server.requests.length, 2, 'neither is asked again');
});

t.test('a signal ends what waits for the gateway', async (t) => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const { postern } = await inItsPlace(t, () => resolve());
  const leaving = new AbortController();
  const failure = failureOf(postern.scan(call, { signal: leaving.signal }));
  await asked;
  leaving.abort();
  t.match(await failure, { name: 'AbortError' });
});

t.test('who waits for an approval waits no longer because the clock is set back', async (t) => {
  const approvalId = randomUUID();
  const pending = { approval_id: approvalId, status: 'pending', expires_at: '2999-01-01T00:00:00Z' };
  const { postern } = await inItsPlace(t, answers([200, JSON.stringify(pending)]));
  const { now } = Date;
  t.teardown(() => {
    Date.now = now;
  });
  const waits = postern.waitForApproval(approvalId, { timeoutMs: 50 });
  Date.now = () => now() - 86_400_000;
  t.match(await waits, { status: 'pending' });
});

t.test('a gateway that restarts while people decide is waited for, though not for ever', async (t) => {
  const approvalId = randomUUID();
  const state = (status: string): Answer => [
    200,
    JSON.stringify({ approval_id: approvalId, status, expires_at: '2999-01-01T00:00:00Z' }),
  ];
  const busy = problem(429, 'RATE_LIMITED', { 'retry-after': '0' });
  const { postern, server } = await inItsPlace(
    t,
    answers('cut', 'cut', state('pending'), busy, state('approved')),
  );
  t.match(await postern.waitForApproval(approvalId), { status: 'approved' });
  t.equal(server.requests.length, 5);
  t.match(server.requests[0]?.url, /\/wait\?timeout=30$/);
  const gone = await inItsPlace(t, answers(problem(503, 'GATEWAY_BUSY', { 'retry-after': '0' })));
  t.match(await failureOf(gone.postern.waitForApproval(approvalId)), { code: 'GATEWAY_BUSY' });
  t.equal(gone.server.requests.length, 12, 'six times, each with its second attempt');
});

t.test('options that cannot be meant are refused, without the key in what is said', async (t) => {
  const url = 'http://127.0.0.1:1';
  const cases: readonly [name: string, options: PosternOptions][] = [
    ['no URL', { url: 'gateway', key }],
    ['another protocol', { url: 'file:///etc', key }],
    ['a user in the URL', { url: 'http://a:b@gateway', key }],
    ['a query', { url: `${url}?x`, key }],
    ['no key', { url, key: '' }],
    ['a key of two lines', { url, key: `${key}\r\nx: y` }],
    ['no time', { url, key, timeoutMs: 0 }],
    ['no number', { url, key, timeoutMs: Number.NaN }],
    ['too much time', { url, key, timeoutMs: 2 ** 31 }],
    ['another word', { url, key, headerWord: 'a b' }],
  ];
  for (const [name, options] of cases) {
    const error = await failureOf((async () => createPostern(options))());
    t.notOk(error instanceof PosternError, name);
    t.notMatch(error.message, key, name);
  }
  t.notMatch(
    inspect(createPostern({ url, key }), { depth: 9, showHidden: true }),
    key,
    'the key is not to be seen',
  );
  const { server } = await inItsPlace(t, answers(good));
  await createPostern({ url: `${server.origin}/behind/`, key }).scan(call);
  t.equal(server.requests[0]?.url, '/behind/v1/scan', 'a path of the URL stands before');
});

t.test('the clients of a gateway that ends end with it', async (t) => {
  const { gateway, postern } = await startAgentLab(t);
  await gateway.stop();
  t.match(await failureOf(postern.scan(call)), { code: 'GATEWAY_UNREACHABLE' });
});
