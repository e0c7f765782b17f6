import fc from 'fast-check';
import type { BodyValue } from '../../src/core/call.ts';
import { type CompiledInput, type Facts, ruleActions } from '../../src/policy/index.ts';
import { factsOf, type GivenRule, policyOf } from './facts.ts';
import { naivePaths } from './naive.ts';

/*
 * Rules, policies and calls for the properties. Values come from small pools, so that rules and calls often meet: a property
 * over calls that no rule speaks of would show nothing.
 */

const pick = fc.constantFrom;
const listOf = <T>(...values: T[]) =>
  fc.uniqueArray(pick(...values), { minLength: 1, maxLength: 2, comparator: (a, b) => a === b });

/** A record of at most `keysMax` of the keys. */
function someOf(model: Record<string, fc.Arbitrary<unknown>>, keysMax: number) {
  return fc
    .subarray(Object.keys(model), { maxLength: keysMax })
    .chain((keys) =>
      fc.record(Object.fromEntries(keys.map((key) => [key, model[key] as fc.Arbitrary<unknown>]))),
    );
}

const agentIds = ['5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11', '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12'];
const runtimes = ['langchain', 'crewai'];
const bits = fc.boolean();
const share = pick(0, 0.3, 0.6, 1);

const match = someOf(
  {
    tool_name: pick('github', 'slack'),
    tool_names: listOf('github', 'slack', 'aws'),
    operations: listOf('create_pr', 'category:code', 'method:delete', 'method:POST', '*'),
    verbs: listOf('READ', 'WRITE', 'ADMIN'),
    methods: listOf('get', 'POST', 'Delete'),
    agent_ids: listOf(...agentIds),
    agent_runtime_types: listOf(...runtimes),
    org_patterns: listOf('acme', 'ac*', 'acme/*', '[!a]*'),
    repo_patterns: listOf('acme/*', 'app', 'acme/ap?', 'A*', '*/[a-c]*'),
    channel_patterns: listOf('#ops', 'ops-*', '*'),
    region_patterns: listOf('eu-*', 'us-east-?'),
    account_patterns: listOf('12*', '[1-3]*4'),
    aws_tags: pick({ env: 'prod' }, { env: 'prod', team: 'pay' }),
    principal_patterns: listOf('acme.com', '@acme.com$', '*.com', 'bob@*', 'octo*'),
    url_patterns: listOf(
      'https://api.x.com',
      'https://api.x.com/v1/',
      'https://*.x.com/*',
      'https://*.x.com',
      '*://api.x.com/v?/*',
      'https://*/admin*',
    ),
  },
  2,
);

const path = pick(...Object.keys(naivePaths));
const limit = fc.record({ path, value: pick(-1, 0, 5, 100) });
const zones = ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns'];
const clockTimes = ['00:00', '06:30', '09:00', '17:30', '22:00', '24:00'];

const condition = someOf(
  {
    has_data_class: listOf('SECRETS', 'PII', 'PHI', 'INTERNAL'),
    has_detector: listOf('payment-card', 'email-*', '*'),
    has_signal: listOf('PROMPT_INJECTION', 'DESTRUCTIVE'),
    body_contains_any: listOf('amount', 'Größe', 'x'),
    body_contains_all: listOf('odd', 'AMOUNT', '5'),
    body_path_equals: fc.record({ path, value: pick(5, '5', 'odd', true, null) }),
    body_path_gt: limit,
    body_path_gte: limit,
    body_path_lt: limit,
    body_path_lte: limit,
    body_size_bytes_gt: pick(0, 20, 60),
    is_external_principal: bits,
    is_new_destination: bits,
    new_resource: bits,
    is_volume_burst: bits,
    volume_burst: bits,
    risk_score_gt: share,
    trust_score_lt: fc.oneof(share, fc.constant(true)),
    threat_intel_match: bits,
    daily_budget_exceeded: pick('llm', 'other'),
    time_of_day_outside: fc
      .record({ start: pick(...clockTimes), end: pick(...clockTimes), tz: pick(...zones) })
      .filter(({ start, end }) => start !== end),
  },
  2,
).filter(
  // A key and its alias in one rule are refused.
  (keys) =>
    !('new_resource' in keys && 'is_new_destination' in keys) &&
    !('volume_burst' in keys && 'is_volume_burst' in keys),
);

const modifiers = someOf(
  {
    escalate_to: pick('slack', 'email'),
    tag: pick('x', 'y'),
    incident_severity: pick('LOW', 'MEDIUM', 'HIGH', 'CRITICAL'),
    reason_code: pick('NO_PROD', 'TOO_MUCH_9'),
  },
  2,
);

/** A rule as users write it, without its id. */
export const givenRule: fc.Arbitrary<GivenRule> = fc
  .tuple(
    fc.record({ priority: fc.integer({ min: -2, max: 2 }), match, condition, action: pick(...ruleActions) }),
    modifiers,
  )
  .map(([rule, more]) => ({ ...rule, ...more }));

