import t from 'tap';
import {
  compilePolicies,
  type PolicyDecision,
  type RuleAction,
  ruleActions,
} from '../../src/policy/index.ts';
import { decideBy, factsOf, type GivenRule, policyOf } from './facts.ts';

const strictness: Record<RuleAction, number> = {
  ALLOW: 0,
  SANITIZE: 1,
  REQUIRE_APPROVAL: 2,
  OPEN_INCIDENT: 3,
  DENY: 3,
};
const one = (name: string, rule: GivenRule, more = {}) => policyOf(name, [rule], more);
const named = (decision: PolicyDecision) =>
  decision.decidedBy && `${decision.decidedBy.policyName}/${decision.decidedBy.ruleId}`;

t.test('within one policy the first rule by priority, then by place, decides', async (t) => {
  const rows: [rules: GivenRule[], ruleId: string | undefined][] = [
    [
      [
        { priority: 20, action: 'DENY' },
        { priority: 10, action: 'ALLOW' },
      ],
      'r1',
    ],
    [
      [
        { priority: 10, action: 'ALLOW' },
        { priority: 10, action: 'DENY' },
      ],
      'r0',
    ],
    [[{ priority: -5, match: { methods: ['GET'] } }, { priority: 0 }], 'r1'],
    [
      [
        { priority: 1, condition: { risk_score_gt: 0.9 } },
        { priority: 2, action: 'SANITIZE' },
      ],
      'r1',
    ],
    [[{ action: 'ALLOW' }, { priority: 99 }], 'r1'],
    [[{ condition: { threat_intel_match: true } }], undefined],
  ];
  for (const [rules, ruleId] of rows) {
    const decision = decideBy(rules, {});
    t.equal(decision.decidedBy?.ruleId, ruleId);
    t.equal(
      decision.matched.length,
      ruleId === undefined ? 0 : 1,
      'rules behind the deciding one are not asked',
    );
  }
});

t.test('across policies the strictest action wins, whatever their order', async (t) => {
  for (const a of ruleActions) {
    for (const b of ruleActions) {
      const policies = [one('a', { action: a, priority: 5 }), one('b', { action: b, priority: 1 })];
      const decision = compilePolicies(policies).decide(factsOf());
      const wanted = strictness[a] > strictness[b] ? a : b;
      t.equal(decision.action, wanted, `${a} and ${b}`);
      t.same(compilePolicies(policies.toReversed()).decide(factsOf()), decision);
      t.equal(decision.matched.length, 2);
      t.same(decision.matched[0], decision.decidedBy);
    }
  }
});

t.test('of equal actions the lowest priority is named, then the policy, then the rule', async (t) => {
  const same = { priority: 5 };
  t.equal(
    named(compilePolicies([one('b', same), one('c', { priority: 4 }), one('a', same)]).decide(factsOf())),
    'c/r0',
  );
  t.equal(named(compilePolicies([one('b', same), one('a', same)]).decide(factsOf())), 'a/r0');
  const [prod, all] = [
    one('a', { ...same, rule_id: 'x' }, { policyId: '2' }),
    one('a', { ...same, rule_id: 'w' }, { policyId: '1' }),
  ];
  t.equal(named(compilePolicies([prod, all]).decide(factsOf())), 'a/w');
});

t.test('a policy speaks in its environments only', async (t) => {
  const set = compilePolicies([
    one('prod', {}, { envNames: ['production', 'staging'] }),
    one('all', { action: 'ALLOW' }),
  ]);
  t.equal(set.decide(factsOf()).action, 'DENY');
  t.equal(set.decide(factsOf({ envName: 'staging' })).action, 'DENY');
  for (const envName of ['dev', '', 'Production'])
    t.equal(set.decide(factsOf({ envName })).action, 'ALLOW', envName);
});

