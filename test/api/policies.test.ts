import { randomUUID } from 'node:crypto';
import t from 'tap';
import { createPause } from '../../src/api/pause.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { gitlabToken } from '../support/secrets.ts';

const filed = `
name: filed
description: from a file
env_names: [production, staging]
rules:
  - { rule_id: filed, match: { url_patterns: ['https://filed.test/'] }, action: DENY, reason_code: FILED }
---
name: filed for all
mode: monitor
rules:
  - { rule_id: r, match: { url_patterns: ['https://filed.test/'] }, action: DENY }
`;

const agents = [randomUUID(), randomUUID()];

/** A gateway with policies in a file and over the API, and a budget that is used up by its second call. */
const start = (t: Parameters<typeof startTestGateway>[0]): Promise<TestGateway> =>
  startTestGateway(t, {
    policyFiles: { 'filed.yaml': filed },
    config: {
      tenants: [
        {
          id: 'acme',
          plan: 'enterprise',
          environments: ['production', 'staging'],
          org_domains: ['acme.test'],
          org_accounts: { github: ['acme'] },
          denylist: ['*.denied.test'],
          budgets: [{ name: 'two', daily: 2, match: { url_patterns: ['https://budget.test/'] } }],
        },
      ],
    },
  });

const path = (name: string, rest = ''): string => `/v1/policies/by-name/${encodeURIComponent(name)}${rest}`;
const rule = (reason_code: string, more: object = {}) => ({
  rule_id: 'r',
  action: 'DENY',
  reason_code,
  ...more,
});

t.test('apply and validate warn of channels and tools that the tenant does not have', async (t) => {
  const { api } = await startTestGateway(t, {
    config: {
      tenants: ['acme', 'globex'].map((id) => ({ id, plan: 'enterprise', environments: ['production'] })),
      notifications: [
        { name: 'all', type: 'slack', url: 'https://hooks.test/a', events: ['feed.failed'] },
        { name: 'own', type: 'teams', url: 'https://hooks.test/b', events: ['feed.failed'], tenant: 'acme' },
        {
          name: 'theirs',
          type: 'discord',
          url: 'https://hooks.test/c',
          events: ['feed.failed'],
          tenant: 'globex',
        },
      ],
      tools: [
        { name: 'tracker', sensitive: true },
        { name: 'ledger', sensitive: true, tenant: 'globex' },
      ],
    },
  });
  const names = { slack: 'tracker', teams: 'github', discord: 'ledger', email: 'githb' };
  const rules = Object.entries(names).map(([kind, tool_name]) =>
    rule('WARNED', { rule_id: kind, match: { tool_name }, escalate_to: kind }),
  );
  for (const action of ['validate', 'apply']) {
    const { body } = await api('POST', `/v1/policies/${action}`, { name: 'warned', rules });
    t.strictSame(body.warnings, [
      'rule discord: there is no channel of the kind discord; nobody is notified',
      'rule discord: there is no tool ledger',
      'rule email: there is no channel of the kind email; nobody is notified',
      'rule email: there is no tool githb; did you mean github?',
    ]);
  }
});

t.test('what is wrong with a policy is said without the secrets that stand in it', async (t) => {
  const { api } = await start(t);
  const token = gitlabToken();
  const documents = [
    { name: 'n', rules: [rule('R', { action: token })] },
    { name: 'n', rules: [rule('R', { [token]: 1 })] },
    { name: 'n', rules: [rule('R', { match: { url_patterns: [`https://[${token}/`] } })] },
    { name: token, mode: `x ${token}`, rules: [] },
  ];
  for (const document of documents) {
    const { status, body } = await api('POST', '/v1/policies/apply', document);
    t.equal(status, 400);
    t.match(body.errors, [{ path: String, message: String }]);
    t.notOk(JSON.stringify(body).includes(token.slice(-12)));
    t.match(JSON.stringify(body), /REDACTED:/);
  }
});

