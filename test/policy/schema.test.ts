import t from 'tap';
import { type KnownNames, parseStoredRules, validatePolicy } from '../../src/policy/index.ts';
import { nearest } from '../../src/util/nearest.ts';

const known: KnownNames = {
  environments: ['production', 'staging'],
  budgets: ['llm'],
  channelKinds: ['slack'],
};
const minimal = { rule_id: 'a', action: 'DENY' };
const withRule = (rule: object) => ({ name: 'p', rules: [{ ...minimal, ...rule }] });
const check = (value: unknown) => validatePolicy(value, known);
const errorsOf = (value: unknown) => {
  const validation = check(value);
  return validation.ok ? [] : validation.errors;
};
const many = (length: number, value: unknown = 'x') => Array.from({ length }, () => value);

const everything = {
  rule_id: 'all',
  priority: 10,
  match: {
    tool_name: 'aws',
    tool_names: ['aws', 'github'],
    operations: ['create_pr', 'category:code', 'method:POST', '*'],
    verbs: ['READ', 'WRITE', 'ADMIN'],
    agent_ids: ['5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11'],
    agent_runtime_types: ['langgraph'],
    org_patterns: ['acme-*'],
    repo_patterns: ['acme/*'],
    channel_patterns: ['#ops'],
    region_patterns: ['eu-*'],
    account_patterns: ['1*'],
    aws_tags: { env: 'prod' },
    principal_patterns: ['@acme.com$'],
    methods: ['POST'],
    url_patterns: ['https://api.x.com/', 'https://*.x.com/*'],
  },
  condition: {
    has_data_class: ['SECRETS', 'PII', 'PHI', 'INTERNAL'],
    body_contains_any: ['x'],
    body_contains_all: ['x', 'y'],
    body_path_equals: { path: '$.a', value: null },
    body_path_gt: { path: '$.a', value: 1 },
    body_path_gte: { path: '$.a.b', value: 1 },
    body_path_lt: { path: '$.a[*].b', value: 1 },
    body_path_lte: { path: "$['a b']", value: 1 },
    body_size_bytes_gt: 1000,
    is_external_principal: true,
    is_new_destination: false,
    is_volume_burst: true,
    risk_score_gt: 0.5,
    trust_score_lt: 0.4,
    threat_intel_match: true,
    daily_budget_exceeded: 'llm',
    time_of_day_outside: { start: '09:00', end: '17:00', tz: 'Europe/Berlin' },
  },
  action: 'OPEN_INCIDENT',
  escalate_to: 'slack',
  tag: 'reviewed',
  incident_severity: 'HIGH',
  reason_code: 'NO_PROD_9',
};

t.test('a rule with every key is valid and parses to itself', async (t) => {
  const validation = check({
    name: 'P 1._-',
    description: 'd',
    env_name: 'production',
    mode: 'monitor',
    rules: [everything],
  });
  t.match(validation, {
    ok: true,
    warnings: [],
    policy: { name: 'P 1._-', envNames: ['production'], mode: 'monitor' },
  });
  if (!validation.ok) return;
  t.same(validation.policy.rules, [everything]);
  t.same(parseStoredRules(JSON.parse(JSON.stringify(validation.policy.rules))), [everything]);
});

t.test('what is left out has its default, and aliases their names', async (t) => {
  const validation = check({
    ...withRule({ condition: { new_resource: true, volume_burst: false, trust_score_lt: true } }),
    env_name: null,
  });
  t.match(validation, {
    ok: true,
    policy: { description: '', mode: 'enforce', envNames: undefined, tenants: undefined },
  });
  if (!validation.ok) return;
  const [rule] = validation.policy.rules;
  t.match(rule, { priority: 100, match: {} });
  t.same(rule?.condition, { is_new_destination: true, is_volume_burst: false, trust_score_lt: 0.6 });
});

