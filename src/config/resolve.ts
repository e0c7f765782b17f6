import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { StateAddress } from '../state/open.ts';
import type { Environment } from './checks/references.ts';
import type {
  AgentConfig,
  Config,
  CredentialConfig,
  FeedConfig,
  InboundRoute,
  KeyConfig,
  TlsFiles,
  Written,
} from './schema.ts';
import type { ListenAddress } from './sections/addresses.ts';
import { digestMsOf, formatOfFeed } from './sections/notifications.ts';
import { resolvePlans } from './sections/plans.ts';
import { defaultPosture, mergePosture } from './sections/risk.ts';
import { bareTenant, resolveTenant, type TenantBase, type TenantConfig } from './sections/tenants.ts';
import { catalogueAddition } from './sections/tools.ts';

/** The surroundings that values of a file are resolved against. */
interface Surroundings {
  readonly file: string | undefined;
  /** The folder that relative paths start from. */
  readonly base: string;
  readonly env: Environment;
  /** The `tools` as written, for the catalogue to read. */
  readonly toolsWritten: readonly unknown[];
  /** The body limit stands in the file (`limits.max_body_bytes`), or in the environment (MAX_BODY_BYTES). */
  readonly isBodyLimitWritten: boolean;
  readonly warnings: Config['warnings'];
  readonly origins: Config['origins'];
}

/** Makes the configuration of what was written and checked. Nothing in here can fail. */
export function resolveConfig(written: Written, surroundings: Surroundings): Config {
  const { base, env } = surroundings;
  const at = (path: string): string => resolve(base, path);
  const atOrNull = (path: string | null): string | null => (path === null ? null : at(path));
  const { maxBodyBytes } = written.limits;
  const plans = resolvePlans(written.plans, { maxBodyBytes, isWritten: surroundings.isBodyLimitWritten });
  const posture = mergePosture(defaultPosture, written.posture);
  const tenantBase = { ...tenantBaseOf(written), plans, posture };
  const tenants = new Map(written.tenants.map((it) => [it.id, resolveTenant(it, tenantBase)]));
  const owners = ownersAmong(tenants);
  const agents = written.agents.map((it) => owners.agent(it));
  const agentById = new Map(agents.map((it) => [it.id, it]));
  const { keyFile, keyEnv } = written.vault;
  return Object.freeze({
    ...written,
    file: surroundings.file,
    warnings: surroundings.warnings,
    origins: surroundings.origins,
    proxy: Object.freeze({ ...written.proxy, tls: tlsFiles(written.proxy.tls, at) }),
    control: Object.freeze({
      ...written.control,
      listen: Object.freeze(written.control.listen.map((it) => absoluteSocket(it, at))),
      tls: tlsFiles(written.control.tls, at),
      adminSecret: written.control.adminSecret || null,
    }),
    pidFile: atOrNull(written.pidFile),
    state: resolveState(written.state, at),
    authority: Object.freeze({ cert: at(written.authority.cert), key: at(written.authority.key) }),
    vault: Object.freeze({ keyFile: atOrNull(keyFile), key: keyEnv === null ? null : (env[keyEnv] ?? null) }),
    upstream: Object.freeze({
      ...written.upstream,
      caFiles: Object.freeze(written.upstream.caFiles.map(at)),
    }),
    log: Object.freeze({ ...written.log, file: atOrNull(written.log.file) }),
    policies: Object.freeze(written.policies.map(at)),
    detectors: Object.freeze(written.detectors.map(at)),
    posture,
    plans,
    tenants,
    defaultTenant: (id: string) => bareTenant(id, tenantBase),
    agents: Object.freeze(agents),
    keys: Object.freeze(written.keys.map((it) => owners.key(it, agentById))),
    credentials: Object.freeze(written.credentials.map((it) => owners.credential(it))),
    inbound: new Map(written.inbound.map((it) => [it.prefix, owners.route(it)])),
    tools: Object.freeze(resolveTools(written.tools, surroundings.toolsWritten)),
    feeds: Object.freeze(written.feeds.map((it) => resolveFeed(it, at))),
    notifications: Object.freeze(
      written.notifications.map(({ tenant, digestMs, ...it }) =>
        Object.freeze({ ...it, tenantId: tenant, digestMs: digestMs ?? digestMsOf(it.type) }),
      ),
    ),
  });
}

