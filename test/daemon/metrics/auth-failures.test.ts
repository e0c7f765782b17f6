import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { newKeyText } from '../../../src/core/key-text.ts';
import { basic, openTunnel } from '../../support/clients.ts';
import { agentId, startTestGateway } from '../../support/gateway.ts';
import { parsePrometheus, totalOf } from './prometheus-text.ts';

t.test('failed authentications are counted by entrance and reason, with nothing of a key', async (t) => {
  const log = join(t.testdir({}), 'log');
  const expired = newKeyText('live');
  const secret = 'the-secret-of-the-platform';
  const route = (prefix: string, auth: unknown) => ({
    prefix,
    auth,
    tenant: 'acme',
    agent: agentId,
    upstream: 'https://api.test.example',
  });
  const gateway = await startTestGateway(t, {
    config: {
      log: { level: 'warn', file: log },
      keys: [
        {
          name: 'expired',
          tenant: 'acme',
          agent: agentId,
          hash: `sha256:${hash('sha256', expired)}`,
          expires_at: '2020-01-01T00:00:00Z',
        },
      ],
      inbound: [
        route('keyed', { type: 'key' }),
        route('token', { type: 'token', header: 'X-Hook', value: secret }),
        route('ip', { type: 'ip', allow: ['203.0.113.0/24'] }),
      ],
    },
  });
  const { controlUrl, proxyUrl, api, mint } = gateway;
  const unknown = newKeyText('live');
  const revoked = await mint();
  t.equal((await api('DELETE', `/v1/keys/${revoked.key_id}`)).status, 200);
  const elsewhere = await mint({ ip_allowlist: ['203.0.113.0/24'] });
  const count = async (labels: Readonly<Record<string, string>>): Promise<number> => {
    const text = await (await fetch(new URL('/metrics', controlUrl))).text();
    for (const it of [unknown, expired, revoked.key, elsewhere.key, secret, '127.0.0.1', 'acme'])
      t.notOk(text.includes(it), 'no label has anything of who asked');
    return totalOf(parsePrometheus(text), 'postern_auth_failures_total', labels);
  };
  t.equal(await count({}), 0);

  const connect = async (authorization?: string) => {
    const asked = authorization === undefined ? {} : { authorization };
    const { status, socket } = await openTunnel({ proxyUrl, authority: 'api.test.example:443', ...asked });
    socket.destroy();
    return status;
  };
  const inbound = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
    (await fetch(new URL(`/inbound/${path}/x`, controlUrl), { headers })).status;
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const list = async (authorization: string) =>
    (await api('GET', '/v1/keys', undefined, authorization)).status;
  const steps = [
    { entrance: 'forward', reason: 'missing', fail: () => connect() },
    { entrance: 'forward', reason: 'malformed', fail: () => connect(basic('no key')) },
    { entrance: 'forward', reason: 'unknown', fail: () => connect(basic(unknown)) },
    { entrance: 'forward', reason: 'revoked', fail: () => connect(basic(revoked.key)) },
    { entrance: 'forward', reason: 'expired', fail: () => connect(basic(expired)) },
    // The tunnel opens, and its calls are refused.
    { entrance: 'forward', reason: 'address', fail: () => connect(basic(elsewhere.key)) },
    { entrance: 'inbound', reason: 'missing', fail: () => inbound('keyed') },
    { entrance: 'inbound', reason: 'malformed', fail: () => inbound('keyed', bearer('no-key')) },
    { entrance: 'inbound', reason: 'unknown', fail: () => inbound('keyed', bearer(unknown)) },
    { entrance: 'inbound', reason: 'revoked', fail: () => inbound('keyed', bearer(revoked.key)) },
    { entrance: 'inbound', reason: 'token', fail: () => inbound('token', { 'x-hook': 'wrong' }) },
    { entrance: 'inbound', reason: 'address', fail: () => inbound('ip') },
    { entrance: 'api', reason: 'missing', fail: () => list('') },
    { entrance: 'api', reason: 'secret', fail: () => list('Bearer no-key') },
    { entrance: 'api', reason: 'unknown', fail: () => list(`Bearer ${unknown}`) },
    { entrance: 'api', reason: 'revoked', fail: () => list(`Bearer ${revoked.key}`) },
    { entrance: 'api', reason: 'expired', fail: () => list(`Bearer ${expired}`) },
    { entrance: 'api', reason: 'address', fail: () => list(`Bearer ${elsewhere.key}`) },
  ];
  for (const { fail, ...labels } of steps) {
    const name = `${labels.entrance} ${labels.reason}`;
    t.ok([200, 401, 403, 407].includes(await fail()), name);
    t.equal(await count(labels), 1, name);
  }
  t.equal(await count({}), steps.length, 'each counts once');
  t.equal((await api('GET', '/v1/keys')).status, 200);
  t.equal(await connect(basic(gateway.key)), 200);
  t.equal(await count({}), steps.length, 'who is known does not count');

  const told = readFileSync(log, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((it) => JSON.parse(it));
  const failures = told.filter(({ msg }) => msg === 'an authentication failed');
  const asked = steps.filter(({ entrance, reason }) => entrance === 'inbound' || reason !== 'missing');
  t.strictSame(
    failures.map(({ entrance, reason }) => ({ entrance, reason })),
    asked.map(({ entrance, reason }) => ({ entrance, reason })),
    'the log says the same, and once',
  );
});

t.test('whoever is held up goes on counting', async (t) => {
  const { controlUrl, api } = await startTestGateway(t);
  const statuses: number[] = [];
  for (let i = 0; i < 70; i++)
    statuses.push((await api('GET', '/v1/keys', undefined, 'Bearer wrong')).status);
  const held = statuses.filter((it) => it === 429).length;
  t.ok(held > 0);
  const families = parsePrometheus(await (await fetch(new URL('/metrics', controlUrl))).text());
  const count = (reason: string) => totalOf(families, 'postern_auth_failures_total', { reason });
  t.equal(count('secret'), 70 - held);
  t.equal(count('held_up'), held);
});
