import t from 'tap';
import { loadCatalogue } from '../../../src/catalogue/catalogue.ts';
import { a2aVerb } from '../../../src/catalogue/protocols/a2a.ts';
import { requestOf } from '../support.ts';

const known = {
  name: 'known',
  title: 'Known',
  hosts: ['api.known.example'],
  operations: { things: { list_things: { verb: 'READ', call: 'POST /things' } } },
};
const catalogue = loadCatalogue(t.testdir({}), [known]);

const post = (body: unknown, url = 'https://tools.example.com/mcp', headers: Record<string, string> = {}) =>
  catalogue.understand(requestOf('POST', url, { 'content-type': 'application/json', ...headers }, body));

const call = (method: string, params: unknown = {}, id: number | undefined = 1) => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  method,
  params,
});

const messages = [
  { message: call('initialize'), name: 'initialize', verb: 'READ', category: 'session' },
  {
    message: call('notifications/initialized', {}, undefined),
    name: 'notify',
    verb: 'READ',
    category: 'session',
  },
  { message: call('tools/list'), name: 'list_tools', verb: 'READ', category: 'tools' },
  { message: call('tools/call', { name: 'send_mail' }), name: 'send_mail', verb: 'WRITE', category: 'tools' },
  { message: call('tools/call', { name: 'a b\n' }), name: 'call_tool', verb: 'WRITE', category: 'tools' },
  {
    message: call('tools/call', { name: 'x'.repeat(129) }),
    name: 'call_tool',
    verb: 'WRITE',
    category: 'tools',
  },
  { message: call('tools/call'), name: 'call_tool', verb: 'WRITE', category: 'tools' },
  {
    message: call('resources/read', { uri: 'x' }),
    name: 'read_resource',
    verb: 'READ',
    category: 'resources',
  },
  { message: call('prompts/get', { name: 'x' }), name: 'get_prompt', verb: 'READ', category: 'prompts' },
  { message: call('logging/setLevel'), name: 'set_log_level', verb: 'WRITE', category: 'session' },
  {
    message: { jsonrpc: '2.0', id: 7, result: { model: 'm' } },
    name: 'answer',
    verb: 'WRITE',
    category: 'messages',
  },
] as const;

for (const { message, name, verb, category } of messages) {
  t.test(`MCP: ${JSON.stringify(message).slice(0, 80)} is ${name}`, async (t) => {
    const want = { toolName: 'mcp', name, category, verb, resource: {}, principals: [] };
    t.strictSame(post(message), want);
  });
}

t.test('MCP: a session is listened to and ended', async (t) => {
  const of = (method: string) =>
    catalogue.understand(requestOf(method, 'https://tools.example.com/mcp', { 'Mcp-Session-Id': 'x' }));
  t.match(of('GET'), { toolName: 'mcp', name: 'listen', verb: 'READ' });
  t.match(of('DELETE'), { toolName: 'mcp', name: 'end_session', verb: 'WRITE' });
  t.match(of('PUT'), { toolName: 'custom_proxy' });
});

const a2a = [
  { method: 'message/send', verb: 'WRITE' },
  { method: 'message/stream', verb: 'WRITE' },
  { method: 'tasks/get', verb: 'READ' },
  { method: 'tasks/cancel', verb: 'WRITE' },
  { method: 'tasks/pushNotificationConfig/set', verb: 'ADMIN' },
  { method: 'SendMessage', verb: 'WRITE' },
  { method: 'GetTask', verb: 'READ' },
] as const;

for (const { method, verb } of a2a) {
  t.test(`A2A: ${method} is ${verb}`, async (t) => {
    t.equal(a2aVerb(method), verb);
    const want = { toolName: 'a2a', name: method, category: 'messaging', verb, resource: {}, principals: [] };
    t.strictSame(post(call(method), 'https://agent.example.com/'), want);
  });
}