const tenantBaseOf = (written: Written): Omit<TenantBase, 'plans' | 'posture'> => ({
  mode: written.mode,
  onFailure: written.state.onFailure,
  defaultPlan: written.defaultPlan,
  limits: written.limits,
  responseScan: written.responseScan,
  approvals: written.approvals,
  blockThreats: written.risk.blockThreats,
  autoRegisterAgents: written.risk.autoRegisterAgents,
  retentionMs: written.activity.retentionMs,
});

type At = (path: string) => string;

const tlsFiles = ({ cert, key }: Written['proxy']['tls'], at: At): TlsFiles | null =>
  cert === null || key === null ? null : Object.freeze({ cert: at(cert), key: at(key) });

const absoluteSocket = (address: ListenAddress, at: At): ListenAddress =>
  address.kind === 'unix' ? { kind: 'unix', path: at(address.path) } : address;

function resolveState(written: Written['state'], at: At): Config['state'] {
  const isEmbedded = written.url.driver === 'embedded';
  const url: StateAddress = isEmbedded ? { driver: 'embedded', dir: at(written.url.dir) } : written.url;
  const dir = at(written.dir ?? (written.url.driver === 'embedded' ? written.url.dir : './data'));
  return Object.freeze({
    ...written,
    url: Object.freeze(url),
    dir,
    caFile: written.caFile === null ? null : at(written.caFile),
  });
}

/** Returns a feed with its format. The URL of a file is `file:///absolute` from here on. */
function resolveFeed(feed: Written['feeds'][number], at: At): FeedConfig {
  const isRelative = /^file:(?!\/\/)/.test(feed.url);
  const url = isRelative ? pathToFileURL(at(feed.url.slice('file:'.length))).href : feed.url;
  return Object.freeze({ ...feed, url, format: feed.format ?? formatOfFeed(feed.name) });
}

const resolveTools = (tools: Written['tools'], asWritten: readonly unknown[]): Config['tools'] =>
  tools.map(({ name, tenant, maxBodyBytes, responseScan, sensitive }, index) => {
    const addition = catalogueAddition(asWritten[index] as Readonly<Record<string, unknown>>);
    return Object.freeze({ name, tenantId: tenant, maxBodyBytes, responseScan, sensitive, addition });
  });

/**
 * Returns functions that put in the tenant where it was left out, and the environment that follows from it.
 */
function ownersAmong(tenants: ReadonlyMap<string, TenantConfig>) {
  const [only = ''] = tenants.keys();
  const ownerOf = (tenant: string | null): string => tenant ?? only;
  return {
    agent({ tenant, env, name, ...rest }: Written['agents'][number]): AgentConfig {
      const tenantId = ownerOf(tenant);
      const envName = env ?? tenants.get(tenantId)?.environments[0] ?? 'default';
      return Object.freeze({ ...rest, tenantId, envName, name: name ?? rest.id });
    },
    key(
      { tenant, env, agent, permissions, ...rest }: Written['keys'][number],
      agents: ReadonlyMap<string, AgentConfig>,
    ): KeyConfig {
      const envName = env ?? agents.get(agent)?.envName ?? null;
      return Object.freeze({
        ...rest,
        tenantId: ownerOf(tenant),
        envName,
        agentId: agent,
        permissions: permissions ?? ['scan'],
      });
    },
    credential({ tenant, ...rest }: Written['credentials'][number]): CredentialConfig {
      return Object.freeze({ ...rest, tenantId: ownerOf(tenant) }) as CredentialConfig;
    },
    route({ tenant, agent, ...rest }: Written['inbound'][number]): InboundRoute {
      return Object.freeze({ ...rest, tenantId: ownerOf(tenant), agentId: agent });
    },
  };
}
