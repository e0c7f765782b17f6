import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import {
  ConfigError,
  findConfigFile,
  loadConfig,
  parseConfig,
  validateConfig,
} from '../../src/config/load.ts';
import { withSetting } from '../../src/config/origins.ts';
import type { Config } from '../../src/config/schema.ts';

const fixture = resolve(import.meta.dirname, '../fixtures/config/full.yaml');
const env = {
  ADMIN: 'admin-secret-of-some-length',
  GITHUB_BOT_TOKEN: 'token',
  SLACK_HOOK: 'https://hooks.example/a',
};
const day = 86_400_000;

function parseFull(more: Record<string, string> = {}): Config {
  const readFile = (path: string): string => {
    if (path === '/etc/gate/jira.txt') return 'from a file\n';
    throw new Error('no such file');
  };
  return parseConfig(readFileSync(fixture, 'utf8'), {
    file: '/etc/gate/full.yaml',
    env: { ...env, ...more },
    readFile,
  });
}

const parse = (text: string, variables: Record<string, string> = {}): Config =>
  parseConfig(text, { file: '/etc/gate/x.yaml', env: variables });

const sections: Record<string, (config: Config) => [unknown, unknown]> = {
  'the daemon': (config) => [
    {
      mode: config.mode,
      file: config.file,
      pidFile: config.pidFile,
      drainDelayMs: config.drainDelayMs,
      workers: config.workers,
      branding: config.branding,
    },
    {
      mode: 'monitor',
      file: '/etc/gate/full.yaml',
      pidFile: '/etc/gate/run/postern.pid',
      drainDelayMs: 5_000,
      workers: 4,
      branding: { headerWord: 'Acme' },
    },
  ],
  proxy: (config) => [
    config.proxy,
    {
      listen: [
        { kind: 'tcp', host: '0.0.0.0', port: 3128 },
        { kind: 'tcp', host: '::1', port: 0 },
      ],
      requireAuth: true,
      tls: { cert: '/etc/gate/tls/proxy.pem', key: '/etc/tls/proxy-key.pem' },
      proxyProtocol: true,
    },
  ],
  control: (config) => [
    config.control,
    {
      listen: [
        { kind: 'tcp', host: '127.0.0.1', port: 9000 },
        { kind: 'unix', path: '/etc/gate/run/control.sock' },
      ],
      tls: { cert: '/etc/gate/tls/control.pem', key: '/etc/gate/tls/control-key.pem' },
      trustedProxies: ['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32'],
      names: ['gate.example.com', '*.corp.example.com'],
      adminSecret: env.ADMIN,
    },
  ],
  state: (config) => [
    config.state,
    {
      url: {
        driver: 'redis',
        cluster: false,
        tls: true,
        nodes: [{ host: 'redis.example.com', port: 6380 }],
        username: 'user',
        password: 'p@ss',
        database: 3,
        prefix: 'gate:',
      },
      dir: '/etc/gate/local',
      caFile: '/etc/gate/tls/redis-ca.pem',
      timeoutMs: 750,
      onFailure: 'open',
    },
  ],
  'authority, vault, intercept': (config) => [
    [config.authority, config.vault, config.intercept],
    [
      { cert: '/etc/gate/ca/ca.pem', key: '/etc/gate/ca/ca-key.pem' },
      { keyFile: '/etc/gate/vault.key', key: null },
      { passthrough: ['*.bank.example', 'updates.example.com'] },
    ],
  ],
  upstream: (config) => [
    config.upstream,
    {
      caFiles: ['/etc/gate/ca/corp.pem'],
      resolve: [
        { host: '*.internal', address: '10.1.2.3', port: 8443 },
        { host: 'api.example.com', address: '::1', port: null },
      ],
      allowPrivate: ['10.1.0.0/16'],
      deny: ['evil.example', '203.0.113.0/24'],
      allowedPorts: [443, 8443],
      proxy: 'http://user:secret@parent.example:3128',
      proxyResolves: true,
      noProxy: ['*.corp.example'],
      connectTimeoutMs: 5000,
      responseTimeoutMs: 90_000,
      idleTimeoutMs: 3_600_000,
      h2: 'never',
    },
  ],
  limits: (config) => [
    [config.limits, config.responseScan],
    [
      {
        maxBodyBytes: 524_288,
        maxBodyBytesTotal: 16_777_216,
        maxDecodedBytes: 4_194_304,
        scanTimeoutMs: 100,
        headerTimeoutMs: 3000,
        handshakeTimeoutMs: 4000,
        bodyTimeoutMs: 20_000,
        idleTimeoutMs: 120_000,
        maxHeaderBytes: 32_768,
        maxHeaders: 100,
        maxConnections: 500,
        maxConnectionsPerAgent: 50,
        maxConnectionsPerTenant: 200,
        maxWsMessageBytes: 2_097_152,
        replayWindowMs: 30_000,
      },
      { mode: 'enforce', maxBytes: 2_097_152, beyond: 'pass' },
    ],
  ],
  plans: (config) => [
    [config.plans.get('example'), config.defaultPlan, config.autoRegisterTenants],
    [
      {
        name: 'example',
        scansPerMonth: 20,
        scansPerMinute: 60,
        burst: 120,
        maxBodyBytes: 16_384,
        bodyLimitSetBy: 'plan',
        retentionMs: 7 * day,
        overage: true,
        perKeyScansPerMinute: 10,
      },
      'example',
      false,
    ],
  ],
  agents: (config) => [
    config.agents,
    [
      {
        id: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
        tenantId: 'acme',
        envName: 'staging',
        name: 'support-bot',
        runtimeType: 'langchain',
      },
      {
        id: '0b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c22',
        tenantId: 'Beta_2',
        envName: 'default',
        name: '0b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c22',
        runtimeType: null,
      },
    ],
  ],
  keys: (config) => [
    config.keys,
    [
      {
        name: 'ci',
        tenantId: 'acme',
        envName: 'staging',
        agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
        hash: 'b'.repeat(64),
        permissions: ['scan', 'usage:read'],
        ipAllowlist: ['10.0.0.0/8'],
        expiresAtMs: Date.UTC(2030, 0, 31, 12),
        description: 'The build',
      },
    ],
  ],
  credentials: (config) => [
    config.credentials.map(({ name, type, vault, hosts, paths, agents, tenantId, ...own }) => [
      name,
      type,
      own,
    ]),
    [
      ['github-bot', 'bearer', { value: 'token' }],
      ['jira', 'basic', { username: env.ADMIN, password: 'from a file' }],
      ['vendor', 'headers', { values: new Map([['X-Api-Key', env.ADMIN]]) }],
      ['maps', 'query', { parameter: 'key', value: env.ADMIN }],
      [
        'crm',
        'oauth2_client_credentials',
        {
          tokenUrl: 'https://login.example.com/token',
          clientId: 'id',
          clientAuthentication: 'client_secret_basic',
          clientSecret: env.ADMIN,
          privateKey: null,
          keyId: null,
          scopes: ['read'],
          audience: 'crm',
        },
      ],
      [
        'aws',
        'aws_sigv4',
        { accessKeyId: null, secretAccessKey: null, sessionToken: null, region: 'eu-west-1', service: 's3' },
      ],
    ],
  ],
  'places of credentials': (config) => [
    config.credentials
      .slice(0, 2)
      .map(({ vault, hosts, paths, agents, tenantId }) => ({ vault, hosts, paths, agents, tenantId })),
    [
      { vault: false, hosts: ['api.github.com'], paths: ['/repos/acme/**'], agents: ['*'], tenantId: 'acme' },
      { vault: false, hosts: [], paths: null, agents: ['*'], tenantId: 'acme' },
    ],
  ],
  inbound: (config) => [
    [...config.inbound.values()],
    [
      {
        prefix: 'sf-slack',
        tenantId: 'acme',
        agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
        upstream: 'https://slack.com/api',
        tool: 'slack',
        credential: 'github-bot',
        auth: { type: 'token', header: 'X-Hook', query: null, value: env.ADMIN },
        allowedMethods: ['GET', 'POST'],
        allowedPaths: ['/chat.*'],
        allowedSites: ['*.app.example.com'],
        maxBodyBytes: 1_048_576,
        responseScan: { mode: 'enforce', maxBytes: null, beyond: null },
      },
      {
        prefix: 'plain',
        tenantId: 'Beta_2',
        agentId: null,
        upstream: 'http://127.0.0.1:8000',
        tool: null,
        credential: null,
        auth: { type: 'key' },
        allowedMethods: [],
        allowedPaths: [],
        allowedSites: [],
        maxBodyBytes: null,
        responseScan: null,
      },
    ],
  ],
  tools: (config) => [
    config.tools,
    [
      {
        name: 'stripe',
        tenantId: null,
        maxBodyBytes: 1_048_576,
        responseScan: { mode: null, maxBytes: 4_194_304, beyond: null },
        sensitive: true,
        addition: undefined,
      },
      {
        name: 'billing',
        tenantId: 'acme',
        maxBodyBytes: null,
        responseScan: null,
        sensitive: null,
        addition: {
          title: 'billing',
          name: 'billing',
          hosts: ['billing.corp.acme.com'],
          operations: { invoices: { create_invoice: { verb: 'WRITE', call: 'POST /invoices' } } },
        },
      },
    ],
  ],
  'policies, detectors, approvals, risk': (config) => [
    [config.policies, config.detectors, config.approvals, config.risk],
    [
      ['/etc/gate/policies/*.yaml', '/etc/postern/policies/*.yaml'],
      ['/etc/gate/detectors/*.yaml', '/etc/acme/detectors.yaml'],
      { ttlMs: 300_000, grantWindowMs: 0, denyWindowMs: 60_000, holdMs: 30_000 },
      {
        weights: { classifier: 0.5, threat_intel: 0.5, baseline: 0, correlation: 0, semantic: 0 },
        bands: { MEDIUM: 0.2, HIGH: 0.4, CRITICAL: 0.6 },
        blockThreats: false,
        autoRegisterAgents: false,
        trust: {
          denial: 0.1,
          analystDenial: 0.1,
          threatHit: 0.2,
          anomaly: 0.02,
          recovery: 0.01,
          recoveryCalls: 50,
        },
      },
    ],
  ],
  feeds: (config) => [
    config.feeds,
    [
      { name: 'urlhaus', url: 'https://feeds.example/urlhaus.csv', refreshMs: 1_800_000, format: 'urlhaus' },
      { name: 'own', url: 'file:///etc/gate/feeds/own.txt', refreshMs: 3_600_000, format: 'cidr' },
      { name: 'third', url: 'file:///var/feeds/third.txt', refreshMs: 3_600_000, format: 'lines' },
    ],
  ],
  notifications: (config) => [
    config.notifications[0],
    {
      name: 'sec-chat',
      type: 'slack',
      url: 'https://hooks.example/a',
      events: ['decision.deny', 'incident.*'],
      minSeverity: 'HIGH',
      tools: ['github'],
      agents: ['bot-*'],
      environments: ['production'],
      digestMs: 60_000,
      tenantId: 'acme',
      secret: null,
      signingSecret: env.ADMIN,
      allowPrivate: true,
      headers: new Map(),
      from: null,
      to: [],
      format: 'json',
      preset: null,
    },
  ],
  'what is kept and told': (config) => [
    [config.activity, config.doctor, config.log, config.telemetry],
    [
      { bodies: 'none', retentionMs: 14 * day },
      { canaryUrl: 'https://canary.example/' },
      { level: 'debug', file: '/etc/gate/log/postern.log', access: false },
      {
        metrics: false,
        otlp: 'http://127.0.0.1:4318',
        otlpHeaders: new Map([['Api-Key', 'admin-secret-of-some-length']]),
      },
    ],
  ],
};

