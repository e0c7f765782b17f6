import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { basic, openSecureTunnel, openTunnel, type Reply, send } from '../support/clients.ts';
import { agentId, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { gitlabToken } from '../support/secrets.ts';
import { startUpstream, type TestUpstream } from '../support/upstream.ts';

/* What is refused before it is judged: the same through all entrances, in the activity of its tenant, and at no cost. */

const bodyBytesMax = 1000;
const peer = randomUUID();

interface Lab {
  readonly gateway: TestGateway;
  readonly upstream: TestUpstream;
}

/** What an entrance answers to a call with this body, as this key. */
type Ask = (lab: Lab, key: string, body: string) => Promise<{ status: number; problem: Problem }>;

interface Problem {
  readonly code?: string;
  readonly trace_id?: string;
  readonly actual_bytes?: number;
  readonly limit_bytes?: number;
}

const read = ({ status, body }: Pick<Reply, 'status' | 'body'>) => ({
  status,
  problem: body.length === 0 ? {} : (JSON.parse(body.toString()) as Problem),
});

/** A request on a connection of its own; `path` goes as it is written. */
function request(at: string, path: string, headers: http.OutgoingHttpHeaders, body: string): Promise<Reply> {
  const { hostname, port } = new URL(at);
  return new Promise((resolve, reject) => {
    const asked = http.request({ hostname, port, path, method: 'POST', headers, agent: false });
    asked.once('error', reject);
    asked.once('response', (answer) => {
      answer.toArray().then((chunks) => {
        const { statusCode: status = 0, headers } = answer;
        resolve({ status, headers, body: Buffer.concat(chunks) });
      }, reject);
    });
    asked.end(body);
  });
}

const inTunnel: Ask = async ({ gateway, upstream }, key, body) => {
  const authority = `api.test.example:${upstream.port}`;
  const target = { proxyUrl: gateway.proxyUrl, authority, authorization: basic(key) };
  const { status, socket: bare } = await openTunnel(target);
  bare.destroy();
  if (status !== 200) return { status, problem: {} };
  const socket = await openSecureTunnel({ ...target, ca: readFileSync(gateway.caFile, 'utf8') });
  const reply = await send(socket, { method: 'POST', path: '/x', headers: { host: authority }, body });
  socket.destroy();
  return read(reply);
};

const asScan =
  (path: string, fields: (text: string) => object): Ask =>
  async ({ gateway }, key, text) => {
    const { status, body } = await gateway.api('POST', path, fields(text), `Bearer ${key}`);
    return { status, problem: body };
  };

/** `overhead`: bytes that stand around the text in what is counted. */
const entrances: readonly {
  readonly name: string;
  readonly entrance: string;
  readonly ask: Ask;
  readonly overhead: number;
}[] = [
  {
    name: 'POST /v1/scan',
    entrance: 'scan',
    overhead: 0,
    ask: asScan('/v1/scan', (body) => ({ method: 'POST', url: 'https://api.test.example/x', body })),
  },
  {
    name: 'POST /v1/a2a/scan',
    entrance: 'a2a',
    overhead: JSON.stringify(messageOf('')).length,
    ask: asScan('/v1/a2a/scan', messageOf),
  },
  {
    name: '/inbound',
    entrance: 'inbound',
    overhead: 0,
    ask: async ({ gateway }, key, body) =>
      read(await request(gateway.controlUrl, '/inbound/bot/x', { authorization: `Bearer ${key}` }, body)),
  },
  {
    name: 'absolute-form',
    entrance: 'forward',
    overhead: 0,
    ask: async ({ gateway, upstream }, key, body) => {
      const host = `api.test.example:${upstream.port}`;
      const headers = { host, 'proxy-authorization': basic(key) };
      return read(await request(gateway.proxyUrl, `https://${host}/x`, headers, body));
    },
  },
  { name: 'a tunnel', entrance: 'forward', overhead: 0, ask: inTunnel },
];

function messageOf(intent: string): object {
  return { from_agent_id: agentId, to_agent_id: peer, method: 'delegate', intent };
}

async function startLab(t: Test, upstreamConfig: object = {}): Promise<Lab> {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      tenants: [
        {
          id: 'acme',
          plan: 'enterprise',
          environments: ['production'],
          limits: { max_body_bytes: bodyBytesMax },
        },
      ],
      inbound: [
        { prefix: 'bot', tenant: 'acme', upstream: `https://api.test.example:${upstream.port}` },
        { prefix: 'denied', tenant: 'acme', upstream: 'https://denied.test.example' },
      ],
      upstream: {
        allow_private: ['127.0.0.0/8'],
        ca_files: [upstream.caFile],
        resolve: [{ host: '*.test.example', address: '127.0.0.1', port: upstream.port }],
        deny: ['denied.test.example'],
        ...upstreamConfig,
      },
    },
  });
  await gateway.mint({ default_agent_id: peer });
  return { gateway, upstream };
}

