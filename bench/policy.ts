/*
 * What deciding costs a call: `node bench/policy.ts`. Prints the median and the best round of each case in microseconds, beside
 * the goal. The bodies are those of the load generator: plain words in JSON, with nothing in them that a rule looks for.
 */
import type { Facts } from '../src/policy/facts.ts';
import { type CompiledInput, compilePolicies, type PolicySet, validatePolicy } from '../src/policy/index.ts';
import { parseTarget } from '../src/target.ts';

const rounds = 15;
const roundMs = 60;
const words =
  'model assistant please summarise the quarterly report and list open items for team with dates'.split(' ');

function body(bytes: number): Buffer {
  let text = '{"model":"gpt-x","max_tokens":1024,"messages":[{"role":"user","content":"';
  for (let seed = 12345; text.length < bytes - 20; ) {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    text += `${words[(seed >>> 16) % words.length]} `;
  }
  return Buffer.from(`${text}"}]}`);
}

function facts(bytes: number): Facts {
  const text = body(bytes);
  return {
    envName: 'production',
    operation: {
      toolName: 'custom_proxy',
      name: 'POST',
      category: 'http',
      verb: 'WRITE',
      resource: {},
      principals: [],
    },
    method: 'POST',
    target: parseTarget('https://localhost:18443/v1/x'),
    agentId: '5b0c7f0e-0000-4000-8000-000000000001',
    runtimeType: 'langchain',
    nowMs: 1_790_000_000_000,
    classes: [],
    riskScore: 0.1,
    bodyBytes: text.length,
    bodyTexts: [text],
    bodyValue: () => ({ kind: 'value', readings: [JSON.parse(text.toString('utf8'))] }),
    bodyHidesNames: false,
    overridingMethods: [],
    ownAgent: { agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11', runtimeType: null },
    isNewDestination: false,
    isExternalPrincipal: true,
    isVolumeBurst: false,
    trustScore: 1,
    threatIntelMatch: false,
    isBudgetExceeded: () => false,
  };
}

function policy(name: string, rules: readonly object[]): CompiledInput {
  const numbered = rules.map((rule, index) => ({ rule_id: `${name}-${index}`, priority: index, ...rule }));
  const validation = validatePolicy({ name, rules: numbered }, {});
  if (!validation.ok) throw new Error(JSON.stringify(validation.errors));
  const { mode, envNames, rules: parsed } = validation.policy;
  return { policyId: name, policyName: name, version: 1, envNames, mode, rules: parsed };
}

/** The policies that `bench/run` gives a gateway: every call evaluates all of them and none decides. */
function benchPolicies(count: number): CompiledInput[] {
  return Array.from({ length: count }, (_, n) =>
    policy(`bench-${n}`, [
      {
        match: { tool_names: ['github', 'slack', 'aws'], verbs: ['WRITE'] },
        condition: { has_data_class: ['SECRETS', 'PHI'] },
        action: 'DENY',
      },
      {
        condition: { body_contains_any: [`drop table orders_${n}`, `project nightfall ${n}`] },
        action: 'REQUIRE_APPROVAL',
      },
      { match: { methods: ['POST'], url_patterns: [`https://*.partner-${n}.example/*`] }, action: 'DENY' },
      {
        match: { methods: ['POST', 'PUT'] },
        condition: { body_path_gt: { path: '$.amount', value: 1000 * n } },
        action: 'SANITIZE',
      },
    ]),
  );
}

/** 1,000 rules as a large customer has them: most of them for one tool, some for every call. */
function manyPolicies(): CompiledInput[] {
  const tools = [
    'github',
    'slack',
    'aws',
    'stripe',
    'notion',
    'jira',
    'openai',
    'gmail',
    'custom_proxy',
    'a2a',
  ];
  return Array.from({ length: 50 }, (_, n) =>
    policy(
      `large-${n}`,
      Array.from({ length: 20 }, (_, m) => ({
        match: m % 5 === 4 ? {} : { tool_names: [tools[(n + m) % tools.length]], verbs: ['WRITE', 'ADMIN'] },
        condition: [
          { has_data_class: ['PHI'], risk_score_gt: 0.5 },
          { body_contains_any: [`codename ${n} ${m}`, `secret plan ${m} ${n}`] },
          { body_path_gte: { path: `$.items[*].amount_${m}`, value: n } },
          { trust_score_lt: true, is_new_destination: true },
        ][(n + m) % 4],
        action: 'DENY',
      })),
    ),
  );
}

function measure(title: string, goalUs: number, set: PolicySet, call: Facts): void {
  const once = (): number => {
    const until = process.hrtime.bigint() + BigInt(roundMs * 1e6);
    const start = process.hrtime.bigint();
    let calls = 0;
    for (; process.hrtime.bigint() < until; calls += 20) for (let n = 0; n < 20; n++) set.decide(call);
    return Number(process.hrtime.bigint() - start) / 1000 / calls;
  };
  const results = Array.from({ length: rounds }, once).sort((a, b) => a - b);
  const [best = 0, median = 0] = [results[0], results[rounds >> 1]];
  console.log(
    `${title.padEnd(52)} median ${median.toFixed(2).padStart(8)} us   best ${best.toFixed(2).padStart(8)} us   goal ${goalUs} us`,
  );
}

const start = performance.now();
const bench = compilePolicies(benchPolicies(50));
const large = compilePolicies(manyPolicies());
console.log(
  `compiled ${bench.ruleCount} and ${large.ruleCount} rules in ${(performance.now() - start).toFixed(0)} ms`,
);
measure('no policies', 0.1, compilePolicies([]), facts(2048));
measure('50 policies of the load test, 2 KB', 6, bench, facts(2048));
measure('50 policies of the load test, 64 KB', 40, bench, facts(65_536));
measure('1,000 rules in 50 policies, 2 KB', 100, large, facts(2048));
measure('1,000 rules in 50 policies, 64 KB', 100, large, facts(65_536));