t.test('a policy for other tenants is refused, so that nobody believes that it holds there', async (t) => {
  const { api } = await start(t);
  const policy = { name: 'elsewhere', rules: [rule('R')] };
  for (const action of ['validate', 'apply']) {
    const elsewhere = await api('POST', `/v1/policies/${action}`, { ...policy, tenants: ['acme', 'globex'] });
    t.equal(elsewhere.status, 400);
    t.match(elsewhere.body.errors, [{ path: 'tenants', message: /for the tenant acme alone/ }]);
  }
  t.equal((await api('GET', path('elsewhere', '/versions'))).status, 404);
  t.equal((await api('POST', '/v1/policies/apply', { ...policy, tenants: ['acme'] })).status, 200);
});

t.test('names and descriptions for people do not turn the direction of text', async (t) => {
  const { api, mint } = await start(t);
  const turned = 'read only \u202eevil';
  const described = await api('POST', '/v1/policies/apply', {
    name: 'p',
    description: turned,
    rules: [rule('R')],
  });
  t.match(described, {
    status: 400,
    body: { errors: [{ path: 'description', message: /direction of text/ }] },
  });
  await t.rejects(mint({ name: turned }), /name: must not have characters that turn the direction of text/);
  const value = await api('POST', '/v1/policies/apply', {
    name: 'p',
    rules: [rule('R', { condition: { body_contains_any: [turned] } })],
  });
  t.equal(value.status, 200, 'a rule may look for such a text');
});

t.test('versions, archive and what comes after', async (t) => {
  const gateway = await start(t);
  const { api, apply } = gateway;
  const only = { match: { tool_name: 'nothing' } };
  await apply([rule('ONE', only)], 'p');
  await apply([rule('TWO', only)], 'p');
  const listed = await api('GET', path('p', '/versions'));
  t.match(listed.body.items, [
    { version: 2, rules: [{ reason_code: 'TWO' }], archived_at: null, source: 'api' },
    { version: 1, rules: [{ reason_code: 'ONE' }], archived_at: null },
  ]);
  const first = await api('GET', path('p', '/versions?limit=1'));
  t.match(first.body, { items: [{ version: 2 }], next_cursor: String });
  const second = await api('GET', path('p', `/versions?limit=1&cursor=${first.body.next_cursor}`));
  t.match(second.body, { items: [{ version: 1 }] });
  t.equal((await api('GET', path('p', '?env=staging'))).status, 200, 'it is for all environments');
  t.equal((await api('DELETE', path('p', '?env=staging'))).status, 404, 'and for staging there is none');

  const archived = await api('DELETE', path('p'));
  t.match(archived, { status: 200, body: { name: 'p', version: 2, archived_at: /Z$/, source: 'api' } });
  t.equal((await api('GET', path('p'))).status, 404, 'it is there no more');
  t.equal((await api('DELETE', path('p'))).status, 404, 'and is archived once');
  const names = (await api('GET', '/v1/policies')).body.items.map((it: { name: string }) => it.name);
  t.notOk(names.includes('p'));
  t.equal((await api('GET', path('p', '/versions'))).body.items.length, 2, 'its versions stay');
  t.match((await apply([rule('THREE', only)], 'p')).body, { version: 3 });
  const { body: audit } = await api('GET', '/v1/audit', undefined, `Bearer ${gateway.adminSecret}`);
  const kinds = audit.items.map((it: { kind: string }) => it.kind);
  t.ok(kinds.includes('policy.archived'));
  t.equal((await api('GET', path('nobody', '/versions'))).status, 404);
});

t.test('an archived policy does not hold from the next call on', async (t) => {
  const { api, apply } = await start(t);
  const call = { method: 'GET', url: 'https://gone.test/' };
  await apply([rule('STANDS', { match: { url_patterns: ['https://gone.test/'] } })], 'gone');
  t.match((await api('POST', '/v1/scan', call)).body.reason_codes, ['STANDS']);
  await api('DELETE', path('gone'));
  t.notOk((await api('POST', '/v1/scan', call)).body.reason_codes.includes('STANDS'));
});

