import type * as z from 'zod';
import type { StateAddress } from '../state/open.ts';
import type { Mistake } from './checks/mistakes.ts';
import type { ValueOrigin } from './origins.ts';
import { dottedName, flag, path } from './scalars.ts';
import { list, section, table } from './section.ts';
import type { ListenAddress } from './sections/addresses.ts';
import { agent, key } from './sections/agents.ts';
import { credential } from './sections/credentials.ts';
import * as daemon from './sections/daemon.ts';
import { inbound } from './sections/inbound.ts';
import { knownSecret } from './sections/known-secrets.ts';
import { type ConfigFeedFormat, feed, notification } from './sections/notifications.ts';
import { type Plan, plan } from './sections/plans.ts';
import { approvals, type PostureConfig, posture, risk } from './sections/risk.ts';
import { type TenantConfig, tenant } from './sections/tenants.ts';
import { tool } from './sections/tools.ts';
import { intercept, upstream } from './sections/upstream.ts';

export type { BudgetConfig, ResponseScanConfig, TenantConfig } from './sections/tenants.ts';

/** The whole file, in the order of its keys. */
export const configSchema = section({
  mode: daemon.mode.default('enforce'),
  proxy: daemon.proxy.describe('The forward proxy.'),
  control: daemon.control.describe('The control plane.'),
  pid_file: daemon.pidFile,
  drain_delay: daemon.drainDelay,
  state: daemon.state.describe('Where keys, policies, approvals, traces and counters are kept.'),
  workers: daemon.workers,
  authority: daemon.authority.describe('The certificate authority that intercepted hosts are signed with.'),
  vault: daemon.vault.describe('The key that stored credentials are encrypted with.'),
  intercept: intercept.describe('What is not intercepted.'),
  upstream: upstream.describe('How calls leave.'),
  limits: daemon.limits.describe('Bounds on what a client can make the gateway do.'),
  response_scan: daemon.responseScan.describe('What is done with answers.'),
  reading: daemon.reading.describe('Where contents are read.'),
  branding: daemon.branding.describe('The name that the gateway goes by.'),
  plans: table(dottedName, plan, 1000).describe(
    'Plans beside, or over, free, solo, team, pro and enterprise.',
  ),
  default_plan: dottedName.default('free').describe('Plan of tenants that name none.'),
  auto_register_tenants: flag
    .prefault(true)
    .describe('Whether minting a key for an unknown tenant registers it.'),
  tenants: list(tenant).describe('The tenants.'),
  posture: posture.describe('What happens when no rule matches, for tenants that say nothing.'),
  agents: list(agent, 100_000).describe('Agents that are known from the start.'),
  keys: list(key, 100_000).describe('Keys by their hash, for configuration kept in a repository.'),
  credentials: list(credential).describe('Credentials that are sent instead of what the agent has.'),
  inbound: list(inbound).describe('Routes below /inbound.'),
  tools: list(tool).describe('Additions to the catalogue of tools, and limits by tool.'),
  policies: list(path, 1000).prefault(['policies/*.yaml']).describe('Globs of policy files.'),
  detectors: list(path, 100).describe(
    'Globs of files with detectors of your own, which are added to those of the package for all tenants.',
  ),
  known_secrets: list(knownSecret, 100).describe('Secrets that are found by their value, for all tenants.'),
  approvals: approvals.describe('How long approvals live and count.'),
  risk: risk.describe('How risk and trust are computed.'),
  feeds: list(feed, 100).describe('Threat feeds; none is fetched unless it is named here.'),
  notifications: list(notification, 1000).describe('Channels that events are told to.'),
  activity: daemon.activity.describe('What traces keep.'),
  doctor: daemon.doctor.describe('What `postern doctor` calls.'),
  log: daemon.log.describe('The log of the daemon.'),
  telemetry: daemon.telemetry.describe('Metrics and traces for others.'),
}).prefault({});

/** The file as it is read. Every default is filled in, and nothing is resolved yet. */
export type Written = z.output<typeof configSchema>;

type Item<T extends readonly unknown[]> = T[number];
type Owned<T> = Omit<T, 'tenant'> & { readonly tenantId: string };

