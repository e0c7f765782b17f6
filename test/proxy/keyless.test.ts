import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { basic, openSecureTunnel, openTunnel, send } from '../support/clients.ts';
import { agentId, startTestGateway, type TestGateway, testConfig } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';

const credential = (fields: object) => ({
  name: 'bot',
  tenant: 'acme',
  type: 'bearer',
  value: 'a-secret-that-agents-do-not-have',
  hosts: ['api.test.example'],
  ...fields,
});

async function startLab(t: Test, config: Readonly<Record<string, unknown>> = {}) {
  const upstream = await startUpstream(t);
  const setup = (requireAuth: boolean) => ({
    upstream,
    config: { ...config, proxy: { require_auth: requireAuth } },
  });
  const gateway = await startTestGateway(t, setup(false));
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(gateway.caFile, 'utf8');
  const call = async (authorization?: string, headers: Record<string, string> = {}) => {
    const who = authorization === undefined ? {} : { authorization };
    const socket = await openSecureTunnel({ proxyUrl: gateway.proxyUrl, authority, ca, ...who });
    t.teardown(() => socket.destroy());
    const again = () => send(socket, { path: '/x', headers: { host: authority, ...headers } });
    return { ...(await again()), again };
  };
  const absolute = (headers: Record<string, string> = {}): Promise<number> => {
    const { hostname: host, port } = new URL(gateway.proxyUrl);
    const path = `http://${authority}/`;
    return new Promise((resolve, reject) => {
      http
        .get({ host, port, path, headers: { host: authority, ...headers }, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        })
        .once('error', reject);
    });
  };
  const traceOf = async (reply: { readonly headers: object }) => {
    const id = (reply.headers as Record<string, string>)['x-service-trace-id'];
    return (await asAdmin(gateway, 'GET', `/v1/traces/${id}`)).body;
  };
  const requireAuth = async (isRequired: boolean) => {
    writeFileSync(gateway.configFile, stringify(testConfig(setup(isRequired))));
    t.ok(await gateway.reload());
  };
  return { upstream, gateway, authority, call, absolute, traceOf, requireAuth };
}

const asAdmin = (gateway: TestGateway, method: string, path: string, body?: unknown) =>
  gateway.api(method, path, body, `Bearer ${gateway.adminSecret}`);

t.test('a call without a key is one of the agent "unauthenticated"', async (t) => {
  const { gateway, call, absolute, traceOf } = await startLab(t);
  const reply = await call();
  t.equal(reply.status, 200);
  t.match(await traceOf(reply), { agent_name: 'unauthenticated', tenant_id: 'acme', decision: 'ALLOW' });
  t.not(await absolute(), 407, 'in absolute-form as well');
  const { items } = (await asAdmin(gateway, 'GET', '/v1/agents')).body;
  const agent = items.find((it: { name: string }) => it.name === 'unauthenticated');
  t.match(agent, { env_name: 'production', status: 'active' });
  await asAdmin(gateway, 'POST', `/v1/agents/${agent.agent_id}/suspend`, {});
  t.match(await reply.again(), { status: 403 }, 'which can be suspended');
  const keys = (await asAdmin(gateway, 'GET', '/v1/keys')).body.items;
  t.strictSame(
    keys.map((it: { key_id: string }) => it.key_id),
    [gateway.keyId],
    "the key that stands for it is nobody's to handle",
  );
});

t.test('whoever brings a key is asked for a valid one', async (t) => {
  const { gateway, call, traceOf, authority } = await startLab(t);
  const good = await call(basic(gateway.key));
  t.match(await traceOf(good), { agent_id: agentId }, 'a good one counts');
  const { key, key_id } = await gateway.mint();
  await asAdmin(gateway, 'DELETE', `/v1/keys/${key_id}`);
  const wrong = {
    'a revoked one': basic(key),
    'no key at all': basic('nonsense'),
    'a name alone': basic('', 'support-bot'),
    'another scheme': 'Digest username="x"',
    'an empty field': '',
  };
  for (const [name, authorization] of Object.entries(wrong)) {
    const { status, socket } = await openTunnel({ proxyUrl: gateway.proxyUrl, authorization, authority });
    socket.destroy();
    t.equal(status, 407, name);
  }
});