t.test('policies of files are listed, named by their source, and not changed by the API', async (t) => {
  const { api, apply } = await start(t);
  await apply([rule('X', { match: { tool_name: 'nothing' } })], 'applied');
  const { items } = (await api('GET', '/v1/policies')).body;
  for (const it of items) {
    const query = it.env_name === null ? '' : `?env=${it.env_name}`;
    t.same((await api('GET', path(it.name, query))).body, it, 'with all that by-name has');
  }
  t.same(
    items.map((it: { name: string; env_name: string | null; source: string; version: number }) => [
      it.name,
      it.env_name,
      it.source,
      it.version,
    ]),
    [
      ['applied', null, 'api', 1],
      ['filed', 'production', 'file', 1],
      ['filed', 'staging', 'file', 1],
      ['filed for all', null, 'file', 1],
    ],
  );
  t.match((await api('GET', path('filed', '?env=staging'))).body, {
    source: 'file',
    env_name: 'staging',
    description: 'from a file',
    created_at: null,
  });
  t.equal((await api('GET', path('filed'))).status, 404, 'there is none for all environments');
  t.match((await api('GET', path('filed for all', '?env=staging'))).body, {
    env_name: null,
    mode: 'monitor',
  });
  t.match((await api('GET', path('filed for all', '/versions'))).body.items, [
    { version: 1, source: 'file' },
  ]);
  const conflict = { status: 409, body: { code: 'CONFLICT' } };
  t.match(await api('DELETE', path('filed', '?env=staging')), conflict);
  t.match(await apply([rule('X')], 'filed'), conflict);
  const tried = await api('POST', '/v1/policies/validate', { name: 'filed', rules: [rule('X')] });
  t.match(tried, { status: 200, body: { warnings: [/policy file has this name/] } });
});

const candidate = (rules: readonly object[], more: object = {}) => ({ name: 'candidate', rules, ...more });

t.test('a request that does not say what to simulate is refused, with the place', async (t) => {
  const { api, mint } = await start(t);
  const calls = [{ method: 'GET', url: 'https://a.test/' }];
  const policies = [candidate([rule('X')])];
  const refused: readonly [string, object, RegExp][] = [
    ['neither calls nor traces', { policies }, /^calls$/],
    ['calls and traces', { policies, calls, traces: {} }, /^calls$/],
    ['no policies', { policies: [], calls }, /^policies$/],
    ['no calls', { policies, calls: [] }, /^calls$/],
    ['too many calls', { policies, calls: Array(1001).fill(calls[0]) }, /^calls$/],
    ['too many traces', { policies, traces: { limit: 10_001 } }, /^traces\.limit$/],
    [
      'a rule that is not valid',
      { policies: [candidate([{ rule_id: 'r', action: 'NO' }])], calls },
      /^policies\[0\]\.rules\[0\]\.action$/,
    ],
    [
      'a fact that there is not',
      { policies, calls: [{ ...calls[0], facts: { mood: 1 } }] },
      /^calls\.0\.facts$/,
    ],
    [
      'an environment that there is not',
      { policies, calls: [{ ...calls[0], env: 'moon' }] },
      /^calls\[0\]\.env$/,
    ],
    ['a misspelt key', { policies, calls, olny: true }, /^$/],
  ];
  for (const [name, body, place] of refused)
    t.match(
      await api('POST', '/v1/policies/simulate', body),
      { status: 400, body: { errors: [{ path: place }] } },
      name,
    );
  const none = await mint({ permissions: ['scan'] });
  const reader = await mint({ permissions: ['policies:read'] });
  const ask = (body: object, key: string) => api('POST', '/v1/policies/simulate', body, `Bearer ${key}`);
  t.equal((await ask({ policies, calls }, none.key)).status, 403);
  t.equal((await ask({ policies, calls }, reader.key)).status, 200);
  t.equal(
    (await ask({ policies, traces: {} }, reader.key)).status,
    403,
    'what agents did is not theirs to see',
  );
});

