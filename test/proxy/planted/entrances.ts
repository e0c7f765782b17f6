import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import {
  basic,
  openHttp2Tunnel,
  openSecureTunnel,
  openTunnel,
  send,
  sendOnStream,
} from '../../support/clients.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { awsKeyId, gitlabToken } from '../../support/secrets.ts';

/* Every field of every entrance that a caller fills, each with a planted text of its own. */

export interface Lab {
  readonly gateway: TestGateway;
  readonly ca: string;
  readonly peer: string;
  readonly authority: string;
  /** Keeps what was answered. */
  heard(answer: { readonly status: number; readonly headers: object; readonly body: Buffer | string }): void;
  /** A new text for a field, in which a detector finds a secret. */
  plant(field: string, make?: () => string): string;
}

interface Field {
  readonly field: string;
  send(lab: Lab): Promise<void>;
}

/** Letters alone, so that it may be a method too. */
const letters = (): string => {
  for (;;) {
    const id = awsKeyId();
    if (/^[A-Z]+$/.test(id)) return id;
  }
};
/** As it stands in a host, which has no upper case. */
const lower = (): string => gitlabToken().toLowerCase();

const json = { 'content-type': 'application/json' };
const rpc = (method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

interface Request {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly user?: string;
  readonly host?: string;
}

/** A call in each of its forms; the text is planted by the function. */
const calls: readonly {
  readonly field: string;
  readonly make?: () => string;
  request(text: string): Request;
}[] = [
  { field: 'path', request: (it) => ({ path: `/a/${it}/b` }) },
  { field: 'query value', request: (it) => ({ path: `/a?token=${it}` }) },
  { field: 'query name', request: (it) => ({ path: `/a?${it}=1` }) },
  { field: 'path in base64', request: (it) => ({ path: `/a/${Buffer.from(it).toString('base64url')}` }) },
  { field: 'header value', request: (it) => ({ headers: { 'x-note': `see ${it}` } }) },
  { field: 'header name', request: (it) => ({ headers: { [`x-${it}`]: 'yes' } }) },
  { field: 'cookie', request: (it) => ({ headers: { cookie: `a=${it}` } }) },
  { field: 'host', make: lower, request: (it) => ({ host: `${it}.test.example` }) },
  { field: 'JSON value', request: (it) => ({ headers: json, body: JSON.stringify({ note: it }) }) },
  { field: 'JSON key', request: (it) => ({ headers: json, body: JSON.stringify({ [it]: 'note' }) }) },
  {
    field: 'form value',
    request: (it) => ({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `note=${it}`,
    }),
  },
  {
    field: 'form name',
    request: (it) => ({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${it}=note`,
    }),
  },
  {
    field: 'multipart name',
    request: (it) => ({
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: `--b\r\nContent-Disposition: form-data; name="${it}"\r\n\r\nnote\r\n--b--\r\n`,
    }),
  },
  { field: 'content type', request: (it) => ({ headers: { 'content-type': `text/${it}` }, body: 'note' }) },
  { field: 'agent name', request: (it) => ({ headers: { 'x-service-agent-name': it } }) },
  { field: 'runtime type', request: (it) => ({ headers: { 'x-service-runtime-type': it } }) },
  { field: 'context', request: (it) => ({ headers: { 'x-service-context': `please send ${it}` } }) },
  { field: 'agent id', request: (it) => ({ headers: { 'x-service-agent-id': it } }) },
  { field: 'own header', request: (it) => ({ headers: { [`x-service-${it}`]: it } }) },
  { field: 'MCP method', request: (it) => ({ headers: json, body: rpc(it) }) },
  {
    field: 'MCP tool name',
    request: (it) => ({ headers: json, body: rpc('tools/call', { name: it, arguments: {} }) }),
  },
  {
    field: 'MCP tool name in base64',
    request: (it) => ({
      headers: json,
      body: rpc('tools/call', { name: Buffer.from(it).toString('base64url') }),
    }),
  },
  {
    field: 'beginning of an MCP tool name',
    request: (it) => ({ headers: json, body: rpc('tools/call', { name: `${'tool.'.repeat(22)}${it}` }) }),
  },
  { field: 'MCP prompt', request: (it) => ({ headers: json, body: rpc('prompts/get', { name: it }) }) },
  { field: 'MCP notification', request: (it) => ({ headers: json, body: rpc(`notifications/${it}`) }) },
  {
    field: 'JSON-RPC batch',
    request: (it) => ({
      headers: json,
      body: `[${rpc('tools/list')},${rpc('tools/call', { name: it })},${rpc('tools/call', { name: 'add' })}]`,
    }),
  },
  {
    field: 'A2A push address',
    make: lower,
    request: (it) => ({
      headers: json,
      body: rpc('message/send', {
        configuration: { pushNotificationConfig: { url: `https://${it}.example/x` } },
      }),
    }),
  },
  {
    field: 'overriding method',
    make: letters,
    request: (it) => ({ headers: { 'x-http-method-override': it } }),
  },
];

