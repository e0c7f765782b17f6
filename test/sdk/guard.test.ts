import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { type GuardOptions, PosternError, type ResponseScanResult } from '../../src/sdk/index.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startUpstream, type UpstreamHandler } from '../support/upstream.ts';
import { allowed, failureOf, firstPending, startAgentLab } from './support.ts';

/* The guarded fetch of `postern/sdk`, between a running gateway and an upstream that counts what reaches it. */

t.test('an allowed call goes out as it is, and its answer comes back', async (t) => {
  const { postern, upstream } = await startAgentLab(t);
  const guarded = postern.guard();
  const answer = await guarded(`${upstream.origin}/let?a=1#part`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-own': 'yes' },
    body: '{"n":1}',
  });
  t.equal(answer.status, 200);
  t.same(await answer.json(), { ok: true });
  t.match(upstream.requests, [
    { method: 'POST', url: '/let?a=1', headers: { 'content-type': 'application/json', 'x-own': 'yes' } },
  ]);
  t.equal(upstream.requests[0]?.body.toString(), '{"n":1}');
  t.equal(upstream.requests.length, 1);
});

t.test('a denied call is not sent, and the error says why', async (t) => {
  const { postern, upstream } = await startAgentLab(t);
  const error = await failureOf(postern.guard()(`${upstream.origin}/deny`, { method: 'POST', body: 'x' }));
  t.match(error, {
    name: 'PosternDenied',
    code: 'POLICY_DENIED',
    reasonCodes: ['NOT_THERE'],
    explanation: [/./],
    traceId: /^[\da-f-]{36}$/,
  });
  t.equal(upstream.requests.length, 0);
  t.equal(upstream.connections(), 0);
});

t.test(
  'what must not leave is cut out of every kind of body, and what said something of it goes',
  async (t) => {
    const { postern, upstream } = await startAgentLab(t);
    const guarded = postern.guard();
    const secret = awsKeyId();
    const form = new FormData();
    form.set('note', `key ${secret}`);
    form.set('file', new Blob([Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 255)]), 'a.png');
    const bodies: readonly [name: string, body: unknown, headers?: Record<string, string>][] = [
      ['a text', `key ${secret}`],
      ['JSON', JSON.stringify({ note: secret }), { 'content-type': 'application/json' }],
      ['a form', new URLSearchParams({ note: secret, other: 'a b' })],
      ['a form with a file', form],
      ['a blob', new Blob([`key ${secret}`], { type: 'text/plain' })],
      ['bytes', new TextEncoder().encode(`key ${secret}`)],
      ['a buffer', new TextEncoder().encode(`key ${secret}`).buffer],
      [
        'compressed bytes',
        gzipSync(`key ${secret}`),
        { 'content-encoding': 'gzip', 'content-type': 'text/plain' },
      ],
    ];
    for (const [at, [name, body, headers = {}]] of bodies.entries()) {
      const answer = await guarded(`${upstream.origin}/clean`, {
        method: 'POST',
        body: body as string,
        headers: { ...headers, digest: 'sha-256=AAAA', 'content-md5': 'AAAA' },
      });
      t.equal(answer.status, 200, name);
      const sent = upstream.requests[at];
      t.notOk(sent?.body.includes(secret), `${name}: without the secret`);
      t.ok(sent?.body.includes('[REDACTED:') || sent?.body.includes('%5BREDACTED'), `${name}: redacted`);
      t.same(
        [sent?.headers['digest'], sent?.headers['content-md5'], sent?.headers['content-encoding']],
        [undefined, undefined, undefined],
        `${name}: no field of the body as it was`,
      );
      t.equal(sent?.headers['content-length'], String(sent?.body.length), `${name}: its own length`);
      if (name === 'a form with a file')
        t.ok(
          sent?.body.includes(Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 255])),
          'the file is whole',
        );
    }
    t.equal(upstream.requests.length, bodies.length);
  },
);

t.test('a call that needs an approval waits for it, and is sent once', async (t) => {
  const lab = await startAgentLab(t);
  const { postern, upstream } = lab;
  const call = postern.guard()(`${upstream.origin}/ask`, { method: 'POST', body: 'pay 5' });
  const approvalId = await firstPending(lab);
  t.equal(upstream.requests.length, 0, 'nothing is sent before');
  await lab.decide(approvalId, 'approved');
  t.equal((await call).status, 200);
  t.equal(upstream.requests.length, 1);
  t.match(
    await failureOf(
      postern.guard(fetch, { onApproval: 'throw' })(`${upstream.origin}/ask`, {
        method: 'POST',
        body: 'pay 5',
      }),
    ),
    {
      name: 'PosternApprovalRequired',
      code: 'APPROVAL_REQUIRED',
      approvalStatus: 'pending',
      approvalId: /^[\da-f-]{36}$/,
    },
    'the grant is spent',
  );
  t.equal(upstream.requests.length, 1);
});

