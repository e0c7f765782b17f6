import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type http from 'node:http';
import t, { type Test } from 'tap';
import { testAuthority } from '../support/certificates.ts';
import { basic, openHttp2Tunnel, openSecureTunnel, send, sendOnStream } from '../support/clients.ts';
import { agentId, startTestGateway } from '../support/gateway.ts';
import { startUpstream, type UpstreamHandler } from '../support/upstream.ts';

/* How large bodies may be: what the catalogue knows of a vendor raises the limit, what somebody has written counts before it. */

const kilobyte = 1024;
const megabyte = 1024 * kilobyte;
const vendor = 'api.openai.com';
const stranger = 'api.test.example';
const path = '/v1/chat/completions';

async function openLab(t: Test, config: Record<string, unknown> = {}, handler?: UpstreamHandler) {
  const certificate = testAuthority().issue({ names: [vendor, stranger] });
  const upstream = await startUpstream(t, handler, { certificate });
  const resolve = [vendor, stranger].map((host) => ({ host, address: '127.0.0.1', port: upstream.port }));
  const { limits = {}, ...others } = config;
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      upstream: { ca_files: [upstream.caFile], resolve },
      limits: { scan_timeout: '30s', ...(limits as object) },
      ...others,
    },
  });
  const ca = readFileSync(gateway.caFile, 'utf8');
  const targetOf = (host: string) => ({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority: `${host}:443`,
    ca,
  });
  return { upstream, gateway, targetOf };
}

type Lab = Awaited<ReturnType<typeof openLab>>;

/** A JSON text of so many bytes. */
const bodyOf = (bytes: number): string =>
  JSON.stringify({ x: 'a word '.repeat(bytes / 7 + 1).slice(0, bytes - 8) });

interface Reply {
  readonly status: number | undefined;
  readonly body: Buffer;
  readonly headers?: http.IncomingHttpHeaders;
}

type Entrance = (lab: Lab, host: string, body: string) => Promise<Reply>;

const overHttp1: Entrance = async ({ targetOf }, host, body) => {
  const socket = await openSecureTunnel(targetOf(host));
  const headers = { host, 'content-type': 'application/json', 'content-length': body.length };
  const reply = await send(socket, { method: 'POST', path, headers, body });
  socket.destroy();
  return reply;
};

const overHttp2: Entrance = async ({ targetOf }, host, body) => {
  const session = await openHttp2Tunnel(targetOf(host));
  const fields = { ':method': 'POST', ':path': path, 'content-type': 'application/json' };
  const reply = await sendOnStream(session, fields, body);
  session.destroy();
  return { ...reply, body: Buffer.from(reply.body) };
};

const byScan: Entrance = async ({ gateway }, host, body) => {
  const described = { method: 'POST', url: `https://${host}${path}`, body };
  const { status, body: answer } = await gateway.api('POST', '/v1/scan', described);
  return { status, body: Buffer.from(JSON.stringify(answer)) };
};

const byScanBackwards: Entrance = async ({ gateway }, host, body) => {
  const described = { body, url: `https://${host}${path}`, method: 'POST' };
  const { status, body: answer } = await gateway.api('POST', '/v1/scan', described);
  return { status, body: Buffer.from(JSON.stringify(answer)) };
};

const entrances: Readonly<Record<string, Entrance>> = {
  'HTTP/1.1': overHttp1,
  'HTTP/2': overHttp2,
  'POST /v1/scan': byScan,
  'POST /v1/scan with the URL behind the body': byScanBackwards,
};

t.test(
  'a conversation with a model goes through, and a stranger gets no more than before, whatever the entrance',
  async (t) => {
    const lab = await openLab(t);
    for (const [name, ask] of Object.entries(entrances)) {
      t.equal((await ask(lab, vendor, bodyOf(300 * kilobyte))).status, 200, name);
      t.equal((await ask(lab, stranger, bodyOf(256 * kilobyte))).status, 200, name);
      const refused = await ask(lab, stranger, bodyOf(256 * kilobyte + 1));
      t.equal(refused.status, 413, name);
      t.match(JSON.parse(refused.body.toString()), {
        actual_bytes: 256 * kilobyte + 1,
        limit_bytes: 256 * kilobyte,
      });
    }
  },
);