t.test('a call without a key cannot be that of another agent', async (t) => {
  const { call, absolute, traceOf } = await startLab(t);
  const claimed = await call(undefined, { 'x-service-agent-id': agentId });
  t.equal(claimed.status, 403);
  t.match(JSON.parse(claimed.body.toString()), { code: 'FORBIDDEN', detail: /send a key/ });
  t.match(await traceOf(claimed), { agent_name: 'unauthenticated', decision: 'DENY' });
  t.equal(await absolute({ 'x-service-agent-id': agentId }), 403, 'in absolute-form as well');
  const named = await call(undefined, {
    'x-service-agent-name': 'support-bot',
    'x-service-runtime-type': 'langchain',
  });
  t.equal(named.status, 200);
  const trace = await traceOf(named);
  t.match(trace, { agent_name: 'unauthenticated' }, 'nor show itself under its name');
  t.not(trace.runtime_type, 'langchain');
});

t.test('it may use a credential that names it, and none that is for all agents', async (t) => {
  const cases = [
    { name: 'for all', agents: ['*'], sent: false },
    { name: 'by a pattern', agents: ['un*'], sent: false },
    { name: 'by its name', agents: ['unauthenticated'], sent: true },
  ];
  for (const { name, agents, sent } of cases) {
    const { call, upstream } = await startLab(t, { credentials: [credential({ agents })] });
    const { status } = await call();
    t.equal(status, 200);
    const { authorization } = upstream.requests[0]?.headers ?? {};
    t.equal(authorization !== undefined, sent, name);
  }
});

t.test('when a key is required again, open tunnels end as well, and both can be set back', async (t) => {
  const { gateway, call, authority, requireAuth } = await startLab(t);
  const open = await call();
  t.equal(open.status, 200);
  await requireAuth(true);
  t.match(await open.again(), { status: 401 });
  const { status, socket } = await openTunnel({ proxyUrl: gateway.proxyUrl, authority });
  socket.destroy();
  t.equal(status, 407);
  await requireAuth(false);
  t.match(await open.again(), { status: 200 });
  t.match(await call(), { status: 200 });
});

t.test('an agent of that name in the file is the one', async (t) => {
  const id = '0d9cf2a0-5f0c-4e05-8d0f-5f6f3f1f9a01';
  const { call, traceOf } = await startLab(t, {
    agents: [
      { id, tenant: 'acme', env: 'staging', name: 'unauthenticated' },
      { id: agentId, tenant: 'acme', env: 'production', name: 'support-bot' },
    ],
  });
  t.match(await traceOf(await call()), { agent_id: id, env_name: 'staging' });
});

t.test(
  'a tunnel that is not read and was opened without a key is that of nobody else, and ends with the permission',
  async (t) => {
    const { gateway, authority, traceOf, requireAuth } = await startLab(t, {
      intercept: { passthrough: ['*.test.example'] },
      limits: { handshake_timeout: '400ms' },
    });
    const { hostname, port } = new URL(gateway.proxyUrl);
    const named = net.connect(Number(port), hostname);
    named.write(`CONNECT ${authority} HTTP/1.1\r\nX-Service-Agent-Id: ${agentId}\r\n\r\n`);
    t.match(Buffer.concat(await named.toArray()).toString(), /^HTTP\/1\.1 403 .*FORBIDDEN/s);
    const { status, headers, socket } = await openTunnel({ proxyUrl: gateway.proxyUrl, authority });
    t.equal(status, 200);
    t.match(await traceOf({ headers }), { agent_name: 'unauthenticated', method: 'CONNECT' });
    await requireAuth(true);
    await new Promise((resolve) => socket.resume().once('close', resolve));
  },
);