t.test('a call that an analyst denies, or nobody decides in time, is not sent', async (t) => {
  const lab = await startAgentLab(t);
  const { postern, upstream } = lab;
  const call = failureOf(postern.guard()(`${upstream.origin}/ask`, { method: 'POST', body: 'pay 6' }));
  const approvalId = await firstPending(lab);
  await lab.decide(approvalId, 'denied', { note: 'too much' });
  t.match(await call, { name: 'PosternDenied', approvalId, note: 'too much', detail: 'too much' });
  const patient = postern.guard(fetch, { approvalTimeoutMs: 300 });
  const late = await failureOf(patient(`${upstream.origin}/ask`, { method: 'POST', body: 'pay 7' }));
  t.match(late, { name: 'PosternApprovalRequired', approvalStatus: 'pending' });
  t.equal(upstream.requests.length, 0);
});

t.test('of two equal calls at once each has an approval of its own, and is sent once', async (t) => {
  const lab = await startAgentLab(t);
  const { postern, upstream } = lab;
  const guarded = postern.guard();
  const send = () => guarded(`${upstream.origin}/ask`, { method: 'POST', body: 'pay 8' });
  const calls = Promise.all([send(), send()]);
  const first = await firstPending(lab);
  await lab.decide(first, 'approved');
  await lab.decide(await firstPending(lab), 'approved');
  t.same(
    (await calls).map((it) => it.status),
    [200, 200],
  );
  t.equal(upstream.requests.length, 2);
});

t.test('a policy that has changed while people decided holds', async (t) => {
  const lab = await startAgentLab(t);
  const { postern, upstream, gateway } = lab;
  const call = failureOf(postern.guard()(`${upstream.origin}/ask`, { method: 'POST', body: 'pay 9' }));
  const approvalId = await firstPending(lab);
  const none = { rule_id: 'none', priority: 1, match: {}, condition: {}, action: 'DENY' };
  await gateway.apply([none], 'later');
  await lab.decide(approvalId, 'approved');
  t.match(await call, { name: 'PosternDenied' });
  t.equal(upstream.requests.length, 0);
});

t.test('what was judged is what is sent, whatever changes meanwhile', async (t) => {
  const { postern, upstream } = await startAgentLab(t);
  const guarded = postern.guard();
  const url = `${upstream.origin}/let`;
  const bytes = new TextEncoder().encode('first');
  const params = new URLSearchParams({ a: 'first' });
  const headers = new Headers({ 'x-a': 'first' });
  const read: string[] = [];
  const init = {
    method: 'POST',
    get body() {
      read.push('body');
      return read.length === 1 ? 'first' : 'second';
    },
  };
  const target = new URL(url);
  const calls = [
    guarded(url, { method: 'POST', body: bytes }),
    guarded(url, { method: 'POST', body: params }),
    guarded(url, { method: 'POST', body: 'first', headers }),
    guarded(url, init),
    guarded(target),
  ];
  bytes.set(new TextEncoder().encode('other'));
  params.set('a', 'second');
  headers.set('x-a', 'second');
  target.pathname = '/deny';
  for (const it of await Promise.all(calls)) t.equal(it.status, 200);
  const sent = upstream.requests.map((it) => `${it.url} ${it.body} ${it.headers['x-a']}`).sort();
  t.same(sent, [
    '/let  undefined',
    '/let a=first undefined',
    '/let first first',
    '/let first undefined',
    '/let first undefined',
  ]);
  t.same(read, ['body'], 'a getter is read once');
});

