import t from 'tap';
import { startTestGateway } from '../support/gateway.ts';
import { awsKeyId } from '../support/secrets.ts';

/* What would become of a call: told, and nothing else done. */

const rule = (rule_id: string, action: string, fields: object = {}) => ({
  rule_id,
  action,
  match: { url_patterns: [`https://${rule_id}.test.example/`] },
  ...fields,
});

t.test('explaining a call changes nothing', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      tenants: [
        {
          id: 'acme',
          plan: 'enterprise',
          environments: ['production'],
          budgets: [{ name: 'posts', match: { methods: ['POST'] }, daily: 1 }],
        },
      ],
    },
  });
  await gateway.apply([
    rule('held', 'REQUIRE_APPROVAL'),
    rule('no', 'DENY'),
    rule('alarm', 'OPEN_INCIDENT', { incident_severity: 'CRITICAL' }),
    rule('new', 'DENY', { condition: { is_new_destination: true } }),
    rule('spent', 'DENY', { condition: { daily_budget_exceeded: 'posts' } }),
  ]);
  const admin = `Bearer ${gateway.adminSecret}`;
  const parent = await gateway.mint({ permissions: ['scan', 'keys:ephemeral'] });
  const asked = { max_uses: 1, scope: { verbs: ['READ'] } };
  const { body: once } = await gateway.api('POST', '/v1/keys/ephemeral', asked, `Bearer ${parent.key}`);
  const state = async () => {
    const paths = [
      'usage',
      `agents/${gateway.agentId}`,
      'agents',
      'approvals',
      'incidents',
      'traces',
      'keys',
      'audit',
    ];
    const answers = await Promise.all(paths.map((it) => gateway.api('GET', `/v1/${it}`, undefined, admin)));
    return answers.map(({ body }) => body);
  };
  const explain = async (name: string, fields: object = {}, key = gateway.key) => {
    const call = { method: 'POST', url: `https://${name}.test.example/x`, ...fields };
    return (await gateway.api('POST', '/v1/explain', call, `Bearer ${key}`)).body;
  };
  const before = await state();
  for (let tries = 0; tries < 6; tries += 1) {
    t.match(await explain('held'), { decision: 'REQUIRE_APPROVAL', dry_run: true, policy_name: 'test' });
    t.match(await explain('no'), { decision: 'DENY', explanation: [/no/] });
    t.match(await explain('alarm'), { decision: 'DENY', matched_rules: [{ action: 'OPEN_INCIDENT' }] });
    t.match(await explain('new'), { decision: 'DENY', reason_codes: ['POLICY_DENY', 'NEW_DESTINATION'] });
    t.match(await explain('spent'), { decision: 'ALLOW' }, 'the budget is as it was');
  }
  const cut = await explain('any', { body: { note: `the key is ${awsKeyId()}` } });
  t.match(cut, { decision: 'SANITIZE', sanitized_body: { note: /REDACTED/ } });
  t.notOk('trace_id' in cut || 'approval_id' in cut, 'there is neither a trace nor an approval');
  t.match(await explain('any', { agent_id: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c99' }), { decision: 'ALLOW' });
  t.match(await explain('any', {}, once.key), {
    decision: 'DENY',
    reason_codes: ['EPHEMERAL_SCOPE_VIOLATION'],
  });
  t.match(await explain('any', { method: 'GET' }, once.key), { decision: 'ALLOW' });
  t.same(await state(), before);
  const used = await gateway.api(
    'POST',
    '/v1/scan',
    { method: 'GET', url: 'https://any.test.example/' },
    `Bearer ${once.key}`,
  );
  t.match(used.body, { decision: 'ALLOW' }, 'its one use is still there');
  const traceIds = async (): Promise<string[]> =>
    (await gateway.api('GET', '/v1/traces', undefined, admin)).body.items.map(
      (it: { trace_id: string }) => it.trace_id,
    );
  let written = await traceIds();
  while (written.length === 0) written = await traceIds();
  t.same(written, [used.body.trace_id], 'what was asked before has left no trace');
});

t.test('who may not scan is told nothing, and a call that cannot be is refused', async (t) => {
  const gateway = await startTestGateway(t);
  const { key } = await gateway.mint({ permissions: ['usage:read'] });
  const call = { method: 'GET', url: 'https://any.test.example/' };
  t.match(await gateway.api('POST', '/v1/explain', call, `Bearer ${key}`), { status: 403 });
  t.match(await gateway.api('POST', '/v1/explain', call, 'Bearer nothing'), { status: 401 });
  t.match(await gateway.api('POST', '/v1/explain', { ...call, url: 'nonsense' }), { status: 400 });
  t.match(await gateway.api('POST', '/v1/explain', { ...call, env: 'elsewhere' }), {
    status: 403,
    body: { code: 'CROSS_ENVIRONMENT' },
  });
});
