import { readFileSync } from 'node:fs';
import t from 'tap';
import { bands, decisions } from '../../../src/core/call.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { familyTexts } from '../../../src/daemon/metrics/families.ts';
import { countedRecorder } from '../../../src/daemon/metrics/measured.ts';
import { createMetrics } from '../../../src/daemon/metrics/metrics.ts';
import { callOf } from '../../support/call.ts';
import { basic, openSecureTunnel, send } from '../../support/clients.ts';
import { denyDeletes, startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { startUpstream } from '../../support/upstream.ts';
import { parsePrometheus, totalOf } from './prometheus-text.ts';

const scrape = async ({ controlUrl }: TestGateway) => {
  const response = await fetch(new URL('/metrics', controlUrl));
  return { response, families: parsePrometheus(await response.text()) };
};

t.test('calls are counted, and what they pass through', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, { upstream });
  await gateway.apply([denyDeletes]);
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(gateway.caFile, 'utf8');
  const tunnel = await openSecureTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority,
    ca,
  });
  for (const method of ['GET', 'GET', 'DELETE'])
    await send(tunnel, { method, path: '/private-path', headers: { host: authority } });
  await gateway.api('POST', '/v1/scan', { method: 'GET', url: 'https://other.test.example/' });
  const { response, families } = await scrape(gateway);
  t.equal(response.status, 200, 'nobody is asked who he is');
  t.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const calls = (labels: Readonly<Record<string, string>>) =>
    totalOf(families, 'postern_calls_total', labels);
  t.equal(calls({ entrance: 'forward', decision: 'ALLOW' }), 2);
  t.equal(calls({ entrance: 'forward', decision: 'DENY' }), 1);
  t.equal(calls({ entrance: 'scan' }), 1);
  t.equal(totalOf(families, 'postern_call_reasons_total', { decision: 'DENY', reason: 'POLICY_DENY' }), 1);
  const count = (family: keyof typeof familyTexts, labels = {}) =>
    totalOf(families, family, labels, `${family}_count`);
  t.equal(count('postern_judgement_seconds'), 4);
  t.equal(count('postern_stage_seconds', { stage: 'decide' }), 4);
  t.equal(count('postern_upstream_seconds'), 2);
  t.equal(totalOf(families, 'postern_upstream_answers_total', { class: '2xx' }), 2);
  t.ok(count('postern_state_seconds') > 0, 'minting the key was a round trip');
  t.equal(totalOf(families, 'postern_state_up'), 1);
  t.equal(totalOf(families, 'postern_config_generation'), 1);
  t.ok(totalOf(families, 'postern_certificate_days', { certificate: 'authority' }) > 30);
  t.ok(families.has('nodejs_eventloop_lag_seconds'), 'with those of Node');
  for (const [name, { type }] of Object.entries(familyTexts)) t.equal(families.get(name)?.type, type, name);

  await gateway.reload();
  t.equal(totalOf((await scrape(gateway)).families, 'postern_config_generation'), 2);
  const text = await (await fetch(new URL('/metrics', gateway.controlUrl))).text();
  for (const it of ['test.example', 'private-path', 'acme', 'support-bot', gateway.agentId, gateway.key])
    t.notOk(text.includes(it), 'nothing of a call, a tenant or an agent is a label');
});

t.test('telemetry.metrics turns them off', async (t) => {
  const gateway = await startTestGateway(t, { config: { telemetry: { metrics: false } } });
  const { status, body } = await gateway.api('GET', '/metrics');
  t.equal(status, 404);
  t.match(body.detail, /telemetry\.metrics/, 'and the answer says by what');
});

t.test('label sets stay the same after 100,000 hosts, agents and reason codes', async (t) => {
  const metrics = createMetrics();
  const record = countedRecorder(() => Promise.resolve(), metrics.counters);
  const entrances = ['forward', 'inbound', 'scan', 'a2a'] as const;
  const play = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i += 1) {
      const call = callOf({
        url: `https://host-${i}.example/path-${i}`,
        entrance: entrances[i % 4] ?? 'scan',
        band: bands[(i >> 2) % 4] ?? 'LOW',
        agentName: `agent-${i}` as never,
        verdict: {
          ...callOf().verdict,
          decision: decisions[(i >> 4) % 4] ?? 'DENY',
          reasonCodes: [`CUSTOM_${i}`, 'SECRETS', '__proto__', 'constructor'],
        },
      });
      await record(call, undefined);
      if (i % 10 === 0) await record(call, new GatewayError('RATE_LIMITED', `host-${i}`));
    }
  };
  await play(0, 1_000);
  const sets = async () =>
    [...parsePrometheus(await metrics.text())].flatMap(([, it]) =>
      it.lines.map((line) => JSON.stringify([line.name, line.labels])),
    );
  const before = (await sets()).filter((it) => it.includes('postern_'));
  await play(1_000, 100_000);
  const text = await metrics.text();
  t.strictSame(
    (await sets()).filter((it) => it.includes('postern_')),
    before,
  );
  t.ok(before.length < 1_000, `there are ${before.length}`);
  t.notMatch(text, /host-|agent-|CUSTOM_/);
  const families = parsePrometheus(text);
  t.equal(totalOf(families, 'postern_calls_total'), 110_000, 'and every call is counted');
  t.ok(totalOf(families, 'postern_call_reasons_total', { reason: 'OTHER' }) >= 300_000);
});

t.test('a call that cannot be recorded is counted as such', async (t) => {
  const metrics = createMetrics();
  const record = countedRecorder(() => Promise.reject(new Error('full')), metrics.counters);
  await t.rejects(record(callOf(), undefined));
  t.equal(totalOf(parsePrometheus(await metrics.text()), 'postern_unrecorded_calls_total'), 1);
});

t.test('a source that fails takes no other with it', async (t) => {
  const metrics = createMetrics();
  metrics.watch(() => {
    throw new Error('away');
  });
  metrics.watch(() => Promise.reject(new Error('away')));
  metrics.watch(() => ({ postern_workers: [{ value: 1, labels: {} }] }));
  t.equal(totalOf(parsePrometheus(await metrics.text()), 'postern_workers'), 1);
});

t.test('the reader of this test refuses what is no metric', async (t) => {
  const head = '# HELP a b\n# TYPE a counter\n';
  t.doesNotThrow(() => parsePrometheus(`${head}a{b="c\\"d"} 1\n`));
  for (const bad of [
    'a 1',
    'a{b=c} 1\n',
    'a{b="c} 1\n',
    'a x\n',
    'a 1\na 1\n',
    'other 1\n',
    'a{b="1",b="2"} 1\n',
    head,
  ])
    t.throws(() => parsePrometheus(head + bad), JSON.stringify(bad));
});
