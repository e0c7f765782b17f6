import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { basic, openSecureTunnel, send } from '../support/clients.ts';
import { agentId, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startUpstream } from '../support/upstream.ts';

/*
 * Messages between agents, by both ways: JSON-RPC of the Agent2Agent protocol through the proxy, and `POST /v1/a2a/scan`. Policies, reading
 * and traces are the same for both.
 */

interface Message {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text goes as it is, anything else as JSON. */
  readonly body?: unknown;
}

interface Lab {
  readonly gateway: TestGateway;
  /** Sends a message to a peer through the proxy. */
  say(message: Message): Promise<Said>;
  /** Sends a message by the API. */
  scan(fields?: object): ReturnType<TestGateway['api']>;
}

interface Said {
  readonly status: number;
  readonly decision: string;
  readonly answer: string;
  /** Of the call; looked into field by field. */
  readonly trace: Readonly<Record<string, unknown>>;
  /** The bodies that reached the peer. */
  readonly arrived: readonly string[];
}

const peer = randomUUID();

const toRpc = (method: string, params: unknown = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const toMessage = (text: string) => ({
  message: { role: 'user', messageId: 'm1', parts: [{ kind: 'text', text }] },
});

const result = '{"jsonrpc":"2.0","id":1,"result":{}}';

async function startLab(t: Test): Promise<Lab> {
  const upstream = await startUpstream(t, (_request, response, body) => {
    const isStream = body.includes('message/stream') || body.includes('resubscribe');
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? `data: ${result}\n\n` : result);
  });
  const config = { limits: { scan_timeout: '30s' } };
  const gateway = await startTestGateway(t, { upstream, config });
  await gateway.mint({ default_agent_id: peer });
  const ca = readFileSync(gateway.caFile, 'utf8');
  const authority = `peer.test.example:${upstream.port}`;
  return {
    gateway,
    async say({ method = 'POST', path = '/a2a/v1', headers, body }) {
      const { proxyUrl, key, api } = gateway;
      const socket = await openSecureTunnel({ proxyUrl, authorization: basic(key), authority, ca });
      const before = upstream.requests.length;
      const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
      const reply = await send(socket, {
        method,
        path,
        headers: { host: authority, 'content-type': 'application/json', ...headers },
        ...(text === undefined ? {} : { body: text }),
      });
      socket.destroy();
      const { 'x-service-decision': decision, 'x-service-trace-id': id } = reply.headers;
      return {
        status: reply.status,
        decision: String(decision),
        answer: reply.body.toString(),
        trace: (await api('GET', `/v1/traces/${id}`)).body,
        arrived: upstream.requests.slice(before).map((it) => it.body.toString()),
      };
    },
    scan: (fields = {}) =>
      gateway.api('POST', '/v1/a2a/scan', {
        from_agent_id: agentId,
        to_agent_id: peer,
        method: 'message/send',
        intent: 'order pencils',
        payload: { count: 3 },
        ...fields,
      }),
  };
}

/** Methods of JSON-RPC as versions 0.2, 0.3 and 1.0 of the protocol name them. */
const methods = [
  ['message/send', 'WRITE'],
  ['message/stream', 'WRITE'],
  ['tasks/get', 'READ'],
  ['tasks/list', 'READ'],
  ['tasks/resubscribe', 'READ'],
  ['tasks/cancel', 'WRITE'],
  ['tasks/send', 'WRITE'],
  ['tasks/sendSubscribe', 'WRITE'],
  ['tasks/pushNotificationConfig/set', 'ADMIN'],
  ['tasks/pushNotificationConfig/get', 'READ'],
  ['tasks/pushNotificationConfig/list', 'READ'],
  ['tasks/pushNotificationConfig/delete', 'ADMIN'],
  ['agent/getAuthenticatedExtendedCard', 'READ'],
  ['SendMessage', 'WRITE'],
  ['SendStreamingMessage', 'WRITE'],
  ['GetTask', 'READ'],
  ['CancelTask', 'WRITE'],
] as const;