const said: readonly Record<string, unknown>[] = [
  { limits: { max_body_bytes: '256KB' } },
  { tenants: [{ id: 'acme', environments: ['production'], limits: { max_body_bytes: '256KB' } }] },
  {
    plans: { small: { max_body_bytes: '256KB' } },
    tenants: [{ id: 'acme', environments: ['production'], plan: 'small' }],
  },
  { tools: [{ name: 'openai', max_body_bytes: '256KB' }] },
];

t.test('what somebody has written counts before what the catalogue knows', async (t) => {
  for (const config of said) {
    const lab = await openLab(t, config);
    for (const [name, ask] of Object.entries(entrances)) {
      const what = `${name}: ${JSON.stringify(config)}`;
      t.equal((await ask(lab, vendor, bodyOf(256 * kilobyte))).status, 200, what);
      t.equal((await ask(lab, vendor, bodyOf(300 * kilobyte))).status, 413, what);
    }
  }
});

t.test('a body goes no further than the vendor takes it', async (t) => {
  const lab = await openLab(t);
  const socket = await openSecureTunnel(lab.targetOf(vendor));
  const headers = { host: vendor, 'content-length': 32 * megabyte + 1, expect: '100-continue' };
  const reply = await send(socket, { method: 'POST', path, headers });
  t.equal(reply.status, 413);
  t.match(JSON.parse(reply.body.toString()), { limit_bytes: 32 * megabyte });
  socket.destroy();
});