t.test('a policy in monitor mode says what would be and decides nothing', async (t) => {
  const monitor = one(
    'watch',
    { action: 'OPEN_INCIDENT', tag: 'x', escalate_to: 'slack' },
    { mode: 'monitor' },
  );
  const alone = compilePolicies([monitor]).decide(factsOf());
  t.match(alone, {
    action: undefined,
    decidedBy: undefined,
    matched: [],
    reasonCodes: [],
    tags: [],
    escalateTo: [],
    incidentSeverity: undefined,
  });
  t.equal(alone.wouldBe, 'OPEN_INCIDENT');
  t.match(alone.explanation, [/"r0" of policy "watch".* only monitors; it would be OPEN_INCIDENT/]);
  const beside = compilePolicies([monitor, one('real', { action: 'ALLOW' })]).decide(factsOf());
  t.match(beside, {
    action: 'ALLOW',
    matched: [{ policyName: 'real' }],
    wouldBe: 'OPEN_INCIDENT',
  });
});

t.test('without policies, and where none holds, nothing is decided', async (t) => {
  for (const policies of [
    [],
    [one('a', { match: { tool_name: 'github' } })],
    [one('a', { condition: { has_data_class: ['PHI'] } })],
  ]) {
    t.match(compilePolicies(policies).decide(factsOf()), {
      action: undefined,
      matched: [],
      wouldBe: undefined,
      explanation: [],
    });
  }
});

t.test('reason codes begin with the deciding rule and tell only what takes effect', async (t) => {
  const rows: [rules: GivenRule[], codes: string[]][] = [
    [[{}], ['POLICY_DENY']],
    [[{ reason_code: 'NO_PROD' }], ['NO_PROD']],
    [[{ action: 'OPEN_INCIDENT' }, { action: 'ALLOW' }], ['POLICY_OPEN_INCIDENT']],
    [
      [{ action: 'DENY', priority: 2 }, { action: 'OPEN_INCIDENT', priority: 1 }, { priority: 3 }],
      ['POLICY_OPEN_INCIDENT', 'POLICY_DENY'],
    ],
    [
      [{ action: 'REQUIRE_APPROVAL' }, { action: 'SANITIZE', reason_code: 'CLEAN' }, { action: 'ALLOW' }],
      ['POLICY_REQUIRE_APPROVAL', 'CLEAN'],
    ],
    [[{ action: 'DENY' }, { action: 'SANITIZE' }], ['POLICY_DENY']],
  ];
  for (const [rules, codes] of rows) {
    const decision = compilePolicies(rules.map((rule, n) => one(`p${n}`, rule))).decide(factsOf());
    t.same(decision.reasonCodes, codes);
  }
});

t.test('sanitizing names the classes of the rules that sanitize', async (t) => {
  const sanitize = (...classes: string[]): GivenRule => ({
    action: 'SANITIZE',
    condition: classes.length > 0 ? { has_data_class: classes } : {},
  });
  const rows: [rules: GivenRule[], classes: string[], alsoSanitize: boolean][] = [
    [[sanitize('PII')], ['PII'], false],
    [[sanitize()], [], false],
    [[sanitize('PII'), sanitize('INTERNAL', 'PII')], ['PII', 'INTERNAL'], false],
    // One names none and means the usual ones; the other's wish is added to them.
    [[sanitize('INTERNAL'), sanitize()], ['INTERNAL', 'SECRETS', 'PII', 'PHI'], false],
    [[sanitize('PII'), { action: 'REQUIRE_APPROVAL' }], ['PII'], true],
    [[sanitize('PII'), { action: 'DENY', condition: { has_data_class: ['PII'] } }], [], false],
    [[{ action: 'REQUIRE_APPROVAL', condition: { has_data_class: ['PII'] } }], [], false],
    [[sanitize('PHI')], [], false],
  ];
  for (const [rules, classes, alsoSanitize] of rows) {
    const decision = compilePolicies(rules.map((rule, n) => one(`p${n}`, rule))).decide(
      factsOf({ classes: ['PII', 'INTERNAL'] }),
    );
    t.same([...decision.namedClasses].sort(), classes.sort());
    t.equal(decision.alsoSanitize, alsoSanitize);
  }
});