/** What known tools are called with; they are described alone, for nobody dials them here. */
const described: typeof calls = [
  { field: 'method', make: letters, request: (it) => ({ method: it }) },
  { field: 'scheme', request: (it) => ({ host: `+${it.toLowerCase()}://x.example` }) },
  { field: 'path of a known tool', request: (it) => ({ host: 'api.github.com', path: `/unknown/${it}` }) },
  {
    field: 'method at a known tool',
    make: letters,
    request: (it) => ({ host: 'api.github.com', path: '/unknown/x', method: it }),
  },
  {
    field: 'end of a long path',
    request: (it) => ({ host: 'api.github.com', path: `/unknown${'/abcdef'.repeat(14)}/${it}` }),
  },
  { field: 'repository', request: (it) => ({ host: 'api.github.com', path: `/repos/acme/${it}` }) },
  { field: 'organisation', request: (it) => ({ host: 'api.github.com', path: `/repos/${it}/app` }) },
  {
    field: 'collaborator',
    request: (it) => ({ host: 'api.github.com', method: 'PUT', path: `/repos/acme/app/collaborators/${it}` }),
  },
  {
    field: 'channel',
    request: (it) => ({
      host: 'slack.com',
      path: '/api/chat.postMessage',
      headers: json,
      body: JSON.stringify({ channel: it, text: 'hello' }),
    }),
  },
  {
    field: 'bucket',
    make: lower,
    request: (it) => ({ host: `${it}.s3.eu-west-1.amazonaws.com`, path: '/x' }),
  },
  {
    field: 'AWS action',
    make: awsKeyId,
    request: (it) => ({
      host: 'iam.amazonaws.com',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `Action=${it}&Version=2010-05-08`,
    }),
  },
  {
    field: 'AWS action in the query',
    make: awsKeyId,
    request: (it) => ({ host: 'iam.amazonaws.com', path: `/?Action=${it}` }),
  },
  {
    field: 'AWS target',
    make: awsKeyId,
    request: (it) => ({
      host: 'dynamodb.eu-west-1.amazonaws.com',
      headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `DynamoDB_20120810.${it}` },
      body: '{}',
    }),
  },
  {
    field: 'AWS service',
    make: lower,
    request: (it) => ({
      host: `${it}.eu-west-1.amazonaws.com`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'Action=DoIt',
    }),
  },
  {
    field: 'GraphQL field',
    make: awsKeyId,
    request: (it) => ({
      host: 'api.github.com',
      path: '/graphql',
      headers: json,
      body: JSON.stringify({ query: `mutation { ${it}(input: {}) { id } createIssue(input: {}) { id } }` }),
    }),
  },
  {
    field: 'GraphQL operation',
    make: awsKeyId,
    request: (it) => ({
      host: 'api.github.com',
      path: '/graphql',
      headers: json,
      body: JSON.stringify({ query: `query ${it} { viewer { id } }`, operationName: it }),
    }),
  },
];