t.test('requests and streams are taken like all else', async (t) => {
  const { postern, upstream } = await startAgentLab(t);
  const guarded = postern.guard(fetch, { bodyBytesMax: 100_000 });
  const url = `${upstream.origin}/let`;
  const stream = (count: number, chunk: Uint8Array, cancelled = () => {}) => {
    let sent = 0;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent++ < count) controller.enqueue(chunk);
        else controller.close();
      },
      cancel: cancelled,
    });
  };
  const post = (body: unknown) =>
    guarded(url, { method: 'POST', body: body as string, ...{ duplex: 'half' } });
  const request = new Request(url, { method: 'PUT', body: 'from a request', headers: { 'x-a': 'b' } });
  t.equal((await guarded(request)).status, 200);
  t.ok(request.bodyUsed, 'its body is used, as fetch does');
  t.match(await failureOf(guarded(request)), { name: 'TypeError' });
  t.equal(
    (await guarded(new Request(url, { headers: { 'x-a': 'b' } }), { headers: { 'x-a': 'c' } })).status,
    200,
  );
  await post(stream(100, new Uint8Array(1000)));
  t.match(upstream.requests, [
    { method: 'PUT', headers: { 'x-a': 'b', 'content-type': 'text/plain;charset=UTF-8' } },
    { method: 'GET', headers: { 'x-a': 'c' } },
    { method: 'POST', headers: { 'content-length': '100000' } },
  ]);
  let ends = 0;
  const endless = stream(Number.POSITIVE_INFINITY, new Uint8Array(1000), () => {
    ends += 1;
  });
  t.match(await failureOf(post(endless)), { code: 'BODY_TOO_LARGE', limitBytes: 100_000 });
  t.equal(ends, 1, 'what has no end is let go');
  t.match(await failureOf(post('x'.repeat(100_001))), { code: 'BODY_TOO_LARGE' });
  t.match(await failureOf(post(stream(1, 'text' as never))), { name: 'TypeError' });
  t.equal(upstream.requests.length, 3);
});

t.test('what cannot be described as it would be sent is not sent', async (t) => {
  const { postern, upstream } = await startAgentLab(t);
  const guarded = postern.guard();
  const url = `${upstream.origin}/let`;
  t.match(await failureOf(guarded(url, { headers: { host: 'other.example' } })), {
    code: 'UNSUPPORTED_REQUEST',
  });
  t.match(await failureOf(guarded(url, { headers: { 'x-a': '\xff' } })), { code: 'UNSUPPORTED_REQUEST' });
  t.match(await failureOf(guarded('data:text/plain,x')), { code: 'UNSUPPORTED_REQUEST' });
  t.match(await failureOf(guarded('/relative')), { name: 'TypeError' });
  t.equal(upstream.requests.length, 0);
  const utf8 = Buffer.from('ü').toString('latin1');
  t.equal((await guarded(url, { headers: { 'x-a': utf8 } })).status, 200);
  t.equal(upstream.requests[0]?.headers['x-a'], utf8, 'UTF-8 is sent as it is');
});

/** Leads on as the path says: `/to/STATUS/…` to what the query says. */
const leads: UpstreamHandler = ({ url = '' }, response) => {
  const [, status] = /^\/to\/(\d+)/.exec(url) ?? [];
  if (status === undefined) return void response.end('there');
  const location = new URL(url, 'http://a').searchParams.get('location');
  response.writeHead(Number(status), location === null ? {} : { location }).end('on the way');
};

t.test('each redirect is a call of its own, by the rules of fetch', async (t) => {
  const { postern, upstream } = await startAgentLab(t, leads);
  const elsewhere = await startUpstream(t, leads, { tls: false });
  const guarded = postern.guard();
  const through = (status: number, location: string) =>
    `${upstream.origin}/to/${status}?location=${encodeURIComponent(location)}`;
  const post = {
    method: 'POST',
    body: '{"n":1}',
    headers: { 'content-type': 'application/json', authorization: 'Bearer x', cookie: 'a=b', 'x-own': 'c' },
  };
  for (const status of [301, 302, 303]) {
    t.equal(await (await guarded(through(status, '/let'), post)).text(), 'there');
    const last = upstream.requests.at(-1);
    t.match(
      last,
      { method: 'GET', url: '/let', headers: { authorization: 'Bearer x', 'x-own': 'c' } },
      `${status}`,
    );
    t.same(
      [last?.body.length, last?.headers['content-type']],
      [0, undefined],
      `${status} takes the body off`,
    );
  }
  for (const status of [307, 308]) {
    const answer = await guarded(through(status, `${elsewhere.origin}/let`), post);
    t.equal(answer.url, `${elsewhere.origin}/let`);
    const last = elsewhere.requests.at(-1);
    t.match(
      last,
      { method: 'POST', headers: { 'content-type': 'application/json', 'x-own': 'c' } },
      `${status}`,
    );
    t.equal(last?.body.toString(), '{"n":1}');
    t.same(
      [last?.headers.authorization, last?.headers.cookie],
      [undefined, undefined],
      'not for another origin',
    );
  }
  const before = upstream.requests.length;
  t.equal((await guarded(through(303, '/let'), { method: 'HEAD' })).status, 200);
  t.equal(upstream.requests.at(-1)?.method, 'HEAD', '303 leaves HEAD');
  t.match(
    await failureOf(guarded(through(302, `${elsewhere.origin}/deny`))),
    { name: 'PosternDenied' },
    'an allowed address leads to none that is denied',
  );
  t.equal(elsewhere.requests.length, 2);
  t.equal(upstream.requests.length, before + 3);
});

