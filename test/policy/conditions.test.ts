import t from 'tap';
import { compilePolicies } from '../../src/policy/index.ts';
import { parsePath } from '../../src/policy/json-path.ts';
import { decideBy, factsOf, type GivenFacts, policyOf } from './facts.ts';

const at = (iso: string): GivenFacts => ({ nowMs: Date.parse(iso) });
const office = (tz: string) => ({ time_of_day_outside: { start: '09:00', end: '17:30', tz } });
const deep = (depth: number): string => `${'{"a":'.repeat(depth)}{"amount":7}${'}'.repeat(depth)}`;

/** [condition, facts for which it holds, facts for which it does not] */
const cases: Record<string, [condition: object, holds: GivenFacts[], fails: GivenFacts[]][]> = {
  'an empty condition': [[{}, [{}, { body: 'x' }], []]],
  has_data_class: [
    [
      { has_data_class: ['SECRETS', 'PII'] },
      [{ classes: ['PII'] }, { classes: ['PHI', 'SECRETS'] }],
      [{}, { classes: ['PHI', 'INTERNAL'] }],
    ],
  ],
  is_external_principal: [
    [{ is_external_principal: true }, [{ isExternalPrincipal: true }], [{}]],
    [{ is_external_principal: false }, [{}], [{ isExternalPrincipal: true }]],
  ],
  'is_new_destination and its alias': [
    [{ is_new_destination: true }, [{ isNewDestination: true }], [{}]],
    [{ new_resource: true }, [{ isNewDestination: true }], [{}]],
    [{ new_resource: false }, [{}], [{ isNewDestination: true }]],
  ],
  'is_volume_burst and its alias': [
    [{ is_volume_burst: true }, [{ isVolumeBurst: true }], [{}]],
    [{ volume_burst: true }, [{ isVolumeBurst: true }], [{}]],
  ],
  threat_intel_match: [[{ threat_intel_match: true }, [{ threatIntelMatch: true }], [{}]]],
  risk_score_gt: [
    [{ risk_score_gt: 0.5 }, [{ riskScore: 0.51 }, { riskScore: 1 }], [{ riskScore: 0.5 }, { riskScore: 0 }]],
  ],
  trust_score_lt: [
    [{ trust_score_lt: 0.3 }, [{ trustScore: 0.29 }], [{ trustScore: 0.3 }, {}]],
    [{ trust_score_lt: true }, [{ trustScore: 0.59 }], [{ trustScore: 0.6 }]],
  ],
  body_size_bytes_gt: [
    [{ body_size_bytes_gt: 4 }, [{ body: '12345' }, { body: 'äöü' }], [{ body: '1234' }, {}]],
  ],
  daily_budget_exceeded: [
    [{ daily_budget_exceeded: 'llm' }, [{ budgetsExceeded: ['llm'] }], [{}, { budgetsExceeded: ['LLM'] }]],
  ],
  time_of_day_outside: [
    [
      office('UTC'),
      [at('2026-06-01T08:59:59Z'), at('2026-06-01T17:30:00Z'), at('2026-06-01T00:00:00Z')],
      [at('2026-06-01T09:00:00Z'), at('2026-06-01T17:29:59Z')],
    ],
    // Half an hour beside the full one, and a zone that is a day ahead.
    [
      office('Asia/Kolkata'),
      [at('2026-06-01T03:29:00Z'), at('2026-06-01T12:00:00Z')],
      [at('2026-06-01T03:30:00Z')],
    ],
    [office('Pacific/Kiritimati'), [at('2026-06-01T18:59:00Z')], [at('2026-06-01T19:00:00Z')]],
    // Over midnight: 22:00 to 06:00 is inside.
    [
      { time_of_day_outside: { start: '22:00', end: '06:00', tz: 'UTC' } },
      [at('2026-06-01T06:00:00Z'), at('2026-06-01T21:59:00Z')],
      [at('2026-06-01T22:00:00Z'), at('2026-06-01T00:00:00Z'), at('2026-06-01T05:59:00Z')],
    ],
    [
      { time_of_day_outside: { start: '00:00', end: '24:00', tz: 'UTC' } },
      [],
      [at('2026-06-01T00:00:00Z'), at('2026-06-01T23:59:59Z')],
    ],
    [
      { time_of_day_outside: { start: '12:00', end: '13:00' } },
      [at('2026-06-01T11:00:00Z')],
      [at('2026-06-01T12:30:00Z')],
    ],
    // Berlin goes from UTC+1 to UTC+2 on 29 March 2026 at 01:00Z and back on 25 October.
    [
      office('Europe/Berlin'),
      [at('2026-03-28T07:30:00Z'), at('2026-03-29T15:30:00Z'), at('2026-10-25T08:30:00+01:00')],
      [
        at('2026-03-28T08:00:00Z'),
        at('2026-03-29T07:00:00Z'),
        at('2026-10-25T08:00:00Z'),
        at('2026-10-24T07:00:00Z'),
      ],
    ],
    [
      { time_of_day_outside: { start: '01:00', end: '03:00', tz: 'Europe/Berlin' } },
      [at('2026-03-29T01:00:00Z')],
      [at('2026-03-29T00:59:00Z'), at('2026-10-25T00:30:00Z'), at('2026-10-25T01:30:00Z')],
    ],
  ],
  body_contains_any: [
    [
      { body_contains_any: ['drop table', 'Project Nightfall'] },
      [{ body: 'please DROP TABLE users' }, { body: { note: 'project nightfall' } }, { body: 'drop table' }],
      [{}, { body: '' }, { body: 'drop  table' }, { url: 'https://x.com/drop%20table', body: 'x' }],
    ],
    [{ body_contains_any: ['§'] }, [{ body: 'nach § 5' }], [{ body: 'nach 5' }]],
    [
      { body_contains_any: ['Größe'] },
      [{ body: 'DIE GRÖSSE GRÖßE' }, { body: 'gro\u0308ße' }],
      [{ body: 'grosse' }],
    ],
    [{ body_contains_any: ['x'] }, [{ body: 'aXb' }], [{ body: 'ab' }]],
    [
      { body_contains_any: ['orders_1', 'orders_10'] },
      [{ body: 'orders_1' }, { body: 'see orders_10' }],
      [{ body: 'orders_2' }],
    ],
    [{ body_contains_any: ['a\nb'] }, [{ body: 'xA\nBx' }], [{ body: 'a b' }]],
    [
      { body_contains_any: ['needle'] },
      [{ bodyTexts: [Buffer.from('bmVlZGxl'), Buffer.from('needle')] }],
      [{ bodyTexts: [Buffer.from('bmVlZGxl')] }],
    ],
  ],
  body_contains_all: [
    [
      { body_contains_all: ['alpha', 'beta'] },
      [{ body: 'Beta alpha' }, { bodyTexts: [Buffer.from('alpha'), Buffer.from('beta')] }],
      [{ body: 'alpha' }, {}],
    ],
  ],
  body_path_equals: [
    [
      { body_path_equals: { path: '$.kind', value: 'refund' } },
      [{ body: { kind: 'refund' } }],
      [
        { body: { kind: 'Refund' } },
        { body: { kind: ['refund'] } },
        { body: { Kind: 'refund' } },
        { body: '{"kind":' },
        {},
      ],
    ],
    [
      { body_path_equals: { path: '$.n', value: 5 } },
      [{ body: { n: 5 } }, { body: { n: '5' } }, { body: { n: '5.0' } }],
      [{ body: { n: 50 } }, { body: { n: '' } }, { body: { n: true } }, { body: { m: 5 } }],
    ],
    [
      { body_path_equals: { path: '$.n', value: '5' } },
      [{ body: { n: '5' } }, { body: { n: 5 } }],
      [{ body: { n: '5.0' } }],
    ],
    [
      { body_path_equals: { path: '$.flag', value: true } },
      [{ body: { flag: true } }],
      [{ body: { flag: 'true' } }, { body: { flag: 1 } }],
    ],
    [
      { body_path_equals: { path: '$.flag', value: null } },
      [{ body: { flag: null } }],
      [{ body: {} }, { body: { flag: 0 } }, {}],
    ],
    [
      { body_path_equals: { path: '$.constructor.name', value: 'Object' } },
      [{ body: { constructor: { name: 'Object' } } }],
      [{ body: { a: 'constructor name' } }],
    ],
    [
      { body_path_equals: { path: '$.__proto__.admin', value: true } },
      [{ body: '{"__proto__":{"admin":true}}' }],
      [{ body: '{"a":"__proto__ admin"}' }],
    ],
    [
      { body_path_equals: { path: '$.items.length', value: 1 } },
      [{ body: { items: { length: 1 } } }],
      [{ body: { items: ['length'] } }],
    ],
    [
      { body_path_equals: { path: "$['odd name']['it\\'s']", value: 1 } },
      [{ body: { 'odd name': { "it's": 1 } } }],
      [{ body: { odd: 1 } }],
    ],
    [
      { body_path_equals: { path: '$["a.b"].c', value: 1 } },
      [{ body: { 'a.b': { c: 1 } } }],
      [{ body: { a: { b: { c: 1 } } } }],
    ],
    [
      { body_path_equals: { path: '$[1].id', value: 2 } },
      [{ body: [{ id: 1 }, { id: 2 }] }],
      [{ body: [{ id: 2 }] }, { body: { 1: { id: 2 } } }],
    ],
    [{ body_path_equals: { path: '$', value: 'yes' } }, [{ body: '"yes"' }], [{ body: 'yes' }]],
    // A name in another spelling is a name all the same.
    [
      { body_path_equals: { path: '$.amount', value: 7 } },
      [{ body: '{"\\u0061mount":7}' }, { body: '{"am\\u006funt":"7"}' }],
      [{ body: '{"\\\\u0061mount":7}' }],
    ],
  ],
  body_path_gt: [
    [
      { body_path_gt: { path: '$.amount', value: 1000 } },
      [
        { body: { amount: 1001 } },
        { body: { amount: '1000.5' } },
        { body: { amount: ' +5e3 ' } },
        { body: '{"amount":1e999}' },
        { body: { amount: '00001001' } },
      ],
      [
        { body: { amount: 1000 } },
        { body: { amount: '1,001' } },
        { body: { amount: 'lots' } },
        { body: { amount: { value: 2000 } } },
        { body: { amount: null } },
        { body: { amount: '' } },
        { body: {} },
      ],
    ],
    [
      { body_path_gt: { path: '$.items[*].price', value: 10 } },
      [{ body: { items: [{ price: 1 }, { price: 11 }] } }, { body: { items: { a: { price: 11 } } } }],
      [
        { body: { items: [{ price: 1 }, { cost: 11 }] } },
        { body: { items: [] } },
        { body: { items: 'price' } },
      ],
    ],
    [
      { body_path_gt: { path: '$.a[*][*].b[*]', value: 1 } },
      [{ body: { a: [[{ b: [0, 2] }]] } }],
      [{ body: { a: [[{ b: [0, 1] }], []] } }],
    ],
    // A form is an object of strings.
    [
      { body_path_gt: { path: '$.amount', value: 10 } },
      [{ body: 'amount=50', bodyValue: () => ({ kind: 'value', readings: [{ amount: '50' }] }) }],
      [{ body: 'amount=5', bodyValue: () => ({ kind: 'value', readings: [{ amount: '5' }] }) }],
    ],
  ],
  body_path_gte: [
    [
      { body_path_gte: { path: '$.n', value: 3 } },
      [{ body: { n: 3 } }, { body: { n: '3' } }],
      [{ body: { n: 2.99 } }],
    ],
  ],
  body_path_lt: [
    [
      { body_path_lt: { path: '$.n', value: 0 } },
      [{ body: { n: -1 } }, { body: { n: '-1e999' } }],
      [{ body: { n: 0 } }, { body: { m: -1 } }, { body: { n: '' } }],
    ],
    [{ body_path_lt: { path: '$.xs[*]', value: 2 } }, [{ body: { xs: [5, 1] } }], [{ body: { xs: [5, 2] } }]],
  ],
  body_path_lte: [
    [{ body_path_lte: { path: '$.n', value: 0 } }, [{ body: { n: 0 } }], [{ body: { n: 0.01 } }]],
  ],
  'several conditions at once': [
    [
      { has_data_class: ['PII'], body_contains_any: ['export'], risk_score_gt: 0.2 },
      [{ classes: ['PII'], body: 'export', riskScore: 0.3 }],
      [
        { classes: ['PII'], body: 'export' },
        { body: 'export', riskScore: 0.3 },
        { classes: ['PII'], riskScore: 0.3 },
      ],
    ],
  ],
};

for (const [key, rows] of Object.entries(cases)) {
  t.test(`${key} holds and does not hold as written`, async (t) => {
    for (const [condition, holds, fails] of rows) {
      for (const given of holds)
        t.equal(decideBy([{ condition }], given).action, 'DENY', JSON.stringify({ condition, given }));
      for (const given of fails)
        t.equal(decideBy([{ condition }], given).action, undefined, JSON.stringify({ condition, given }));
    }
  });
}

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
  const escaped = factsOf({ body: '{"text":"\\u00e4"}' });
  set.decide(escaped);
  t.equal(escaped.parses, 1);
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