const described1 = (it: Request & { host?: string }, fallback: string): object => {
  const {
    host = fallback,
    method = it.body === undefined ? 'GET' : 'POST',
    path = '/',
    headers = {},
    body,
  } = it;
  const url = host.startsWith('+') ? `${host.slice(1)}${path}` : `https://${host}${path}`;
  return { method, url, headers, ...(body === undefined ? {} : { body }) };
};

const byScan = (name: string, list: typeof calls): Field[] =>
  list.map(({ field, make, request }) => ({
    field: `${name}: ${field}`,
    async send({ gateway, heard, plant, authority }) {
      const body = described1(request(plant(`${name}: ${field}`, make)), authority);
      heard(toHeard(await gateway.api('POST', '/v1/scan', body)));
    },
  }));

const toHeard = ({ status, headers, body }: Awaited<ReturnType<TestGateway['api']>>) => ({
  status,
  headers: Object.fromEntries(headers),
  body: JSON.stringify(body ?? null),
});

const byProxy: Field[] = calls.map(({ field, make, request }) => ({
  field: `forward proxy: ${field}`,
  async send({ gateway, ca, heard, plant, authority }) {
    const {
      host,
      headers = {},
      body,
      method = body === undefined ? 'GET' : 'POST',
      path = '/',
    } = request(plant(`forward proxy: ${field}`, make));
    const port = authority.split(':')[1];
    const to = host === undefined ? authority : `${host}:${port}`;
    const opened = await openTunnel({
      proxyUrl: gateway.proxyUrl,
      authorization: basic(gateway.key),
      authority: to,
    });
    opened.socket.destroy();
    heard({ status: opened.status, headers: opened.headers, body: '' });
    if (opened.status !== 200) return;
    const socket = await openSecureTunnel({
      proxyUrl: gateway.proxyUrl,
      authorization: basic(gateway.key),
      authority: to,
      ca,
    });
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    heard(
      await send(socket, {
        method,
        path,
        headers: { host: to, ...length, ...headers },
        ...(body ? { body } : {}),
      }),
    );
    socket.destroy();
  },
}));

const byHttp2: Field[] = calls
  .filter(({ field }) => field !== 'host')
  .map(({ field, make, request }) => ({
    field: `HTTP/2: ${field}`,
    async send({ gateway, ca, heard, plant, authority }) {
      const {
        headers = {},
        body,
        method = body === undefined ? 'GET' : 'POST',
        path = '/',
      } = request(plant(`HTTP/2: ${field}`, make));
      const session = await openHttp2Tunnel({
        ...{ proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca },
      });
      const lowered = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      );
      const asked = { ':method': method, ':path': path, ...lowered };
      const { status, headers: answered, body: text } = await sendOnStream(session, asked, body);
      heard({ status, headers: answered, body: text });
      session.destroy();
    },
  }));

const byInbound: Field[] = calls
  .filter(({ field }) => field !== 'host')
  .map(({ field, make, request }) => ({
    field: `inbound: ${field}`,
    async send({ gateway, heard, plant }) {
      const {
        headers = {},
        body,
        method = body === undefined ? 'GET' : 'POST',
        path = '/',
      } = request(plant(`inbound: ${field}`, make));
      const answer = await fetch(`${gateway.controlUrl}/inbound/crm${path}`, {
        method,
        headers: { authorization: `Bearer ${gateway.key}`, ...headers },
        ...(body === undefined ? {} : { body }),
      });
      heard({
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: Buffer.from(await answer.arrayBuffer()),
      });
    },
  }));

const api = (
  field: string,
  make: (text: string, lab: Lab) => readonly [method: string, path: string, body?: unknown],
): Field => ({
  field,
  async send(lab) {
    heardApi(lab, await lab.gateway.api(...make(lab.plant(field), lab)));
  },
});
const heardApi = ({ heard }: Lab, reply: Awaited<ReturnType<TestGateway['api']>>): void =>
  heard(toHeard(reply));

const a2a =
  (fields: (text: string) => object) =>
  (text: string, { gateway, peer }: Lab) =>
    [
      'POST',
      '/v1/a2a/scan',
      { from_agent_id: gateway.agentId, to_agent_id: peer, method: 'message/send', ...fields(text) },
    ] as const;
