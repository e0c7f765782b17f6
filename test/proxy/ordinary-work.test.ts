import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { testAuthority } from '../support/certificates.ts';
import { basic, openSecureTunnel, type Reply, send } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';

/* What four command-line agents and an MCP client do in ten minutes, as one agent of the gateway: nothing of it is held against it. */

const hosts = {
  anthropic: 'api.anthropic.com',
  claudeLogin: 'console.anthropic.com',
  statsig: 'statsig.anthropic.com',
  openai: 'api.openai.com',
  gemini: 'generativelanguage.googleapis.com',
  codeAssist: 'cloudcode-pa.googleapis.com',
  googleLogin: 'oauth2.googleapis.com',
  clearcut: 'play.googleapis.com',
  sentry: 'o1158394.ingest.us.sentry.io',
  datadog: 'http-intake.logs.datadoghq.com',
  npm: 'registry.npmjs.org',
  pypi: 'pypi.org',
  pythonFiles: 'files.pythonhosted.org',
  github: 'api.github.com',
  githubRaw: 'raw.githubusercontent.com',
  githubFiles: 'objects.githubusercontent.com',
  models: 'models.dev',
  opencode: 'opencode.ai',
  changelog: 'storage.googleapis.com',
  mcp: 'mcp.deepwiki.example',
} as const;
type Host = keyof typeof hosts;

const text = (length: number): string => randomBytes(length).toString('base64url').slice(0, length);
const jwt = (claims: object): string => {
  const part = (it: object): string => Buffer.from(JSON.stringify(it)).toString('base64url');
  const signed = `${part({ alg: 'RS256', typ: 'JWT', kid: text(12) })}.${part(claims)}`;
  return `${signed}.${createHmac('sha256', 'k').update(signed).digest('base64url').repeat(6)}`;
};

/** Credentials of each program; those of logins end, and are refreshed. */
const newCredentials = () => ({
  claude: `sk-ant-${'oat01'}-${text(95)}`,
  claudeRefresh: `sk-ant-${'ort01'}-${text(95)}`,
  claudeKey: `sk-ant-${'api03'}-${text(95)}`,
  openai: `sk-${'proj'}-${text(74)}${'T3Blbk'}${'FJ'}${text(74)}`,
  gemini: `${'AI'}za${text(35)}`,
  google: `${'ya'}29.${text(160)}`,
  googleRefresh: `${'1/'}/0${text(80)}`,
  github: `${'gh'}o_${text(36).replace(/[-_]/g, 'x')}`,
});
type Credentials = ReturnType<typeof newCredentials>;