/** The traces of a key, once there are so many. */
async function tracesOf({ gateway }: Lab, keyId: string, count: number) {
  for (let tries = 0; ; tries++) {
    const { body } = await gateway.api('GET', `/v1/traces?q=${keyId}`);
    if (body.items.length >= count || tries === 400) return body.items;
    await sleep(25);
  }
}

const usageOf = async ({ gateway }: Lab): Promise<number> =>
  (await gateway.api('GET', '/v1/usage')).body.scans_used;

t.test('a body over the limit is refused before it costs anything', async (t) => {
  const lab = await startLab(t);
  for (const { name, entrance, ask, overhead } of entrances) {
    const { key: parent } = await lab.gateway.mint();
    const { body: once } = await lab.gateway.api(
      'POST',
      '/v1/keys/ephemeral',
      { max_uses: 1 },
      `Bearer ${parent}`,
    );
    const used = await usageOf(lab);
    const { status, problem } = await ask(lab, once.key, 'x'.repeat(bodyBytesMax + 1 - overhead));
    t.match(
      { status, ...problem },
      { status: 413, code: 'PAYLOAD_TOO_LARGE', actual_bytes: bodyBytesMax + 1, limit_bytes: bodyBytesMax },
      name,
    );
    t.match(
      await tracesOf(lab, once.key_id, 1),
      [{ decision: 'DENY', reason_codes: ['PAYLOAD_TOO_LARGE'], entrance, key_id: once.key_id }],
      `${name}: it leaves a trace`,
    );
    t.equal(await usageOf(lab), used, `${name}: it takes no quota`);
    t.match(
      await ask(lab, once.key, 'x'.repeat(bodyBytesMax - overhead)),
      { status: 200 },
      `${name}: no use`,
    );
    t.equal(await usageOf(lab), used + 1);
  }
});

t.test('a key that is not valid any more leaves its trace, and the same answer as before', async (t) => {
  const lab = await startLab(t);
  for (const { name, ask } of entrances) {
    const { key, key_id: keyId } = await lab.gateway.mint();
    await lab.gateway.api('DELETE', `/v1/keys/${keyId}`);
    const status = name === 'absolute-form' || name === 'a tunnel' ? 407 : 401;
    t.match(await ask(lab, key, '{}'), { status }, name);
    // Whatever else is wrong with the call is not for its caller to learn.
    t.match(await ask(lab, key, 'x'.repeat(100_000)), { status }, `${name}: too large`);
    const traces = await tracesOf(lab, keyId, 2);
    t.equal(traces.length, 2, `${name}: both leave a trace`);
    t.match(traces[0], { decision: 'DENY', reason_codes: ['INVALID_KEY'], key_id: keyId }, name);
  }
  const { key, key_id: keyId } = await lab.gateway.mint();
  await lab.gateway.api('DELETE', `/v1/keys/${keyId}`);
  const unread = await lab.gateway.api(
    'POST',
    '/v1/scan',
    { method: 'GET', url: 'nonsense' },
    `Bearer ${key}`,
  );
  t.match(unread, { status: 401, body: { code: 'INVALID_KEY' } });
  t.equal((await tracesOf(lab, keyId, 1)).length, 1, 'a call that cannot be read is one, too');
});

