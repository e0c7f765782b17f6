import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import t, { type Test } from 'tap';
import { basic, openSecureTunnel, send } from '../support/clients.ts';
import { agentId, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type TestUpstream } from '../support/upstream.ts';

/* What `tools:` says of calls to a tool: how large their bodies may be, and whether its answers are sensitive. */

const ledger = { name: 'ledger', hosts: ['ledger.test.example'] };
const blog = { name: 'blog', hosts: ['blog.test.example'] };

async function open(t: Test, config: Readonly<Record<string, unknown>>, answer?: string) {
  const upstream = await startUpstream(
    t,
    answer === undefined ? undefined : (_, response) => void response.end(answer),
  );
  return { upstream, gateway: await startTestGateway(t, { upstream, config }) };
}

async function call(
  { gateway, upstream }: { gateway: TestGateway; upstream: TestUpstream },
  host: string,
  body: string,
  headers: http.OutgoingHttpHeaders = {},
) {
  const authority = `${host}:${upstream.port}`;
  const socket = await openSecureTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority,
    ca: readFileSync(gateway.caFile, 'utf8'),
  });
  const reply = await send(socket, {
    method: 'POST',
    path: '/x',
    headers: {
      host: authority,
      'content-type': 'application/json',
      'content-length': body.length,
      ...headers,
    },
    body,
  });
  socket.destroy();
  return { ...reply, problem: reply.status === 413 ? JSON.parse(reply.body.toString()) : undefined };
}

/** A JSON text of so many bytes. */
const bodyOf = (bytes: number): string => JSON.stringify({ x: 'a '.repeat(bytes).slice(0, bytes - 8) });
const kilobyte = 1024;

t.test('a tool may take larger and smaller bodies than its tenant', async (t) => {
  const lab = await open(t, {
    limits: { max_body_bytes: '8KB' },
    tools: [
      { ...ledger, max_body_bytes: '16KB' },
      { ...blog, max_body_bytes: '4KB' },
      { name: 'mcp', max_body_bytes: '2KB' },
    ],
    tenants: [{ id: 'acme', plan: 'free', environments: ['production'] }],
  });
  const cases: readonly [host: string, bytes: number, limit: number | undefined][] = [
    ['ledger.test.example', 16 * kilobyte, undefined],
    ['ledger.test.example', 16 * kilobyte + 1, 16 * kilobyte],
    ['blog.test.example', 4 * kilobyte, undefined],
    ['blog.test.example', 4 * kilobyte + 1, 4 * kilobyte],
    ['api.test.example', 8 * kilobyte, undefined],
    ['api.test.example', 8 * kilobyte + 1, 8 * kilobyte],
  ];
  for (const [host, bytes, limit] of cases) {
    const { status, problem } = await call(lab, host, bodyOf(bytes));
    t.equal(status, limit === undefined ? 200 : 413, `${bytes} bytes to ${host}`);
    if (limit !== undefined) t.match(problem, { actual_bytes: bytes, limit_bytes: limit });
    const url = `https://${host}/x`;
    const scanned = await lab.gateway.api('POST', '/v1/scan', { method: 'POST', url, body: bodyOf(bytes) });
    t.equal(scanned.status, limit === undefined ? 200 : 413, `${bytes} bytes described`);
  }
  const message = (bytes: number): string => {
    const params = { name: 'a', arguments: { x: '' } };
    const base = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    return base.replace('"x":""', `"x":"${'b'.repeat(bytes - base.length)}"`);
  };
  t.equal((await call(lab, 'api.test.example', message(2 * kilobyte))).status, 200);
  t.match(
    await call(lab, 'api.test.example', message(2 * kilobyte + 1)),
    {
      status: 413,
      problem: { limit_bytes: 2 * kilobyte },
    },
    'a tool that only the body tells lowers the bound',
  );
});

t.test('a body over the limit of its tool is refused unread', async (t) => {
  const lab = await open(t, { tools: [{ ...blog, max_body_bytes: '1KB' }] });
  const { key, proxyUrl } = lab.gateway;
  const plain = await startUpstream(t, undefined, { tls: false });
  const { hostname, port } = new URL(proxyUrl);
  const request = http.request({
    ...{ host: hostname, port, method: 'POST', path: `http://blog.test.example:${plain.port}/x` },
    headers: {
      host: `blog.test.example:${plain.port}`,
      'proxy-authorization': basic(key),
      'content-length': 1025,
      expect: '100-continue',
    },
  });
  request.flushHeaders();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  t.equal(response.statusCode, 413, 'before a byte of it was sent');
  request.destroy();
});

t.test('of what a route and its tool say the smaller counts, and either over the tenant', async (t) => {
  const upstream = await startUpstream(t, undefined, { tls: false });
  const route = (prefix: string, fields: Readonly<Record<string, unknown>>) => ({
    prefix,
    tenant: 'acme',
    agent: agentId,
    upstream: `http://127.0.0.1:${upstream.port}`,
    ...fields,
  });
  const gateway = await startTestGateway(t, {
    config: {
      limits: { max_body_bytes: '4KB' },
      tools: [{ ...ledger, max_body_bytes: '8KB' }],
      tenants: [{ id: 'acme', plan: 'free', environments: ['production'] }],
      inbound: [
        route('tool', { tool: 'ledger' }),
        route('less', { tool: 'ledger', max_body_bytes: '6KB' }),
        route('more', { tool: 'ledger', max_body_bytes: '16KB' }),
        route('none', {}),
      ],
    },
  });
  for (const [prefix, limit] of Object.entries({ tool: 8, less: 6, more: 8, none: 4 })) {
    for (const over of [0, 1]) {
      const response = await fetch(`${gateway.controlUrl}/inbound/${prefix}/x`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
        body: bodyOf(limit * kilobyte + over),
      });
      t.equal(response.status, over ? 413 : 200, `${prefix}, ${over} over its limit`);
      await response.arrayBuffer();
    }
  }
});

t.test('answers of a sensitive tool are known again, found or not, read or not', async (t) => {
  const text =
    'the northern warehouse moves its spare pallets to the riverside on thursday morning before the auditors arrive and ' +
    'nobody but the shift leads and the two drivers is told which of the four gates will stay open for the last truck';
  const isKnownAgain = async (
    settings: Readonly<Record<string, unknown>>,
    answer: string,
  ): Promise<boolean> => {
    const lab = await open(t, { tools: [{ ...ledger, ...settings }] }, answer);
    await call(lab, 'ledger.test.example', '{}');
    const out = { method: 'POST', url: 'https://stranger.example/x', body: answer };
    for (let times = 0; times < 20; times++) {
      const { body } = await lab.gateway.api('POST', '/v1/scan', out);
      if (body.signals.some((it: { name: string }) => it.name === 'READ_THEN_WRITE')) return true;
    }
    return false;
  };
  const names = ['anna.lindt', 'bo.fransson', 'carla.neri', 'dov.katz'];
  const people = `${text}: ${names.map((it) => `${it}@nordhaus-traders.com`).join(', ')}`;
  t.ok(await isKnownAgain({ sensitive: true }, text));
  t.ok(await isKnownAgain({ sensitive: true, response_scan: { mode: 'off' } }, text), 'unread otherwise');
  t.notOk(await isKnownAgain({}, text), 'nothing was found in it');
  t.ok(await isKnownAgain({}, people), 'found');
  t.notOk(await isKnownAgain({ sensitive: false }, people), 'found, and said to be harmless');
});