t.test('tags, escalations and incidents of every enforced rule that holds are kept', async (t) => {
  const decision = compilePolicies([
    one('a', { tag: 'x', escalate_to: 'slack' }),
    one('b', { action: 'ALLOW', tag: 'y', escalate_to: 'email' }),
    one('c', { action: 'OPEN_INCIDENT', tag: 'x', incident_severity: 'LOW', priority: 200 }),
    one('d', { action: 'OPEN_INCIDENT', incident_severity: 'CRITICAL', priority: 300 }),
    one('e', { action: 'ALLOW', incident_severity: 'MEDIUM' }),
  ]).decide(factsOf());
  t.match(decision, { action: 'DENY', decidedBy: { policyName: 'a' }, incidentSeverity: 'CRITICAL' });
  t.same(decision.tags, ['x', 'y']);
  t.same(decision.escalateTo, ['slack', 'email']);
  t.equal(decideBy([{ action: 'OPEN_INCIDENT' }], {}).incidentSeverity, 'HIGH');
  t.equal(decideBy([{ action: 'DENY', incident_severity: 'LOW' }], {}).incidentSeverity, undefined);
});

t.test('the explanation names rule and reason, and neither phrase nor content', async (t) => {
  const secret = 'project nightfall';
  const decision = decideBy(
    [
      {
        rule_id: 'r',
        condition: {
          body_contains_any: [secret],
          has_data_class: ['PII'],
          body_path_equals: { path: '$.a', value: 'classified' },
        },
      },
    ],
    { classes: ['PII'], body: { a: 'classified', b: secret } },
  );
  const text = decision.explanation.join('\n');
  t.match(
    text,
    /Rule "r" of policy "p" \(version 1\) says DENY: the call contains PII and its body contains a phrase/,
  );
  t.notMatch(text, new RegExp(`${secret}|classified`));
  t.match(decideBy([{ match: { methods: ['POST'] } }], {}).explanation, [/the call matches its methods/]);
  t.match(decideBy([{}], {}).explanation, [/it applies to every call/]);
});

t.test('the index of many tools and methods stays bounded and right', async (t) => {
  const set = compilePolicies([
    policyOf(
      'p',
      Array.from({ length: 60 }, (_, n) => ({
        match: { tool_names: [`tool${n}`], methods: [`M${n % 40}`] },
      })),
    ),
  ]);
  for (let round = 0; round < 2; round++) {
    for (let tool = 0; tool < 61; tool++) {
      for (let method = 0; method < 41; method++) {
        const decision = set.decide(
          factsOf({ method: `m${method}`, operation: { toolName: `tool${tool}` } }),
        );
        const isNamed = tool < 60 && method === tool % 40;
        if ((decision.action === 'DENY') !== isNamed) t.fail(`tool${tool} m${method}`);
      }
    }
  }
  t.equal(set.ruleCount, 60);
});

t.test('the index of many URLs stays bounded and right, also for those too long to be kept', async (t) => {
  const set = compilePolicies([
    policyOf('a', [
      { match: { url_patterns: ['https://*.example/*7'] } },
      { match: { methods: ['POST'], url_patterns: ['https://a.example/'] }, action: 'SANITIZE' },
    ]),
    policyOf('b', [{ action: 'ALLOW' }]),
  ]);
  const wrong: string[] = [];
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 5000; n++) {
      const url = `https://${n % 2 ? 'a' : 'b'}.example/${n % 5 === 0 ? 'x'.repeat(600) : ''}${n}`;
      const wanted = n % 10 === 7 ? 'DENY' : n % 2 ? 'SANITIZE' : 'ALLOW';
      const { action } = set.decide(factsOf({ url }));
      if (action !== wanted) wrong.push(`${url.slice(-20)}: ${action}, wanted ${wanted}`);
    }
  }
  t.same(wrong, []);
});
