import t from 'tap';
import { ownName } from '../../../src/core/safe-name.ts';
import { coverageOf } from '../../../src/decision/approvals/coverage.ts';
import { groupSimilar } from '../../../src/decision/approvals/similar.ts';
import { approvalRecord } from '../../state/records.ts';

const agentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';

function held(url: string, body = '', fields: Partial<ReturnType<typeof approvalRecord>> = {}) {
  const bodyBytes = Buffer.byteLength(body);
  return approvalRecord({
    agentId,
    ownAgentId: agentId,
    url: ownName(url),
    bodyPreview: ownName(body),
    bodyBytes,
    ...fields,
  });
}

const groupsOf = (calls: readonly ReturnType<typeof held>[]) =>
  groupSimilar(calls).map(({ approvals, differs, values }) => [approvals.length, differs, ...values]);

t.test('calls that differ in one argument are one group, which says in what', (t) => {
  const url = 'https://api.example.com/pay';
  const pay = (amount: number, to = 'a') => held(url, JSON.stringify({ to, items: [{ amount }] }));
  const cases: { name: string; calls: ReturnType<typeof held>[]; want: unknown[][] }[] = [
    { name: 'none', calls: [], want: [] },
    { name: 'one', calls: [held(url)], want: [[1, null]] },
    {
      name: 'a member of the body',
      calls: [pay(1), pay(2), pay(3)],
      want: [[3, 'body $.items[0].amount', '1', '2', '3']],
    },
    {
      name: 'a part of the path',
      calls: [held(`${url}/1`), held(`${url}/2`)],
      want: [[2, 'path 2', '1', '2']],
    },
    {
      name: 'a parameter of the query',
      calls: [held(`${url}?page=1&n=5`), held(`${url}?page=2&n=5`)],
      want: [[2, 'query page', '1', '2']],
    },
    {
      name: 'two arguments',
      calls: [pay(1, 'a'), pay(2, 'b')],
      want: [
        [1, null],
        [1, null],
      ],
    },
    {
      name: 'two ways to group: the larger one',
      calls: [pay(1, 'b'), pay(1, 'a'), pay(2, 'a'), pay(3, 'a')],
      want: [
        [1, null],
        [3, 'body $.items[0].amount', '1', '2', '3'],
      ],
    },
    {
      name: 'a body that is no JSON',
      calls: [held(url, 'one'), held(url, 'two')],
      want: [[2, 'body', 'one', 'two']],
    },
    {
      name: 'another host',
      calls: [held('https://a.example/'), held('https://b.example/')],
      want: [[2, 'host', 'https://a.example', 'https://b.example']],
    },
  ];
  for (const { name, calls, want } of cases) t.same(groupsOf(calls), want, name);
  t.end();
});

t.test('what cannot be seen whole stands by itself', (t) => {
  const url = 'https://api.example.com/pay';
  const alone = [
    [1, null],
    [1, null],
  ];
  const pairs: { name: string; calls: ReturnType<typeof held>[] }[] = [
    { name: 'the same to look at', calls: [held(url, '{"a":1}'), held(url, '{"a":1}')] },
    {
      name: 'a cut body',
      calls: [held(url, '{"a":1}', { bodyBytes: 9 }), held(url, '{"a":2}', { bodyBytes: 9 })],
    },
    {
      name: 'something redacted',
      calls: [held(url, '{"a":1,"b":"[REDACTED:x]"}'), held(url, '{"a":2,"b":"[REDACTED:x]"}')],
    },
    {
      name: 'a URL with something redacted',
      calls: [held(`${url}/1?k=[REDACTED:x]`), held(`${url}/2?k=[REDACTED:x]`)],
    },
    { name: 'a cut URL', calls: [held(`${url}/1…`), held(`${url}/2…`)] },
    {
      name: 'another agent',
      calls: [held(`${url}/1`), held(`${url}/2`, '', { agentId: '6b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11' })],
    },
    { name: 'another rule', calls: [held(`${url}/1`), held(`${url}/2`, '', { ruleId: 'x' })] },
  ];
  for (const { name, calls } of pairs) t.same(groupsOf(calls), alone, name);
  const twice = [held(url, '{"a":1,"to":"x","to":"y"}'), held(url, '{"a":2,"to":"z","to":"y"}')];
  t.match(groupsOf(twice), [[2, 'body']], 'names that stand twice: the whole body differs, and is shown');
  const large = [held(url, '{"a":12345678901234567890}'), held(url, '{"a":12345678901234567891}')];
  t.match(groupsOf(large), [[2, 'body']], 'as it is where JavaScript reads two numbers as one');
  const many = Object.fromEntries(Array.from({ length: 36 }, (_, at) => [`k${at}`, at]));
  const wide = [
    held(url, JSON.stringify({ ...many, k35: 'x' })),
    held(url, JSON.stringify({ ...many, k35: 'y' })),
  ];
  t.match(groupsOf(wide), [[2, 'the rest']], 'further arguments are one');
  t.end();
});

t.test('what a grant covers is said', (t) => {
  const approval = held('https://api.example.com/pay', '{"a":1}', { agentName: ownName('payer') });
  const { once, window } = coverageOf(approval, 600_000);
  const call =
    'POST https://api.example.com/pay with exactly this body of 7 bytes, by the agent payer in prod.';
  t.equal(
    once,
    `One call, if it comes within 10 minutes: ${call} Another agent, URL, body or method asks again.`,
  );
  t.match(window, `Every identical call for 10 minutes: ${call}`);
  t.match(coverageOf(held('https://a.example/'), 3_600_000).once, /1 hour: .* without a body/);
  t.match(coverageOf({ ...approval, opensWebSocket: true }, 90_000).once, /90 seconds.*each message on it/);
  t.end();
});

t.test('calls that differ in something that is not shown are no group', (t) => {
  const url = 'https://api.example.com/pay';
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`pad${at}`, 1]));
  const long = 'x'.repeat(300);
  const pairs: Record<string, [ReturnType<typeof held>, ReturnType<typeof held>]> = {
    'arguments beyond those that are told apart': [
      held(url, JSON.stringify({ ...many, publish: true })),
      held(url, JSON.stringify({ ...many, delete_all: true })),
    ],
    'numbers that are read as the same one': [
      held(url, '{"account":9007199254740993,"n":1}'),
      held(url, '{"account":9007199254740992,"n":1}'),
    ],
    'bytes that are no text': [held(`${url}?q=%FF&n=1`), held(`${url}?q=%FE&n=1`)],
    'values that are too long to show': [held(url, `{"to":"${long}a"}`), held(url, `{"to":"${long}b"}`)],
  };
  for (const [name, pair] of Object.entries(pairs)) {
    const groups = groupSimilar(pair);
    const isShown = groups.every(({ differs, values }) => differs === null || new Set(values).size === 2);
    t.ok(isShown, name);
  }
  t.equal(groupSimilar(pairs['values that are too long to show'] ?? []).length, 2);
  t.equal(groupSimilar(pairs['bytes that are no text'] ?? []).length, 2);
  t.end();
});