const scan =
  (fields: (text: string) => object) =>
  (text: string, { authority }: Lab) =>
    [
      'POST',
      '/v1/scan',
      { method: 'POST', url: `https://${authority}/x`, body: { a: 1 }, ...fields(text) },
    ] as const;

const byApi: Field[] = [
  api(
    'POST /v1/a2a/scan: method',
    a2a((method) => ({ method })),
  ),
  api(
    'POST /v1/a2a/scan: method in hexadecimal digits',
    a2a((it) => ({ method: Buffer.from(it).toString('hex').slice(0, 64) })),
  ),
  api(
    'POST /v1/a2a/scan: intent',
    a2a((intent) => ({ intent })),
  ),
  api(
    'POST /v1/a2a/scan: payload',
    a2a((it) => ({ payload: { note: it } })),
  ),
  api(
    'POST /v1/a2a/scan: payload key',
    a2a((it) => ({ payload: { [it]: 'note' } })),
  ),
  api(
    'POST /v1/a2a/scan: malformed method',
    a2a((it) => ({ method: `${it} ` })),
  ),
  api(
    'POST /v1/a2a/scan: malformed agent',
    a2a((it) => ({ to_agent_id: it })),
  ),
  api(
    'POST /v1/a2a/scan: method to a stranger',
    a2a((method) => ({ method, to_agent_id: randomUUID() })),
  ),
  api(
    'POST /v1/scan: agent_name',
    scan((agent_name) => ({ agent_name })),
  ),
  api(
    'POST /v1/scan: agent_name of a new agent',
    scan((agent_name) => ({ agent_name, agent_id: randomUUID() })),
  ),
  api(
    'POST /v1/scan: runtime_type',
    scan((runtime_type) => ({ runtime_type })),
  ),
  api(
    'POST /v1/scan: runtime_type of a new agent',
    scan((runtime_type) => ({ runtime_type, agent_id: randomUUID() })),
  ),
  api(
    'POST /v1/scan: context',
    scan((context) => ({ context })),
  ),
  api(
    'POST /v1/scan: env',
    scan((env) => ({ env })),
  ),
  api(
    'POST /v1/scan: agent_id',
    scan((it) => ({ agent_id: it })),
  ),
  api(
    'POST /v1/scan: malformed method',
    scan((it) => ({ method: `${it} x` })),
  ),
  api(
    'POST /v1/scan: malformed URL',
    scan((it) => ({ url: `/${it}` })),
  ),
  api(
    'POST /v1/scan: malformed headers',
    scan((it) => ({ headers: { [`${it} x`]: 'a' } })),
  ),
  api(
    'POST /v1/scan: malformed header value',
    scan((it) => ({ headers: { a: { [it]: it } } })),
  ),
  api(
    'POST /v1/scan: unknown field',
    scan((it) => ({ [it]: it })),
  ),
  api(
    'POST /v1/scan: too large a body',
    scan((it) => ({ url: `https://x.example/${it}`, body: `${it}${' x'.repeat(200_000)}` })),
  ),
  api(
    'POST /v1/scan: too large a body at a host',
    scan((it) => ({ url: `https://${it.toLowerCase()}.example/`, body: ' x'.repeat(200_000) })),
  ),
  api(
    'POST /v1/a2a/scan: too large a payload',
    a2a((method) => ({ method, payload: { a: 'x'.repeat(400_000) } })),
  ),
  api('malformed JSON', (it) => ['POST', '/v1/scan', `{"method": "${it}`]),
  api('no JSON at all', (it) => ['POST', '/v1/scan', it]),
  api('unknown endpoint', (it) => ['GET', `/v1/${it}`]),
  api('unknown approval', (it) => ['GET', `/v1/approvals/${it}/status`]),
  api('unknown policy', (it) => ['GET', `/v1/policies/by-name/${it}`]),
  api('unknown trace', (it) => ['GET', `/v1/traces/${it}`]),
  api('trace that answers are scanned for', (it) => [
    'POST',
    '/v1/scan/response',
    { trace_id: it, response_body: it, response_status: 200 },
  ]),
  api('trace filter', (it) => ['GET', `/v1/traces?decision=${it}&limit=${it}`]),
  api('unknown inbound route', (it) => ['GET', `/inbound/${it}/x`]),
];

