// How much of the public agent-egress-bench (github.com/luckyPipewrench/agent-egress-bench) a gateway stops, and how much of what is benign.
// Each case goes through a real gateway to a real upstream. `node bench/egress.ts CASES [part of an id]`
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { resolve } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { testAuthority } from '../test/support/certificates.ts';
import { basic, openSecureTunnel, send } from '../test/support/clients.ts';
import { startTestGateway, type TestGateway } from '../test/support/gateway.ts';
import { startUpstream } from '../test/support/upstream.ts';
import { type EgressCase, type JsonRpcMessage, readCases } from './egress/cases.ts';
import { isCutOff } from './egress/websocket.ts';
import { type Teardown, withTeardown } from './with-teardown.ts';

const [folder, part = ''] = process.argv.slice(2);
if (folder === undefined) throw new Error('Say where the cases are: node bench/egress.ts CASES');
const cases = readCases(folder).filter(({ id }) => id.includes(part));
/** Names of servers that speak MCP and A2A, where a case names none. */
const serverOf = ({ id }: EgressCase): string => `https://tools.example.com/${id}`;
const address = '127.0.0.2';

async function main(bench: Teardown): Promise<void> {
  /** What the upstream answers to a path of a case; what it has no answer for is `{}`. */
  const answers = new Map<string, string>();
  const hosts = new Set(
    cases.map(({ payload }) => new URL(payload.url ?? 'https://tools.example.com').hostname),
  );
  const upstream = await startUpstream(
    bench,
    ({ headers }, response) => {
      const body = answers.get(String(headers['x-case'])) ?? '{"ok":true}';
      response.writeHead(200, {
        'content-type': body.startsWith('<')
          ? 'text/html'
          : body.startsWith('{')
            ? 'application/json'
            : 'text/plain',
      });
      response.end(body);
    },
    {
      address,
      certificate: testAuthority().issue({
        names: [...hosts, 'tools.example.com'].filter((it) => !/[[\]]/.test(it)),
      }),
      onWebSocket: (socket) => socket.on('error', () => socket.destroy()).resume(),
    },
  );
  const gateway = await startTestGateway(bench, {
    policyFiles: { 'agents.yaml': policies() },
    config: {
      upstream: {
        allow_private: [`${address}/32`],
        ca_files: [upstream.caFile],
        resolve: [{ host: '*', address, port: upstream.port }],
      },
      tenants: [
        {
          id: 'acme',
          plan: 'enterprise',
          environments: ['production'],
          detectors: { published_examples: 'count' },
          posture: { secrets: 'DENY', bands: { HIGH: 'DENY' } },
          response_scan: { mode: 'enforce' },
          denylist: ['exfil-collector.example.net'],
        },
      ],
      agents: cases.map(({ id }, at) => ({ id: agentOf(at), tenant: 'acme', env: 'production', name: id })),
    },
  });
  const wrong: string[] = [];
  const counts = new Map<string, { blocked: number; malicious: number; stopped: number; benign: number }>();
  for (const [at, it] of cases.entries()) {
    const { key } = await gateway.mint({ default_agent_id: agentOf(at) });
    const { blocked, why } = await tryOne(it, gateway, key, answers);
    const count = counts.get(it.category) ?? { blocked: 0, malicious: 0, stopped: 0, benign: 0 };
    counts.set(it.category, count);
    const bad = it.expected_verdict === 'block';
    if (bad) count.malicious++;
    else count.benign++;
    if (blocked && bad) count.blocked++;
    if (blocked && !bad) count.stopped++;
    if (blocked !== bad) wrong.push(`${bad ? 'passed ' : 'stopped'} ${it.id}: ${it.title} ${why}`);
  }
  console.table(Object.fromEntries(counts));
  console.log(wrong.join('\n'));
}

/** What the cases are about, and the packaged rules for MCP; the servers of the cases are no new ones. */
function policies(): string {
  const pack = readFileSync(
    resolve(import.meta.dirname, '../config/policies/packs/mcp-hardening.yaml'),
    'utf8',
  );
  const known = parseAllDocuments(pack).map((it) => it.toJS() as { rules: { rule_id: string }[] });
  const orders = {
    name: 'agents',
    rules: [
      { rule_id: 'orders', condition: { has_signal: ['PROMPT_INJECTION'] }, action: 'DENY' },
      {
        rule_id: 'harm',
        condition: { has_signal: ['EXFILTRATION', 'DESTRUCTIVE'] },
        action: 'REQUIRE_APPROVAL',
      },
      {
        rule_id: 'accounts',
        condition: { has_detector: ['payment-card*', 'iban*', '*wallet*', '*-address-of-a-wallet'] },
        action: 'DENY',
      },
    ],
  };
  return [
    orders,
    ...known.map((it) => ({ ...it, rules: it.rules.filter((rule) => rule.rule_id !== 'new-server') })),
  ]
    .map((it) => stringify(it))
    .join('---\n');
}

