import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { bareCall } from '../../../src/core/call.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { parseDescribed } from '../../../src/core/target.ts';
import { Counters } from '../../../src/daemon/metrics/counters.ts';
import { Exporter, waitingMax } from '../../../src/daemon/telemetry/exporter.ts';
import type { CallSpan } from '../../../src/daemon/telemetry/spans.ts';
import { contextOf, isSigned } from '../../../src/daemon/telemetry/trace-context.ts';
import type { Transport } from '../../../src/notify/channel.ts';
import { basic, openSecureTunnel, send } from '../../support/clients.ts';
import { denyDeletes, startTestGateway } from '../../support/gateway.ts';
import { awsKeyId } from '../../support/secrets.ts';
import { startUpstream } from '../../support/upstream.ts';
import { type ReceivedSpan, startCollector } from './collector.ts';

const valuesOf = ({ attributes }: ReceivedSpan): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      'arrayValue' in value
        ? value.arrayValue.values.map((it) => Object.values(it)[0])
        : Object.values(value)[0],
    ]),
  );

async function startLab(t: Test) {
  const collector = await startCollector(t);
  const upstream = await startUpstream(t);
  const resolve = ['*.test.example', 'api.openai.com'].map((host) => ({
    host,
    address: '127.0.0.1',
    port: upstream.port,
  }));
  const apiKey = randomBytes(24).toString('hex');
  const telemetry = { otlp: `${collector.url}/`, otlp_headers: { 'Api-Key': apiKey } };
  const gateway = await startTestGateway(t, {
    upstream,
    config: { telemetry, upstream: { resolve }, limits: { scan_timeout: '30s' } },
  });
  await gateway.apply([denyDeletes]);
  const ca = readFileSync(gateway.caFile, 'utf8');
  const tunnel = (authority: string) =>
    openSecureTunnel({ proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca });
  return { collector, upstream, gateway, tunnel, apiKey };
}