t.test('an address that is not allowed is told that alone, and counted', async (t) => {
  const lab = await startLab(t);
  for (const { name, ask } of entrances) {
    const { key, key_id: keyId } = await lab.gateway.mint({ ip_allowlist: ['203.0.113.0/24'] });
    for (const body of ['{}', 'x'.repeat(bodyBytesMax * 2)]) {
      const { status, problem } = await ask(lab, key, body);
      t.match(
        { status, ...problem },
        { status: 403, code: 'IP_NOT_ALLOWED' },
        `${name}: ${body.length} bytes`,
      );
    }
    const traces = await tracesOf(lab, keyId, 2);
    t.equal(traces.length, 2);
    t.match(traces, [{ reason_codes: ['IP_NOT_ALLOWED'] }, { reason_codes: ['IP_NOT_ALLOWED'] }], name);
    t.match((await lab.gateway.api('GET', `/v1/keys/${keyId}`)).body, { blocked_attempts: 2, calls_24h: 0 });
  }
  const { key, key_id: keyId } = await lab.gateway.mint({ ip_allowlist: ['203.0.113.0/24'] });
  for (const body of ['{', { method: 'GET' }, { method: 'GET', url: 'nonsense' }]) {
    const reply = await lab.gateway.api('POST', '/v1/scan', body, `Bearer ${key}`);
    t.match(reply, { status: 403, body: { code: 'IP_NOT_ALLOWED' } }, JSON.stringify(body));
  }
  t.match((await lab.gateway.api('GET', `/v1/keys/${keyId}`)).body, { blocked_attempts: 3 });
});

t.test('a host that nobody may go to is refused with a trace, and never resolved', async (t) => {
  const lab = await startLab(t, { resolve: [] });
  const { gateway } = lab;
  const ways: readonly { name: string; ask: (key: string) => Promise<{ status: number }> }[] = [
    {
      name: 'CONNECT to a metadata address',
      ask: async (key) => {
        const authority = '169.254.169.254:443';
        const tunnel = { proxyUrl: gateway.proxyUrl, authority, authorization: basic(key) };
        const { status, socket } = await openTunnel(tunnel);
        socket.destroy();
        return { status };
      },
    },
    {
      name: 'absolute-form',
      ask: (key) =>
        request(
          gateway.proxyUrl,
          'http://denied.test.example/x',
          { host: 'denied.test.example', 'proxy-authorization': basic(key) },
          '',
        ),
    },
    {
      name: '/inbound',
      ask: (key) => request(gateway.controlUrl, '/inbound/denied/x', { authorization: `Bearer ${key}` }, ''),
    },
  ];
  for (const { name, ask } of ways) {
    const { key, key_id: keyId } = await gateway.mint();
    const used = await usageOf(lab);
    t.match(await ask(key), { status: 403 }, name);
    const want = [{ decision: 'DENY', reason_codes: ['EGRESS_BLOCKED'], key_id: keyId }];
    t.match(await tracesOf(lab, keyId, 1), want, `${name}: it leaves a trace`);
    t.equal(await usageOf(lab), used, `${name}: it takes no quota`);
  }
});