t.test('a method has one operation and verb, on the wire and by the API', async (t) => {
  const { say, scan, gateway } = await startLab(t);
  for (const [method, verb] of methods) {
    const want = { tool_name: 'a2a', operation: method, category: 'messaging', verb };
    const said = await say({ body: toRpc(method) });
    t.match(said, { status: 200, decision: 'ALLOW', trace: want }, `${method} on the wire`);
    t.equal(said.arrived.length, 1, `${method} arrives`);
    const { body } = await scan({ method });
    t.match(body, { decision: 'ALLOW', tool_name: 'a2a', operation: method }, `${method} by the API`);
    t.match(await gateway.api('GET', `/v1/traces/${body.trace_id}`), { body: want }, `${method}: its trace`);
  }
});

t.test('cards of agents are read', async (t) => {
  const { say } = await startLab(t);
  for (const path of [
    '/.well-known/agent-card.json',
    '/.well-known/agent.json',
    '/teams/7/.well-known/agent-card.json?v=2',
    '//.well-known/agent-card.json',
  ])
    t.match(
      await say({ method: 'GET', path }),
      { status: 200, trace: { tool_name: 'a2a', operation: 'agent_card', verb: 'READ' } },
      path,
    );
  t.match(await say({ method: 'GET', path: '/.well-known/agents.json' }), {
    trace: { tool_name: 'custom_proxy' },
  });
  t.match(
    await say({ method: 'PUT', path: '/.well-known/agent-card.json', body: {} }),
    { trace: { tool_name: 'a2a', operation: 'agent_card', verb: 'WRITE' } },
    'a card that is replaced is written',
  );
});

t.test('what is no message of the protocol is none', async (t) => {
  const { say } = await startLab(t);
  const others: readonly [name: string, body: unknown][] = [
    ['another version', { jsonrpc: '1.0', id: 1, method: 'message/send' }],
    ['no version', { id: 1, method: 'message/send' }],
    ['a method that it does not have', toRpc('wallet/send')],
    ['a text about it', { text: '{"jsonrpc":"2.0","method":"message/send"}' }],
  ];
  for (const [name, body] of others)
    t.match(await say({ body }), { trace: { tool_name: 'custom_proxy', operation: 'http_post' } }, name);
});

t.test('a stream of answers goes through', async (t) => {
  const { say } = await startLab(t);
  const said = await say({ body: toRpc('message/stream', toMessage('hello')) });
  t.match(said, { status: 200, decision: 'ALLOW', answer: `data: ${result}\n\n` });
});

const rule = (match: object, more: object = {}) => ({
  rule_id: 'tested',
  match: { tool_name: 'a2a', ...match },
  condition: {},
  action: 'DENY',
  reason_code: 'TESTED',
  ...more,
});
const stopped = { decision: 'DENY', trace: { reason_codes: ['TESTED'] }, arrived: [] };

t.test('rules hold for messages on the wire and by the API alike', async (t) => {
  const { gateway, say, scan } = await startLab(t);
  const groups: readonly { rule: object; holds: Sample[]; passes: Sample[] }[] = [
    {
      rule: rule({ operations: ['tasks/cancel'] }),
      holds: [{ method: 'tasks/cancel' }],
      passes: [{ method: 'tasks/get' }, { method: 'message/send', text: 'tasks/cancel' }],
    },
    { rule: rule({ operations: ['category:messaging'] }), holds: [{ method: 'GetTask' }], passes: [] },
    {
      rule: rule({ verbs: ['ADMIN'] }),
      holds: [{ method: 'tasks/pushNotificationConfig/set' }],
      passes: [{ method: 'tasks/pushNotificationConfig/get' }, { method: 'message/send' }],
    },
    {
      rule: rule({ operations: ['method:POST'], verbs: ['WRITE'] }),
      holds: [{ method: 'message/send' }],
      passes: [{ method: 'tasks/get' }],
    },
    {
      rule: rule({}, { condition: { body_contains_any: ['wire the money'] } }),
      holds: [{ method: 'message/send', text: 'please Wire the Money now' }],
      passes: [{ method: 'message/send', text: 'please wire the pump' }],
    },
    {
      rule: rule({ tool_name: 'mcp', operations: ['*'] }),
      holds: [],
      passes: [{ method: 'message/send' }],
    },
  ];
  for (const { rule, holds, passes } of groups) {
    t.equal((await gateway.apply([rule])).status, 200, JSON.stringify(rule));
    for (const { method, text = 'hello' } of holds) {
      t.match(await say({ body: toRpc(method, toMessage(text)) }), stopped, `${method} on the wire`);
      t.match(
        (await scan({ method, intent: text })).body,
        { decision: 'DENY', reason_codes: ['TESTED'] },
        method,
      );
    }
    for (const { method, text = 'hello' } of passes) {
      const { decision, arrived } = await say({ body: toRpc(method, toMessage(text)) });
      t.match(
        { decision, arrived: arrived.length },
        { decision: 'ALLOW', arrived: 1 },
        `${method} on the wire`,
      );
      t.equal((await scan({ method, intent: text })).body.decision, 'ALLOW', method);
    }
  }
});