/** Rules of all kinds, and calls that meet them or do not. */
const rules = [
  rule('PATH', { rule_id: 'path', match: { url_patterns: ['https://path.test/x/*'] } }),
  rule('VERB', {
    rule_id: 'verb',
    match: { org_patterns: ['acme'], verbs: ['WRITE'] },
    action: 'REQUIRE_APPROVAL',
  }),
  rule('WORD', { rule_id: 'word', condition: { body_contains_any: ['Project Zephyr'] } }),
  rule('AMOUNT', { rule_id: 'amount', condition: { body_path_gt: { path: '$.amount', value: 100 } } }),
  rule('CLEAN', {
    rule_id: 'clean',
    match: { url_patterns: ['https://clean.test/'] },
    condition: { has_data_class: ['SECRETS'] },
    action: 'SANITIZE',
  }),
  rule('SPENT', {
    rule_id: 'spent',
    match: { url_patterns: ['https://budget.test/'] },
    condition: { daily_budget_exceeded: 'two' },
  }),
  rule('FIRST', {
    rule_id: 'first',
    match: { url_patterns: ['https://first.test/'] },
    condition: { is_new_destination: true },
  }),
  rule('BIG', { rule_id: 'big', condition: { body_size_bytes_gt: 2000 } }),
  rule('AGENT', {
    rule_id: 'agent',
    match: { agent_ids: [agents[1]], url_patterns: ['https://agent.test/'] },
  }),
  rule('RUNTIME', { rule_id: 'runtime', match: { agent_runtime_types: ['browser'] } }),
];

const urls = [
  'https://path.test/x/y',
  'https://path.test/y',
  'https://api.github.com/repos/acme/app/issues',
  'https://api.github.com/repos/other/app/issues',
  'https://clean.test/',
  'https://first.test/',
  'https://agent.test/',
  'https://budget.test/',
  'https://filed.test/',
  'https://x.denied.test/',
];
const bodies = [
  undefined,
  { title: 'hello' },
  { note: 'about project zephyr' },
  { amount: 100 },
  { amount: 1e15, items: [{ price: 3 }] },
  { key: gitlabToken(), mail: 'jane.doe@elsewhere.example' },
  `note=${'a'.repeat(2000)}`,
];

/** The combinations, in an order of no pattern, each once. */
const calls = urls.flatMap((url, i) =>
  bodies.map((body, k) => ({
    method: body === undefined ? 'GET' : 'POST',
    url,
    ...(body === undefined ? {} : { body }),
    ...(typeof body === 'string' ? { headers: { 'content-type': 'application/x-www-form-urlencoded' } } : {}),
    ...((i + k) % 5 === 4 ? { runtime_type: 'browser' } : {}),
  })),
);

/** What a live call has of the calls before it, which a simulation leaves out. */
const ofHistory = new Set([
  'MASS_ACTION',
  'VOLUME_BURST',
  'BASELINE_ANOMALY',
  'TOKEN_HARVESTING',
  'BUDGET_EXCEEDED',
]);

