import t from 'tap';
import { parseConfig } from '../../../src/config/load.ts';
import type { Config, TenantConfig } from '../../../src/config/schema.ts';

const parse = (text: string, env: Record<string, string> = {}): Config =>
  parseConfig(text, { file: undefined, env });
const tenantOf = (text: string, env?: Record<string, string>): TenantConfig => {
  const tenant = parse(text, env).tenants.get('acme');
  if (!tenant) throw new Error('the tenant is missing');
  return tenant;
};
const day = 86_400_000;
const kb = 1024;

t.test('the built-in plans have the limits of the specification', async (t) => {
  const plans = [...parse('').plans.values()].map((it) => [
    it.name,
    it.scansPerMonth,
    it.scansPerMinute,
    it.burst,
    it.maxBodyBytes,
    it.retentionMs / day,
    it.overage,
    it.perKeyScansPerMinute,
  ]);
  t.strictSame(plans, [
    ['free', 1000, 60, 120, 256 * kb, 7, false, null],
    ['solo', 50_000, 600, 1200, 256 * kb, 30, false, null],
    ['team', 200_000, 2000, 4000, 256 * kb, 30, false, null],
    ['pro', 1_000_000, 10_000, 20_000, 1024 * kb, 90, false, null],
    ['enterprise', null, null, null, 256 * kb, 365, false, null],
  ]);
});

const plans: { name: string; text: string; want: Record<string, unknown> }[] = [
  {
    name: 'takes from free what it does not say',
    text: '{ mine: { scans_per_month: 5 } }',
    want: { scansPerMonth: 5, scansPerMinute: 60, burst: 120 },
  },
  {
    name: 'overrides a built-in plan key by key',
    text: '{ team: { scans_per_month: 5 }, mine: { extends: team } }',
    want: { scansPerMonth: 5, scansPerMinute: 2000 },
  },
  {
    name: 'extends one that stands after it',
    text: '{ mine: { extends: b, overage: true }, b: { extends: pro, retention: 10d } }',
    want: { scansPerMonth: 1_000_000, retentionMs: 10 * day, overage: true },
  },
  {
    name: 'has twice its rate as burst',
    text: '{ mine: { extends: enterprise, scans_per_minute: 7 } }',
    want: { scansPerMonth: null, scansPerMinute: 7, burst: 14 },
  },
  {
    name: 'keeps the burst that it writes',
    text: '{ mine: { scans_per_minute: 7, burst: 7 } }',
    want: { scansPerMinute: 7, burst: 7 },
  },
  {
    name: 'keeps its own false',
    text: '{ base: { overage: true }, mine: { extends: base, overage: false } }',
    want: { overage: false },
  },
  {
    name: 'allows nothing with a quota of 0',
    text: '{ mine: { scans_per_month: 0 } }',
    want: { scansPerMonth: 0 },
  },
];

for (const { name, text, want } of plans) {
  t.test(`a plan ${name}`, async (t) => {
    t.match(parse(`plans: ${text}`).plans.get('mine'), want);
  });
}

const bodies: { name: string; text: string; env?: Record<string, string>; want: number }[] = [
  { name: 'is that of limits', text: 'tenants: [{ id: acme }]', want: 256 * kb },
  { name: 'is 1 MB on pro', text: 'tenants: [{ id: acme, plan: pro }]', want: 1024 * kb },
  {
    name: 'is that of limits on pro where that is more',
    text: 'limits: { max_body_bytes: 2MB }\ntenants: [{ id: acme, plan: pro }]',
    want: 2048 * kb,
  },
  {
    name: 'follows limits on a plan that says nothing',
    text: 'limits: { max_body_bytes: 1KB }\ntenants: [{ id: acme, plan: team }]',
    want: kb,
  },
  {
    name: 'follows MAX_BODY_BYTES',
    text: 'limits: { max_body_bytes: 1MB }\ntenants: [{ id: acme, plan: enterprise }]',
    env: { MAX_BODY_BYTES: '500' },
    want: 500,
  },
  {
    name: 'is raised by a plan',
    text: 'plans: { p: { max_body_bytes: 3MB } }\ntenants: [{ id: acme, plan: p }]',
    want: 3072 * kb,
  },
  {
    name: 'is lowered by a plan that says so',
    text: 'plans: { p: { max_body_bytes: 16KB } }\ntenants: [{ id: acme, plan: p }]',
    want: 16 * kb,
  },
  {
    name: 'is what the tenant itself says',
    text: 'tenants: [{ id: acme, plan: pro, limits: { max_body_bytes: 5MB } }]',
    want: 5120 * kb,
  },
];

