import t from 'tap';
import { CaseFileError, openCases } from '../../../src/decision/approvals/cases.ts';
import { withCandidates } from '../../../src/decision/candidates.ts';
import type { Lack } from '../../../src/decision/simulation/call-of-trace.ts';
import { compilePartial } from '../../../src/decision/simulation/partial-rules.ts';
import { jsonElementSpans } from '../../../src/inspect/redact/locate.ts';
import { validatePolicy } from '../../../src/policy/validate.ts';
import { rulesMax } from '../../../src/state/rules/policy-bounds.ts';
import { factsOf } from '../../policy/facts.ts';
import { gitlabToken } from '../../support/secrets.ts';

const cases = await openCases();

const policy = {
  name: 'github',
  rules: [
    { rule_id: 'reads', priority: 1, match: { verbs: ['READ'] }, action: 'ALLOW' },
    {
      rule_id: 'spent',
      priority: 2,
      condition: { daily_budget_exceeded: 'tokens' },
      action: 'DENY',
      reason_code: 'SPENT',
    },
    {
      rule_id: 'strangers',
      priority: 3,
      match: { tool_name: 'github' },
      condition: { is_external_principal: true },
      action: 'REQUIRE_APPROVAL',
    },
  ],
};
const readPolicies = async (path: string): Promise<unknown[]> => (path === 'github.yaml' ? [policy] : []);
const call = { method: 'POST', url: 'https://api.github.com/repos/acme/app/issues', body: { title: 'a' } };
const file = (...cases: object[]) => ({
  policies: ['github.yaml'],
  tenant: { org_domains: ['acme.com'], budgets: [{ name: 'tokens', daily: 1 }] },
  cases,
});

t.test('cases are judged offline, each by itself', async (t) => {
  const secret = gitlabToken();
  const expectations: readonly [name: string, call: object, expect: object, ok: boolean][] = [
    ['reads', { ...call, method: 'GET', body: undefined }, { decision: 'ALLOW', rule: 'reads' }, true],
    ['no rule', call, { decision: 'ALLOW', rule: null }, true],
    ['another rule', call, { decision: 'ALLOW', rule: 'reads' }, false],
    ['another decision', call, { decision: 'DENY' }, false],
    [
      'a fact',
      { ...call, facts: { exceeded_budgets: ['tokens'] } },
      { decision: 'DENY', reasons: ['SPENT'], rule: 'spent' },
      true,
    ],
    [
      'a reason that is not there',
      { ...call, facts: { exceeded_budgets: ['tokens'] } },
      { decision: 'DENY', reasons: ['POLICY_DENY'] },
      false,
    ],
    ['held', { ...call, facts: { is_external_principal: true } }, { decision: 'REQUIRE_APPROVAL' }, true],
    [
      'suspended',
      { ...call, facts: { agent_status: 'suspended' } },
      { decision: 'DENY', reasons: ['AGENT_SUSPENDED'], rule: null },
      true,
    ],
    [
      'the posture',
      { ...call, url: 'https://paste.example/', body: { key: secret } },
      { decision: 'SANITIZE', reasons: ['SECRETS'] },
      true,
    ],
    [
      'a text',
      { ...call, url: 'https://paste.example/', body: `key ${secret}` },
      { decision: 'SANITIZE' },
      true,
    ],
    ['an environment', { ...call, env: 'staging' }, { decision: 'ALLOW' }, true],
  ];
  const written = file(...expectations.map(([name, call, expect]) => ({ name, call, expect })));
  const results = await cases.run(JSON.parse(JSON.stringify(written)), readPolicies);
  for (const [index, [name, , , ok]] of expectations.entries())
    t.match(results[index], { name, ok }, `${name}: ${JSON.stringify(results[index]?.actual.decision)}`);
  t.match(results[4]?.actual, {
    policyName: 'github',
    reasonCodes: ['SPENT'],
    explanation: [/"spent" of policy "github"/],
  });
});