t.test('simulation and the live pipeline agree on the same call', async (t) => {
  const { api, apply, mint } = await start(t);
  t.equal((await apply(rules, 'candidate')).status, 200);
  const same = { name: 'candidate', rules };
  // Beside it every call has another rule, so that what the standing policies say of it is in the answer.
  const always = { name: 'always', rules: [rule('ALWAYS')] };
  const deciding = new Set<string>();
  for (const default_agent_id of agents) {
    const { key } = await mint({ default_agent_id, permissions: ['scan', 'policies:read'] });
    const ask = async (place: string, body: object) => (await api('POST', place, body, `Bearer ${key}`)).body;
    for (const call of calls) {
      const again = await ask('/v1/policies/simulate', { policies: [same], calls: [call] });
      t.match(again, { evaluated: 1, unchanged: 1, changed: [] }, 'the same rules change nothing');
      const { changed } = await ask('/v1/policies/simulate', { policies: [always], calls: [call] });
      const live = await ask('/v1/scan', call);
      if (live.reason_codes.includes('DENYLISTED')) {
        t.same(changed, [], 'no policy is asked');
        continue;
      }
      const { decision, policy_name = null, matched_rules } = live;
      const reason_codes = live.reason_codes.filter((it: string) => !ofHistory.has(it));
      const rule_id = policy_name === null ? null : matched_rules[0].rule_id;
      deciding.add(rule_id ?? decision);
      t.same(
        changed[0]?.before,
        { decision, reason_codes, policy_name, rule_id },
        `${call.method} ${call.url}`,
      );
    }
  }
  const all = [...rules.map((it) => it.rule_id), 'filed', 'ALLOW', 'SANITIZE'];
  t.same([...deciding].sort(), all.sort(), 'each rule has decided some call, and the posture others');
});

t.test('a simulation counts nothing, records nothing and holds nothing', async (t) => {
  const { api } = await start(t);
  const call = { method: 'POST', url: 'https://budget.test/', body: { a: 1 } };
  const policies = [
    candidate([
      rule('HELD', { action: 'REQUIRE_APPROVAL', match: { url_patterns: ['https://budget.test/'] } }),
    ]),
  ];
  const usage = async () => (await api('GET', '/v1/usage')).body.scans_used;
  const before = await usage();
  const many = await api('POST', '/v1/policies/simulate', { policies, calls: Array(20).fill(call) });
  t.match(many.body, { evaluated: 20, unchanged: 0 });
  t.match(many.body.changed[19], {
    index: 19,
    before: { decision: 'ALLOW' },
    after: { decision: 'REQUIRE_APPROVAL' },
  });
  t.equal(await usage(), before);
  t.same((await api('GET', '/v1/approvals')).body.items, []);
  t.same((await api('GET', '/v1/traces')).body.items, []);
  const spent = candidate([rule('SPENT', { condition: { daily_budget_exceeded: 'two' } })]);
  const left = await api('POST', '/v1/policies/simulate', { policies: [spent], calls: [call] });
  t.match(left.body.changed, [], 'the budget is whole');
  t.ok(
    (await api('POST', '/v1/scan', call)).body.reason_codes.includes('NEW_DESTINATION'),
    'it was never there',
  );
});

t.test('candidates take the place of what they would replace, or stand alone', async (t) => {
  const { api, apply } = await start(t);
  await apply([rule('STANDING')], 'standing');
  const calls = [{ method: 'GET', url: 'https://a.test/' }];
  const ask = async (policies: readonly object[], only: boolean) =>
    (await api('POST', '/v1/policies/simulate', { policies, only, calls })).body;
  const mild = { name: 'other', rules: [rule('OTHER', { action: 'ALLOW' })] };
  t.same((await ask([mild], false)).warnings, []);
  const idle = candidate([{ rule_id: 'all', action: 'ALLOW' }, rule('NEVER')]);
  t.match(
    (await ask([mild, idle], false)).warnings,
    [/^candidate: rule r: is never reached/],
    'what candidates may not do is said with the name of the policy',
  );
  t.match(await ask([mild], false), { unchanged: 1 }, 'the strictest wins');
  t.match((await ask([mild], true)).changed, [
    { index: 0, before: { rule_id: 'r', policy_name: 'standing' }, after: { decision: 'ALLOW' } },
  ]);
  t.match((await ask([{ ...mild, name: 'standing' }], false)).changed, [
    { after: { decision: 'ALLOW', policy_name: 'standing' } },
  ]);
  t.match(
    await ask([{ ...mild, name: 'standing', env_name: 'production' }], false),
    { unchanged: 1 },
    'another one, of one environment',
  );
  t.match(
    (await ask([mild, { ...mild, mode: 'monitor' }], true)).changed,
    [{ after: { decision: 'ALLOW', policy_name: null } }],
    'of two with one name the later',
  );
});