t.test('redirects that lead nowhere, too far, or are not wanted', async (t) => {
  const endless: UpstreamHandler = (_request, response) => {
    response.writeHead(302, { location: '/on' }).end();
  };
  const { postern, upstream } = await startAgentLab(t, (request, response, body) =>
    (request.url?.startsWith('/on') ? endless : leads)(request, response, body),
  );
  const guarded = postern.guard();
  const to = (location: string) => `${upstream.origin}/to/302?location=${encodeURIComponent(location)}`;
  t.match(await failureOf(guarded(`${upstream.origin}/on`)), { code: 'TOO_MANY_REDIRECTS' });
  t.equal(upstream.requests.length, 11, 'the call, and ten further');
  for (const location of [
    'ftp://a.example/',
    'http://a:b@c.example/',
    'http://',
    'data:text/plain,x',
    'javascript:1',
  ])
    t.match(await failureOf(guarded(to(location))), { code: 'REDIRECT_REFUSED' }, location);
  t.equal((await guarded(`${upstream.origin}/to/302`)).status, 302, 'without a Location it is an answer');
  const manual = await guarded(to('/let'), { redirect: 'manual' });
  t.same([manual.status, manual.headers.get('location')], [302, '/let']);
  t.match(await failureOf(guarded(to('/let'), { redirect: 'error' })), { name: 'TypeError' });
  t.notOk(upstream.requests.some((it) => it.url === '/let'));
});

t.test('without a gateway that can be relied on nothing is sent', async (t) => {
  const lab = await startAgentLab(t);
  const { upstream, gateway, client } = lab;
  let answer = '';
  const fake = await startUpstream(t, (_request, response) => void response.end(answer), { tls: false });
  const guarded = client({ url: fake.origin }).guard();
  const send = () => guarded(`${upstream.origin}/let`, { method: 'POST', body: 'secret' });
  const cases: readonly [name: string, answer: object | string][] = [
    ['no JSON', 'ALLOW'],
    ['another decision', { ...allowed, decision: 'allow' }],
    ['nothing to send instead', { ...allowed, decision: 'SANITIZE' }],
    ['another type to send instead', { ...allowed, decision: 'SANITIZE', sanitized_body: { a: 1 } }],
    ['an approval without an id', { ...allowed, decision: 'REQUIRE_APPROVAL' }],
  ];
  for (const [name, said] of cases) {
    answer = typeof said === 'string' ? said : JSON.stringify(said);
    t.match(await failureOf(send()), { code: 'INVALID_ANSWER' }, name);
  }
  await gateway.stop();
  t.match(await failureOf(lab.postern.guard()(`${upstream.origin}/let`)), { code: 'GATEWAY_UNREACHABLE' });
  t.equal(upstream.connections(), 0);
});

t.test('a signal ends the wait for an approval, and nothing is sent', async (t) => {
  const lab = await startAgentLab(t);
  const { postern, upstream } = lab;
  const leaving = new AbortController();
  const call = failureOf(postern.guard()(`${upstream.origin}/ask`, { signal: leaving.signal }));
  const approvalId = await firstPending(lab);
  leaving.abort();
  t.match(await call, { name: 'AbortError' });
  await lab.decide(approvalId, 'approved');
  t.match(await failureOf(postern.guard()(`${upstream.origin}/let`, { signal: AbortSignal.abort() })), {
    name: 'AbortError',
  });
  t.equal(upstream.requests.length, 0);
});

t.test('a call that fails on its way is not sent again', async (t) => {
  const { postern, upstream } = await startAgentLab(t, (_request, response) => void response.destroy());
  t.match(await failureOf(postern.guard()(`${upstream.origin}/let`, { method: 'POST', body: 'x' })), {
    name: 'TypeError',
  });
  t.equal(upstream.requests.length, 1);
});

