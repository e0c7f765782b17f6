import { randomBytes, randomUUID } from 'node:crypto';

/*
 * The configuration of the daemon that the contract runs against: many small tenants, so that no group of sentences can spend
 * another's quota or fill another's bucket. Secrets are made for each run.
 */

export const inboundSecrets = {
  bearer: `upstream-${randomBytes(16).toString('hex')}`,
  password: `password-${randomBytes(12).toString('hex')}`,
  header: `header-${randomBytes(12).toString('hex')}`,
  host: `host-${randomBytes(12).toString('hex')}`,
  query: `query-${randomBytes(12).toString('hex')}`,
  /** What platforms send to be known. */
  hook: `hook-${randomBytes(16).toString('hex')}`,
};

/** What the chat of the tenant `approvals` signs with. */
export const slackSecret = randomBytes(16).toString('hex');

export const inboundAgentId = randomUUID();

const roomy = [
  'keys',
  'lifecycle',
  'foreign',
  'ephemeral',
  'scanning',
  'actions',
  'approvals',
  'decisions',
  'held-and-cleaned',
  'versions',
  'matching',
  'conditions',
  'a2a',
  'traces',
  'incidents',
  'agents',
  'audit',
  'errors',
  'replay',
  'responses',
  'proxied',
  'permissions',
  'addresses',
  'stored',
  'listed',
];

const environments = ['production', 'staging'];

/** Plans with bounds that a test reaches within a few calls. */
const plans = {
  'quota-of-3': { extends: 'team', scans_per_month: 3 },
  'quota-of-10': { extends: 'team', scans_per_month: 10 },
  'overage-after-2': { extends: 'team', scans_per_month: 2, overage: true },
  'rate-of-3': { extends: 'team', scans_per_minute: 3 },
  'burst-of-2': { extends: 'team', scans_per_minute: 1, burst: 2 },
  'pro-brief': { extends: 'pro', burst: 50 },
  'answers-of-2': { extends: 'team', scans_per_minute: 1, burst: 2 },
  // What a contract says stands in the plan.
  'per-contract': {
    extends: 'enterprise',
    scans_per_month: 50,
    scans_per_minute: 10,
    max_body_bytes: '2MB',
    per_key_scans_per_minute: 1,
  },
};

const tenants: readonly Readonly<Record<string, unknown>>[] = [
  ...roomy.map((id) => ({
    id,
    plan: 'enterprise',
    environments,
    org_domains: ['acme.test'],
    org_accounts: { github: ['acme'], aws: ['123456789012'] },
  })),
  ...['free', 'solo', 'team', 'pro', 'enterprise'].map((plan) => ({ id: `plan-${plan}`, plan })),
  ...Object.keys(plans).map((plan) => ({ id: plan, plan })),
  { id: 'large-bodies', plan: 'free', limits: { max_body_bytes: '300KB' } },
  { id: 'brief-approvals', plan: 'enterprise', approvals: { ttl: '1s' } },
  { id: 'holding', plan: 'enterprise', approvals: { hold: '1m' } },
  { id: 'holding-briefly', plan: 'enterprise', approvals: { hold: '1s' } },
  { id: 'two-connections', plan: 'enterprise', limits: { max_connections_per_agent: 2 } },
  { id: 'no-windows', plan: 'enterprise', approvals: { grant_window: '0s', deny_window: '0s' } },
  { id: 'closed', plan: 'enterprise', auto_register_agents: false },
  { id: 'watching', plan: 'enterprise', mode: 'monitor' },
  { id: 'denying', plan: 'enterprise', denylist: ['*.evil.test', 'https://files.test/private/'] },
  { id: 'posture', plan: 'enterprise', posture: { secrets: 'DENY', pii: 'SANITIZE', internal: 'DENY' } },
  { id: 'per-contract-rates', plan: 'per-contract' },
  { id: 'posture-by-risk', plan: 'enterprise', posture: { secrets: 'ALLOW' } },
  { id: 'posture-of-bands', plan: 'enterprise', posture: { secrets: 'ALLOW', bands: { HIGH: 'DENY' } } },
  { id: 'inbound', plan: 'enterprise' },
  { id: 'large-and-few', plan: 'quota-of-3' },
  { id: 'inbound-small', plan: 'quota-of-3' },
  { id: 'proxied-few', plan: 'quota-of-3' },
  { id: 'traced-few', plan: 'quota-of-3' },
];

const route = (prefix: string, fields: Readonly<Record<string, unknown>> = {}) => ({
  prefix,
  tenant: 'inbound',
  agent: inboundAgentId,
  upstream: 'https://up.test.example/base',
  credential: 'bearer',
  ...fields,
});

