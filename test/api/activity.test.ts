import t from 'tap';
import { csvColumns } from '../../src/api/exports/csv.ts';
import { newTraceId } from '../../src/core/ids.ts';
import { openStream } from '../support/event-stream.ts';
import { agentId, denyDeletes, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';

const bearer = (key: string): string => `Bearer ${key}`;

async function scan(gateway: TestGateway, fields: Record<string, unknown> = {}): Promise<string> {
  const call = { method: 'GET', url: 'https://api.example.org/things', ...fields };
  return (await gateway.api('POST', '/v1/scan', call)).body.trace_id;
}

/** Whatever came before it is then in the lists too. */
const findable = (gateway: TestGateway, traceId: string) =>
  until('the trace in the list', async () => {
    const { body } = await gateway.api('GET', '/v1/traces?limit=100');
    // A clock that is set back puts a later call behind an earlier one.
    return body.items.some((it: { trace_id: string }) => it.trace_id === traceId);
  });

async function text(gateway: TestGateway, path: string): Promise<{ headers: Headers; body: string }> {
  const response = await fetch(new URL(path, gateway.controlUrl), {
    headers: { authorization: bearer(gateway.key) },
  });
  return { headers: response.headers, body: await response.text() };
}

t.test('exports have all traces that the filters leave, in each form', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply([denyDeletes]);
  const ids: string[] = [];
  for (let at = 0; at < 6; at += 1) {
    const method = at % 2 === 0 ? 'DELETE' : 'POST';
    ids.unshift(
      await scan(gateway, { method, url: `https://api.example.org/${at}`, agent_name: '=cmd|" /C calc"!A0' }),
    );
  }
  await findable(gateway, ids[0] ?? '');

  const ndjson = await text(gateway, '/v1/traces/export');
  t.equal(ndjson.headers.get('content-type'), 'application/x-ndjson');
  t.equal(ndjson.headers.get('content-disposition'), 'attachment; filename="postern-traces.ndjson"');
  t.equal(ndjson.headers.get('cache-control'), 'no-store');
  const lines = ndjson.body.split('\n');
  t.equal(lines.pop(), '', 'each line ends');
  t.same(
    lines.map((it) => JSON.parse(it).trace_id),
    ids,
    'newest first',
  );

  const denied = await text(gateway, '/v1/traces/export?format=csv&decision=DENY');
  t.equal(denied.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
  const rows = denied.body.split('\r\n');
  t.equal(rows.shift(), csvColumns.join());
  t.equal(rows.pop(), '');
  t.equal(rows.length, 3);
  t.ok(
    rows.every((row) => row.includes(`"'=cmd|"" /C calc""!A0"`)),
    'a name is no formula, and its quotes are doubled',
  );
  t.equal((await text(gateway, '/v1/traces/export?format=csv&tag=none')).body, `${csvColumns.join()}\r\n`);

  const events = (await text(gateway, '/v1/traces/export?format=ocsf&q=%2F0')).body.trim().split('\n');
  t.match(JSON.parse(events[0] ?? ''), {
    class_uid: 6003,
    type_uid: 600304,
    activity_id: 4,
    action_id: 2,
    disposition_id: 2,
    status_id: 2,
    time: Number,
    severity_id: Number,
    metadata: { version: '1.9.0', uid: ids[5], tenant_uid: 'acme' },
    actor: { app_uid: agentId },
    api: { operation: String },
    src_endpoint: { ip: '127.0.0.1' },
    dst_endpoint: { hostname: 'api.example.org', port: 443 },
  });

  t.match(await gateway.api('GET', '/v1/traces/export?format=xml'), {
    status: 400,
    body: { code: 'VALIDATION_FAILED', errors: [{ path: 'format' }] },
  });
  const { key } = await gateway.mint({ permissions: ['scan'] });
  t.match(await gateway.api('GET', '/v1/traces/export', undefined, bearer(key)), { status: 403 });
});

t.test('a stream tells of calls as they come, and goes on where a client has left', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply([denyDeletes]);
  const before = await scan(gateway);
  await findable(gateway, before);
  const all = await openStream(t, gateway);
  t.match(all.response, {
    statusCode: 200,
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  });
  const denied = await openStream(t, gateway, { path: '/v1/traces/stream?decision=DENY' });
  const [first, second] = [await scan(gateway, { method: 'DELETE' }), await scan(gateway)];
  await all.has(first, second);
  await denied.has(first);
  t.same(all.ids(), [first, second], 'from now on, each once');
  t.match(all.events[0], { id: first, event: 'trace', data: { trace_id: first, decision: 'DENY' } });
  t.same(denied.ids(), [first]);

  all.leave();
  const third = await scan(gateway);
  await findable(gateway, third);
  const again = await openStream(t, gateway, { headers: { 'last-event-id': first } });
  await again.has(second, third);
  const fourth = await scan(gateway);
  await again.has(fourth);
  t.same(again.ids().slice(-3), [second, third, fourth], 'what was missed comes first, in order');
  t.notOk(again.ids().includes(first));
  t.match(await gateway.api('GET', `/v1/traces/stream?last_event_id=x`), { status: 400 });
  const byQuery = await openStream(t, gateway, { path: `/v1/traces/stream?last_event_id=${third}` });
  await byQuery.has(fourth);
});

t.test('of what was missed, so much is told, and that there was more', async (t) => {
  const gateway = await startTestGateway(t);
  const start = newTraceId(Date.now());
  for (let at = 0; at < 11; at += 1) await Promise.all(Array.from({ length: 100 }, () => scan(gateway)));
  await findable(gateway, await scan(gateway));
  const stream = await openStream(t, gateway, { headers: { 'last-event-id': start } });
  await until('a thousand', async () => stream.ids().length >= 1_000);
  t.equal(stream.ids().length, 1_000);
  t.equal(stream.events[0]?.event, 'gap');
});

