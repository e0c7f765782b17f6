import t from 'tap';
import { compilePolicies } from '../../../src/policy/index.ts';
import { parsePath } from '../../../src/policy/match/json-path.ts';
import { decideBy, factsOf, type GivenFacts, policyOf } from '../facts.ts';

const deep = (depth: number): string => `${'{"a":'.repeat(depth)}{"amount":7}${'}'.repeat(depth)}`;

t.test('hostile JSON is looked through and changes nothing', async (t) => {
  const amount = [{ condition: { body_path_gt: { path: '$.items[*].amount', value: 5 } } }];
  const many = `{"items":[${'{"amount":1},'.repeat(200_000)}{"amount":6}]}`;
  t.equal(decideBy(amount, { body: many }).action, 'DENY', 'the last of very many counts');
  t.equal(
    decideBy([{ condition: { body_path_gt: { path: '$.amount', value: 5 } } }], { body: deep(5000) }).action,
    undefined,
  );
  const steps = `$${'.a'.repeat(31)}.amount`;
  t.equal(
    decideBy([{ condition: { body_path_equals: { path: steps, value: 7 } } }], { body: deep(31) }).action,
    'DENY',
  );
  t.equal(
    decideBy(amount, { body: '{"items":{"__proto__":{"amount":9}}}' }).action,
    'DENY',
    'an own field like any other',
  );
  t.equal(({} as Record<string, unknown>)['amount'], undefined);
});

t.test('of an unclear body a rule holds unless it allows, and says why', async (t) => {
  const unclear: GivenFacts = { body: '{"amount":1,"amount":2}', bodyValue: () => ({ kind: 'unclear' }) };
  for (const [key, value] of Object.entries({
    body_path_equals: 7,
    body_path_gt: 1000,
    body_path_gte: 7,
    body_path_lt: -1,
    body_path_lte: -1,
  })) {
    const condition = { [key]: { path: '$.amount', value } };
    for (const action of ['DENY', 'REQUIRE_APPROVAL', 'SANITIZE', 'OPEN_INCIDENT', 'ALLOW']) {
      const { action: said, explanation } = decideBy([{ condition, action }], unclear);
      t.equal(said, action === 'ALLOW' ? undefined : action, `${key} ${action}`);
      if (said) t.match(explanation[0], 'cannot be told from the body');
    }
    t.equal(
      decideBy([{ condition }], { ...unclear, body: '{"text":"x"' }).action,
      undefined,
      'no such name in it',
    );
    t.equal(
      decideBy([{ condition }], { ...unclear, body: 'x', bodyHidesNames: true }).action,
      'DENY',
      'unless names may be hidden',
    );
    t.equal(decideBy([{ condition }], { ...unclear, body: '{"\\x61mount":9}' }).action, 'DENY', 'or escaped');
  }
  const two = { has_data_class: ['PII'], body_path_gt: { path: '$.amount', value: 1 } };
  t.equal(
    decideBy([{ condition: two }], unclear).action,
    undefined,
    'other conditions must hold all the same',
  );
  const sure = decideBy([{ condition: { body_contains_any: ['amount'] } }], unclear);
  t.notMatch(sure.explanation[0], 'cannot be told', 'only fields are unclear');
});

t.test('a path holds if it holds in any reading; a rule that allows wants one reading', async (t) => {
  const condition = { body_path_gt: { path: '$.amount', value: 1000 } };
  const read = (...amounts: number[]): GivenFacts => ({
    body: 'amount',
    bodyValue: () => ({ kind: 'value', readings: amounts.map((amount) => ({ amount })) }),
  });
  t.equal(decideBy([{ condition }], read(1, 99_999)).action, 'DENY');
  t.equal(decideBy([{ condition }], read(1, 2)).action, undefined);
  t.equal(decideBy([{ condition, action: 'ALLOW' }], read(2000)).action, 'ALLOW');
  t.equal(decideBy([{ condition, action: 'ALLOW' }], read(2000, 3000)).action, undefined);
});

t.test('a body is read once, and parsed only where a name that a path needs is in it', async (t) => {
  const paths = ['$.amount', '$.total.amount', '$.items[*].amount'];
  const set = compilePolicies([
    ...paths.map((path, n) =>
      policyOf(`p${n}`, [
        { condition: { body_path_gt: { path, value: 1 } } },
        { condition: { body_path_lt: { path, value: -1 } } },
      ]),
    ),
  ]);
  const without = factsOf({ body: { text: 'nothing of interest' } });
  t.equal(set.decide(without).action, undefined);
  t.equal(without.parses, 0);
  const escaped = factsOf({ body: '{"\\u0061mount":5}' });
  t.equal(set.decide(escaped).action, 'DENY');
  t.equal(escaped.parses, 1);
  const accented = factsOf({ body: '{"text":"\\u00e4"}' });
  set.decide(accented);
  t.equal(accented.parses, 0, 'nothing that a name is searched by');
  const other = factsOf({ body: { amount: 5 }, method: 'GET' });
  t.equal(
    compilePolicies([
      policyOf('p', [
        { match: { methods: ['POST'] }, condition: { body_path_gt: { path: '$.amount', value: 1 } } },
      ]),
    ]).decide(other).action,
    undefined,
  );
  t.equal(other.parses, 0, 'not for a rule that does not match');
});

t.test('paths outside the subset are refused', async (t) => {
  for (const path of [
    '',
    'a',
    '$.',
    '$..a',
    '$.*',
    '$.a[',
    '$.a[-1]',
    '$.a[1:2]',
    '$.a[?(@.b)]',
    '$.a b',
    "$['a'",
    '$.a()',
    `$${'.a'.repeat(33)}`,
    `$.${'a'.repeat(600)}`,
  ]) {
    t.equal(parsePath(path), undefined, path.slice(0, 20));
  }
  t.same(parsePath("$.a[*][0]['b c']"), [{ name: 'a' }, 'each', { index: 0 }, { name: 'b c' }]);
});