interface Step {
  readonly host: Host;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const source = (lines: number): string =>
  Array.from({ length: lines }, (_, at) =>
    [
      `export function handler${at} (request: Request, response: Response): void {`,
      `  const total = request.items.reduce((sum, it) => sum + it.price * it.count, ${at})`,
      `  if (total > ${at * 31}) logger.info({ total, path: request.path }, 'large order')`,
      '  response.status(200).json({ total, currency: "EUR" })',
      '}',
    ].join('\n'),
  ).join('\n\n');

/** A conversation grows with every turn, and has the files in it that tools have read. */
const conversation = (turn: number) =>
  Array.from({ length: turn + 1 }, (_, at) =>
    at % 2 === 0
      ? { role: 'user', content: `Please go on with step ${at} of the refactoring, and run the tests.` }
      : { role: 'assistant', content: `I have read src/handler${at}.ts:\n\n${source(4 + (at % 9))}` },
  );

const model = (host: Host, path: string, headers: Step['headers'], body: object): Step => ({
  host,
  method: 'POST',
  path,
  headers: { ...headers },
  body,
});

const refresh = (host: Host, path: string, token: string, client: string): Step => ({
  host,
  method: 'POST',
  path,
  body: { grant_type: 'refresh_token', refresh_token: token, client_id: client },
});

const telemetry = (host: Host, path: string, size: number): Step => ({
  host,
  method: 'POST',
  path,
  body: {
    events: Array.from({ length: size }, (_, at) => ({
      eventName: 'tool_use',
      time: 1_790_000_000_000 + at,
      metadata: { tool: 'Bash', durationMs: at * 13, sessionId: '0e2f9a52-6d0b-4bbd-8c1a-5b8d4a0a9f10' },
    })),
  },
});

function* claudeCode({ claude, claudeKey, claudeRefresh }: Credentials): Generator<Step> {
  const headers = { authorization: `Bearer ${claude}`, 'anthropic-version': '2023-06-01' };
  yield refresh('claudeLogin', '/v1/oauth/token', claudeRefresh, '9d1c250a-e61b-44d9-88ed-5944d1962f5e');
  yield { host: 'anthropic', path: '/api/oauth/profile', headers };
  yield { host: 'changelog', path: '/claude-code-dist/latest' };
  yield { host: 'npm', path: '/@anthropic-ai%2fclaude-code' };
  for (let turn = 0; turn < 24; turn += 1) {
    const body = {
      model: 'claude-sonnet-4-5',
      max_tokens: 32_000,
      stream: true,
      messages: conversation(turn),
    };
    yield model('anthropic', '/v1/messages?beta=true', headers, body);
    if (turn % 4 === 0)
      yield model(
        'anthropic',
        '/v1/messages/count_tokens',
        { 'x-api-key': claudeKey },
        { messages: conversation(turn) },
      );
    if (turn % 3 === 0) yield telemetry('statsig', '/v1/rgstr', 2 + turn);
    if (turn % 8 === 0) yield telemetry('sentry', '/api/4507/envelope/', 30);
  }
}

function* codex({ openai }: Credentials): Generator<Step> {
  yield { host: 'github', path: '/repos/openai/codex/releases/latest' };
  for (let turn = 0; turn < 20; turn += 1) {
    const body = {
      model: 'gpt-5-codex',
      store: false,
      input: conversation(turn),
      tools: [{ type: 'function', name: 'shell' }],
    };
    yield model('openai', '/v1/responses', { authorization: `Bearer ${openai}` }, body);
    if (turn % 5 === 0) yield telemetry('datadog', '/api/v2/logs', 12);
  }
}

function* geminiCli({ gemini, google, googleRefresh }: Credentials): Generator<Step> {
  yield refresh('googleLogin', '/token', googleRefresh, '681255809395.apps.googleusercontent.com');
  yield model(
    'codeAssist',
    '/v1internal:loadCodeAssist',
    { authorization: `Bearer ${google}` },
    { metadata: { ideType: 'IDE_UNSPECIFIED' } },
  );
  for (let turn = 0; turn < 20; turn += 1) {
    const body = {
      contents: conversation(turn).map(({ role, content }) => ({ role, parts: [{ text: content }] })),
    };
    yield model(
      'gemini',
      '/v1beta/models/gemini-2.5-pro:generateContent',
      { 'x-goog-api-key': gemini },
      body,
    );
    if (turn % 4 === 0) yield telemetry('clearcut', '/log?format=json&hasfast=true', 20);
  }
}

function* opencode({ claudeKey, openai, gemini, github }: Credentials): Generator<Step> {
  yield { host: 'models', path: '/api.json' };
  yield { host: 'opencode', path: '/install/version' };
  yield { host: 'github', path: '/user', headers: { authorization: `Bearer ${github}` } };
  for (let turn = 0; turn < 12; turn += 1) {
    const messages = conversation(turn);
    yield model(
      'anthropic',
      '/v1/messages',
      { 'x-api-key': claudeKey },
      { model: 'claude-opus-4-1', messages },
    );
    yield model(
      'openai',
      '/v1/chat/completions',
      { authorization: `Bearer ${openai}` },
      { model: 'gpt-5', messages },
    );
    yield model(
      'gemini',
      '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      { 'x-goog-api-key': gemini },
      {
        contents: messages.map(({ role, content }) => ({ role, parts: [{ text: content }] })),
      },
    );
  }
}

/** What the tools of the agents fetch: many small requests in a burst. */
function* installs({ github }: Credentials): Generator<Step> {
  for (let at = 0; at < 60; at += 1) {
    const name = `package-${at}`;
    yield { host: 'npm', path: `/${name}` };
    if (at % 3 === 0) yield { host: 'npm', method: 'HEAD', path: `/${name}/-/${name}-1.${at}.0.tgz` };
    if (at % 4 === 0) yield { host: 'pypi', path: `/simple/${name}/` };
    if (at % 6 === 0)
      yield { host: 'pythonFiles', method: 'HEAD', path: `/packages/${at}/${name}-1.0-py3-none-any.whl` };
  }
  const headers = { authorization: `token ${github}` };
  for (let at = 0; at < 12; at += 1) {
    yield { host: 'github', path: `/repos/acme/app/contents/src/handler${at}.ts`, headers };
    yield { host: 'githubRaw', path: `/acme/app/main/src/handler${at}.ts` };
  }
  yield { host: 'githubFiles', path: '/github-production-release-asset/acme/app.tar.gz' };
  yield model('github', '/repos/acme/app/issues/12/comments', headers, { body: 'Done; the tests pass.' });
  yield model('github', '/repos/acme/app/pulls', headers, {
    title: 'Refactoring',
    head: 'refactoring',
    base: 'main',
  });
}

function* mcpClient(): Generator<Step> {
  const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' };
  const rpc = (id: number, method: string, params: object): Step =>
    model('mcp', '/mcp', headers, { jsonrpc: '2.0', id, method, params });
  yield rpc(0, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'inspector', version: '0.16.2' },
  });
  yield model('mcp', '/mcp', headers, { jsonrpc: '2.0', method: 'notifications/initialized' });
  yield rpc(1, 'tools/list', {});
  yield rpc(2, 'prompts/list', {});
  for (let at = 0; at < 40; at += 1)
    yield rpc(3 + at, 'tools/call', {
      name: ['search', 'read_page', 'ask_question'][at % 3],
      arguments: { query: `chapter ${at}` },
    });
}