t.test('of long traces that were missed, a megabyte is told, and that there was more', async (t) => {
  const gateway = await startTestGateway(t);
  const start = newTraceId(Date.now());
  const fields = Array.from({ length: 60 }, (_, at) => [`${'n'.repeat(100)}${at}`, `ann.${at}@posthaus.net`]);
  const call = { url: `https://api.test.example/${'a-'.repeat(1_500)}`, body: Object.fromEntries(fields) };
  for (let at = 0; at < 4; at += 1) await Promise.all(Array.from({ length: 50 }, () => scan(gateway, call)));
  await findable(gateway, await scan(gateway));
  const stream = await openStream(t, gateway, { headers: { 'last-event-id': start } });
  await until('some', async () => stream.ids().length > 50);
  await stream.has(await scan(gateway));
  t.equal(stream.events[0]?.event, 'gap');
  t.ok(stream.ids().length < 190, `${stream.ids().length}`);
});

t.test('a stream ends when its key does not count any more, and says so', async (t) => {
  const gateway = await startTestGateway(t);
  const { key, key_id } = await gateway.mint({ permissions: ['activity:read'] });
  const other = await gateway.mint({ permissions: ['activity:read'], name: 'kept' });
  const stream = await openStream(t, gateway, { key });
  const kept = await openStream(t, gateway, { key: other.key });
  await gateway.api('DELETE', `/v1/keys/${key_id}`);
  await stream.ended();
  t.match(stream.events.at(-1), { event: 'end', data: { reason: 'not_allowed' } });
  await gateway.reload();
  await kept.ended();
  t.match(kept.events.at(-1), { event: 'end', data: { reason: 'reloaded' } });
  const last = await openStream(t, gateway);
  const stopping = gateway.stop();
  await last.ended();
  t.match(last.events.at(-1), { event: 'end', data: { reason: 'shutting_down' } });
  await stopping;
});

t.test('a key has few streams, and who leaves makes room', async (t) => {
  const gateway = await startTestGateway(t);
  const streams = [];
  for (let at = 0; at < 8; at += 1) streams.push(await openStream(t, gateway));
  const full = await gateway.api('GET', '/v1/traces/stream');
  t.match(full, { status: 429, body: { code: 'RATE_LIMITED' } });
  streams[0]?.leave();
  await until('room', async () => {
    const probe = await openStream(t, gateway);
    const isOpen = probe.response.statusCode === 200;
    probe.leave();
    return isOpen;
  });
});

t.test('counts are there by time and by what calls were', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply([denyDeletes]);
  for (let at = 0; at < 5; at += 1) await scan(gateway, { method: at < 2 ? 'DELETE' : 'GET' });
  const traceId = await scan(gateway, { url: 'https://api.github.com/repos/acme/app/issues' });
  await findable(gateway, traceId);
  const { status, body } = await gateway.api('GET', '/v1/stats?interval=minute');
  t.equal(status, 200);
  t.match(body, {
    tenant_id: 'acme',
    interval: 'minute',
    total: 6,
    decisions: {
      names: [
        { name: 'ALLOW', count: 4 },
        { name: 'DENY', count: 2 },
      ],
      other: 0,
    },
    bands: { names: Array },
    agents: { names: [{ name: agentId, count: 6 }], other: 0 },
  });
  t.ok(
    body.tools.names.some((it: { name: string; count: number }) => it.name === 'github' && it.count === 1),
  );
  t.equal(body.series.length, 60, 'empty buckets too');
  const sum = body.series.reduce((all: number, it: { total: number }) => all + it.total, 0);
  t.equal(sum, 6);
  t.match(body.series.at(-1).decisions, { ALLOW: Number, DENY: Number, SANITIZE: 0, REQUIRE_APPROVAL: 0 });
  for (const interval of ['hour', 'day'])
    t.match(await gateway.api('GET', `/v1/stats?interval=${interval}`), { body: { total: 6 } }, interval);
  const ago = new Date(Date.now() - 5 * 3_600_000).toISOString();
  const long = (await gateway.api('GET', `/v1/stats?interval=minute&from=${ago}`)).body;
  for (const it of ['total', 'decisions', 'reasons', 'bands', 'tools', 'agents'])
    t.same(long[it], body[it], it);
  const one = (await gateway.api('GET', '/v1/stats?interval=day&top=1')).body;
  t.same(one.decisions, { names: [{ name: 'ALLOW', count: 4 }], other: 2 }, 'the rest is one');

  const now = Date.now();
  const at = (ms: number) => encodeURIComponent(new Date(now + ms).toISOString());
  t.match(await gateway.api('GET', `/v1/stats?interval=minute&from=${at(-60_000)}&to=${at(-120_000)}`), {
    status: 400,
    body: { errors: [{ path: 'from' }] },
  });
  t.match(await gateway.api('GET', `/v1/stats?interval=minute&from=${at(-1_600 * 60_000)}`), {
    status: 400,
    body: { errors: [{ path: 'from' }] },
  });
  const far = await gateway.api('GET', `/v1/stats?interval=hour&from=${at(-400 * 86_400_000)}`);
  t.equal(far.status, 200, 'hours are kept for two months, and no answer is longer');
  for (const query of ['interval=week', 'top=0', 'top=257', 'from=yesterday'])
    t.equal((await gateway.api('GET', `/v1/stats?${query}`)).status, 400, query);
});