interface Sample {
  readonly method: string;
  readonly text?: string;
}

t.test('a message that a rule refuses does not slip past it in another dress', async (t) => {
  const { gateway, say } = await startLab(t);
  await gateway.apply([rule({ operations: ['tasks/cancel'] })]);
  const bad = toRpc('tasks/cancel', { id: 't1' });
  const plain = toRpc('tasks/get', { id: 't1' });
  const text = JSON.stringify(bad);
  const dresses: readonly [name: string, message: Message][] = [
    ['one of twenty', { body: [...Array(16).fill(plain), bad, ...Array(3).fill(plain)] }],
    ['one beside a message of another protocol', { body: [toRpc('tools/list'), bad] }],
    ['an escaped slash', { body: text.replace('tasks/', 'tasks\\/') }],
    ['an escaped name', { body: text.replace('"method"', '"m\\u0065thod"') }],
    ['an escaped version', { body: text.replace('"jsonrpc":"2.0"', '"\\u006asonrpc":"2\\u002e0"') }],
    ['another order of its fields', { body: '{"params":{},"method":"tasks/cancel","id":7,"jsonrpc":"2.0"}' }],
    ['declared as a text', { headers: { 'content-type': 'text/plain' }, body: text }],
    ['declared as a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: text }],
    ['behind a byte order mark', { body: `\ufeff${text}` }],
    ['behind white space', { body: `\r\n\t ${text}` }],
    ['in a line of its own', { body: `${JSON.stringify(plain)}\n${text}` }],
    ['at any path', { path: '/tasks/get?method=tasks/get', body: text }],
  ];
  for (const [name, message] of dresses) t.match(await say(message), stopped, name);
  t.equal((await say({ body: Array(20).fill(plain) })).decision, 'ALLOW', 'twenty that read go through');
});

t.test('a secret in a message is found and cut', async (t) => {
  const { say, scan, gateway } = await startLab(t);
  const secret = awsKeyId();
  const said = await say({ body: toRpc('message/send', toMessage(`use ${secret} for it`)) });
  t.match(said, { decision: 'SANITIZE', trace: { classifications: ['SECRETS'] } });
  t.match(said.arrived, [/use \[REDACTED:aws[a-z-]*\] for it/]);

  const places: readonly [fields: object, location: string][] = [
    [{ intent: `use ${secret}` }, 'body:$.intent'],
    [{ payload: { text: secret } }, 'body:$.payload.text'],
    [{ payload: { parts: [{ deep: [{ key: secret }] }] } }, 'body:$.payload.parts[0].deep[0].key'],
    [{ payload: { [secret]: 1 } }, 'body:$.payload'],
    [{ payload: { b: Buffer.from(`key ${secret}`).toString('base64') } }, 'body:$.payload.b'],
  ];
  for (const [fields, location] of places) {
    const { body } = await scan(fields);
    t.match(body, { decision: 'SANITIZE', classifications: ['SECRETS'] }, location);
    t.ok(
      body.findings.every((it: { location: string }) => it.location.startsWith(location)),
      `${location} names the place`,
    );
    t.notMatch(JSON.stringify(body), secret, `${location}: the answer does not repeat it`);
    const trace = await gateway.api('GET', `/v1/traces/${body.trace_id}`);
    t.notMatch(JSON.stringify(trace.body), secret, `${location}: nor does the trace`);
  }
});