t.test('answers are reported beside the caller who reads them', async (t) => {
  const secret = awsKeyId();
  const events = (response: ServerResponse) => {
    response.write(`first ${secret}`);
    response.once('close', () => closed.resolve());
  };
  const closed = Promise.withResolvers<void>();
  const { postern, upstream, gateway } = await startAgentLab(t, ({ url }, response) => {
    if (url === '/let/events') events(response);
    else if (url === '/let/long') response.end(`${secret} ${'\x01'.repeat(300_000)}`);
    else
      response
        .writeHead(url === '/let/none' ? 204 : 200)
        .end(url === '/let/none' ? '' : `${secret} and more`);
  });
  const reports: ResponseScanResult[] = [];
  let reported = Promise.withResolvers<void>();
  const guarded = postern.guard(fetch, {
    scanResponses: true,
    responseBytesMax: 64,
    responseReadMs: 300,
    onResponseScan: (it) => {
      reports.push(it);
      reported.resolve();
    },
    onResponseScanFailure: (error) => reported.reject(error),
  });
  for (const [path, dataClasses] of [
    ['/let', ['SECRETS']],
    ['/let/none', []],
  ] as const) {
    const answer = await guarded(upstream.origin + path);
    t.equal(await answer.text(), path === '/let' ? `${secret} and more` : '');
    await reported.promise;
    t.match(reports.at(-1), { dataClasses, traceId: String }, path);
    reported = Promise.withResolvers();
  }
  const scans = await gateway.api('GET', `/v1/traces/${reports[0]?.traceId}`);
  t.match(scans.body.response_scans, [{ response_status: 200, data_classes: ['SECRETS'] }]);

  const long = Promise.withResolvers<ResponseScanResult>();
  const told = { onResponseScan: long.resolve, onResponseScanFailure: long.reject };
  const whole = await postern.guard(fetch, { scanResponses: true, ...told })(`${upstream.origin}/let/long`);
  t.equal((await whole.text()).length, secret.length + 300_001, 'whoever reads it gets all of it');
  t.match(
    await long.promise,
    { dataClasses: ['SECRETS'] },
    'of a long one the beginning is reported, whatever it is of',
  );

  const answer = await guarded(`${upstream.origin}/let/events`);
  const reader = answer.body?.getReader();
  t.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), `first ${secret}`);
  await reported.promise;
  t.match(
    reports.at(-1),
    { dataClasses: ['SECRETS'] },
    'an answer without an end is reported as far as it came',
  );
  await reader?.cancel();
  await closed.promise;
});

t.test('a report that fails is told, and too many at once are not made', async (t) => {
  const { upstream, client } = await startAgentLab(t);
  const waiting: ServerResponse[] = [];
  const all = Promise.withResolvers<void>();
  const fake = await startUpstream(
    t,
    ({ url }, response) => {
      if (url === '/v1/scan') return void response.end(JSON.stringify(allowed));
      waiting.push(response);
      if (waiting.length === 32) all.resolve();
    },
    { tls: false },
  );
  const codes: unknown[] = [];
  let told = Promise.withResolvers<void>();
  const guarded = client({ url: fake.origin }).guard(fetch, {
    scanResponses: true,
    onResponseScanFailure: (error, traceId) => {
      codes.push([error instanceof PosternError && error.code, traceId]);
      told.resolve();
    },
  });
  for (let n = 0; n < 33; n += 1) t.equal((await guarded(`${upstream.origin}/let`)).status, 200);
  await told.promise;
  t.same(codes, [['REPORT_SKIPPED', allowed.trace_id]]);
  await all.promise;
  told = Promise.withResolvers();
  waiting.shift()?.writeHead(400).end('no');
  await told.promise;
  t.same(codes[1], ['HTTP_ERROR', allowed.trace_id]);
});

t.test('options that cannot be meant are refused', async (t) => {
  const { client } = await startAgentLab(t);
  const postern = client();
  for (const options of [
    { onApproval: 'later' },
    { bodyBytesMax: -1 },
    { approvalTimeoutMs: 0 },
    { responseBytesMax: 0.5 },
    { responseReadMs: Number.POSITIVE_INFINITY },
  ])
    t.throws(
      () => postern.guard(fetch, options as GuardOptions),
      { name: /^(?:Range|Type)Error$/ },
      Object.keys(options).join(),
    );
});