export const givenRules = fc.array(givenRule, { minLength: 1, maxLength: 4 });

/** Up to four policies of up to four rules, each enforced or monitoring, for all environments or some. */
export const policies: fc.Arbitrary<CompiledInput[]> = fc
  .array(
    fc.record({
      rules: givenRules,
      mode: pick('enforce', 'enforce', 'enforce', 'monitor'),
      envNames: pick(undefined, undefined, ['production'], ['staging', 'production'], ['staging']),
    }),
    { maxLength: 4 },
  )
  .map((all) => all.map(({ rules, ...more }, n) => policyOf(`p${n}`, rules, more)));

const value: fc.Arbitrary<unknown> = pick(
  -5,
  0,
  5,
  101,
  '5',
  ' +5e3 ',
  'odd',
  '5 EUR',
  '',
  true,
  'true',
  null,
  {
    amount: 6,
  },
);
const body = someOf(
  {
    amount: value,
    Amount: value,
    order: fc.record({ amount: value }),
    items: fc.array(fc.oneof(value, fc.record({ amount: value }), fc.record({ AMOUNT: value })), {
      maxLength: 3,
    }),
    'odd name': value,
    odd_name: value,
    text: pick('die GRÖßE', 'nothing', 'x'),
  },
  3,
);

interface GivenBody {
  readonly kind: BodyValue['kind'];
  readonly readings: readonly unknown[];
}

/** A body of one reading, of several, without structure, or that does not tell (with every name in it that a path asks for). */
const bodyFacts = fc.oneof(
  { weight: 4, arbitrary: body.map((it): GivenBody => ({ kind: 'value', readings: [it] })) },
  fc.tuple(body, body).map((readings): GivenBody => ({ kind: 'value', readings })),
  fc.constant<GivenBody>({ kind: 'none', readings: ['plain text of odd amount 5'] }),
  fc.constant<GivenBody>({
    kind: 'unclear',
    readings: ['{"amount":1,"amount":2,"order":1,"items":[],"odd name":0}'],
  }),
);

const resource = someOf(
  {
    org: pick('acme', 'ACME', 'other', 'acme,other'),
    repo: pick('acme/app', 'Acme/App', 'other/code', 'acme/app,other/code', '4711'),
    channel: pick('#ops', 'ops-eu', '#ops,#ops-eu', 'general'),
    region: pick('eu-west-1', 'us-east-1', 'EU-west-1'),
    account: pick('1234', '999'),
    tags: pick(
      { env: ['prod'] },
      { env: ['prod'], team: ['pay'] },
      { env: ['dev'] },
      { env: ['prod', 'dev'] },
    ),
    unknown: pick(['repo'], ['org', 'repo'], ['channel'], ['region', 'account']),
  },
  4,
);

/** A call, by all that a rule may ask of it. */
export const call: fc.Arbitrary<Facts> = fc
  .tuple(
    fc.record({
      envName: pick('production', 'production', 'staging', 'dev'),
      url: pick(
        'https://api.x.com/v1/a',
        'https://api.x.com/v10/a',
        'https://api.x.com:8443/v1/',
        'https://a.b.x.com/',
        'https://api.x.com.evil.example/v1/',
        'http://api.x.com/v2/z?q=1',
        'https://h.example/admin/x',
        'https://evil.example/?.x.com/',
      ),
      method: pick('GET', 'post', 'DELETE'),
      overridingMethods: pick([], [], [], ['DELETE'], ['GET', 'POST']),
      agentId: pick(...agentIds),
      runtimeType: pick(undefined, ...runtimes),
      ownAgent: fc.record({ agentId: pick(...agentIds), runtimeType: pick(null, ...runtimes) }),
      nowMs: fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) }),
      classes: fc.subarray(['SECRETS', 'PII', 'PHI', 'INTERNAL'] as const).map((it) => [...it]),
      detectors: fc.subarray(['payment-card', 'email-address']).map((it) => [...it]),
      signals: fc.subarray(['PROMPT_INJECTION', 'LOW_TRUST'] as const).map((it) => [...it]),
      riskScore: share,
      trustScore: share,
      isNewDestination: bits,
      isExternalPrincipal: bits,
      isVolumeBurst: bits,
      threatIntelMatch: bits,
      budgetsExceeded: pick([], ['llm']),
    }),
    fc.record({
      toolName: pick('github', 'slack', 'custom_proxy'),
      name: pick('create_pr', 'merge_pr'),
      category: pick('code', 'http'),
      verb: pick('READ', 'WRITE', 'ADMIN'),
      resource,
      principals: fc.subarray(['bob@acme.com', 'Bob@mail.acme.com', 'eve@evil.com', 'OctoCat', 'octopus']),
    }),
    bodyFacts,
  )
  .map(([given, operation, { kind, readings }]) =>
    factsOf({
      ...given,
      operation,
      body: readings.map((it) => (typeof it === 'string' ? it : JSON.stringify(it))).join('\n'),
      bodyValue: () => (kind === 'value' ? { kind, readings } : { kind }),
    }),
  );