t.test('what is wrong with a case file is said with its place, all of it', async (t) => {
  const expect = { decision: 'ALLOW' };
  const one = { name: 'a', call, expect };
  const wrong: readonly [name: string, file: unknown, ...errors: [path: string, message: RegExp][]][] = [
    ['nothing', null, ['', /^must be an object$/]],
    ['a text', 'cases', ['', /^must be an object \(it is "cases"\)$/]],
    ['no fields', {}, ['policies', /^is missing$/], ['cases', /^is missing$/]],
    ['no cases', file(), ['cases', /^must have a case$/]],
    ['no policies', { ...file(one), policies: [] }, ['policies', /^must name a policy file$/]],
    [
      'more than 10,000 cases',
      file(...Array(10_001).fill(one)),
      ['cases', /^must have at most 10000 entries$/],
    ],
    [
      'more than 100 policy files',
      { ...file(one), policies: Array(101).fill('github.yaml') },
      ['policies', /^must have at most 100 entries$/],
    ],
    [
      'a relative URL',
      file({ ...one, call: { ...call, url: '/x' } }),
      ['cases[0].call.url', /^must be an absolute URL \(it is "\/x"\)$/],
    ],
    [
      'a header of objects',
      file({ ...one, call: { ...call, headers: { a: {} } } }),
      ['cases[0].call.headers.a', /^must be a text or a list of texts$/],
    ],
    ['a number as name', file({ ...one, name: 7 }), ['cases[0].name', /^must be a text \(it is 7\)$/]],
    [
      'misspelt keys',
      { ...file({ ...one, expects: {}, call: { ...call, methd: 'GET' } }), tenants: {} },
      ['cases[0].call.methd', /^methd is not a key here; did you mean method\?$/],
      ['cases[0].expects', /^expects is not a key here; did you mean expect\?$/],
      ['tenants', /^tenants is not a key here; did you mean tenant\?$/],
    ],
    [
      'misspelt words',
      file(
        { name: 'a', call, expect: { decision: 'DENYY' } },
        { ...one, expect: { decision: 3 } },
        { ...one, name: '' },
      ),
      ['cases[0].expect.decision', /^"DENYY" is not valid: did you mean DENY\?$/],
      ['cases[1].expect.decision', /^must be one of ALLOW, .* \(it is 3\)$/],
      ['cases[2].name', /^must have at least 1 characters/],
    ],
    [
      'a tenant that is none',
      { ...file(one), tenant: { org_domain: [] } },
      ['tenant.org_domain', /did you mean/],
    ],
    [
      'an environment that is none',
      { ...file({ ...one, call: { ...call, env: 'prodution' } }), tenant: { environments: ['production'] } },
      ['cases[0].call.env', /^"prodution" is not an environment of the tenant: did you mean production\?$/],
    ],
    [
      'unknown facts',
      file({ ...one, call: { ...call, facts: { mood: 1, trust: 1, riskscore: 1 } } }),
      ['cases[0].call.facts.mood', /^mood is not a key here; valid are now, runtime_type, /],
      ['cases[0].call.facts.trust', /did you mean trust_score\?$/],
      ['cases[0].call.facts.riskscore', /did you mean risk_score\?$/],
    ],
    [
      'a fact beyond its bounds',
      file({ ...one, call: { ...call, facts: { risk_score: 2, now: 'yesterday' } } }),
      ['cases[0].call.facts.now', /^must be a time such as .* \(it is "yesterday"\)$/],
      ['cases[0].call.facts.risk_score', /^must be at most 1 \(it is 2\)$/],
    ],
  ];
  const errorsOf = async (written: unknown) => {
    const thrown = await cases.run(written, readPolicies).catch((error: unknown) => error);
    return thrown instanceof CaseFileError ? thrown.errors : [];
  };
  for (const [name, written, ...errors] of wrong) {
    const found = await errorsOf(written);
    t.match(
      found,
      errors.map(([path, message]) => ({ path, message })),
      name,
    );
    t.equal(found.length, errors.length, name);
  }
  const nameless = { ...one, name: 7 };
  t.equal((await errorsOf(file(...Array(100).fill(nameless)))).length, 50, 'no more than fifty are told');
  const away = file(...Array(100).fill({ ...one, call: { ...call, env: 'moon' } }));
  const tenant = { environments: ['production'] };
  t.equal((await errorsOf({ ...away, tenant })).length, 50, 'nor of environments');
  const bad = async () => [
    { name: 'x', rules: [{ rule_id: 'r', action: 'DENY', condition: { has_dataclass: [] } }] },
  ];
  await t.rejects(cases.run(file(one), bad), {
    errors: [
      { path: 'github.yaml[0] rules[0].condition.has_dataclass', message: /did you mean has_data_class/ },
    ],
  });
});

const documentOf = (rules: readonly object[], fields: object = {}) => {
  const result = validatePolicy({ name: 'p', rules, ...fields }, {});
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.policy;
};

