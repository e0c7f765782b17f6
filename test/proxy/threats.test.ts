import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { basic, openSecureTunnel, send } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { startUpstream } from '../support/upstream.ts';

/* What threat feeds list, through the proxy and the API. The rules for what a feed may list are tested in test/feeds. */

const listed = 'evil.test.example\nhttps://pages.test.example/phish/\n198.51.100.0/24\n';
const acme = { id: 'acme', plan: 'enterprise', environments: ['production'] };

async function startLab(t: Test, tenant: object = {}, risk: object = {}) {
  const upstream = await startUpstream(t);
  const file = join(t.testdir(), 'own.txt');
  writeFileSync(file, listed);
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      feeds: [{ name: 'own', url: `file://${file}`, refresh: '1h', format: 'lines' }],
      tenants: [{ ...acme, ...tenant }],
      risk,
    },
  });
  const admin = `Bearer ${gateway.adminSecret}`;
  const refresh = () => gateway.api('POST', '/v1/feeds/own/refresh', undefined, admin);
  t.match(await refresh(), { status: 200, body: { status: 'ok', indicators: 3, last_error: null } });
  const scan = async (url: string, body?: unknown) =>
    (await gateway.api('POST', '/v1/scan', { method: 'POST', url, body })).body;
  return { upstream, gateway, file, refresh, scan };
}

const hit = { engine: 'threat_intel', name: 'THREAT_INTEL_MATCH', score: 1 };

t.test('a call to what a feed lists is denied before any policy, and nothing is dialled', async (t) => {
  const { upstream, gateway, scan } = await startLab(t);
  await gateway.apply([{ rule_id: 'all', match: {}, action: 'ALLOW' }]);
  const socket = await openSecureTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority: 'sub.evil.test.example:443',
    ca: readFileSync(gateway.caFile, 'utf8'),
  });
  t.teardown(() => socket.destroy());
  const reply = await send(socket, { method: 'GET', path: '/', headers: { host: 'sub.evil.test.example' } });
  t.equal(reply.status, 403);
  t.equal(upstream.requests.length, 0);
  for (const url of [
    'https://evil.test.example/x',
    'https://pages.test.example/phish/login?next=1',
    'https://198.51.100.7/',
    'http://0xc6336407/',
  ]) {
    const answer = await scan(url);
    t.match(answer, { decision: 'DENY', reason_codes: ['THREAT_INTEL_MATCH'], risk_band: 'CRITICAL' }, url);
    t.match(answer.signals, [hit], url);
    t.match(answer.explanation.join(' '), /own lists the destination/, url);
  }
  for (const url of ['https://pages.test.example/', 'https://notevil.test.example/', 'https://198.51.101.1/'])
    t.equal((await scan(url)).decision, 'ALLOW', url);
});

t.test('a call to what a feed lists opens an incident, also where it is let out', async (t) => {
  const tenants = [
    { name: 'denied', tenant: {}, decision: 'DENY' },
    {
      name: 'let out',
      tenant: { block_threats: false, posture: { bands: { CRITICAL: 'ALLOW' } } },
      decision: 'ALLOW',
    },
  ];
  for (const { name, tenant, decision } of tenants) {
    const { gateway, scan } = await startLab(t, tenant);
    const { trace_id, ...answer } = await scan('https://evil.test.example/');
    t.equal(answer.decision, decision, name);
    await scan('https://evil.test.example/again');
    const incidents = async () => (await gateway.api('GET', '/v1/incidents')).body.items;
    const hits = async () =>
      (await incidents()).filter((it: { trigger: string }) => it.trigger === 'threat-hit');
    await until('both calls', async () => (await hits())[0]?.trace_count === 2);
    const [{ incident_id, severity, ...rest }, ...more] = await hits();
    t.strictSame([severity, rest.status, more], ['HIGH', 'open', []]);
    const { body } = await gateway.api('GET', `/v1/incidents/${incident_id}`);
    t.match(body.timeline, [
      { kind: 'opened', by: 'gateway' },
      { kind: 'trace', by: gateway.agentId, trace_id },
      { kind: 'trace' },
    ]);
  }
});

t.test('a URL in the body raises the risk, in whatever dress it comes', async (t) => {
  const { scan } = await startLab(t);
  const url = 'https://pages.test.example/phish/login';
  const bodies = [
    { text: `see ${url} for more` },
    { text: `see ${url.replaceAll('/', '\\/')}` },
    { text: Buffer.from(`go to ${url} now and type it in`).toString('base64') },
  ];
  for (const body of bodies) {
    const answer = await scan('https://api.test.example/notes', body);
    t.match(answer, { decision: 'DENY', risk_band: 'CRITICAL' }, JSON.stringify(body));
    t.match(answer.signals, [{ ...hit, details: /own lists a URL in the body/ }]);
  }
  const clean = await scan('https://api.test.example/notes', {
    text: 'see https://pages.test.example/ for more',
  });
  t.equal(clean.decision, 'ALLOW');
  const many = Array.from({ length: 600 }, (_, at) => `https://n${at}.test.example/`).join(' ');
  t.equal(
    (await scan('https://api.test.example/notes', { many })).decision,
    'ALLOW',
    'five hundred are looked up',
  );
});