const agentOf = (at: number): string => `5b0c7f0e-7a54-4b0e-9a55-${String(at).padStart(12, '0')}`;

interface Outcome {
  readonly blocked: boolean;
  readonly why: string;
}

async function tryOne(
  it: EgressCase,
  gateway: TestGateway,
  key: string,
  answers: Map<string, string>,
): Promise<Outcome> {
  const { payload } = it;
  const server = serverOf(it);
  const call = (
    url: string,
    method: string,
    headers: Record<string, string>,
    body?: string,
    answer?: string,
  ) => {
    if (answer !== undefined) answers.set(it.id, answer);
    return judge(gateway, key, url, method, { ...headers, 'x-case': it.id }, body);
  };
  if (payload.frames) {
    const url = new URL(payload.url ?? '');
    const socket = await openSecureTunnel({ ...targetOf(gateway, key), authority: `${url.hostname}:443` });
    return { blocked: await isCutOff(socket, url, payload.frames), why: '' };
  }
  if (payload.response_body !== undefined)
    return call(payload.url ?? server, 'GET', {}, undefined, payload.response_body);
  if (payload.agent_card)
    return call(
      `${server}/.well-known/agent-card.json`,
      'GET',
      {},
      undefined,
      JSON.stringify(payload.agent_card),
    );
  if (payload.jsonrpc_messages) {
    let outcome: Outcome = { blocked: false, why: '' };
    for (const message of payload.jsonrpc_messages) {
      const isAnswer = message.result !== undefined;
      const body = JSON.stringify(isAnswer ? askFor(message) : message);
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      outcome = await call(
        `${server}/${it.category.startsWith('a2a') ? 'a2a' : 'mcp'}`,
        'POST',
        headers,
        body,
        isAnswer ? JSON.stringify(message) : undefined,
      );
      if (outcome.blocked) break;
    }
    return outcome;
  }
  const { url = server, method = 'GET', headers = {}, body, content_type: type } = payload;
  return call(url, method, { ...headers, ...(type === undefined ? {} : { 'content-type': type }) }, body);
}

/** The request that a message answers. */
const askFor = ({ id, result }: JsonRpcMessage): unknown =>
  typeof result === 'object' && result !== null && 'tools' in result
    ? { jsonrpc: '2.0', id, method: 'tools/list', params: {} }
    : { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'search', arguments: {} } };

const targetOf = (gateway: TestGateway, key: string) => ({
  proxyUrl: gateway.proxyUrl,
  authorization: basic(key),
  ca: caOf(gateway),
});

/** One call through the proxy; only the gateway answers 403 here. */
async function judge(
  gateway: TestGateway,
  key: string,
  address: string,
  method: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Outcome> {
  const url = new URL(address);
  const all = {
    ...headers,
    host: url.host,
    ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
  };
  if (url.protocol === 'http:') {
    const target = new URL(gateway.proxyUrl);
    const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const request = http.request(
        {
          host: target.hostname,
          port: target.port,
          method,
          path: address,
          headers: { ...all, 'proxy-authorization': basic(key) },
        },
        (response) => {
          response
            .toArray()
            .then(
              (chunks) =>
                resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
              reject,
            );
        },
      );
      request.once('error', reject).end(body);
    });
    return { blocked: status === 403, why: `${status} ${text.slice(0, 200)}` };
  }
  let socket: Awaited<ReturnType<typeof openSecureTunnel>>;
  try {
    socket = await openSecureTunnel({
      ...targetOf(gateway, key),
      authority: `${url.hostname}:${url.port || 443}`,
    });
  } catch (error) {
    return { blocked: /answered 403/.test(String(error)), why: String(error) };
  }
  const { status, body: text } = await send(socket, {
    method,
    path:
      address.slice(
        address.indexOf(url.host) < 0 ? address.indexOf('/', 8) : address.indexOf(url.host) + url.host.length,
      ) || '/',
    headers: all,
    ...(body === undefined ? {} : { body }),
  });
  socket.destroy();
  return { blocked: status === 403, why: `${status} ${text.toString().slice(0, 300)}` };
}

const caOf = ({ caFile }: TestGateway): string => readFileSync(caFile, 'utf8');

await withTeardown(main);