t.test('a collector receives what became of calls, and upstreams the trace', async (t) => {
  const { collector, upstream, gateway, tunnel, apiKey } = await startLab(t);
  const authority = `api.test.example:${upstream.port}`;
  const own = await tunnel(authority);
  const secret = awsKeyId();
  const headers = { host: authority, 'content-type': 'application/json' };
  const given = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-00`;
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_weather', arguments: {} },
  };
  const asked = { method: 'POST', path: '/mcp?page=private', body: JSON.stringify(call) };
  await send(own, { ...asked, headers: { ...headers, traceparent: given, tracestate: 'a=b' } });
  await send(own, { method: 'GET', path: '/plain', headers: { host: authority } });
  await send(own, { method: 'DELETE', path: '/denied', headers: { host: authority } });
  const denied = { method: 'GET', path: `/hidden?token=${secret}`, headers: { host: authority } };
  await send(own, denied);
  await collector.has(6);
  t.strictSame(collector.mistakes, []);
  const [mcp, plain] = upstream.requests.map((it) => it.headers);
  const spans = collector.spans;
  const [toTool, aroundTool, toPlain, aroundPlain, refused] = spans;
  if (!toTool || !aroundTool || !toPlain || !aroundPlain || !refused) return t.fail('there are six spans');

  t.equal(mcp?.['traceparent'], `00-${'ab'.repeat(16)}-${toTool.spanId}-00`, 'with the flags of the caller');
  t.equal(mcp?.['tracestate'], 'a=b');
  t.match(toTool, { name: 'tools/call get_weather', kind: 3, traceId: 'ab'.repeat(16), status: {} });
  t.equal(toTool.parentSpanId, aroundTool.spanId);
  t.match(aroundTool, { name: 'postern forward', kind: 2, parentSpanId: 'cd'.repeat(8) });
  t.match(valuesOf(aroundTool), {
    'mcp.method.name': 'tools/call',
    'gen_ai.tool.name': 'get_weather',
    'gen_ai.operation.name': 'execute_tool',
    'http.request.method': 'POST',
    'http.response.status_code': '200',
    'server.address': 'api.test.example',
    'postern.tenant.id': 'acme',
    'gen_ai.agent.id': gateway.agentId,
  });

  t.equal(plain?.['traceparent'], `00-${toPlain.traceId}-${toPlain.spanId}-01`, 'a trace is begun');
  const traceId = String(valuesOf(aroundPlain)['postern.trace.id']);
  t.equal(toPlain.traceId, traceId.replaceAll('-', ''), 'by the id of the record');
  t.equal(aroundPlain.parentSpanId, undefined);
  t.match(valuesOf(aroundPlain), { 'postern.decision': 'ALLOW', 'postern.risk.band': 'LOW' });
  t.match(valuesOf(refused), { 'postern.decision': 'DENY', 'postern.reasons': ['POLICY_DENY'] });
  t.strictSame(refused.status, {}, 'a denial is no error');

  await gateway.stop();
  t.ok(collector.metrics.has('postern_calls_total'), 'metrics come at the end at the latest');
  t.ok(collector.metrics.has('postern_judgement_seconds'));
  t.ok(
    collector.heads.every((it) => it['api-key'] === apiKey),
    'each request has the key of the collector',
  );
  t.notOk(collector.texts.join('').includes(apiKey));
  for (const it of [secret, gateway.key, '/mcp', 'private', '/plain', 'hidden', 'token='])
    t.notOk(collector.texts.join('').includes(it), 'no path, query or secret');
});

t.test('a call to a model says which', async (t) => {
  const { collector, tunnel } = await startLab(t);
  const model = await tunnel('api.openai.com:443');
  const body = JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content: 'hello' }] });
  const headers = { host: 'api.openai.com', 'content-type': 'application/json' };
  await send(model, { method: 'POST', path: '/v1/chat/completions', headers, body });
  await collector.has(2);
  t.strictSame(collector.mistakes, []);
  const [, around] = collector.spans;
  t.match(around && valuesOf(around), {
    'gen_ai.provider.name': 'openai',
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-5',
  });
});

t.test('spans wait in a bounded queue, and what is dropped is counted', async (t) => {
  const counters = new Counters();
  const statuses = [503, 429, 200, 400, 200];
  const sizes: number[] = [];
  const post = async ({ url, body }: { url: string; body: string }) => {
    if (url.endsWith('/v1/metrics')) return { status: 200, headers: {} };
    sizes.push(JSON.parse(body).resourceSpans[0].scopeSpans[0].spans.length);
    return { status: statuses[sizes.length - 1] ?? 200, headers: {} };
  };
  const logged: unknown[] = [];
  const log = { warn: (...said: unknown[]) => logged.push(said), info: () => undefined };
  const exporter = new Exporter({
    origin: { instance: '1', startMs: 0 },
    ...{ counters, log, families: async () => [] },
    timings: { batchMs: 1, retryMs: 1, retryMsMax: 1 },
  });
  const span: CallSpan = {
    ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: ownName('x'), kind: 2 },
    ...{ startMs: 0, endMs: 0, attributes: {}, isError: false },
  };
  for (let i = 0; i < waitingMax + 100; i += 1) exporter.add(span);
  const counted = () => Object.fromEntries(counters.spans.entries());
  t.strictSame(counted(), { dropped: 100 }, 'nobody is there to take them');
  const apiKey = randomBytes(24).toString('hex');
  const endpoint = { otlp: 'http://collector', otlpHeaders: new Map([['Api-Key', apiKey]]) };
  exporter.use(endpoint, { post } as unknown as Transport);
  exporter.add(span);
  await exporter.close();
  t.strictSame(sizes.slice(0, 1), [512], 'a batch has a bound');
  t.match(logged, [[{ status: 503 }, 'telemetry is not taken']], 'that is told once');
  t.notOk(JSON.stringify(logged).includes(apiKey));
  t.equal(counted()['exported'] ?? 0, 0, 'a collector that is busy is not asked again at the end');

  const later = new Exporter({
    origin: { instance: '1', startMs: 0 },
    ...{ counters: new Counters(), log, families: async () => [] },
    timings: { batchMs: 1, retryMs: 1, retryMsMax: 1 },
  });
  sizes.length = 0;
  later.use({ otlp: 'http://collector', otlpHeaders: new Map() }, { post } as unknown as Transport);
  for (let i = 0; i < 1024; i += 1) later.add(span);
  while (sizes.length < 4) await new Promise((resolve) => setTimeout(resolve, 1));
  await later.close();
  t.strictSame(
    sizes,
    [512, 512, 512, 512],
    'busy, busy, taken, refused: only what may be taken later is sent again',
  );
});

t.test('only a whole trace context is taken', async (t) => {
  const of = (traceparent: string) =>
    contextOf(
      bareCall({
        ...{ entrance: 'forward', receivedAtMs: 0, clientAddress: '', key: undefined, method: 'GET' },
        target: parseDescribed('https://a.example/'),
        headers: ['TraceParent', traceparent],
      }),
    ).parentSpanId;
  const [trace, parent] = ['1'.repeat(32), '2'.repeat(16)];
  const cases: readonly [text: string, isTaken: boolean][] = [
    [`00-${trace}-${parent}-01`, true],
    [`cc-${trace}-${parent}-01-more`, true],
    [`00-${trace}-${parent}-01-more`, false],
    [`ff-${trace}-${parent}-01`, false],
    [`00-${'0'.repeat(32)}-${parent}-01`, false],
    [`00-${trace}-${'0'.repeat(16)}-01`, false],
    [`00-${trace.toUpperCase().replaceAll('1', 'A')}-${parent}-01`, false],
    [`${'9'.repeat(100_000)}`, false],
    ['', false],
  ];
  for (const [text, isTaken] of cases) t.equal(of(text), isTaken ? parent : undefined, text.slice(0, 70));
  const signed =
    'AWS4-HMAC-SHA256 Credential=x/20260101/eu/s3/aws4_request, SignedHeaders=host;traceparent, Signature=0';
  t.ok(isSigned(['Authorization', signed]), 'what its caller has signed is left as it is');
  t.notOk(isSigned(['Authorization', 'Bearer traceparent']));
});