const byConnect: Field[] = [
  {
    field: 'CONNECT: user name',
    async send({ gateway, ca, authority, heard, plant }) {
      const authorization = basic(gateway.key, plant('CONNECT: user name'));
      const socket = await openSecureTunnel({ proxyUrl: gateway.proxyUrl, authorization, authority, ca });
      heard(await send(socket, { path: '/', headers: { host: authority } }));
      socket.destroy();
    },
  },
  ...(['host', 'host at a closed port', 'host without a key'] as const).map((kind) => ({
    field: `CONNECT: ${kind}`,
    async send({ gateway, heard, plant }: Lab) {
      const { socket, status, headers } = await openTunnel({
        proxyUrl: gateway.proxyUrl,
        ...(kind === 'host without a key' ? {} : { authorization: basic(gateway.key) }),
        authority: `${plant(`CONNECT: ${kind}`, lower)}.example:${kind === 'host at a closed port' ? 22 : 443}`,
      });
      socket.destroy();
      heard({ status, headers, body: '' });
    },
  })),
  {
    field: 'CONNECT: host that is passed through',
    async send({ gateway, heard, plant }) {
      const { socket, status, headers } = await openTunnel({
        proxyUrl: gateway.proxyUrl,
        authorization: basic(gateway.key),
        authority: `${plant('CONNECT: host that is passed through', lower)}.pass.test.example:443`,
      });
      heard({ status, headers, body: '' });
      socket.destroy();
    },
  },
  {
    field: 'CONNECT: another Host within',
    async send({ gateway, ca, authority, heard, plant }) {
      const authorization = basic(gateway.key);
      const socket = await openSecureTunnel({ proxyUrl: gateway.proxyUrl, authorization, authority, ca });
      const host = `${plant('CONNECT: another Host within', lower)}.example`;
      heard(await send(socket, { path: '/', headers: { host } }));
      socket.destroy();
    },
  },
  {
    field: 'CONNECT: a TLS that is none',
    async send({ gateway, plant }) {
      const { socket } = await openTunnel({
        proxyUrl: gateway.proxyUrl,
        authorization: basic(gateway.key),
        authority: `${plant('CONNECT: a TLS that is none', lower)}.example:443`,
      });
      // A ClientHello that is cut short.
      socket.write(Buffer.from('160301000501000001ff', 'hex'));
      await once(socket.resume(), 'close');
    },
  },
];

const byWebSocket: Field[] = (['text', 'tool name'] as const).map((kind) => ({
  field: `WebSocket: ${kind}`,
  async send({ gateway, ca, authority, heard, plant }) {
    const text = plant(`WebSocket: ${kind}`);
    const inner = await openSecureTunnel({
      ...{ proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca },
    });
    const socket = new WebSocket(`ws://${authority}/socket`, [], { createConnection: () => inner });
    socket.on('error', () => undefined);
    socket.on('unexpected-response', () => inner.destroy());
    socket.on('open', () => {
      socket.send(kind === 'text' ? `hello ${text}` : rpc('tools/call', { name: text }));
      socket.send('end');
    });
    socket.on('message', (data: Buffer) => {
      if (data.toString() === 'end') socket.close();
    });
    await new Promise((resolve) => {
      socket.once('close', (code: number, reason: Buffer) => {
        heard({ status: code, headers: {}, body: reason });
        resolve(undefined);
      });
      inner.once('close', resolve);
    });
    inner.destroy();
  },
}));

export const fields: readonly Field[] = [
  ...byScan('POST /v1/scan', [...calls, ...described]),
  ...byProxy,
  ...byHttp2,
  ...byInbound,
  ...byApi,
  ...byConnect,
  ...byWebSocket,
];
