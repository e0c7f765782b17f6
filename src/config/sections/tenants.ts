import * as z from 'zod';
import { confidences } from '../../core/call.ts';
import { matchSchema } from '../../policy/schema.ts';
import {
  amount,
  configTitle,
  destination,
  dottedName,
  duration,
  flag,
  hostGlob,
  hour,
  identifier,
  integer,
  line,
  parsed,
  parseHostGlob,
  second,
  size,
  timeZone,
} from '../scalars.ts';
import { list, orNull, over, section, table } from '../section.ts';
import { type limits, mode, onFailure, type responseScan, responseScanOverride } from './daemon.ts';
import type { BodyLimitSetBy, Plan } from './plans.ts';
import { type approvals, approvalsOverride, mergePosture, type PostureConfig, posture } from './risk.ts';

const domain = parsed(
  (text) => (/[*?]/.test(text) ? undefined : parseHostGlob(text.replace(/^@/, ''))),
  'must be a domain without globs',
);

const jsonPath = z.string().regex(/^\$(?:\.[A-Za-z0-9_-]{1,64}|\[\*\]|\[\d{1,6}\]){1,32}$/, {
  error: 'must be a path such as $.amount or $.items[*].price',
});

const budget = section({
  name: configTitle.describe('What the condition daily_budget_exceeded names.'),
  daily: amount.describe('What may be used up in a day.'),
  unit: z.enum(['calls', 'bytes', 'amount']).default('calls').describe('What is counted.'),
  amount_path: orNull(jsonPath).describe('Where the body says the amount, for unit amount.'),
  tz: timeZone.default('UTC').describe('Zone whose midnight begins the day.'),
  match: matchSchema.prefault({}).describe('Which calls count, as the match of a rule says it; empty: all.'),
});

const tenantLimits = section({
  max_body_bytes: orNull(size()).describe('Instead of what plan and limits say.'),
  max_decoded_bytes: orNull(size()).describe('Instead of limits.max_decoded_bytes.'),
  scan_timeout: orNull(duration(1, 60 * second)).describe('Instead of limits.scan_timeout.'),
  body_timeout: orNull(duration()).describe('Instead of limits.body_timeout.'),
  max_connections_per_agent: orNull(integer(1, 1_000_000)).describe(
    'Instead of limits.max_connections_per_agent.',
  ),
  max_connections_per_tenant: orNull(integer(1, 1_000_000)).describe(
    'Instead of limits.max_connections_per_tenant.',
  ),
  max_ws_message_bytes: orNull(size()).describe('Instead of limits.max_ws_message_bytes.'),
  replay_window: orNull(duration(second, hour)).describe('Instead of limits.replay_window.'),
}).prefault({});

export const tenant = section({
  id: identifier.describe('Id of the tenant.'),
  name: orNull(configTitle).describe('Its name for people; null: the id.'),
  plan: orNull(dottedName).describe('Its plan; null: default_plan.'),
  environments: list(identifier, 100).describe('Its environments, the default one first; empty: [default].'),
  org_domains: list(domain, 1000).describe('Domains of the organisation; whoever is elsewhere is external.'),
  org_accounts: z
    .record(z.string().max(64), list(line, 1000))
    .readonly()
    .default({})
    .describe(
      'Accounts of the organisation at vendors, by tool; what is not listed is outside. Also +15550100 and bucket:acme-*.',
    ),
  internal: section({
    builtin: flag.prefault(true).describe('Whether the built-in markers and private hosts count.'),
    hosts: list(hostGlob).describe('Hosts of the organisation that are internal.'),
    markers: list(line, 1000).describe('Words that mark a text as internal.'),
  }).prefault({}),
  posture: posture.describe('What happens when no rule matches; over the posture of the daemon, key by key.'),
  budgets: list(budget, 1000).describe('Daily budgets that policies can ask about.'),
  denylist: list(destination, 100_000).describe(
    'Host globs, address ranges and URL prefixes that are denied.',
  ),
  allowlist: list(destination, 100_000).describe('The same, lifting hits of threat feeds.'),
  detectors: section({
    off: list(dottedName, 1000).describe('Ids of detectors that are not used.'),
    allow_sha256: list(
      z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be a SHA-256 in lower-case hex' }),
    ).describe('SHA-256 of texts that are known and no finding.'),
    confidence: table(dottedName, z.enum(confidences), 1000).describe(
      'Confidence of a detector instead of its own.',
    ),
    published_examples: z
      .enum(['ignore', 'count'])
      .prefault('ignore')
      .describe('Whether values that documentation prints as examples count as findings.'),
  }).prefault({}),
  mode: orNull(mode).describe('Instead of mode.'),
  on_failure: orNull(onFailure).describe('Instead of state.on_failure.'),
  response_scan: responseScanOverride.prefault({}).describe('Over response_scan, key by key.'),
  limits: tenantLimits.describe('Over limits, key by key.'),
  approvals: approvalsOverride.describe('Over approvals, key by key.'),
  block_threats: orNull(flag).describe('Instead of risk.block_threats.'),
  auto_register_agents: orNull(flag).describe('Instead of risk.auto_register_agents.'),
});

type WrittenTenant = z.output<typeof tenant>;

