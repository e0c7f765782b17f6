/*
 * What deciding costs a call: `node bench/policy.ts`. Prints the median and the 99th percentile of each case in microseconds,
 * beside the goal. The bodies are those of the load generator: plain words in JSON, with nothing in them that a rule looks for.
 */

import { parseTarget } from '../src/core/target.ts';
import type { Facts } from '../src/policy/facts.ts';
import { type CompiledInput, compilePolicies, type PolicySet, validatePolicy } from '../src/policy/index.ts';

const warmUpMs = 300;
const measuredMs = 700;
const samplesMax = 200_000;
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
    detectors: [],
    signals: [],
    riskScore: 0.1,
    body: bodyOf(text),
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

const bodyOf = (text: Buffer): Facts['body'] => ({
  ...{ bytes: text.length, texts: [text], hidesNames: false },
  value: () => ({ kind: 'value', readings: [JSON.parse(text.toString('utf8'))] }),
});

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

/** 1,000 rules that all ask for a field of the body, each for its own. */
function pathPolicies(): CompiledInput[] {
  return Array.from({ length: 50 }, (_, n) =>
    policy(
      `paths-${n}`,
      Array.from({ length: 20 }, (_, m) => ({
        condition: { body_path_gt: { path: `$.messages[*].amount_${n}_${m}`, value: 0 } },
        action: 'DENY',
      })),
    ),
  );
}

/** A call that one of those 1,000 rules decides and some more speak of. */
function decidedCall(): Facts {
  const call = facts(2048);
  return { ...call, operation: { ...call.operation, toolName: 'github' }, classes: ['PHI'], riskScore: 0.7 };
}

/** JSON of that size in which a field may be spelt in any way, so that every path must be followed. */
function escapedCall(bytes: number): Facts {
  const text = Buffer.from(body(bytes).toString('utf8').replace('"gpt-x"', '"gpt-\\u0078"'));
  return {
    ...facts(bytes),
    body: bodyOf(text),
  };
}

/** 1,000 rules for URLs: globs that cross the whole URL. */
function urlPolicies(): CompiledInput[] {
  return Array.from({ length: 50 }, (_, n) =>
    policy(
      `urls-${n}`,
      Array.from({ length: 20 }, (_, m) => ({
        match: { url_patterns: [`https://*.partner-${n}.example/*/v${m}/*`] },
        action: 'DENY',
      })),
    ),
  );
}

function measure(title: string, goalUs: number, set: PolicySet, call: Facts): void {
  const samples: number[] = [];
  const until = performance.now() + warmUpMs + measuredMs;
  while (performance.now() < until && samples.length < samplesMax) {
    const start = process.hrtime.bigint();
    set.decide(call);
    const tookUs = Number(process.hrtime.bigint() - start) / 1000;
    if (performance.now() > until - measuredMs) samples.push(tookUs);
  }
  samples.sort((a, b) => a - b);
  const at = (share: number): string =>
    (samples[Math.floor(samples.length * share)] ?? 0).toFixed(2).padStart(8);
  console.log(`${title.padEnd(52)} median ${at(0.5)} us   p99 ${at(0.99)} us   goal ${goalUs} us`);
}

/** The same call to a URL that was not there before, each time its target is asked for. */
function callsToNewUrls(): Facts {
  let n = 0;
  const call = facts(2048);
  return {
    ...call,
    get target() {
      n += 1;
      return { ...call.target, href: `https://localhost:18443/v1/x/${n}` };
    },
  };
}

const start = performance.now();
const bench = compilePolicies(benchPolicies(50));
const large = compilePolicies(manyPolicies());
const paths = compilePolicies(pathPolicies());
const urls = compilePolicies(urlPolicies());
console.log(
  `compiled ${bench.ruleCount}, ${large.ruleCount}, ${paths.ruleCount} and ${urls.ruleCount} rules in ${(performance.now() - start).toFixed(0)} ms`,
);
measure('no policies', 0.1, compilePolicies([]), facts(2048));
measure('50 policies of the load test, 2 KB', 6, bench, facts(2048));
measure('50 policies of the load test, 64 KB', 40, bench, facts(65_536));
measure('1,000 rules in 50 policies, 2 KB', 100, large, facts(2048));
measure('1,000 rules in 50 policies, 64 KB', 100, large, facts(65_536));
measure('1,000 rules, some of which hold, 2 KB', 100, large, decidedCall());
measure('1,000 body paths, none in the body, 2 KB', 100, paths, facts(2048));
measure('1,000 body paths, all to be followed, 2 KB', 100, paths, escapedCall(2048));
measure('1,000 URL globs, a known URL', 100, urls, facts(2048));
measure('1,000 URL globs, a new URL each call', 100, urls, callsToNewUrls());
