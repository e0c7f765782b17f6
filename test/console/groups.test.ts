import t from 'tap';
import type { Approval } from '../../src/api/answers.ts';
import { readExact } from '../../src/console/page/data/exact-json.ts';
import { toGroups } from '../../src/console/page/data/groups.ts';

/* What stands on one card of the console is decided with one key: no call may hide there behind another. */

function held(id: string, changes: Partial<Approval> = {}): Approval {
  const body = changes.body_preview ?? '{"amount":1200}';
  return {
    approval_id: id,
    status: 'pending',
    trace_id: `trace-${id}`,
    tenant_id: 'default',
    env_name: 'production',
    agent_id: 'agent-1',
    agent_name: 'billing',
    tool_name: 'stripe',
    operation: 'create_refund',
    method: 'POST',
    url: 'https://api.stripe.com/v1/refunds',
    body_preview: body,
    body_bytes: Buffer.byteLength(body),
    opens_websocket: false,
    findings: [],
    reason_codes: ['RULE'],
    risk_score: 40,
    risk_band: 'MEDIUM',
    policy_id: 'policy-1',
    rule_id: 'rule-1',
    created_at: '2026-01-01T00:00:00Z',
    expires_at: '2026-01-01T01:00:00Z',
    decided_at: null,
    decided_by: null,
    scope: null,
    note: null,
    alike: 'a1',
    covers: { once: 'One call.', window: 'Every identical call.', lasts: '10 minutes' },
    ...changes,
  };
}

const idsOf = (calls: readonly Approval[], openIds?: readonly string[]): string[][] =>
  toGroups(calls, openIds).map((group) => group.approvals.map((it) => it.approval_id));
const withBodies = (...bodies: string[]) => bodies.map((body_preview, at) => held(`${at}`, { body_preview }));

t.test('calls that differ in one short argument are one group, which shows each value', async (t) => {
  const [body] = toGroups(withBodies('{"to":"x","amount":1}', '{ "to": "x", "amount": 2 }'));
  t.match(body, { approvals: [{}, {}], difference: { place: '$.amount', values: ['1', '2'] } });
  const none = { method: 'DELETE', body_preview: '' };
  const [address] = toGroups(['1', '2'].map((id) => held(id, { ...none, url: `https://x.test/${id}` })));
  t.match(address?.difference, { place: 'the address', values: ['https://x.test/1', 'https://x.test/2'] });
  const [same] = toGroups(withBodies('{"amount":1}', '{"amount":1}'));
  t.match(same, { approvals: [{}, {}], difference: undefined });
  const [odd] = toGroups(withBodies('{"a.b":[],"a":{"b":1}}', '{"a.b":{},"a":{"b":1}}'));
  t.match(odd?.difference, { place: '$["a.b"]', values: ['[]', '{}'] });
});

t.test('a call of another kind stands alone', async (t) => {
  const finding = { class: 'PII', kind: 'email', location: 'header', confidence: 'high' };
  const others: readonly Partial<Approval>[] = [
    ...[{ agent_id: 'agent-2' }, { env_name: 'staging' }, { method: 'PUT' }, { tool_name: 'other' }],
    ...[{ operation: 'other' }, { policy_id: 'policy-2' }, { rule_id: null }, { risk_band: 'HIGH' as const }],
    ...[{ reason_codes: ['RULE', 'RISK'] }, { findings: [finding] }, { opens_websocket: true }],
    ...[{ alike: 'b2' }, { alike: null }],
  ];
  for (const it of others) t.equal(idsOf([held('1'), held('2', it)]).length, 2, JSON.stringify(it));
});

t.test('a body that is not read without a loss, or not whole, stands alone', async (t) => {
  const pairs = [
    ['{"amount":1,"amount":9}', '{"amount":2,"amount":9}'],
    ['{"id":9007199254740993}', '{"id":9007199254740992}'],
    ['{"amount":1.0}', '{"amount":1}'],
    ['{"to":"\\u0061"}', '{"to":"a"}'],
    ['amount=1', 'amount=1'],
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['{"a":1,"b":2}', '{"a":3,"b":4}'],
    ['{"to":"[REDACTED:iban]"}', '{"to":"[REDACTED:iban]"}'],
    ['{"to":"\ufffd"}', '{"to":"\ufffd"}'],
    ['{"a":1… [and 9 bytes more]', '{"a":1… [and 9 bytes more]'],
  ] as const;
  for (const pair of pairs) t.equal(idsOf(withBodies(...pair)).length, 2, pair.join('   '));
  const cut = { url: `https://x.test/${'a'.repeat(2000)}…` };
  t.equal(idsOf([held('1', cut), held('2', cut)]).length, 2, 'a cut address');
  const many = `[${'1,'.repeat(500)}1]`;
  t.equal(idsOf(withBodies(many, many)).length, 2, 'more values than are compared');
});

t.test('values that would not be seen whole to differ stand alone', async (t) => {
  const long = 'a'.repeat(80);
  const pairs = [
    [`${long}1`, `${long}2`],
    ['1', long],
    ['a b', 'a  b'],
    ['a', 'a\u200b'],
    ['a b', 'a\u00a0b'],
  ];
  for (const pair of pairs) {
    const bodies = pair.map((to) => JSON.stringify({ to }));
    t.equal(idsOf(withBodies(...bodies)).length, 2, bodies.join('   '));
  }
  const many = Array.from({ length: 61 }, (_, at) => `{"amount":${at}}`);
  t.same(
    idsOf(withBodies(...many, '{"amount":1}')).map((it) => it.length),
    [61, 1],
    'no group has more values than are shown; an equal one joins',
  );
});

t.test('what comes while a card is open gets a card of its own', async (t) => {
  const calls = withBodies('{"amount":1}', '{"amount":2}', '{"amount":3}', '{"amount":4}');
  t.same(idsOf(calls, ['0', '1']), [
    ['0', '1'],
    ['2', '3'],
  ]);
  t.same(idsOf(calls.slice(1), ['0', '1']), [['1'], ['2', '3']], 'nor when one of it has ended');
});

t.test('a text is read as JSON only where nothing of it is lost', async (t) => {
  t.same(readExact(' {"a": [1, "x  \\" y", null]}\n'), { a: [1, 'x  " y', null] });
  for (const text of ['{"a":1,"a":1}', '1e2', '-0', '{"2":0,"1":0}', 'no'])
    t.equal(readExact(text), undefined);
});