for (const [name, compare] of Object.entries(sections)) {
  t.test(`reads what a full file says of ${name}`, async (t) => {
    const [found, wanted] = compare(parseFull());
    t.strictSame(found, wanted);
  });
}

t.test('an empty file is the default of every key', async (t) => {
  const config = parseConfig('', { file: undefined, env: {} });
  const { defaultTenant, plans, tenants, inbound, warnings, origins, ...plain } = config;
  t.matchOnly(plain, {
    file: undefined,
    mode: 'enforce',
    proxy: {
      listen: [{ kind: 'tcp', host: '127.0.0.1', port: 8080 }],
      requireAuth: true,
      tls: null,
      proxyProtocol: false,
    },
    control: {
      listen: [{ kind: 'tcp', host: '127.0.0.1', port: 8081 }],
      tls: null,
      trustedProxies: [],
      names: [],
      adminSecret: null,
    },
    pidFile: null,
    drainDelayMs: 0,
    state: {
      url: { driver: 'embedded', dir: resolve('data') },
      dir: resolve('data'),
      caFile: null,
      timeoutMs: 1000,
      onFailure: 'closed',
    },
    workers: 1,
    authority: { cert: resolve('certs/ca.pem'), key: resolve('certs/ca-key.pem') },
    vault: { keyFile: null, key: null },
    intercept: { passthrough: [] },
    upstream: {
      caFiles: [],
      resolve: [],
      allowPrivate: [],
      deny: [],
      allowedPorts: [],
      proxy: null,
      proxyResolves: false,
      noProxy: [],
      connectTimeoutMs: 10_000,
      responseTimeoutMs: 120_000,
      idleTimeoutMs: 300_000,
      h2: 'auto',
    },
    limits: {
      maxBodyBytes: 262_144,
      maxBodyBytesTotal: 67_108_864,
      maxDecodedBytes: 8_388_608,
      scanTimeoutMs: 250,
      headerTimeoutMs: 10_000,
      handshakeTimeoutMs: 10_000,
      bodyTimeoutMs: 60_000,
      idleTimeoutMs: 300_000,
      maxHeaderBytes: 65_536,
      maxHeaders: 200,
      maxConnections: 10_000,
      maxConnectionsPerAgent: 256,
      maxConnectionsPerTenant: null,
      maxWsMessageBytes: 1_048_576,
      replayWindowMs: 60_000,
    },
    responseScan: { mode: 'observe', maxBytes: 1_048_576, beyond: 'end' },
    reading: { threads: null },
    branding: { headerWord: 'Service' },
    defaultPlan: 'free',
    autoRegisterTenants: true,
    posture: {
      secrets: 'SANITIZE',
      pii: 'ALLOW',
      phi: 'ALLOW',
      internal: 'ALLOW',
      bands: { LOW: 'ALLOW', MEDIUM: 'ALLOW', HIGH: 'REQUIRE_APPROVAL', CRITICAL: 'DENY' },
    },
    agents: [],
    keys: [],
    credentials: [],
    tools: [],
    policies: [resolve('policies/*.yaml')],
    detectors: [],
    knownSecrets: [],
    approvals: { ttlMs: 600_000, grantWindowMs: 600_000, denyWindowMs: 600_000, holdMs: 0 },
    risk: {
      weights: { classifier: 0.3, threat_intel: 0.2, baseline: 0.15, correlation: 0.15, semantic: 0.1 },
      bands: { MEDIUM: 0.25, HIGH: 0.5, CRITICAL: 0.75 },
      blockThreats: true,
      autoRegisterAgents: true,
      trust: {
        denial: 0.05,
        analystDenial: 0.1,
        threatHit: 0.2,
        anomaly: 0.02,
        recovery: 0.01,
        recoveryCalls: 50,
      },
    },
    feeds: [],
    notifications: [],
    activity: { bodies: 'redacted', retentionMs: null },
    doctor: { canaryUrl: null },
    log: { level: 'info', file: null, access: false },
    telemetry: { metrics: true, otlp: null, otlpHeaders: new Map() },
  });
  t.equal(tenants.size, 0);
  t.equal(inbound.size, 0);
  t.strictSame([warnings, origins], [[], []]);
});

