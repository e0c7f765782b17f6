import http from 'node:http';
import { startTestGateway, type TestGateway } from './gateway.ts';
import { awsKeyId, gitlabToken } from './secrets.ts';
import { startUpstream, type TestUpstream, type UpstreamHandler } from './upstream.ts';

/* A gateway with agents, rules and calls that a person would look at: for the tests of the console and for its screenshots. */

interface Test {
  teardown(close: () => void | Promise<void>): void;
}

export interface ConsoleLab {
  readonly gateway: TestGateway;
  readonly upstream: TestUpstream;
  /** Sends a call through the proxy and answers the status, or what the proxy said instead. */
  send(call: ProxiedCall): Promise<{ status: number; headers: http.IncomingHttpHeaders; body: string }>;
  /** As the admin. */
  admin: (method: string, path: string, body?: unknown) => ReturnType<TestGateway['api']>;
}

export interface ProxiedCall {
  readonly method?: string;
  /** Plain HTTP: the hosts of the lab lead to its upstream. */
  readonly url: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: unknown;
  readonly key?: string;
}

const vendorHosts = [
  'api.github.com',
  'slack.com',
  'api.stripe.com',
  'api.openai.com',
  'gmail.googleapis.com',
  '*.test.example',
];

const agents = [
  {
    id: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
    tenant: 'acme',
    env: 'production',
    name: 'support-bot',
    runtime_type: 'langchain',
  },
  {
    id: '6c1d8f1e-8b65-4c1f-8b66-1b3f7f1f8d22',
    tenant: 'acme',
    env: 'production',
    name: 'billing-agent',
    runtime_type: 'openai-agents',
  },
  {
    id: '7d2e9f2e-9c76-4d2f-9c77-2c4f8f2f9e33',
    tenant: 'acme',
    env: 'staging',
    name: 'release-bot',
    runtime_type: 'custom',
  },
];

export const labRules = [
  {
    rule_id: 'no-delete',
    priority: 1,
    match: { methods: ['DELETE'] },
    action: 'DENY',
    reason_code: 'NO_DELETES',
  },
  {
    rule_id: 'refunds-ask',
    priority: 5,
    match: { url_patterns: ['http://api.stripe.com/v1/refunds'] },
    action: 'REQUIRE_APPROVAL',
  },
];

const theirPage =
  '<title>theirs</title><script>globalThis.ran = 1; document.title = "ran"</script><p>A page of a stranger</p>';

/** Everything is fine, and there is a page. */
const answer: UpstreamHandler = ({ url }, response) => {
  const isPage = url === '/their-page';
  response.setHeader('content-type', isPage ? 'text/html' : 'application/json');
  response.end(isPage ? theirPage : '{"ok":true}');
};

/** Starts it; nothing is sent yet. */
export async function startConsoleLab(
  t: Test,
  config: Readonly<Record<string, unknown>> = {},
): Promise<ConsoleLab> {
  const upstream = await startUpstream(t, answer, { tls: false });
  const gateway = await startTestGateway(t, {
    config: {
      agents,
      upstream: {
        allow_private: ['127.0.0.0/8'],
        resolve: vendorHosts.map((host) => ({ host, address: '127.0.0.1', port: upstream.port })),
      },
      feeds: [{ name: 'own', url: 'file:feeds.txt', format: 'lines' }],
      notifications: [
        {
          name: 'sec-hook',
          type: 'webhook',
          url: `${upstream.origin}/hook`,
          allow_private: true,
          tenant: 'acme',
          secret: null,
        },
      ],
      inbound: [
        {
          prefix: 'page',
          tenant: 'acme',
          upstream: 'http://page.test.example',
          agent: agents[0]?.id,
          auth: { type: 'none' },
        },
      ],
      credentials: [
        { name: 'github-bot', tenant: 'acme', type: 'bearer', hosts: ['vault.test.example'], vault: true },
      ],
      ...config,
    },
  });
  return {
    gateway,
    upstream,
    send: (call) => sendThrough(gateway, call),
    admin: (method, path, body) => gateway.api(method, path, body, `Bearer ${gateway.adminSecret}`),
  };
}

function sendThrough(
  gateway: TestGateway,
  { method = 'GET', url, headers = {}, body, key = gateway.key }: ProxiedCall,
) {
  const { hostname, port } = new URL(gateway.proxyUrl);
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const authorization = `Basic ${Buffer.from(`agent:${key}`).toString('base64')}`;
  const all = {
    host: new URL(url).host,
    'proxy-authorization': authorization,
    ...(text === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...headers,
  };
  return new Promise<{ status: number; headers: http.IncomingHttpHeaders; body: string }>(
    (resolve, reject) => {
      const request = http.request({ host: hostname, port, method, path: url, headers: all });
      request.once('error', reject);
      request.once('response', (response) => {
        response.toArray().then(
          (chunks) =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks).toString(),
            }),
          reject,
        );
      });
      request.end(text);
    },
  );
}