for (const { name, text, env, want } of bodies) {
  t.test(`the body limit of a tenant ${name}`, async (t) => {
    t.equal(tenantOf(text, env).maxBodyBytes, want);
  });
}

const setters: { name: string; text: string; env?: Record<string, string>; want: string | null }[] = [
  { name: 'nobody, where nothing is written', text: 'tenants: [{ id: acme, plan: pro }]', want: null },
  {
    name: 'nobody, where null is written',
    text: 'limits: { max_body_bytes: null }\ntenants: [{ id: acme, limits: { max_body_bytes: null } }]',
    want: null,
  },
  {
    name: 'the limits, even where they say the default',
    text: 'limits: { max_body_bytes: 256KB }\ntenants: [{ id: acme, plan: team }]',
    want: 'limits',
  },
  {
    name: 'the limits, where a variable says it',
    text: 'tenants: [{ id: acme }]',
    env: { MAX_BODY_BYTES: '500' },
    want: 'limits',
  },
  {
    name: 'the plan, also by the one that it extends',
    text: 'plans: { p: { max_body_bytes: 16KB }, q: { extends: p } }\ntenants: [{ id: acme, plan: q }]',
    want: 'plan',
  },
  {
    name: 'the tenant before all',
    text: 'limits: { max_body_bytes: 1MB }\ntenants: [{ id: acme, limits: { max_body_bytes: 1KB } }]',
    want: 'tenant',
  },
];

for (const { name, text, env, want } of setters) {
  t.test(`who has set the body limit of a tenant: ${name}`, async (t) => {
    t.equal(tenantOf(text, env).bodyLimitSetBy, want);
  });
}

t.test('a tenant that says nothing has what the daemon has', async (t) => {
  const config = parse(
    'mode: monitor\nstate: { on_failure: open }\ndefault_plan: team\nresponse_scan: { mode: enforce }\napprovals: { ttl: 1h }\n' +
      'posture: { pii: DENY }\nrisk: { block_threats: false, auto_register_agents: false }\nlimits: { scan_timeout: 99ms }\ntenants: [{ id: acme }]',
  );
  const wanted = {
    mode: 'monitor',
    onFailure: 'open',
    plan: { name: 'team' },
    environments: ['default'],
    retentionMs: 30 * day,
    responseScan: { mode: 'enforce', maxBytes: 1024 * kb, beyond: 'end' },
    approvals: { ttlMs: 3_600_000, holdMs: 0 },
    posture: { secrets: 'SANITIZE', pii: 'DENY', bands: { CRITICAL: 'DENY' } },
    blockThreats: false,
    autoRegisterAgents: false,
    scanTimeoutMs: 99,
    maxConnectionsPerAgent: 256,
    maxConnectionsPerTenant: null,
    internal: { builtin: true, hosts: [], markers: [] },
  };
  t.match(config.tenants.get('acme'), { id: 'acme', name: 'acme', ...wanted });
  t.match(config.defaultTenant('other'), { id: 'other', name: 'other', ...wanted });
});

t.test('a tenant lays what it says over what the daemon has, key by key', async (t) => {
  const tenant = tenantOf(
    'mode: monitor\nstate: { on_failure: open }\nresponse_scan: { mode: enforce, max_bytes: 9, beyond: pass }\napprovals: { ttl: 1h, hold: 5s }\n' +
      'posture: { pii: DENY, bands: { HIGH: DENY } }\nrisk: { block_threats: false }\nactivity: { retention: 2d }\n' +
      'tenants: [{ id: acme, mode: enforce, on_failure: closed, response_scan: { mode: "off" }, approvals: { hold: 0s }, posture: { phi: DENY, bands: { LOW: SANITIZE } }, block_threats: true, auto_register_agents: false, limits: { replay_window: 5s } }]',
  );
  t.match(tenant, {
    mode: 'enforce',
    onFailure: 'closed',
    responseScan: { mode: 'off', maxBytes: 9, beyond: 'pass' },
    approvals: { ttlMs: 3_600_000, holdMs: 0 },
    posture: {
      secrets: 'SANITIZE',
      pii: 'DENY',
      phi: 'DENY',
      internal: 'ALLOW',
      bands: { LOW: 'SANITIZE', MEDIUM: 'ALLOW', HIGH: 'DENY', CRITICAL: 'DENY' },
    },
    blockThreats: true,
    autoRegisterAgents: false,
    replayWindowMs: 5000,
    retentionMs: 2 * day,
  });
});