t.test(
  'rules can ask for it where a tenant does not block threats, and its allowlist lifts hits',
  async (t) => {
    const lax = await startLab(t, { block_threats: false, posture: { bands: { CRITICAL: 'ALLOW' } } });
    t.equal((await lax.scan('https://evil.test.example/')).decision, 'ALLOW');
    await lax.gateway.apply([
      { rule_id: 'ask', match: {}, condition: { threat_intel_match: true }, action: 'REQUIRE_APPROVAL' },
    ]);
    t.equal((await lax.scan('https://evil.test.example/')).decision, 'REQUIRE_APPROVAL');
    t.equal((await lax.scan('https://fine.test.example/')).decision, 'ALLOW');

    const { scan } = await startLab(t, {
      allowlist: ['evil.test.example', 'https://pages.test.example/phish/ours'],
    });
    t.match(await scan('https://evil.test.example/'), { decision: 'ALLOW' });
    t.match(await scan('https://sub.evil.test.example/'), { decision: 'DENY' });
    const about = (path: string) =>
      scan('https://api.test.example/n', { url: `https://pages.test.example/phish/${path}` });
    t.strictSame(
      (await about('ours')).signals.filter((it: { name: string }) => it.name === hit.name),
      [],
    );
    t.match((await about('theirs')).signals, [hit]);
  },
);

t.test('recorded calls are judged by what was listed when they were made', async (t) => {
  const { gateway, scan } = await startLab(t);
  await scan('https://evil.test.example/');
  await scan('https://api.test.example/notes', { text: 'see https://pages.test.example/phish/ for more' });
  await scan('https://fine.test.example/');
  const listed = async () => (await gateway.api('GET', '/v1/traces')).body.items.length;
  while ((await listed()) < 3);
  const rules = [
    { rule_id: 'lets', match: {}, condition: { threat_intel_match: true }, action: 'REQUIRE_APPROVAL' },
  ];
  const { body } = await gateway.api('POST', '/v1/policies/simulate', {
    policies: [{ name: 'lax', rules }],
    traces: {},
  });
  t.match(body, { evaluated: 3, unchanged: 2 }, JSON.stringify(body));
  t.match(body.changed, [
    { before: { decision: 'DENY' }, after: { decision: 'REQUIRE_APPROVAL', rule_id: 'lets' } },
  ]);
});

t.test('an address that a name leads to is looked up before it is dialled', async (t) => {
  const file = join(t.testdir(), 'own.txt');
  writeFileSync(file, '203.0.113.9\n');
  const gateway = await startTestGateway(t, {
    config: {
      feeds: [{ name: 'own', url: `file://${file}`, refresh: '1h', format: 'lines' }],
      upstream: {
        resolve: [{ host: 'led.test.example', address: '203.0.113.9', port: 443 }],
        allow_private: ['203.0.113.0/24'],
      },
    },
  });
  await gateway.api('POST', '/v1/feeds/own/refresh', undefined, `Bearer ${gateway.adminSecret}`);
  const socket = await openSecureTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority: 'led.test.example:443',
    ca: readFileSync(gateway.caFile, 'utf8'),
  });
  t.teardown(() => socket.destroy());
  const reply = await send(socket, { method: 'GET', path: '/', headers: { host: 'led.test.example' } });
  t.equal(reply.status, 403);
  t.match(reply.body.toString(), /A threat feed lists the address/);
});

t.test('a feed that has become bad is told, and what it listed before stays', async (t) => {
  const { gateway, file, refresh, scan } = await startLab(t);
  for (const bad of ['', '<!doctype html><title>Sign in</title>', `${listed}0.0.0.0/0\n`, `${listed}com\n`]) {
    writeFileSync(file, bad);
    t.match(
      await refresh(),
      { status: 200, body: { status: 'failed', indicators: 3, last_error: /./ } },
      bad.slice(0, 20),
    );
    t.equal((await scan('https://evil.test.example/')).decision, 'DENY');
    t.equal((await scan('https://fine.example.com/')).decision, 'ALLOW');
  }
  const { body } = await gateway.api('GET', '/v1/feeds');
  t.match(body.items, [{ name: 'own', origin: 'file:', status: 'failed', indicators: 3 }]);
  t.match(await gateway.api('POST', '/v1/feeds/other/refresh', undefined, `Bearer ${gateway.adminSecret}`), {
    status: 404,
  });
  t.match(await gateway.api('POST', '/v1/feeds/own/refresh'), { status: 403 });
});

t.test('a feed that leads to another server reaches no more than agents do', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => void response.end('evil.example\n'));
  const feed = createServer((_request, response) => {
    response.writeHead(302, { location: 'https://inside.test.example/admin?all=1' }).end();
  }).listen(0, '127.0.0.1');
  await once(feed, 'listening');
  t.teardown(() => feed.close().closeAllConnections());
  const { port } = feed.address() as AddressInfo;
  const refreshed = async (allow_private: string[]) => {
    const gateway = await startTestGateway(t, {
      upstream,
      config: {
        upstream: {
          allow_private,
          ca_files: [upstream.caFile],
          resolve: [{ host: '*.test.example', address: '127.0.0.1', port: upstream.port }],
        },
        feeds: [{ name: 'own', url: `http://127.0.0.1:${port}/list`, refresh: '1h', format: 'lines' }],
        tenants: [acme],
      },
    });
    return gateway.api('POST', '/v1/feeds/own/refresh', undefined, `Bearer ${gateway.adminSecret}`);
  };
  t.match(await refreshed([]), { body: { status: 'failed', indicators: 0 } });
  t.equal(upstream.requests.length, 0);
  t.match(await refreshed(['127.0.0.0/8']), { body: { status: 'ok', indicators: 1 } });
});