/** Calls of three agents: reads, writes, secrets, denials, held calls. */
export async function fillConsoleLab({ gateway, send, admin }: ConsoleLab): Promise<void> {
  await admin('POST', '/v1/policies/apply', {
    name: 'guard',
    description: 'Deletes and refunds',
    rules: labRules,
  });
  await admin('PUT', '/v1/credentials/github-bot', { type: 'bearer', secret: { value: gitlabToken() } });
  const keyOf = async (index: number, name: string) =>
    (await gateway.mint({ name, default_agent_id: agents[index]?.id, env_name: agents[index]?.env })).key;
  const billing = await keyOf(1, 'billing, production');
  const release = await keyOf(2, 'release, staging');
  const calls: ProxiedCall[] = [
    ...Array.from({ length: 14 }, (_, i) => ({
      url: `http://api.github.com/repos/acme/app/issues/${100 + i}`,
    })),
    ...Array.from({ length: 6 }, (_, i) => ({
      method: 'POST',
      url: 'http://slack.com/api/chat.postMessage',
      body: { channel: '#support', text: `Ticket ${4100 + i} is answered.` },
    })),
    {
      method: 'POST',
      url: 'http://hooks.test.example/note',
      body: { note: `our key is ${awsKeyId()}`, to: 'ops' },
    },
    {
      method: 'POST',
      url: 'http://api.github.com/repos/acme/app/issues',
      body: { title: 'Leak', body: `token ${gitlabToken()}` },
    },
    {
      method: 'POST',
      url: 'http://crm.test.example/contacts',
      body: { name: 'Ada', mail: 'ada.lovelace@mail.test', card: '4111 1111 1111 1111' },
    },
    { method: 'DELETE', url: 'http://api.github.com/repos/acme/app', key: release },
    { method: 'DELETE', url: 'http://api.github.com/repos/acme/site/branches/old', key: release },
    {
      method: 'POST',
      url: 'http://api.openai.com/v1/chat/completions',
      body: { model: 'gpt-5', messages: [{ role: 'user', content: 'Summarise the ticket.' }] },
    },
    { method: 'GET', url: 'http://gmail.googleapis.com/gmail/v1/users/me/messages', key: billing },
    ...Array.from({ length: 5 }, (_, i) => ({
      method: 'POST',
      url: 'http://api.stripe.com/v1/refunds',
      body: { payment_intent: `pi_${1000 + i}`, amount: 1200, reason: 'requested_by_customer' },
      key: billing,
    })),
    {
      method: 'POST',
      url: 'http://api.stripe.com/v1/refunds',
      body: { payment_intent: 'pi_2000', amount: 98000, reason: 'duplicate' },
      key: release,
    },
  ];
  for (const call of calls) await send(call);
  await admin('POST', '/v1/incidents', {
    agent_id: agents[2]?.id,
    title: 'Release bot deletes repositories',
    severity: 'HIGH',
    note: 'Seen twice within a minute.',
  });
}

export interface ConsolePage {
  readonly name: string;
  readonly place: string;
  /** Is there when the page is. */
  readonly text: RegExp;
}

/** Every page of the console, with what a filled lab shows there. */
export async function consolePages({ admin }: ConsoleLab): Promise<readonly ConsolePage[]> {
  const firstOf = async (path: string, id: string): Promise<string> => {
    // A page of traces that has taken long may be empty, and have a next one.
    for (let cursor = ''; ; ) {
      const { items, next_cursor: next } = (await admin('GET', path + cursor)).body;
      if (items.length > 0 || !next) return items[0]?.[id];
      cursor = `&cursor=${next}`;
    }
  };
  const denied = await firstOf('/v1/traces?decision=DENY&limit=1', 'trace_id');
  const sanitized = await firstOf('/v1/traces?decision=SANITIZE&limit=1', 'trace_id');
  const agent = await firstOf('/v1/agents?limit=1', 'agent_id');
  const key = await firstOf('/v1/keys?limit=1', 'key_id');
  const incident = await firstOf('/v1/incidents?limit=1', 'incident_id');
  return [
    { name: 'overview', place: 'overview', text: /Calls per minute/ },
    { name: 'activity', place: 'activity', text: /https?:/ },
    { name: 'denied', place: `activity/${denied}`, text: /Why it was denied/ },
    { name: 'sanitized', place: `activity/${sanitized}`, text: /What was found, and where/ },
    { name: 'approvals', place: 'approvals', text: /The agent before|No call waits/ },
    { name: 'incidents', place: 'incidents', text: /Release bot/ },
    { name: 'incident', place: `incidents/${incident}`, text: /Timeline/ },
    { name: 'agents', place: 'agents', text: /billing-agent/ },
    { name: 'agent', place: `agents/${agent}`, text: /Last calls/ },
    { name: 'policies', place: 'policies', text: /guard/ },
    { name: 'policy', place: 'policies/guard', text: /Before it counts/ },
    { name: 'new-policy', place: 'policies/new', text: /Nothing changes before you apply it/ },
    { name: 'keys', place: 'keys', text: /billing, production/ },
    { name: 'key', place: `keys/${key}`, text: /What it may do/ },
    { name: 'routes', place: 'routes', text: /github-bot/ },
    { name: 'tools', place: 'tools', text: /Slack/ },
    { name: 'tool', place: 'tools/slack', text: /post_message/ },
    { name: 'feeds', place: 'feeds', text: /Fetch now/ },
    { name: 'notifications', place: 'notifications', text: /sec-hook/ },
    { name: 'usage', place: 'usage', text: /Calls per day/ },
    { name: 'audit', place: 'audit', text: /policy\.applied/ },
    { name: 'settings', place: 'settings', text: /proxy\.listen/ },
    { name: 'missing', place: 'nowhere', text: /There is no such page/ },
  ];
}