/** The bounds on the calls and connections of a tenant. */
interface TenantBounds {
  readonly maxBodyBytes: number;
  readonly bodyLimitSetBy: BodyLimitSetBy;
  readonly maxDecodedBytes: number;
  readonly scanTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly maxConnectionsPerAgent: number;
  /** The limit of connections; null for as many as leave room for others. */
  readonly maxConnectionsPerTenant: number | null;
  readonly maxWsMessageBytes: number;
  readonly replayWindowMs: number;
  readonly retentionMs: number;
}

/** All that a call needs to know of its tenant. Plan, overrides and defaults are already merged. */
export interface TenantConfig extends TenantBounds {
  readonly id: string;
  readonly name: string;
  readonly mode: 'enforce' | 'monitor';
  readonly onFailure: 'closed' | 'open';
  readonly plan: Plan;
  /** The environments, at least one. The first is the default. */
  readonly environments: readonly [string, ...string[]];
  readonly responseScan: ResponseScanConfig;
  /** The domains of the organisation, in lower case and without `@`. */
  readonly orgDomains: readonly string[];
  /** The accounts of the organisation by tool. */
  readonly orgAccounts: Readonly<Record<string, readonly string[]>>;
  readonly internal: WrittenTenant['internal'];
  readonly posture: PostureConfig;
  readonly budgets: WrittenTenant['budgets'];
  readonly denylist: readonly string[];
  readonly allowlist: readonly string[];
  readonly detectors: TenantDetectors;
  readonly approvals: z.output<typeof approvals>;
  readonly blockThreats: boolean;
  readonly autoRegisterAgents: boolean;
}

export type BudgetConfig = WrittenTenant['budgets'][number];
export type ResponseScanConfig = z.output<typeof responseScan>;

export interface TenantDetectors {
  readonly off: ReadonlySet<string>;
  readonly allowSha256: ReadonlySet<string>;
  readonly confidence: ReadonlyMap<string, (typeof confidences)[number]>;
  readonly publishedExamples: 'ignore' | 'count';
}

/** The values that a tenant has where it says nothing. */
export interface TenantBase {
  readonly mode: TenantConfig['mode'];
  readonly onFailure: TenantConfig['onFailure'];
  readonly plans: ReadonlyMap<string, Plan>;
  readonly defaultPlan: string;
  readonly limits: z.output<typeof limits>;
  readonly responseScan: ResponseScanConfig;
  readonly posture: PostureConfig;
  readonly approvals: TenantConfig['approvals'];
  readonly blockThreats: boolean;
  readonly autoRegisterAgents: boolean;
  /** The time for which traces are kept; null for that of the plan. */
  readonly retentionMs: number | null;
}

/** Returns the tenant as calls see it. Throws where its plan does not exist. */
export function resolveTenant(own: WrittenTenant, base: TenantBase): TenantConfig {
  const plan = base.plans.get(own.plan ?? base.defaultPlan);
  if (!plan) throw new Error(`tenant ${own.id} has a plan that does not exist`);
  const { limits } = own;
  const [first = 'default', ...others] = own.environments;
  return Object.freeze({
    id: own.id,
    name: own.name ?? own.id,
    mode: own.mode ?? base.mode,
    onFailure: own.onFailure ?? base.onFailure,
    plan,
    environments: Object.freeze([first, ...others] as const),
    maxBodyBytes: limits.maxBodyBytes ?? plan.maxBodyBytes,
    bodyLimitSetBy: limits.maxBodyBytes === null ? plan.bodyLimitSetBy : 'tenant',
    maxDecodedBytes: limits.maxDecodedBytes ?? base.limits.maxDecodedBytes,
    scanTimeoutMs: limits.scanTimeoutMs ?? base.limits.scanTimeoutMs,
    bodyTimeoutMs: limits.bodyTimeoutMs ?? base.limits.bodyTimeoutMs,
    maxConnectionsPerAgent: limits.maxConnectionsPerAgent ?? base.limits.maxConnectionsPerAgent,
    maxConnectionsPerTenant: limits.maxConnectionsPerTenant ?? base.limits.maxConnectionsPerTenant,
    maxWsMessageBytes: limits.maxWsMessageBytes ?? base.limits.maxWsMessageBytes,
    replayWindowMs: limits.replayWindowMs ?? base.limits.replayWindowMs,
    retentionMs: base.retentionMs ?? plan.retentionMs,
    responseScan: over(base.responseScan, own.responseScan),
    orgDomains: own.orgDomains,
    orgAccounts: own.orgAccounts,
    internal: own.internal,
    posture: mergePosture(base.posture, own.posture),
    budgets: own.budgets,
    denylist: own.denylist,
    allowlist: own.allowlist,
    detectors: Object.freeze({
      off: new Set(own.detectors.off),
      allowSha256: new Set(own.detectors.allowSha256),
      confidence: own.detectors.confidence,
      publishedExamples: own.detectors.publishedExamples,
    }),
    approvals: over(base.approvals, own.approvals),
    blockThreats: own.blockThreats ?? base.blockThreats,
    autoRegisterAgents: own.autoRegisterAgents ?? base.autoRegisterAgents,
  });
}

/** Returns a tenant of which only the id is known, as it is registered when a key is minted for it. */
export const bareTenant = (id: string, base: TenantBase): TenantConfig =>
  resolveTenant(tenant.parse({ id }), base);
