import { randomUUID } from 'node:crypto';
import net, { type Socket } from 'node:net';
import type { Test } from 'tap';
import { keyDigest, newKeyText } from '../../../src/core/key-text.ts';
import { basic } from '../../support/clients.ts';
import { startRawUpstream, startUpstream } from '../../support/upstream.ts';
import { startFurther } from './further.ts';
import { eventually, harmless, type Lab, type Reply, uuid } from './lab.ts';
import { connect, proxied } from './tunnel.ts';

const bodyBytesMax = 2048;
const host = 'up.test.example';

/** Limits 1 and 2, and the settings that hold for all tenants of a daemon: each on a daemon of its own. */
export async function settings(t: Test, lab: Lab): Promise<void> {
  await t.test('Limits 1, 2: MAX_BODY_BYTES and REPLAY_WINDOW_SEC, which win over the file', async (t) => {
    const config = {
      tenants: [{ id: 'set' }, { id: 'set-pro', plan: 'pro' }],
      limits: { max_body_bytes: '1KB', replay_window: '10m' },
    };
    const env = { MAX_BODY_BYTES: String(bodyBytesMax), REPLAY_WINDOW_SEC: '5' };
    const { call, tenant } = await startFurther(t, lab, 'variables', config, env);
    const { scan, key } = await tenant('set');
    t.equal((await scan({ body: 'x'.repeat(bodyBytesMax) })).status, 200, 'as large as it may be');
    t.match(
      await scan({ body: 'x'.repeat(bodyBytesMax + 1) }),
      {
        status: 413,
        body: { code: 'PAYLOAD_TOO_LARGE', actual_bytes: bodyBytesMax + 1, limit_bytes: bodyBytesMax },
      },
      'a byte more',
    );
    const pro = await tenant('set-pro');
    t.equal(
      (await pro.scan({ body: 'x'.repeat(1024 * 1024) })).status,
      200,
      'the plan Pro raises it to 1 MB',
    );
    const sentAgo = (seconds: number) =>
      call({
        method: 'POST',
        path: '/v1/scan',
        authorization: `Bearer ${key}`,
        body: harmless,
        headers: {
          'X-Service-Timestamp': String(Math.floor(Date.now() / 1000) - seconds),
          'X-Service-Nonce': `nonce-of-${seconds}-seconds`,
        },
      });
    t.equal((await sentAgo(0)).status, 200, 'within the replay window');
    t.match(await sentAgo(30), { status: 409, body: { code: 'REPLAYED' } }, 'outside of it');
  });

  await t.test(
    'Errors: 504 UPSTREAM_TIMEOUT; the word in the headers; tenants that are not there',
    async (t) => {
      const silent = await startRawUpstream(t, () => undefined);
      const upstream = await startUpstream(t);
      const tenants = [{ id: 'set' }, { id: 'leaving' }];
      const config = {
        branding: { header_word: 'Gate' },
        auto_register_tenants: false,
        upstream: {
          allow_private: ['127.0.0.0/8'],
          ca_files: [upstream.caFile],
          response_timeout: '300ms',
          resolve: [
            { host: 'silent.test.example', address: '127.0.0.1', port: silent.port },
            { host: '*.test.example', address: '127.0.0.1', port: upstream.port },
          ],
        },
      };
      const further = await startFurther(t, lab, 'settings', { ...config, tenants });
      const { key, scan, admin } = await further.tenant('set');

      const late = await proxied(further, 'silent.test.example', key);
      t.match(late, { status: 504, body: { code: 'UPSTREAM_TIMEOUT', status: 504 } }, 'no answer in time');
      t.match(late.headers.get('proxy-status'), /connection_timeout/, 'RFC 9209');

      const other = randomUUID();
      const claims = {
        'X-Gate-Agent-Name': 'ours',
        'X-Service-Agent-Name': 'theirs',
        'X-Gate-Agent-Id': other,
      };
      const reply = await proxied(further, host, key, { headers: claims });
      t.equal(reply.headers.get('x-gate-decision'), 'ALLOW', 'X-Gate-Decision');
      t.match(reply.headers.get('x-gate-trace-id'), uuid, 'X-Gate-Trace-Id');
      t.equal(reply.headers.get('x-service-decision'), null, 'the word of the configuration takes the place');
      const trace = await admin('GET', `/v1/traces/${reply.headers.get('x-gate-trace-id')}`);
      t.match(trace.body, { agent_name: 'ours', agent_id: other }, 'of the headers of requests, too');
      t.equal(
        upstream.requests.at(-1)?.headers['x-service-agent-name'],
        'theirs',
        'others are not ours to take',
      );

      const mint = { tenant_id: 'unknown', name: 'n', default_agent_id: randomUUID() };
      const authorization = `Bearer ${lab.adminSecret}`;
      t.match(
        await further.call({ method: 'POST', path: '/v1/keys', authorization, body: mint }),
        { status: 404, body: { code: 'NOT_FOUND' } },
        'auto_register_tenants: false',
      );

      const leaving = await further.tenant('leaving');
      t.equal((await leaving.scan()).status, 200);
      t.match(await further.reload({ ...config, tenants: [{ id: 'set' }] }), {
        generation: 2,
        last_error: null,
      });
      t.match(
        await leaving.scan(),
        { status: 401, body: { code: 'INVALID_KEY' } },
        'its tenant was taken out',
      );
      t.equal(
        (await connect(further, `${host}:443`, basic(leaving.key))).status,
        407,
        'on the proxy as well',
      );
      t.equal((await scan()).status, 200, 'the others stay');
      t.match(await further.reload({ ...config, tenants }), { generation: 3 });
      t.equal((await leaving.scan()).status, 200, 'until it is back: nothing was deleted');

      const statuses: number[] = [];
      while (statuses.length < 200 && !statuses.includes(429))
        statuses.push((await connect(further, `${host}:443`, basic('rubbish'))).status);
      t.same([...new Set(statuses)], [407, 429], 'CONNECT answers 429 where an address fails too often');
      const waiting = await connect(further, `${host}:443`, basic('rubbish'));
      t.match(waiting, { status: 429, headers: { 'retry-after': /^[1-9]\d*$/ } }, 'with Retry-After');
    },
  );

  await t.test('Settings: without a secret nobody administers; mode monitor; keys of the file', async (t) => {
    const text = newKeyText('live');
    const agent = randomUUID();
    const maxConnections = 4;
    const config = {
      mode: 'monitor',
      tenants: [{ id: 'set', plan: 'enterprise', environments: ['production'] }],
      agents: [{ id: agent, tenant: 'set', env: 'production', name: 'bot' }],
      keys: [
        {
          name: 'of the file',
          tenant: 'set',
          env: 'production',
          agent,
          permissions: ['scan', 'policies:write', 'usage:read'],
          hash: `sha256:${keyDigest(text)}`,
        },
      ],
      limits: { max_connections: maxConnections },
    };
    const env = { SERVICE_API_KEYS_ADMIN_SECRET: undefined };
    const { call, controlUrl } = await startFurther(t, lab, 'closed', config, env);
    const as = (secret: string, method: string, path: string, body?: object) =>
      call({ method, path, authorization: `Bearer ${secret}`, body });
    const mint = { tenant_id: 'set', name: 'n', default_agent_id: agent };
    t.equal((await as(lab.adminSecret, 'POST', '/v1/keys', mint)).status, 404, 'POST /v1/keys is off');
    t.equal((await as(lab.adminSecret, 'GET', '/v1/usage')).status, 401, 'nothing takes the secret');
    t.equal((await as('', 'GET', '/v1/usage')).status, 401, 'nor an empty one');
    t.match(await as(text, 'POST', '/v1/scan', harmless), { status: 200, body: { decision: 'ALLOW' } });
    const rules = [{ rule_id: 'r', action: 'DENY' }];
    t.equal((await as(text, 'POST', '/v1/policies/apply', { name: 'no', rules })).status, 200);
    const watched = await as(text, 'POST', '/v1/scan', harmless);
    t.match(watched.body, { decision: 'ALLOW', would_be: 'DENY', matched_rules: [{ rule_id: 'r' }] });

    const open: Socket[] = [];
    t.teardown(() => {
      for (const it of open) it.destroy();
    });
    const { hostname, port } = new URL(controlUrl);
    // Connections that have shown no key give way. Those of the requests before may still be closing, and count until they have.
    const claim = () => connected(hostname, Number(port), text);
    const askOnceMore = async (): Promise<Reply> => {
      open.push(await claim());
      return await as(text, 'GET', '/v1/usage');
    };
    for (let n = 1; n < maxConnections; n++) open.push(await claim());
    t.match(
      await eventually(askOnceMore, ({ status }) => status === 503),
      { status: 503, body: { code: 'GATEWAY_BUSY', status: 503 } },
      'one connection more than the gateway takes',
    );
  });
}

/** A connection that has shown a key. */
function connected(host: string, port: number, secret: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, host);
    socket.write(
      `GET /v1/usage HTTP/1.1\r\nHost: ${host}:${port}\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
    );
    socket.once('data', () => resolve(socket));
    // Where it is one too many, the server closes it.
    socket.on('error', reject);
  });
}