t.test('facts that are given stand before those that are found out', async (t) => {
  const { api } = await start(t);
  const agent_id = randomUUID();
  const cases: readonly [name: string, facts: object, more: object][] = [
    ['risk', { risk_score: 0.95 }, { condition: { risk_score_gt: 0.9 } }],
    ['trust', { trust_score: 0.1 }, { condition: { trust_score_lt: true } }],
    ['destination', { is_new_destination: true }, { condition: { is_new_destination: true } }],
    ['burst', { is_volume_burst: true }, { condition: { is_volume_burst: true } }],
    ['principal', { is_external_principal: true }, { condition: { is_external_principal: true } }],
    ['feed', { threat_intel_match: true }, { condition: { threat_intel_match: true } }],
    ['budget', { exceeded_budgets: ['two'] }, { condition: { daily_budget_exceeded: 'two' } }],
    [
      'time',
      { now: '2026-01-01T03:00:00Z' },
      { condition: { time_of_day_outside: { start: '08:00', end: '18:00', tz: 'UTC' } } },
    ],
    ['agent', { agent_id }, { match: { agent_ids: [agent_id] } }],
    ['runtime', { runtime_type: 'robot' }, { match: { agent_runtime_types: ['robot'] } }],
  ];
  const noon = '2026-01-01T12:00:00Z';
  const call = { method: 'GET', url: 'https://www.acme.test/' };
  for (const [name, facts, more] of cases) {
    const { body } = await api('POST', '/v1/policies/simulate', {
      policies: [candidate([rule('HOLDS', more)])],
      calls: [
        { ...call, facts: { now: noon, ...facts } },
        { ...call, facts: { now: noon, is_new_destination: false } },
      ],
    });
    t.match(body.changed, [{ index: 0, after: { rule_id: 'r' } }], name);
    t.equal(body.changed.length, 1, `${name}: and not without`);
  }
  const suspended = await api('POST', '/v1/policies/simulate', {
    policies: [candidate([rule('ANY')])],
    calls: [{ ...call, facts: { agent_status: 'suspended' } }],
  });
  t.match(suspended.body, { unchanged: 1 }, 'no policy is asked about a suspended agent');
});

t.test('a simulation ends when it has had its time, or nobody waits for it', async (t) => {
  let now = 0;
  const leaving = new AbortController();
  const pause = createPause(leaving.signal, () => now);
  const other = createPause(leaving.signal, () => 0);
  now = 20_000;
  await pause();
  now = 20_001;
  await t.rejects(pause(), { code: 'GATEWAY_BUSY' });
  await other();
  leaving.abort();
  await t.rejects(other(), { code: 'GATEWAY_BUSY' });
});

t.test('a key has one simulation at a time', async (t) => {
  const { api } = await start(t);
  const body = {
    policies: [candidate([rule('X')])],
    calls: Array(300).fill({ method: 'GET', url: 'https://a.test/' }),
  };
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => api('POST', '/v1/policies/simulate', body)),
  );
  const statuses = answers.map((it) => it.status).sort();
  t.equal(statuses[0], 200);
  t.equal(statuses.at(-1), 429);
});