t.test('mistakes are named with path, value and the nearest valid word', async (t) => {
  const rows: [value: unknown, path: string, message: RegExp][] = [
    [null, '', /must be an object/],
    [[], '', /must be an object/],
    [{ rules: [minimal] }, 'name', /is missing/],
    [{ name: 'a/b', rules: [minimal] }, 'name', /1 to 128 letters.*"a\/b"/],
    [{ name: 'a'.repeat(129), rules: [minimal] }, 'name', /1 to 128/],
    [{ name: 'p' }, 'rules', /is missing/],
    [{ name: 'p', rules: {} }, 'rules', /must be a list/],
    [{ name: 'p', rules: [] }, 'rules', /at least one rule/],
    [{ name: 'p', rules: [null] }, 'rules[0]', /must be an object/],
    [{ name: 'p', rules: many(1001, minimal) }, 'rules', /not have more than 1000 rules/],
    [
      { name: 'p', rules: [minimal, { ...minimal, action: 'ALLOW' }] },
      'rules[1].rule_id',
      /rule_id of rules\[0\] already/,
    ],
    [{ ...withRule({}), env_name: 'prodution' }, 'env_name', /did you mean production\?/],
    [{ ...withRule({}), env_names: ['staging', 'x'] }, 'env_names[1]', /one of production, staging/],
    [{ ...withRule({}), env_names: [] }, 'env_names', /must not be empty/],
    [{ ...withRule({}), env_name: 'staging', env_names: ['staging'] }, 'env_names', /give one of them/],
    [{ ...withRule({}), mode: 'monitoring' }, 'mode', /did you mean monitor\?/],
    [{ ...withRule({}), description: 'x'.repeat(2001) }, 'description', /2000/],
    [
      withRule({ condition: { has_dataclass: ['PII'] } }),
      'rules[0].condition.has_dataclass',
      /^has_dataclass is not a key here; did you mean has_data_class\?$/,
    ],
    [
      withRule({ match: { has_data_class: ['PII'] } }),
      'rules[0].match.has_data_class',
      /belongs in condition/,
    ],
    [withRule({ condition: { methods: ['GET'] } }), 'rules[0].condition.methods', /belongs in match/],
    [withRule({ match: { priority: 1 } }), 'rules[0].match.priority', /belongs in the rule itself/],
    [withRule({ priorty: 1 }), 'rules[0].priorty', /did you mean priority\?/],
    [withRule({ match: { zzz: 1 } }), 'rules[0].match.zzz', /not a key here; valid are tool_name,/],
    [
      withRule({ match: JSON.parse('{"__proto__":{"methods":["GET"]}}') }),
      'rules[0].match.__proto__',
      /not a key here/,
    ],
    [withRule({ action: 'DNEY' }), 'rules[0].action', /"DNEY" is not valid: did you mean DENY\?/],
    [withRule({ action: 'deny' }), 'rules[0].action', /did you mean DENY\?/],
    [withRule({ action: undefined }), 'rules[0].action', /one of|missing/],
    [withRule({ rule_id: '' }), 'rules[0].rule_id', /must not be empty/],
    [withRule({ rule_id: 'a\nb' }), 'rules[0].rule_id', /control characters/],
    [withRule({ priority: 1.5 }), 'rules[0].priority', /whole number/],
    [withRule({ priority: '1' }), 'rules[0].priority', /must be a number.*"1"/],
    [withRule({ match: null }), 'rules[0].match', /must be an object/],
    [withRule({ match: { tool_names: [] } }), 'rules[0].match.tool_names', /leave the key out/],
    [
      withRule({ match: { tool_names: 'github' } }),
      'rules[0].match.tool_names',
      /must be a list \(it is "github"\)/,
    ],
    [withRule({ match: { tool_names: many(501) } }), 'rules[0].match.tool_names', /more than 500/],
    [withRule({ match: { tool_name: 'x'.repeat(129) } }), 'rules[0].match.tool_name', /128/],
    [withRule({ match: { operations: ['Method:GET'] } }), 'rules[0].match.operations[0]', /method:<VERB>/],
    [
      withRule({ match: { operations: ['category: code'] } }),
      'rules[0].match.operations[0]',
      /category:<name>/,
    ],
    [withRule({ match: { operations: ['method:'] } }), 'rules[0].match.operations[0]', /method:<VERB>/],
    [withRule({ match: { verbs: ['write'] } }), 'rules[0].match.verbs[0]', /did you mean WRITE\?/],
    [withRule({ match: { methods: ['PO ST'] } }), 'rules[0].match.methods[0]', /not an HTTP method/],
    [withRule({ match: { agent_ids: ['bot'] } }), 'rules[0].match.agent_ids[0]', /not a UUID/],
    [withRule({ match: { repo_patterns: ['{a,b}/*'] } }), 'rules[0].match.repo_patterns[0]', /braces/],
    [
      withRule({ match: { org_patterns: ['^acme$'] } }),
      'rules[0].match.org_patterns[0]',
      /regular expression/,
    ],
    [withRule({ match: { region_patterns: ['x'.repeat(600)] } }), 'rules[0].match.region_patterns[0]', /512/],
    [
      withRule({ match: { url_patterns: ['api.x.com'] } }),
      'rules[0].match.url_patterns[0]',
      /must begin with a scheme/,
    ],
    [
      withRule({ action: 'ALLOW', match: { url_patterns: ['*.x.com/*'] } }),
      'rules[0].match.url_patterns[0]',
      /in a rule that allows/,
    ],
    [
      withRule({ match: { aws_tags: JSON.parse('{"__proto__":"x"}') } }),
      'rules[0].match.aws_tags.__proto__',
      /tag name/,
    ],
    [withRule({ match: { aws_tags: {} } }), 'rules[0].match.aws_tags', /1 to 50 tags/],
    [
      withRule({ match: { aws_tags: Object.fromEntries(many(51).map((_, n) => [`t${n}`, 'x'])) } }),
      'rules[0].match.aws_tags',
      /1 to 50/,
    ],
    [withRule({ match: { aws_tags: { env: 1 } } }), 'rules[0].match.aws_tags.env', /must be a text/],
    [
      withRule({ condition: { has_data_class: ['SECRET'] } }),
      'rules[0].condition.has_data_class[0]',
      /did you mean SECRETS\?/,
    ],
    [
      withRule({ condition: { is_new_destination: 'yes' } }),
      'rules[0].condition.is_new_destination',
      /true or false/,
    ],
    [
      withRule({ condition: { is_new_destination: true, new_resource: true } }),
      'rules[0].condition.new_resource',
      /another name/,
    ],
    [withRule({ condition: { risk_score_gt: 1.1 } }), 'rules[0].condition.risk_score_gt', /1/],
    [withRule({ condition: { trust_score_lt: false } }), 'rules[0].condition.trust_score_lt', /true for 0.6/],
    [
      withRule({ condition: { body_contains_any: [''] } }),
      'rules[0].condition.body_contains_any[0]',
      /must not be empty/,
    ],
    [
      withRule({ condition: { body_contains_all: ['x'.repeat(513)] } }),
      'rules[0].condition.body_contains_all[0]',
      /512/,
    ],
    [
      withRule({ condition: { body_path_gt: { path: '$..a', value: 1 } } }),
      'rules[0].condition.body_path_gt.path',
      /is not a path/,
    ],
    [
      withRule({ condition: { body_path_gt: { path: '$.a', value: '1' } } }),
      'rules[0].condition.body_path_gt.value',
      /must be a number/,
    ],
    [
      withRule({ condition: { body_path_gt: { path: '$.a', vlaue: 1, value: 1 } } }),
      'rules[0].condition.body_path_gt.vlaue',
      /did you mean value\?/,
    ],
    [
      withRule({ condition: { body_path_equals: { path: '$.a', value: [1] } } }),
      'rules[0].condition.body_path_equals.value',
      /text, a number/,
    ],
    [withRule({ condition: { body_size_bytes_gt: -1 } }), 'rules[0].condition.body_size_bytes_gt', /0/],
    [
      withRule({ condition: { time_of_day_outside: { start: '9:00', end: '17:00' } } }),
      'rules[0].condition.time_of_day_outside.start',
      /08:30/,
    ],
    [
      withRule({ condition: { time_of_day_outside: { start: '09:00', end: '25:00' } } }),
      'rules[0].condition.time_of_day_outside.end',
      /08:30/,
    ],
    [
      withRule({ condition: { time_of_day_outside: { start: '09:00', end: '09:00' } } }),
      'rules[0].condition.time_of_day_outside',
      /same time/,
    ],
    [
      withRule({ condition: { time_of_day_outside: { start: '09:00', end: '17:00', tz: 'Europe/Berln' } } }),
      'rules[0].condition.time_of_day_outside.tz',
      /not a time zone/,
    ],
    [withRule({ reason_code: 'no-prod' }), 'rules[0].reason_code', /A-Z/],
    [withRule({ incident_severity: 'high' }), 'rules[0].incident_severity', /did you mean HIGH\?/],
    [withRule({ escalate_to: 3 }), 'rules[0].escalate_to', /must be a text/],
  ];
  for (const [value, path, message] of rows) {
    const errors = errorsOf(value);
    const error = errors.find((error) => error.path === path);
    t.match(
      error?.message,
      message,
      `${path} of ${JSON.stringify(value).slice(0, 120)}: ${JSON.stringify(errors)}`,
    );
  }
});

