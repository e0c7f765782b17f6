import { randomUUID } from 'node:crypto';
import t from 'tap';
import { agentId, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';

const path = '/v1/risk/replay';

/** Scans the bodies; resolves with the ids of their traces, newest last, when the list of traces has them. */
async function scanned(gateway: TestGateway, bodies: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < bodies.length; at += 50) {
    const replies = await Promise.all(
      bodies
        .slice(at, at + 50)
        .map((body) =>
          gateway.api('POST', '/v1/scan', { method: 'POST', url: 'https://api.example.org/notes', body }),
        ),
    );
    ids.push(...replies.map((it) => it.body.trace_id));
  }
  const last = ids.at(-1);
  await until('the traces in the list', async () => {
    const { body } = await gateway.api('POST', path, { limit: 10_000 });
    return body.traces >= bodies.length && body.undetermined === 0 && last !== undefined;
  });
  return ids;
}

const personal = 'write to jane.doe@northwind-mail.com about her order';

t.test('recorded calls are scored by other weights and bands', async (t) => {
  const gateway = await startTestGateway(t);
  const replay = async (body: object) => (await gateway.api('POST', path, body)).body;
  const ids = await scanned(gateway, ['nothing', 'nothing', personal]);
  const traces = await Promise.all(
    ids.map(async (id) => (await gateway.api('GET', `/v1/traces/${id}`)).body),
  );
  const before = { LOW: 0, MEDIUM: 0, HIGH: 0, CRITICAL: 0 };
  for (const { risk_band } of traces) before[risk_band as 'LOW'] += 1;

  t.strictSame(
    await replay({}),
    { traces: 3, undetermined: 0, bands: { before, after: before }, changed_total: 0, changed: [] },
    'by those in force nothing changes',
  );
  const [, , told] = traces;
  t.match(told, { signals: [{ engine: 'classifier' }] });
  const others = { threat_intel: 0, baseline: 0, correlation: 0, semantic: 0 };
  const heavy = await replay({ weights: { classifier: 1, ...others }, trace_ids: [told.trace_id] });
  // All that counts is what the detectors have found, and the trust in the agent.
  const score = Math.round((told.signals[0].score + told.risk.modifier) * 1000) / 1000;
  const after = { risk_score: score, risk_band: String };
  t.match(heavy, {
    traces: 1,
    changed_total: 1,
    changed: [
      {
        trace_id: told.trace_id,
        before: { risk_score: told.risk_score, risk_band: told.risk_band },
        after,
      },
    ],
  });
  t.match(await replay({ bands: { MEDIUM: 0, HIGH: 0.999, CRITICAL: 1 } }), {
    bands: { after: { LOW: 0, MEDIUM: 3 } },
    changed_total: before.LOW,
  });
  t.match(await gateway.api('GET', `/v1/traces/${told.trace_id}`), { body: told }, 'the trace is as it was');

  const [first = ''] = ids;
  const counts: readonly [string, object, number, number][] = [
    ['the newest', { limit: 2 }, 2, 0],
    ['of the agent', { agent_id: agentId }, 3, 0],
    ['of another agent', { agent_id: randomUUID() }, 0, 0],
    ['before them', { to: traces[0].at }, 0, 0],
    ['from the last one on', { from: traces[0].at, to: '2100-01-01T00:00:00Z' }, 3, 0],
    ['one that is named twice', { trace_ids: [first, first.toUpperCase()] }, 1, 0],
    ['one that is not there', { trace_ids: [first, randomUUID()] }, 2, 1],
  ];
  for (const [name, body, count, undetermined] of counts)
    t.match(await replay(body), { traces: count, undetermined }, name);
});

t.test('what cannot be replayed is refused, and it is said what to change', async (t) => {
  const gateway = await startTestGateway(t);
  const none = { classifier: 0, threat_intel: 0, baseline: 0, correlation: 0, semantic: 0 };
  const cases: readonly [name: string, body: object, path: string, message: RegExp][] = [
    [
      'an unknown engine',
      { weights: { classifer: 1 } },
      'weights.classifer',
      /there are classifier, threat_intel/,
    ],
    ['a weight above 1', { weights: { semantic: 2 } }, 'weights.semantic', /./],
    ['no weight at all', { weights: none }, 'weights', /above 0/],
    ['bands out of order', { bands: { HIGH: 0.2 } }, 'bands.HIGH', /above MEDIUM, which is 0.25/],
    ['bands that are the same', { bands: { HIGH: 0.75 } }, 'bands.CRITICAL', /above HIGH/],
    ['a band that is none', { bands: { AWFUL: 1 } }, 'bands', /AWFUL/],
    ['too many ids', { trace_ids: Array.from({ length: 1001 }, () => randomUUID()) }, 'trace_ids', /./],
    ['an id that is none', { trace_ids: ['x'] }, 'trace_ids.0', /UUID/],
    ['ids and a time', { trace_ids: [randomUUID()], limit: 1 }, 'trace_ids', /leave out/],
    ['too many traces', { limit: 10_001 }, 'limit', /./],
    ['a field that is none', { wieghts: {} }, '', /wieghts/],
  ];
  for (const [name, body, at, message] of cases) {
    const reply = await gateway.api('POST', path, body);
    t.match(reply, { status: 400, body: { errors: [{ path: at, message }] } }, name);
  }
});

t.test('an answer names the first thousand that change, and counts the rest', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      plans: { fast: { extends: 'enterprise', scans_per_minute: null } },
      tenants: [{ id: 'acme', plan: 'fast', environments: ['production'] }],
    },
  });
  await scanned(
    gateway,
    Array.from({ length: 1_010 }, () => personal),
  );
  const { body } = await gateway.api('POST', path, { weights: { classifier: 1 }, limit: 10_000 });
  t.match(body, { traces: 1_010, changed_total: 1_010, undetermined: 0 });
  t.equal(body.changed.length, 1_000);
});