t.test('recorded calls are judged by what their traces hold; nothing else is guessed', async (t) => {
  const { api, apply } = await start(t);
  const scan = (url: string, body?: unknown, method = 'POST') =>
    api('POST', '/v1/scan', { method, url, body });
  const write = (await scan('https://api.github.com/repos/acme/app/issues', { title: 'a', amount: 500 })).body
    .trace_id;
  const read = (await scan('https://api.github.com/repos/acme/app', undefined, 'GET')).body.trace_id;
  await apply([rule('OLD', { match: { url_patterns: ['https://old.test/'] } })], 'old');
  const old = (await scan('https://old.test/', { a: 1 })).body.trace_id;
  const denied = (await scan('https://x.denied.test/', { a: 1 })).body.trace_id;
  const listed = async () => (await api('GET', '/v1/traces')).body.items.length;
  while ((await listed()) < 4);

  const ask = async (rules: readonly object[], more: object = {}) =>
    (await api('POST', '/v1/policies/simulate', { policies: [candidate(rules)], traces: {}, ...more })).body;
  const changed = (body: { changed: { trace_id: string }[] }) => body.changed.map((it) => it.trace_id).sort();
  const unsure = (body: { undetermined: { trace_id: string }[] }) =>
    body.undetermined.map((it) => it.trace_id).sort();

  const none = await ask([rule('NONE', { match: { tool_name: 'nothing' } })]);
  t.match(none, { evaluated: 4, unchanged: 4, changed: [], undetermined: [] });
  const byVerb = await ask([rule('WRITES', { match: { tool_name: 'github', verbs: ['WRITE'] } })]);
  t.same(byVerb.changed, [
    {
      trace_id: write,
      call: {
        agent_name: 'support-bot',
        method: 'POST',
        url: 'https://api.github.com/repos/acme/app/issues',
      },
      before: {
        decision: 'ALLOW',
        reason_codes: byVerb.changed[0].before.reason_codes,
        policy_name: null,
        rule_id: null,
      },
      after: {
        decision: 'DENY',
        reason_codes: ['WRITES', ...byVerb.changed[0].before.reason_codes],
        policy_name: 'candidate',
        rule_id: 'r',
      },
    },
  ]);
  t.same(unsure(byVerb), []);

  const amount = rule('AMOUNT', {
    rule_id: 'amount',
    condition: { body_path_gt: { path: '$.amount', value: 100 } },
  });
  const byBody = await ask([amount]);
  t.same(changed(byBody), []);
  t.same(
    unsure(byBody),
    [write],
    'of the others it is certain: one has no body, one is denied anyway, one is on the denylist',
  );
  t.match(byBody.undetermined[0].because, /amount.*body_path_gt/);
  const allows = await ask([
    { ...amount, action: 'ALLOW' },
    rule('REST', { rule_id: 'rest', priority: 200 }),
  ]);
  t.same(unsure(allows), [write], 'an exception before a denial');
  t.same(changed(allows), [read, old].sort(), 'one more rule that denies is a change');
  const either = await ask([amount, rule('REST', { rule_id: 'rest', priority: 200 })]);
  t.same(unsure(either), [], 'denied one way or the other');
  t.same(changed(either), [read, write, old].sort());
  const byRepo = await ask([rule('REPO', { match: { repo_patterns: ['acme/app'] } })]);
  t.same(changed(byRepo), [read, write].sort(), 'what the URL tells is known');
  const byTrust = await ask([rule('TRUST', { condition: { trust_score_lt: 0.5 } })]);
  t.same(unsure(byTrust), [read, write].sort(), 'trust as it was then is not recorded');

  const dropped = await ask([], {
    policies: [{ name: 'old', rules: [rule('NEVER', { match: { tool_name: 'nothing' } })] }],
  });
  t.match(dropped.changed, [
    {
      trace_id: old,
      before: { decision: 'DENY', policy_name: 'old', rule_id: 'r' },
      after: { decision: 'ALLOW', policy_name: null },
    },
  ]);
  t.notOk(changed(dropped).includes(denied), 'the denylist is no matter of policy');
  t.match(await ask([rule('ALL')], { traces: { limit: 2 } }), { evaluated: 2 });
  t.match(await ask([rule('ALL')], { traces: { tool_name: 'github' } }), { evaluated: 2 });
  t.match(await ask([rule('ALL')], { traces: { until: '2001-01-01T00:00:00Z' } }), { evaluated: 0 });
});