t.test('the trace of a call that was let out and got no answer says why', async (t) => {
  const lab = await startLab(t, {
    resolve: [
      { host: 'inside.test.example', address: '169.254.169.254' },
      { host: 'closed.test.example', address: '127.0.0.1', port: 1 },
    ],
  });
  const { gateway } = lab;
  for (const [host, status, decision, code] of [
    ['inside.test.example', 403, 'DENY', 'EGRESS_BLOCKED'],
    ['closed.test.example', 502, 'ALLOW', 'UPSTREAM_UNREACHABLE'],
  ] as const) {
    const { key, key_id: keyId } = await gateway.mint();
    const fields = { host, 'proxy-authorization': basic(key) };
    const reply = await request(gateway.proxyUrl, `http://${host}/x`, fields, '');
    t.equal(reply.status, status, code);
    t.equal(reply.headers['x-service-decision'], decision, `${code}: what was let out is told apart`);
    const [{ trace_id: traceId }] = (await tracesOf(lab, keyId, 1)) as [{ trace_id: string }];
    let shown: { response_scans?: readonly object[] } = {};
    while (shown.response_scans === undefined)
      shown = (await gateway.api('GET', `/v1/traces/${traceId}`, undefined, `Bearer ${gateway.adminSecret}`))
        .body;
    t.match(shown.response_scans, [{ failure: code }], code);
    const found = await gateway.api(
      'GET',
      '/v1/traces?answer=failed',
      undefined,
      `Bearer ${gateway.adminSecret}`,
    );
    t.match(found.body.items, [{ trace_id: traceId }], `${code}: it is found by that`);
  }
});

t.test('the trace of a refusal says what was asked, how large it was, and why it was refused', async (t) => {
  const lab = await startLab(t, {
    resolve: [{ host: 'slack.com', address: '127.0.0.1', port: 1 }],
  });
  const secret = gitlabToken();
  const path = `/api/chat.postMessage?ticket=12&token=${secret}`;
  const body = 'x'.repeat(bodyBytesMax + 1);
  const tooLarge = {
    detail: `The body may have ${bodyBytesMax} bytes.`,
    declared_bytes: body.length,
    actual_bytes: body.length,
    limit_bytes: bodyBytesMax,
    reason_codes: ['PAYLOAD_TOO_LARGE'],
  };
  const cases: readonly {
    name: string;
    limits?: Readonly<Record<string, unknown>>;
    body: string;
    want: object;
  }[] = [
    { name: 'what is too large', body, want: tooLarge },
    {
      name: 'what comes too often',
      limits: { per_minute: 1 },
      body: '{}',
      want: { detail: /rate|often|many/i, declared_bytes: 2, reason_codes: ['RATE_LIMITED'] },
    },
  ];
  for (const { name, limits = {}, body: sent, want } of cases) {
    const { key, key_id: keyId } = await lab.gateway.mint(limits);
    const headers = {
      host: 'slack.com',
      'proxy-authorization': basic(key),
      'content-type': 'application/json',
    };
    const ask = () => request(lab.gateway.proxyUrl, `https://slack.com${path}`, headers, sent);
    let traces: Record<string, unknown>[] = [];
    // A bucket holds more than one.
    for (let tries = 0; tries < 5; tries += 1) await ask();
    traces = (await tracesOf(lab, keyId, 5)).filter((it: { detail?: string }) => it.detail !== undefined);
    t.ok(traces.length > 0, name);
    t.match(
      traces[0],
      {
        ...{
          decision: 'DENY',
          method: 'POST',
          tool_name: 'slack',
          operation: 'post_message',
          entrance: 'forward',
        },
        url: 'https://slack.com/api/chat.postMessage?ticket=12&token=[REDACTED:gitlab-token]',
        ...want,
      },
      name,
    );
    t.notOk(JSON.stringify(traces).includes(secret));
  }
});

t.test('the trace of a refusal on a route says the tool of the route', async (t) => {
  const lab = await startLab(t);
  const { key, key_id: keyId } = await lab.gateway.mint();
  const body = 'x'.repeat(bodyBytesMax + 1);
  const path = '/inbound/bot/orders/7?q=1';
  await request(lab.gateway.controlUrl, path, { authorization: `Bearer ${key}` }, body);
  t.match(await tracesOf(lab, keyId, 1), [
    { url: /\/orders\/7\?q=1$/, method: 'POST', tool_name: 'custom_proxy', actual_bytes: body.length },
  ]);
});