t.test('null is the default of every key', async (t) => {
  const { defaultTenant: _, ...empty } = parse('');
  const names = Object.keys(empty).map((key) => key.replace(/Ms$/, ''));
  const keys = names.map((key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const written = keys
    .filter((key) => !['file', 'warnings', 'origins'].includes(key))
    .map((key) => `${key}: null`);
  const deeper =
    'limits: { max_body_bytes: null, scan_timeout: null }\nrisk: { bands: { HIGH: null }, weights: null }\nplans: { team: null }';
  for (const text of [written.join('\n'), deeper, '# only a comment\n', '---\n...\n', 'null']) {
    const { defaultTenant: _, ...config } = parse(text);
    t.strictSame(config, empty, text);
  }
});

t.test('each value that is set says where', async (t) => {
  const text = `limits:
  scan_timeout: 2s
  max_connections: \${env:MOST}
control: { admin_secret: "\${file:jira.txt}" }
proxy: { listen: "127.0.0.1:1" }
tenants:
  - { id: acme }
  - id: beta
    name: Beta
`;
  const given = { MOST: '7', MAX_BODY_BYTES: '64KB' };
  const env = withSetting(given, 'POSTERN_LISTEN', '127.0.0.1:2', '--listen');
  const context = { file: '/etc/gate/x.yaml', env, readFile: () => 'a-secret-of-thirty-two-characters' };
  const { origins } = parseConfig(text, context);
  t.strictSame(origins, [
    { path: 'limits.scan_timeout', from: 'file', line: 2 },
    { path: 'limits.max_connections', from: 'file', line: 3, name: 'MOST' },
    { path: 'control.admin_secret', from: 'file', line: 4, name: 'jira.txt' },
    { path: 'tenants.acme.id', from: 'file', line: 7 },
    { path: 'tenants.beta.id', from: 'file', line: 8 },
    { path: 'tenants.beta.name', from: 'file', line: 9 },
    { path: 'proxy.listen', from: 'command line', name: '--listen' },
    { path: 'limits.max_body_bytes', from: 'environment', name: 'MAX_BODY_BYTES' },
  ]);
  const first = withSetting({}, 'POSTERN_LISTEN', '127.0.0.1:3', 'first-start');
  t.strictSame(parseConfig('', { file: undefined, env: first }).origins, [
    { path: 'proxy.listen', from: 'first start' },
  ]);
});

t.test('nothing of it can be changed', async (t) => {
  const config = parseFull();
  const parts = [
    config,
    config.limits,
    config.proxy,
    config.upstream.deny,
    config.credentials,
    config.agents[0],
    config.plans.get('pro'),
  ];
  for (const part of [...parts, config.tenants.get('acme'), config.tenants.get('acme')?.posture.bands]) {
    t.ok(Object.isFrozen(part));
  }
});

const settings: {
  name: string;
  text: string;
  variables: Record<string, string>;
  want: Partial<Record<string, unknown>>;
}[] = [
  {
    name: 'win over the file',
    text: 'control: { admin_secret: from the file }\nlimits: { max_body_bytes: 1KB, replay_window: 5s, max_headers: 7 }',
    variables: {
      SERVICE_API_KEYS_ADMIN_SECRET: 'from outside',
      MAX_BODY_BYTES: '4096',
      REPLAY_WINDOW_SEC: '120',
    },
    want: { adminSecret: 'from outside', maxBodyBytes: 4096, replayWindowMs: 120_000, maxHeaders: 7 },
  },
  {
    name: 'hold without a file',
    text: '',
    variables: {
      SERVICE_API_KEYS_ADMIN_SECRET: 'from outside',
      MAX_BODY_BYTES: '1MB',
      REPLAY_WINDOW_SEC: '1',
    },
    want: { adminSecret: 'from outside', maxBodyBytes: 1_048_576, replayWindowMs: 1000, maxHeaders: 200 },
  },
  {
    name: 'count as not set when they are empty',
    text: 'control: { admin_secret: from the file }\nlimits: { max_body_bytes: 1KB }',
    variables: { SERVICE_API_KEYS_ADMIN_SECRET: '', MAX_BODY_BYTES: '', REPLAY_WINDOW_SEC: '' },
    want: { adminSecret: 'from the file', maxBodyBytes: 1024, replayWindowMs: 60_000, maxHeaders: 200 },
  },
];

for (const { name, text, variables, want } of settings) {
  t.test(`settings of the environment ${name}`, async (t) => {
    const { control, limits } = parse(text, variables);
    const { maxBodyBytes, replayWindowMs, maxHeaders } = limits;
    t.strictSame({ adminSecret: control.adminSecret, maxBodyBytes, replayWindowMs, maxHeaders }, want);
  });
}

t.test('a setting of the environment that is no size or number is a mistake', async (t) => {
  for (const [variable, value] of [
    ['MAX_BODY_BYTES', 'lots'],
    ['MAX_BODY_BYTES', '99GB'],
    ['MAX_BODY_BYTES', '-1'],
    ['REPLAY_WINDOW_SEC', '60s'],
    ['REPLAY_WINDOW_SEC', '0'],
    ['SERVICE_API_KEYS_ADMIN_SECRET', 'line\nbreak'],
  ] as const) {
    t.throws(() => parse('', { [variable]: value }), ConfigError, `${variable}=${JSON.stringify(value)}`);
  }
});

t.test('a plain value is validated like a file, and its texts are not resolved', async (t) => {
  const reference = `\${env:NONE}`;
  const value = {
    control: { admin_secret: reference },
    tenants: [{ id: 'default', plan: 'enterprise', name: null }],
  };
  const config = validateConfig(value, { file: undefined, env: {} });
  t.equal(config.control.adminSecret, reference);
  t.match(config.tenants.get('default'), {
    name: 'default',
    plan: { scansPerMonth: null },
    environments: ['default'],
  });
  t.throws(() => validateConfig({ tenants: [{ id: 'a', plann: 'x' }] }, { file: undefined, env: {} }), {
    message: 'the configuration has one mistake:\n  tenants[0].plann: unknown key; did you mean "plan"?',
  });
  t.throws(
    () =>
      validateConfig(
        { credentials: [{ name: 'a', type: 'bearer', value: 'x' }] },
        { file: undefined, env: {} },
      ),
    { message: /credentials\[0\]\.tenant: is missing; the file has no tenants, as tenants: / },
  );
  t.throws(() => validateConfig('text', { file: undefined, env: {} }), ConfigError);
  let deep: unknown = {};
  for (let depth = 0; depth < 100; depth++) deep = { proxy: deep };
  t.throws(() => validateConfig(deep, { file: undefined, env: {} }), ConfigError);
});

t.test('the file', async (t) => {
  const dir = t.testdir({
    'a.yaml': 'mode: monitor\nstate: { url: "embedded:here" }\n',
    'bad.yaml': Buffer.from([0x61, 0x3a, 0xff]),
  });

  t.test('is read, and paths start from its directory', async (t) => {
    const config = loadConfig(join(dir, 'a.yaml'), {});
    t.equal(config.mode, 'monitor');
    t.equal(config.state.dir, join(dir, 'here'));
    t.equal(loadConfig(undefined, {}).state.dir, resolve('data'));
  });

  t.test('is a mistake where it cannot be read', async (t) => {
    mkdirSync(join(dir, 'folder'));
    writeFileSync(join(dir, 'large.yaml'), '# ');
    truncateSync(join(dir, 'large.yaml'), 4 * 1024 * 1024 + 1);
    for (const name of ['none.yaml', 'folder', 'bad.yaml', 'large.yaml', '/dev/zero']) {
      t.throws(() => loadConfig(resolve(dir, name), {}), ConfigError, name);
    }
    t.throws(
      () => parseConfig(`# ${'x'.repeat(4 * 1024 * 1024)}`, { file: undefined, env: {} }),
      ConfigError,
    );
  });

  t.test(
    'is the one that was named, then that of POSTERN_CONFIG, then the system file where there is one',
    async (t) => {
      const none = join(dir, 'none.yaml');
      const system = join(dir, 'a.yaml');
      t.equal(findConfigFile('x.yaml', { POSTERN_CONFIG: '/y.yaml' }, system), resolve('x.yaml'));
      t.equal(findConfigFile(undefined, { POSTERN_CONFIG: '/y.yaml' }, system), '/y.yaml');
      t.equal(findConfigFile(undefined, { POSTERN_CONFIG: '' }, system), system);
      t.equal(findConfigFile(undefined, {}, none), undefined);
      t.equal(findConfigFile(undefined, {}, join(system, 'below-a-file')), undefined);
    },
  );
});