const inbound = [
  route('by-key'),
  route('own-agent', { agent: null }),
  route('by-token', { auth: { type: 'token', header: 'X-Hook', value: inboundSecrets.hook } }),
  route('by-query', { auth: { type: 'token', query: 't', value: inboundSecrets.hook } }),
  route('by-address', { auth: { type: 'ip', allow: ['127.0.0.0/8'] } }),
  route('other-address', { auth: { type: 'ip', allow: ['192.0.2.0/24'] } }),
  route('by-nobody', { auth: 'none' }),
  route('basic', { credential: 'basic' }),
  route('headers', { credential: 'headers' }),
  route('query', { credential: 'api_key' }),
  route('unset', { credential: 'unset' }),
  route('narrow', { allowed_methods: ['GET'], allowed_paths: ['/open/**'] }),
  route('small', { max_body_bytes: 1024 }),
  route('spelt-out', { upstream: 'https://up.test.example', credential: null }),
  route('nowhere', { upstream: 'https://closed.test.example' }),
  route('addressed', { tenant: 'addresses', agent: null, credential: null }),
  route('quota', { tenant: 'inbound-small', agent: null, credential: null }),
];

const credential = (name: string, fields: Readonly<Record<string, unknown>>) => ({
  name,
  tenant: 'inbound',
  ...fields,
});

const credentials = [
  credential('bearer', { type: 'bearer', value: inboundSecrets.bearer }),
  credential('basic', { type: 'basic', username: 'robot', password: inboundSecrets.password }),
  credential('headers', { type: 'headers', values: { 'X-Api-Key': inboundSecrets.header } }),
  // The parameter has the name of the credential.
  credential('api_key', { type: 'query', value: inboundSecrets.query }),
  credential('unset', { type: 'bearer', vault: true }),
  credential('by-host', {
    tenant: 'proxied',
    type: 'bearer',
    value: inboundSecrets.host,
    hosts: ['vendor.test.example'],
    paths: ['/open/**'],
  }),
];

/** Two documents; the second one is of all tenants, and matches none of their calls. */
export const policyFile = `
name: filed
tenants: [stored, permissions]
env_names: [production]
description: comes from a file
rules:
  - { rule_id: filed, match: { url_patterns: ["https://filed.test/"] }, action: DENY, reason_code: FILED }
---
name: filed for all
rules:
  - { rule_id: all, match: { url_patterns: ["https://filed-for-all.test/"] }, action: DENY, reason_code: FILED_FOR_ALL }
`;

export interface Ports {
  readonly caFile: string;
  readonly upstream: number;
  /** A port where nobody listens. */
  readonly closed: number;
  /** Shows a certificate of an authority that nobody knows. */
  readonly untrusted: number;
  /** Speaks something else than TLS, and something else than HTTP inside TLS. */
  readonly broken: number;
  readonly garbled: number;
}

/** The whole file; `control.admin_secret` is another than the one in the environment, which wins. */
export function contractConfig(
  stateUrl: string,
  { caFile, upstream, closed, untrusted, broken, garbled }: Ports,
): Record<string, unknown> {
  return {
    proxy: { listen: '127.0.0.1:0' },
    control: {
      listen: '127.0.0.1:0',
      admin_secret: randomBytes(16).toString('hex'),
      // The tests come through one, wherever they say by X-Forwarded-For where they come from.
      trusted_proxies: ['127.0.0.0/8'],
    },
    // Tests run beside each other: a state that is only slow must not be taken for one that is away.
    state: { url: stateUrl, timeout: '20s' },
    // Who holds the state has no part in reading: beside the embedded one it is done in threads, as where nothing is said.
    ...(stateUrl.startsWith('embedded:') ? {} : { reading: { threads: 0 } }),
    authority: { cert: './certs/ca.pem', key: './certs/ca-key.pem' },
    upstream: {
      allow_private: ['127.0.0.0/8'],
      ca_files: [caFile],
      deny: ['denied.test.example'],
      resolve: [
        { host: 'closed.test.example', address: '127.0.0.1', port: closed },
        { host: 'untrusted.test.example', address: '127.0.0.1', port: untrusted },
        { host: 'broken.test.example', address: '127.0.0.1', port: broken },
        { host: 'garbled.test.example', address: '127.0.0.1', port: garbled },
        { host: 'private.test.example', address: '10.0.0.1', port: upstream },
        { host: '*.test.example', address: '127.0.0.1', port: upstream },
      ],
    },
    plans,
    tenants,
    agents: [{ id: inboundAgentId, tenant: 'inbound', env: 'default', name: 'hosted-bot' }],
    credentials,
    inbound,
    policies: ['policies/*.yaml'],
    notifications: [
      {
        name: 'chat',
        type: 'slack',
        url: 'https://closed.test.example/hook',
        tenant: 'approvals',
        events: ['config.reloaded'],
        signing_secret: slackSecret,
      },
    ],
    log: { level: 'error' },
  };
}
