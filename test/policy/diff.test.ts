import t from 'tap';
import { type ComparedPolicy, diffPolicies } from '../../src/policy/diff.ts';
import { parseStoredRules } from '../../src/policy/index.ts';

type WrittenRule = Readonly<Record<string, unknown>>;

const rule = (id: string, rest: WrittenRule = {}): WrittenRule => ({ rule_id: id, action: 'DENY', ...rest });

const policy = (
  rules: readonly WrittenRule[],
  rest: Partial<Omit<ComparedPolicy, 'rules'>> = {},
): ComparedPolicy => ({
  name: 'p',
  envName: null,
  description: '',
  mode: 'enforce',
  ...rest,
  rules: parseStoredRules(rules),
});

/** The changes of the one policy that both sides have. */
const diffRules = (before: readonly WrittenRule[], after: readonly WrittenRule[]) =>
  diffPolicies([policy(before)], [policy(after)]);

const added = (...ids: string[]) => ids.map((ruleId) => ({ kind: 'added', ruleId, keys: [] }));
const removed = (...ids: string[]) => ids.map((ruleId) => ({ kind: 'removed', ruleId, keys: [] }));

t.test('policies are the same by name and environment', async (t) => {
  const a = rule('a');
  const before = [policy([a]), policy([a], { envName: 'staging' }), policy([a], { name: 'gone' })];
  const after = [policy([a]), policy([a], { envName: 'production' }), policy([a], { mode: 'monitor' })];
  t.same(diffPolicies(before, before), []);
  t.same(diffPolicies([], []), []);
  t.same(diffPolicies(before, after.slice(0, 2)), [
    { kind: 'removed', name: 'gone', envName: null, keys: [], rules: removed('a') },
    { kind: 'added', name: 'p', envName: 'production', keys: [], rules: added('a') },
    { kind: 'removed', name: 'p', envName: 'staging', keys: [], rules: removed('a') },
  ]);
  t.match(diffPolicies(before.slice(0, 1), after.slice(2)), [
    { kind: 'changed', keys: [{ key: 'mode', before: 'enforce', after: 'monitor' }], rules: [] },
  ]);
  t.match(diffPolicies([policy([a])], [policy([a], { description: 'said' })]), [
    { keys: [{ key: 'description', before: '', after: 'said' }] },
  ]);
});

t.test('rules are the same by id, wherever they stand', async (t) => {
  const [a, b, c] = [rule('a', { priority: 1 }), rule('b', { priority: 2 }), rule('c', { priority: 3 })];
  t.same(diffRules([a, b], [b, a]), [], 'the priority orders them');
  t.match(diffRules([a, b], [c, b]), [
    { kind: 'changed', keys: [], rules: [...added('c'), ...removed('a')] },
  ]);
});

t.test('each key of a rule that means another thing is named', async (t) => {
  const cases = [
    {
      name: 'another action',
      before: {},
      after: { action: 'ALLOW' },
      keys: [{ key: 'action', before: 'DENY', after: 'ALLOW' }],
    },
    {
      name: 'a key more',
      before: {},
      after: { match: { verbs: ['READ'] } },
      keys: [{ key: 'match.verbs', before: undefined, after: ['READ'] }],
    },
    {
      name: 'a key less',
      before: { condition: { risk_score_gt: 0.5 } },
      after: {},
      keys: [{ key: 'condition.risk_score_gt', before: 0.5, after: undefined }],
    },
    {
      name: 'another value in a list',
      before: { match: { tool_names: ['a', 'b'] } },
      after: { match: { tool_names: ['a', 'c'] } },
      keys: [{ key: 'match.tool_names', before: ['a', 'b'], after: ['a', 'c'] }],
    },
    {
      name: 'another value in an object',
      before: { condition: { body_path_gt: { path: '$.a', value: 1 } } },
      after: { condition: { body_path_gt: { path: '$.a', value: 2 } } },
      keys: [
        {
          key: 'condition.body_path_gt',
          before: { path: '$.a', value: 1 },
          after: { path: '$.a', value: 2 },
        },
      ],
    },
    {
      name: 'a text for a number',
      before: { condition: { body_path_equals: { path: '$.a', value: 1 } } },
      after: { condition: { body_path_equals: { path: '$.a', value: '1' } } },
      keys: [{ key: 'condition.body_path_equals' }],
    },
    {
      name: 'null for a missing key',
      before: { condition: { body_path_equals: { path: '$.a', value: null } } },
      after: {},
      keys: [{ key: 'condition.body_path_equals', after: undefined }],
    },
    {
      name: 'several keys',
      before: { tag: 'x', reason_code: 'A' },
      after: { tag: 'y', incident_severity: 'HIGH' },
      keys: [{ key: 'tag' }, { key: 'reason_code' }, { key: 'incident_severity' }],
    },
  ];
  for (const { name, before, after, keys } of cases) {
    const [change] = diffRules([rule('a', before)], [rule('a', after)]);
    t.match(change, { kind: 'changed', keys: [], rules: [{ kind: 'changed', ruleId: 'a', keys }] }, name);
    t.equal(change?.rules[0]?.keys.length, keys.length, name);
  }
});

t.test('what means the same does not differ', async (t) => {
  const cases: readonly { name: string; before: WrittenRule; after: WrittenRule }[] = [
    {
      name: 'the order of values',
      before: { match: { verbs: ['READ', 'WRITE'] } },
      after: { match: { verbs: ['WRITE', 'READ', 'READ'] } },
    },
    {
      name: 'the order of keys',
      before: { match: { aws_tags: { a: '1', b: '2' } } },
      after: { match: { aws_tags: { b: '2', a: '1' } } },
    },
    { name: 'a default', before: {}, after: { priority: 100, match: {}, condition: {} } },
    {
      name: 'another name of a condition',
      before: { condition: { volume_burst: true } },
      after: { condition: { is_volume_burst: true } },
    },
    {
      name: 'a threshold that true stands for',
      before: { condition: { trust_score_lt: true } },
      after: { condition: { trust_score_lt: 0.6 } },
    },
  ];
  for (const { name, before, after } of cases)
    t.same(diffRules([rule('a', before)], [rule('a', after)]), [], name);
});

t.test('rules of one priority that change places decide otherwise', async (t) => {
  const [a, b, c, d] = [rule('a'), rule('b'), rule('c'), rule('d')];
  t.match(diffRules([a, b, c, d], [a, c, b, d]), [
    { kind: 'changed', keys: [{ key: 'order', before: ['b', 'c'], after: ['c', 'b'] }], rules: [] },
  ]);
  t.match(
    diffRules([a, b], [rule('new'), a, b]),
    [{ keys: [], rules: added('new') }],
    'one between them does not',
  );
  t.match(
    diffRules([a, b], [b, rule('a', { priority: 1 })]),
    [
      {
        keys: [],
        rules: [{ kind: 'changed', ruleId: 'a', keys: [{ key: 'priority', before: 100, after: 1 }] }],
      },
    ],
    'another priority is said as such',
  );
});

t.test('names that objects have by themselves are names like others', async (t) => {
  const odd = ['constructor', '__proto__', 'toString'].map((id) => rule(id));
  t.same(diffRules(odd, odd), []);
  t.match(diffRules([], odd), [{ rules: added('constructor', '__proto__', 'toString') }]);
});