t.test('inbound routes: the host of the upstream tells, or the tool that the route names', async (t) => {
  const upstream = await startUpstream(t, undefined, { tls: false });
  const route = (prefix: string, fields: Record<string, unknown> = {}) => ({
    prefix,
    tenant: 'acme',
    agent: agentId,
    upstream: `http://127.0.0.1:${upstream.port}`,
    ...fields,
  });
  const gateway = await startTestGateway(t, {
    config: {
      limits: { scan_timeout: '30s' },
      upstream: { resolve: [{ host: vendor, address: '127.0.0.1', port: upstream.port }] },
      inbound: [
        route('host', { upstream: `http://${vendor}` }),
        route('tool', { tool: 'openai' }),
        route('less', { tool: 'openai', max_body_bytes: '256KB' }),
        route('none'),
      ],
    },
  });
  const post = async (prefix: string, body: string) =>
    (
      await fetch(`${gateway.controlUrl}/inbound/${prefix}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
        body,
      })
    ).status;
  for (const [prefix, status] of Object.entries({ host: 200, tool: 200, less: 413, none: 413 })) {
    t.equal(await post(prefix, bodyOf(300 * kilobyte)), status, prefix);
    t.equal(await post(prefix, bodyOf(256 * kilobyte)), 200, prefix);
  }
});

t.test(
  'the envelope of a described call has its own small room, however much the vendor takes',
  async (t) => {
    const { gateway } = await openLab(t);
    const scan = (fields: object) => gateway.api('POST', '/v1/scan', { method: 'POST', ...fields });
    const junk = 'x'.repeat(512 * kilobyte);
    t.equal((await scan({ url: `https://${stranger}/`, junk })).status, 413);
    t.equal((await scan({ url: 'no url', junk })).status, 413);
    t.equal((await scan({ junk, url: `https://${stranger}/` })).status, 413);
  },
);

t.test('bodies that an agent holds at one time have one room, and its calls give it back', async (t) => {
  const waiting: http.ServerResponse[] = [];
  const arrived = Promise.withResolvers<void>();
  const lab = await openLab(t, { limits: { max_body_bytes_total: '1MB' } }, (request, response) => {
    if (request.url !== '/held') {
      response.end('{}');
      return;
    }
    waiting.push(response);
    arrived.resolve();
  });
  const { targetOf } = lab;
  const held = await openSecureTunnel(targetOf(vendor));
  const body = bodyOf(700 * kilobyte);
  const headers = { host: vendor, 'content-type': 'application/json', 'content-length': body.length };
  const first = send(held, { method: 'POST', path: '/held', headers, body });
  await arrived.promise;
  for (const [name, ask] of Object.entries(entrances)) {
    const busy = await ask(lab, vendor, body);
    t.equal(busy.status, 503, name);
    const problem = JSON.parse(busy.body.toString());
    t.match(problem, { code: 'GATEWAY_BUSY' }, name);
    t.match(problem.detail, /limits\.max_body_bytes_total/, name);
    if (busy.headers) t.equal(busy.headers['retry-after'], '1', name);
  }
  t.equal((await overHttp1(lab, vendor, bodyOf(60 * kilobyte))).status, 200, 'short ones are not counted');
  waiting[0]?.end('{}');
  t.equal((await first).status, 200);
  held.destroy();
  for (const [name, ask] of Object.entries(entrances))
    t.equal((await ask(lab, vendor, body)).status, 200, name);
});

t.test('a client that leaves gives its room back, before its body is there and behind it', async (t) => {
  const arrived = Promise.withResolvers<http.ServerResponse>();
  const lab = await openLab(t, { limits: { max_body_bytes_total: '1MB' } }, (request, response) => {
    if (request.url === '/held') arrived.resolve(response);
    else response.end('{}');
  });
  const body = bodyOf(700 * kilobyte);
  const begin = async (url: string, sent: string) => {
    const socket = await openSecureTunnel(lab.targetOf(vendor));
    socket.write(`POST ${url} HTTP/1.1\r\nHost: ${vendor}\r\nContent-Length: ${body.length}\r\n\r\n${sent}`);
    return socket;
  };
  const half = await begin('/half', body.slice(0, 200_000));
  // Its place is taken once a further one finds none.
  while ((await overHttp1(lab, vendor, body)).status !== 503);
  half.destroy();
  while ((await overHttp1(lab, vendor, body)).status !== 200);
  const whole = await begin('/held', body);
  const response = await arrived.promise;
  t.equal((await overHttp1(lab, vendor, body)).status, 503);
  whole.destroy();
  await once(response, 'close');
  while ((await overHttp1(lab, vendor, body)).status !== 200);
  t.pass('all of it came back');
});

t.test('a body in chunks takes room as it comes, and is broken off where there is none', async (t) => {
  const lab = await openLab(t, { limits: { max_body_bytes_total: '512KB' } });
  const socket = await openSecureTunnel(lab.targetOf(vendor));
  const headers = { host: vendor, 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const reply = await send(socket, { method: 'POST', path, headers, body: bodyOf(700 * kilobyte) });
  t.equal(reply.status, 413);
  const problem = JSON.parse(reply.body.toString());
  t.match(problem, { code: 'PAYLOAD_TOO_LARGE', limit_bytes: 512 * kilobyte });
  t.match(problem.detail, /raise limits\.max_body_bytes_total/);
  t.equal((await overHttp1(lab, vendor, bodyOf(500 * kilobyte))).status, 200, 'its room came back');
});

t.test('a body that could never have room is refused before its first byte', async (t) => {
  const lab = await openLab(t, { limits: { max_body_bytes_total: '512KB' } });
  for (const ask of [overHttp1, overHttp2, byScan]) {
    const { status, body } = await ask(lab, vendor, bodyOf(700 * kilobyte));
    t.equal(status, 413);
    t.match(JSON.parse(body.toString()).detail, /raise limits\.max_body_bytes_total/);
  }
  t.equal(lab.upstream.requests.length, 0);
});

t.test(
  'a plain body of more than max_decoded_bytes goes through, and one that takes too long to read does not',
  async (t) => {
    const body = JSON.stringify({ x: 'a line\nof words '.repeat(600_000) });
    t.ok(body.length > 9 * megabyte);
    t.equal((await overHttp1(await openLab(t), vendor, body)).status, 200);
    const lab = await openLab(t, { limits: { scan_timeout: '1ms' } });
    const { status, body: answer } = await overHttp1(lab, vendor, body);
    t.equal(status, 403);
    t.match(JSON.parse(answer.toString()), { reason_codes: ['UNREADABLE'] });
    t.equal(lab.upstream.requests.length, 0);
  },
);
