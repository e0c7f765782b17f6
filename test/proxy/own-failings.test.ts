import { readFileSync } from 'node:fs';
import t from 'tap';
import { basic, openSecureTunnel, openTunnel, send } from '../support/clients.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';

/* What the gateway itself fails to do in time is denied or refused, and is held against nobody. */

const scanTimeoutMs = 1;
/** Escapes, so that reading looks at the clock. */
const note = JSON.stringify({ note: 'a \\u0061 b \\n c' });

/** While it is on, this process has worked for longer than a call may be read whenever somebody looks at a clock. No clock ever goes back. */
const clock = { on: false, workedMs: 0 };
const threadCpuUsage = process.threadCpuUsage.bind(process);
const now = performance.now.bind(performance);
const work = (): number => {
  if (clock.on) clock.workedMs += 2 * scanTimeoutMs;
  return clock.workedMs;
};
process.threadCpuUsage = (before) => {
  const { user, system } = threadCpuUsage(before);
  return { user: user + 1000 * work(), system };
};
// The clock of the processor is asked only where the one on the wall has moved on.
performance.now = () => now() + work();

const standingOf = async ({ api, agentId, adminSecret }: TestGateway) => {
  const admin = `Bearer ${adminSecret}`;
  const [agent, incidents] = await Promise.all([
    api('GET', `/v1/agents/${agentId}`, undefined, admin),
    api('GET', '/v1/incidents', undefined, admin),
  ]);
  const { trust_score, trust_reasons } = agent.body;
  return { trust_score, trust_reasons, incidents: incidents.body.items };
};

/** Each listener counts by itself, and a call of the API may come before the connection of the last one is closed. */
const connectionsMax = 8;
const untouched = { trust_score: 1, trust_reasons: [], incidents: [] };

t.test('a thousand refusals of an overloaded gateway lower no trust and open no incident', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      // The clock runs ahead by minutes, and no tunnel shall be idle for it.
      limits: {
        scan_timeout: `${scanTimeoutMs}ms`,
        max_connections_per_agent: connectionsMax,
        idle_timeout: '1d',
      },
      tenants: [{ id: 'acme', plan: 'enterprise', environments: ['production'] }],
    },
  });
  const authority = `api.test.example:${upstream.port}`;
  const target = { proxyUrl: gateway.proxyUrl, authority, authorization: basic(gateway.key) };
  const tunnel = await openSecureTunnel({ ...target, ca: readFileSync(gateway.caFile, 'utf8') });
  t.teardown(() => tunnel.destroy());
  for (let at = 1; at < connectionsMax; at += 1) {
    const { socket } = await openTunnel(target);
    t.teardown(() => socket.destroy());
  }

  clock.on = true;
  const excused: string[] = [];
  for (let at = 0; at < 300; at += 1) {
    const headers = { host: authority, 'content-type': 'application/json' };
    const reply = await send(tunnel, { method: 'POST', path: '/x', headers, body: note });
    t.match(reply.headers['x-service-reasons'], /^UNREADABLE/);
    excused.push(String(reply.headers['x-service-trace-id']));
  }
  for (let at = 0; at < 500; at += 1) {
    const call = { method: 'POST', url: `https://${authority}/x`, body: note };
    const { body } = await gateway.api('POST', '/v1/scan', call);
    t.match(body, { decision: 'DENY', reason_codes: ['UNREADABLE'] });
    excused.push(body.trace_id);
  }
  for (let at = 0; at < 200; at += 1) {
    const { status, socket } = await openTunnel(target);
    socket.destroy();
    t.equal(status, 503, 'the agent has all the connections that it may');
  }
  clock.on = false;
  t.match(await standingOf(gateway), untouched);
  for (const traceId of [excused[0], excused.at(-1)])
    t.match((await gateway.api('GET', `/v1/traces/${traceId}`)).body, { decision: 'DENY', excuse: 'time' });
});

t.test('content that cannot be read in any time is held against its agent', async (t) => {
  const gateway = await startTestGateway(t);
  const call = {
    method: 'POST',
    url: 'https://api.test.example/x',
    headers: { 'content-encoding': 'br' },
    body: Buffer.from('no brotli').toString('base64'),
    body_encoding: 'base64',
  };
  for (let at = 0; at < 5; at += 1) {
    const { body } = await gateway.api('POST', '/v1/scan', call);
    t.match(body, { decision: 'DENY', reason_codes: ['UNREADABLE'] });
    t.equal((await gateway.api('GET', `/v1/traces/${body.trace_id}`)).body.excuse, undefined);
  }
  const { trust_score, incidents } = await standingOf(gateway);
  t.equal(trust_score, 0.75);
  t.match(incidents, [{ trigger: 'repeated-denials' }]);
});

t.test(
  'a rule that refuses by the head alone is held against its agent, however long its body takes',
  async (t) => {
    const gateway = await startTestGateway(t, { config: { limits: { scan_timeout: `${scanTimeoutMs}ms` } } });
    await gateway.api('POST', '/v1/policies/apply', {
      name: 'heads',
      rules: [
        {
          rule_id: 'body',
          match: {},
          condition: { body_contains_any: ['the'] },
          action: 'DENY',
          priority: 1,
        },
        { rule_id: 'path', match: { url_patterns: ['*/admin'] }, condition: {}, action: 'DENY', priority: 2 },
      ],
    });
    clock.on = true;
    const scan = async (path: string) =>
      (
        await gateway.api('POST', '/v1/scan', {
          method: 'POST',
          url: `https://api.test.example${path}`,
          body: note,
        })
      ).body;
    t.match(await scan('/admin'), { decision: 'DENY', reason_codes: ['POLICY_DENY'] });
    t.match(
      await scan('/other'),
      { decision: 'DENY', reason_codes: ['UNREADABLE'] },
      'nobody knows what its body says',
    );
    clock.on = false;
    t.match(await standingOf(gateway), { trust_score: 0.95, incidents: [] });
  },
);