t.test('all mistakes are answered at once, up to a bound', async (t) => {
  t.equal(
    errorsOf(withRule({ action: 'X', priorty: 1, match: { verb: [] }, condition: { foo: 1 } })).length,
    4,
  );
  t.equal(errorsOf({ name: 'p', rules: many(200, { rule_id: 1 }) }).length, 50);
  const keys = Object.fromEntries(many(5000, 1).map((it, i) => [`key${i}`, it]));
  t.equal(errorsOf(withRule({ match: keys, condition: keys })).length, 50, 'of one place, too');
  const long = errorsOf(withRule({ ['x'.repeat(5000)]: 1, action: 'y'.repeat(5000) }));
  t.ok(
    long.every(({ path, message }) => path.length + message.length < 1000),
    'a long value is quoted in part',
  );
});

t.test('rules of the store that cannot be read are not skipped', async (t) => {
  t.throws(() => parseStoredRules([{ ...minimal, condition: { from_the_future: true } }]));
});

t.test('the nearest word allows for one mistake in three letters', async (t) => {
  const words = ['has_data_class', 'priority', 'DENY', 'ALLOW'];
  const rows: [word: string, found: string | undefined][] = [
    ['has_dataclass', 'has_data_class'],
    ['prioirty', 'priority'],
    ['DNEY', 'DENY'],
    ['alow', 'ALLOW'],
    ['x', undefined],
    ['', undefined],
    ['something_else', undefined],
    ['p'.repeat(100_000), undefined],
  ];
  for (const [word, found] of rows) t.equal(nearest(word, words), found, word.slice(0, 20));
});
