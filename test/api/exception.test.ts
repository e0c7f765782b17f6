import t from 'tap';
import { adminSecret, denyDeletes, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';

const call = { method: 'DELETE', url: 'https://api.example.org/things/7?force=*&x=[1]' };

/** The trace of a described call, once it can be found. */
async function traceOf(gateway: TestGateway, described: Record<string, unknown>) {
  const { body } = await gateway.api('POST', '/v1/scan', described);
  const traceId: string = body.trace_id;
  await until('the trace', async () => (await gateway.api('GET', `/v1/traces/${traceId}`)).status === 200);
  return { decision: body.decision as string, traceId };
}

const exceptionOf = async (gateway: TestGateway, traceId: string) =>
  (await gateway.api('GET', `/v1/traces/${traceId}/exception`)).body;

t.test('a rule lets exactly the denied call through', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply([{ ...denyDeletes, priority: 7 }]);
  await gateway.apply([{ ...denyDeletes, rule_id: 'hold', action: 'REQUIRE_APPROVAL' }], 'second');
  const { decision, traceId } = await traceOf(gateway, call);
  t.equal(decision, 'DENY');
  const found = await exceptionOf(gateway, traceId);
  t.match(found, {
    because: null,
    wider: [],
    outcome: { decision: 'ALLOW' },
    changes: [
      {
        name: 'test',
        source: 'api',
        version: 1,
        before_rule: 'no-delete',
        rule: { action: 'ALLOW', priority: 7 },
      },
      { name: 'second', before_rule: 'hold' },
    ],
  });
  t.match(found.changes[0].yaml, /^- rule_id: allow-[0-9a-f-]{36}\n {2}priority: 7\n/);
  t.match(
    found.changes[0].diff,
    /^--- test \(version 1\)\n\+\+\+ test \(version 2\)\n {3}rules:\n\+ {2}- rule_id: allow/,
  );
  const tried = await gateway.api('POST', '/v1/policies/simulate', found.simulate);
  t.match(tried, { status: 200, body: { changed: [{ trace_id: traceId, after: { decision: 'ALLOW' } }] } });
  t.equal((await traceOf(gateway, call)).decision, 'DENY', 'nothing is applied yet');

  for (const { policy } of found.changes)
    t.match(await gateway.api('POST', '/v1/policies/apply', policy), { status: 200 });
  t.equal((await traceOf(gateway, call)).decision, 'ALLOW');
  const others = [
    { ...call, url: 'https://api.example.org/things/7?force=xx&x=[1]' },
    { ...call, url: `${call.url}0` },
    { ...call, url: 'https://api.example.org/things/7' },
    { ...call, url: 'http://api.example.org/things/7?force=*&x=[1]' },
    { ...call, agent_id: '6b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11' },
  ];
  for (const other of others) t.not((await traceOf(gateway, other)).decision, 'ALLOW', JSON.stringify(other));
  t.match(await exceptionOf(gateway, traceId), { changes: [], because: /As the policies are now/ });

  const undone = found.changes[0].policy;
  undone.rules = undone.rules.filter((it: { action: string }) => it.action !== 'ALLOW');
  await gateway.api('POST', '/v1/policies/apply', undone);
  t.equal((await traceOf(gateway, call)).decision, 'DENY', 'and undone');
});

t.test('what no rule decided gets a policy of exceptions, and what no rule can change is said', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { posture: { bands: { LOW: 'DENY' } } },
    policyFiles: {
      'own.yaml': `name: own\nrules:\n  - { rule_id: no-put, match: { methods: [PUT] }, action: DENY }\n`,
    },
  });
  const low = await traceOf(gateway, { ...call, method: 'GET' });
  t.equal(low.decision, 'DENY');
  const found = await exceptionOf(gateway, low.traceId);
  t.match(found, {
    outcome: { decision: 'ALLOW' },
    changes: [{ name: 'exceptions', version: null, before_rule: null, source: 'api' }],
  });
  t.match(await gateway.api('POST', '/v1/policies/apply', found.changes[0].policy), { status: 200 });
  t.equal((await traceOf(gateway, { ...call, method: 'GET' })).decision, 'ALLOW');

  const ofFile = await traceOf(gateway, { method: 'PUT', url: 'https://api.example.org/', body: { a: 1 } });
  const file = await exceptionOf(gateway, ofFile.traceId);
  t.match(file, {
    changes: [{ name: 'own', source: 'file', before_rule: 'no-put' }],
    wider: [/any other body/],
  });

  await gateway.api('POST', `/v1/agents/${gateway.agentId}/suspend`, {}, `Bearer ${adminSecret}`);
  const suspended = await traceOf(gateway, call);
  t.match(await exceptionOf(gateway, suspended.traceId), { changes: [], because: /suspended: reactivate/ });
  t.match(await gateway.api('GET', `/v1/traces/${gateway.agentId}/exception`), { status: 404 });
  const { key } = await gateway.mint({ permissions: ['policies:read'] });
  t.match(
    await gateway.api('GET', `/v1/traces/${low.traceId}/exception`, undefined, `Bearer ${key}`),
    { status: 403 },
    'traces are for those who may see them',
  );
});