/** What the upstreams answer: new tokens to who refreshes, tools to who lists them. */
function answerTo(host: string, path: string, body: Buffer): object {
  if (/token$/.test(path) && /refresh_token/.test(body.toString())) {
    const next = newCredentials();
    const tokens = host.includes('google')
      ? { access_token: next.google, id_token: jwt({ sub: text(8) }) }
      : { access_token: next.claude, refresh_token: next.claudeRefresh };
    return { ...tokens, token_type: 'Bearer', expires_in: 3600 };
  }
  if (/"tools\/list"/.test(body.toString()))
    return {
      jsonrpc: '2.0',
      id: 1,
      result: {
        tools: [
          { name: 'search', description: 'Searches the documentation.', inputSchema: { type: 'object' } },
        ],
      },
    };
  return { ok: true, content: `The handlers are in place.\n${source(3)}` };
}

async function startLab(t: Test) {
  const names = Object.values(hosts);
  const upstream = await startUpstream(
    t,
    (request, response, body) => {
      response.setHeader('content-type', 'application/json');
      const answer = JSON.stringify(answerTo(request.headers.host ?? '', request.url ?? '', body));
      response.setHeader('content-length', Buffer.byteLength(answer));
      response.end(request.method === 'HEAD' ? undefined : answer);
    },
    { certificate: testAuthority().issue({ names }) },
  );
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      upstream: {
        allow_private: ['127.0.0.0/8'],
        ca_files: [upstream.caFile],
        resolve: names.map((host) => ({ host, address: '127.0.0.1', port: upstream.port })),
      },
    },
  });
  const ca = readFileSync(gateway.caFile, 'utf8');
  const tunnels = new Map<Host, Promise<TLSSocket>>();
  async function tunnelTo(host: Host): Promise<TLSSocket> {
    const authority = `${hosts[host]}:443`;
    const socket = await openSecureTunnel({
      proxyUrl: gateway.proxyUrl,
      authorization: basic(gateway.key),
      authority,
      ca,
    });
    t.teardown(() => socket.destroy());
    return socket;
  }
  async function play({ host, method = 'GET', path, headers = {}, body }: Step): Promise<Reply> {
    const opened = tunnels.get(host) ?? tunnelTo(host);
    tunnels.set(host, opened);
    const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const content = sent && { 'content-type': 'application/json', 'content-length': sent.length };
    // The client of Node reads no further answer on a connection on which it has asked for a head alone.
    if (method === 'HEAD') tunnels.delete(host);
    return send(await opened, {
      method,
      path,
      headers: { host: hosts[host], 'user-agent': 'cli/1.0', ...headers, ...content },
      ...(sent ? { body: sent } : {}),
    });
  }
  const admin = `Bearer ${gateway.adminSecret}`;
  const standing = async () => {
    const agent = await gateway.api('GET', `/v1/agents/${gateway.agentId}`, undefined, admin);
    const incidents = await gateway.api('GET', '/v1/incidents', undefined, admin);
    return { ...agent.body, incidents: incidents.body.items };
  };
  return { gateway, play, standing, admin };
}

/** One after the other, each a few steps at a time. */
function* interleaved(works: readonly Generator<Step>[]): Generator<Step> {
  for (let left = [...works]; left.length > 0; ) {
    const next: Generator<Step>[] = [];
    for (const work of left) {
      for (let at = 0; at < 3; at += 1) {
        const { value, done } = work.next();
        if (done) break;
        yield value;
        if (at === 2) next.push(work);
      }
    }
    left = next;
  }
}

const orders = {
  'one program after the other': (works: readonly Generator<Step>[]) => works.flatMap((it) => [...it]),
  'all at the same time': (works: readonly Generator<Step>[]) => [...interleaved(works)],
};

for (const [name, order] of Object.entries(orders)) {
  t.test(`the ordinary work of coding agents lowers no trust and opens no incident: ${name}`, async (t) => {
    const { play, standing, gateway, admin } = await startLab(t);
    const own = newCredentials();
    const works = [mcpClient(), claudeCode(own), codex(own), geminiCli(own), installs(own), opencode(own)];
    const steps = order(works);
    t.ok(steps.length > 300, 'there are several hundred calls');
    for (const step of steps) {
      const reply = await play(step);
      t.equal(reply.status, 200, `${step.method ?? 'GET'} ${step.host} ${step.path}`);
    }
    const harvested = await gateway.api('GET', '/v1/traces?reason=TOKEN_HARVESTING', undefined, admin);
    t.same(harvested.body.items, [], 'each program has credentials of its own');
    t.match(await standing(), { trust_score: 1, trust_reasons: [], incidents: [] });
  });
}