t.test('candidates are within the bounds on what a tenant may have', async (t) => {
  const rules = Array.from({ length: 1000 }, (_, index) => ({ rule_id: `r${index}`, action: 'DENY' }));
  const many = Array.from({ length: rulesMax / 1000 + 1 }, (_, index) =>
    documentOf(rules, { name: `p${index}` }),
  );
  t.throws(() => withCandidates([], many, true), { code: 'VALIDATION_FAILED' });
  t.equal(withCandidates([], many.slice(1), true).length, many.length - 1);
});

const word = { body_contains_any: ['x'] };
const url = ['https://api.test.example/*'];
const bodyAlone: readonly Lack[] = ['body'];
const partialCases: readonly {
  readonly name: string;
  readonly rules: readonly object[];
  readonly others?: readonly object[];
  readonly lacks?: readonly Lack[];
  readonly doubt: boolean;
}[] = [
  {
    name: 'rules that ask for nothing lacking',
    rules: [{ action: 'DENY', match: { verbs: ['WRITE'] } }],
    doubt: false,
  },
  { name: 'a rule that needs the body', rules: [{ action: 'DENY', condition: word }], doubt: true },
  {
    name: 'the same where the body is known',
    rules: [{ action: 'DENY', condition: word }],
    lacks: [],
    doubt: false,
  },
  {
    name: 'one that cannot hold for another reason',
    rules: [{ action: 'DENY', condition: word, match: { verbs: ['ADMIN'] } }],
    doubt: false,
  },
  {
    name: 'one behind a rule that holds',
    rules: [{ action: 'DENY' }, { action: 'ALLOW', condition: word }],
    doubt: false,
  },
  {
    name: 'one before a rule that holds',
    rules: [{ action: 'ALLOW', condition: word }, { action: 'DENY' }],
    doubt: true,
  },
  {
    name: 'one before a rule that says the same',
    rules: [{ action: 'OPEN_INCIDENT', condition: word }, { action: 'DENY' }],
    doubt: false,
  },
  {
    name: 'one that a stricter policy makes idle',
    rules: [{ action: 'SANITIZE', condition: word }],
    others: [{ action: 'DENY' }],
    doubt: false,
  },
  {
    name: 'one that is stricter than the other policy',
    rules: [{ action: 'DENY', condition: word }],
    others: [{ action: 'SANITIZE' }],
    doubt: true,
  },
  {
    name: 'one that sanitizes beside an approval',
    rules: [{ action: 'SANITIZE', condition: word }],
    others: [{ action: 'REQUIRE_APPROVAL' }],
    doubt: true,
  },
  {
    name: 'an URL that is not whole',
    rules: [{ action: 'DENY', match: { url_patterns: url } }],
    lacks: ['url'],
    doubt: true,
  },
  {
    name: 'a resource that is not known',
    rules: [{ action: 'DENY', match: { org_patterns: ['a'] } }],
    lacks: ['resource'],
    doubt: true,
  },
  {
    name: 'trust, which no trace has',
    rules: [{ action: 'DENY', condition: { trust_score_lt: 0.5 } }],
    lacks: [],
    doubt: true,
  },
];

for (const { name, rules, others = [], lacks = bodyAlone, doubt } of partialCases) {
  t.test(`${name} ${doubt ? 'leaves' : 'leaves no'} doubt`, async (t) => {
    const inputs = [rules, others]
      .filter((it) => it.length > 0)
      .map((it, at) =>
        documentOf(
          it.map((rule, index) => ({ rule_id: `r${index}`, ...rule })),
          { name: `p${at}` },
        ),
      );
    const partial = compilePartial(withCandidates([], inputs, true), lacks);
    const because = partial.doubts(factsOf({ method: 'POST' }));
    t.equal(because !== undefined, doubt, because ?? 'no doubt');
  });
}

t.test('monitoring policies leave no doubt, since they decide nothing', async (t) => {
  const monitors = documentOf([{ rule_id: 'r', action: 'DENY', condition: word }], { mode: 'monitor' });
  t.equal(compilePartial(withCandidates([], [monitors], true), ['body']).doubts(factsOf({})), undefined);
});

t.test('the elements of a list stand where they were written', async (t) => {
  for (const [text, want] of [
    ['[]', []],
    [' [ ] ', []],
    ['[1, {"a": [2, "]"]} ,"x"]', ['1', '{"a": [2, "]"]}', '"x"']],
    ['[[1,2],[]]', ['[1,2]', '[]']],
    ['{"a":1}', []],
    ['', []],
  ] as const) {
    const bytes = Buffer.from(text);
    t.same(
      jsonElementSpans(bytes).map(({ start, end }) => bytes.toString('utf8', start, end)),
      want,
      text,
    );
  }
});