t.test('A2A: cards of agents are read', async (t) => {
  for (const path of ['/.well-known/agent-card.json', '/agents/1/.well-known/agent.json?v=2'])
    t.match(catalogue.understand(requestOf('GET', `https://agent.example.com${path}`)), {
      toolName: 'a2a',
      name: 'agent_card',
      verb: 'READ',
    });
});

t.test('of several messages each is a part, and the strictest names the call', async (t) => {
  const { toolName, name, verb, parts } = post([
    call('tools/list'),
    call('tools/call', { name: 'drop_table' }),
    call('message/send'),
  ]);
  t.strictSame({ toolName, name, verb }, { toolName: 'mcp', name: 'drop_table', verb: 'WRITE' });
  t.strictSame(
    parts?.map(({ operation }) => operation.name),
    ['list_tools', 'drop_table', 'message/send'],
  );
});

t.test('a message among others that no protocol has may be any', async (t) => {
  const { verb, parts } = post([call('tools/list'), call('wallet_send')]);
  t.equal(verb, 'ADMIN');
  t.strictSame(
    parts?.map(({ operation }) => operation.name),
    ['list_tools', 'unclear'],
  );
});

t.test('other JSON is none of these protocols', async (t) => {
  const others = [
    { method: 'tools/call' },
    { jsonrpc: '1.0', method: 'tools/call' },
    { jsonrpc: '2.0', method: 'eth_sendTransaction' },
    { jsonrpc: '2.0', method: 7 },
    { jsonrpc: '2.0' },
    { text: '"jsonrpc":"2.0","method":"tools/call"' },
    [],
  ];
  for (const body of others) t.match(post(body), { toolName: 'custom_proxy', name: 'http_post' });
});

t.test('names in escapes hide no message', async (t) => {
  const escaped = '{"\\u006asonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"send_mail"}}';
  t.match(post(escaped), { toolName: 'mcp', name: 'send_mail' });
});

t.test('what servers may read differently, and a flood of messages, may be anything', async (t) => {
  const twice = '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}';
  const unclear = { toolName: 'mcp', name: 'unclear', verb: 'ADMIN' };
  t.match(post(twice), unclear);
  t.match(post(Array.from({ length: 101 }, () => call('tools/list'))), unclear);
  t.equal(post(Array.from({ length: 100 }, () => call('tools/list'))).name, 'list_tools');
});

t.test('fields whose names differ in case alone are read by some servers', async (t) => {
  const unclear = { toolName: 'mcp', name: 'unclear', verb: 'ADMIN' };
  const run = { name: 'drop_table' };
  const odd: readonly object[] = [
    { jsonrpc: '2.0', id: 1, Method: 'tools/call', Params: run },
    { JSONRPC: '2.0', id: 1, method: 'tools/call', params: run },
    { jſonrpc: '2.0', id: 1, method: 'tools/call', params: run },
    { ...call('ping'), METHOD: 'tools/call', params: run },
    { ...call('tools/list'), paramſ: run },
    { jsonrpc: '2.0', id: 1, result: {}, Method: 'tools/call', Params: run },
    call('tools/call', { name: 'read_note', Name: 'drop_table' }),
  ];
  for (const message of odd) t.match(post(message), unclear, JSON.stringify(message));
  t.match(post(call('tools/call', { ...run, arguments: { Name: 'x', METHOD: 'y' } })), {
    name: 'drop_table',
  });
  const config = { PushNotificationConfig: { URL: 'https://in.evil.example/' } };
  t.match(post(call('message/send', { configuration: config })), {
    verb: 'ADMIN',
    principals: ['in.evil.example'],
  });
});

t.test('a tool that is known goes before, and messages before its unknown paths', async (t) => {
  const url = 'https://api.known.example';
  t.match(post(call('tools/list'), `${url}/things`), { toolName: 'known', name: 'list_things' });
  t.match(post(call('tools/list'), `${url}/mcp`), { toolName: 'mcp', name: 'list_tools' });
  t.match(post({ a: 1 }, `${url}/mcp`), { toolName: 'known', name: 'POST:/mcp' });
});