t.test('what belongs to a tenant has the only tenant where it is left out', async (t) => {
  const id = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
  const config = parse(
    `tenants: [{ id: acme, environments: [prod, dev] }]\nagents: [{ id: ${id}, env: dev }]\n` +
      `keys: [{ name: k, agent: ${id}, hash: "sha256:${'0'.repeat(64)}" }]\n` +
      `credentials: [{ name: c, type: bearer, vault: true }]\ninbound: [{ prefix: p, upstream: "http://h", auth: none, agent: ${id} }]`,
  );
  t.match(config.agents, [{ tenantId: 'acme', envName: 'dev', name: id }]);
  t.match(config.keys, [{ tenantId: 'acme', envName: 'dev', agentId: id, permissions: ['scan'] }]);
  t.match(config.credentials, [{ tenantId: 'acme' }]);
  t.match(config.inbound.get('p'), { tenantId: 'acme', agentId: id, auth: { type: 'none' } });
});

t.test('names lead nowhere but to what the file says', async (t) => {
  const { plans, tenants, inbound } = parse('tenants: [{ id: __proto__ }, { id: constructor }]');
  t.equal(tenants.get('constructor')?.id, 'constructor');
  t.equal(tenants.get('__proto__')?.id, '__proto__');
  for (const map of [plans, inbound]) t.equal(map.get('constructor'), undefined);
});

t.test('warns of what is allowed and yet unwise', async (t) => {
  const text = [
    'mode: monitor',
    'control: { admin_secret: short }',
    'tenants: [{ id: acme }]',
    'credentials:',
    '  - { name: a, type: bearer, value: literal }',
    `  - { name: b, type: bearer, value: "\${env:TOKEN}" }`,
    `  - { name: c, type: headers, values: { X-A: literal, X-B: "Key \${env:TOKEN}" } }`,
    'inbound:',
    '  - { prefix: a, upstream: "http://h", credential: a }',
    '  - { prefix: b, upstream: "https://h", credential: none }',
    '  - { prefix: c, upstream: "http://h" }',
    ...['127.0.0.1:8', '[::1]', 'localhost', 'a.localhost'].map(
      (host, i) => `  - { prefix: c${i}, upstream: "http://${host}", credential: a }`,
    ),
    '  - { prefix: d, upstream: "http://127.0.0.1.example", credential: a }',
    'feeds: [{ name: a, url: "http://h" }]',
  ].join('\n');
  const warnings = parse(text, { TOKEN: 'x' }).warnings.map((it) => `${it.line} ${it.path}`);
  t.strictSame(warnings, [
    '2 control.admin_secret',
    '5 credentials[0].value',
    '7 credentials[2].values.X-A',
    '2 control.admin_secret',
    '1 mode',
    '9 inbound[0].upstream',
    '10 inbound[1].credential',
    '16 inbound[7].upstream',
    '17 feeds[0].url',
  ]);
  for (const name of ['', '"a b"', '../a', '[a]', 'a'.repeat(65)])
    t.throws(
      () =>
        parse(
          `tenants: [{ id: acme }]\ninbound: [{ prefix: p, upstream: "http://h", credential: ${name || '""'} }]`,
        ),
      /inbound\[0\]\.credential/,
      `a credential cannot be called ${name}`,
    );
  const settings = { SERVICE_API_KEYS_ADMIN_SECRET: 'a secret that is long enough' };
  for (const it of ['', `control: { admin_secret: "\${env:SERVICE_API_KEYS_ADMIN_SECRET:-}" }`]) {
    t.strictSame(parse(it, settings).warnings, [], 'a secret of the environment does not stand in the file');
  }
});