/** An agent that is known from the start. */
export type AgentConfig = Owned<Omit<Item<Written['agents']>, 'env' | 'name'>> & {
  readonly envName: string;
  readonly name: string;
};

/** A key by its hash, the SHA-256 of the key's text in hex. */
export type KeyConfig = Owned<Omit<Item<Written['keys']>, 'env' | 'permissions' | 'agent'>> & {
  readonly agentId: string;
  /** The environment of the key; null for that of its agent. */
  readonly envName: string | null;
  readonly permissions: readonly string[];
};

type OwnedEach<T> = T extends unknown ? Owned<T> : never;
/** A credential by its `type`. Its secrets are null where the vault holds them. */
export type CredentialConfig = OwnedEach<Item<Written['credentials']>>;

export type InboundRoute = Owned<Omit<Item<Written['inbound']>, 'agent'>> & {
  readonly agentId: string | null;
  /** The key that stands for callers without one. Routes of the API have it, those of the file do not. */
  readonly keyId?: string | null;
};
/** The settings of a tool for one tenant, or for all where it is null. */
type ToolConfig = Pick<Item<Written['tools']>, 'name' | 'maxBodyBytes' | 'responseScan' | 'sensitive'> & {
  readonly tenantId: string | null;
  /**
   * The tool in the form of the catalogue's files, to be added to it; undefined where there are only
   * settings.
   */
  readonly addition: Readonly<Record<string, unknown>> | undefined;
};
export type FeedConfig = Omit<Item<Written['feeds']>, 'format'> & { readonly format: ConfigFeedFormat };
export type NotificationConfig = Omit<Item<Written['notifications']>, 'tenant' | 'digestMs'> & {
  readonly tenantId: string | null;
  readonly digestMs: number;
};

/** The certificate chain and key of a listener, as paths. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

interface Listener {
  readonly listen: readonly ListenAddress[];
  /** The certificate of the listener; null for plain HTTP. */
  readonly tls: TlsFiles | null;
}

type Resolved =
  | 'proxy'
  | 'control'
  | 'state'
  | 'vault'
  | 'plans'
  | 'tenants'
  | 'posture'
  | 'agents'
  | 'keys'
  | 'credentials'
  | 'inbound'
  | 'tools'
  | 'feeds'
  | 'notifications';

/**
 * The configuration as the daemon uses it: parsed once, checked as a whole, frozen. Paths are absolute,
 * durations are in milliseconds and sizes in bytes. Names lead to what exists. What a tenant inherits is
 * already in it.
 */
export interface Config extends Omit<Written, Resolved> {
  /** The file that the configuration was read from; undefined where there is none. */
  readonly file: string | undefined;
  readonly proxy: Omit<Written['proxy'], 'listen' | 'tls'> & Listener;
  /** The control plane. `adminSecret` is null where there is none. */
  readonly control: Omit<Written['control'], 'listen' | 'tls' | 'adminSecret'> &
    Listener & { readonly adminSecret: string | null };
  /**
   * The state. `dir` holds the local files: it is that of an embedded state, or another one beside a Redis.
   */
  readonly state: Omit<Written['state'], 'url' | 'dir'> & {
    readonly url: StateAddress;
    readonly dir: string;
  };
  /**
   * The key of the vault. At most one of both is set. `key` is the text of the variable that `key_env` names.
   */
  readonly vault: { readonly keyFile: string | null; readonly key: string | null };
  readonly plans: ReadonlyMap<string, Plan>;
  readonly tenants: ReadonlyMap<string, TenantConfig>;
  /** Returns a tenant that the file does not have, as it is registered when a key is minted for it. */
  readonly defaultTenant: (id: string) => TenantConfig;
  readonly posture: PostureConfig;
  readonly agents: readonly AgentConfig[];
  readonly keys: readonly KeyConfig[];
  readonly credentials: readonly CredentialConfig[];
  /** The inbound routes by prefix. */
  readonly inbound: ReadonlyMap<string, InboundRoute>;
  readonly tools: readonly ToolConfig[];
  readonly feeds: readonly FeedConfig[];
  readonly notifications: readonly NotificationConfig[];
  /** The warnings that `config check` shows. */
  readonly warnings: readonly Mistake[];
  /** The places where the values are set. */
  readonly origins: readonly ValueOrigin[];
}
