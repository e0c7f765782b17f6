import type { OwnAgent } from '../call.ts';
import type { Config, CredentialConfig, InboundRoute } from '../config/schema.ts';
import { compileGlob } from '../policy/glob.ts';
import { parseTarget } from '../target.ts';
import { toHostMatcher } from '../upstream/host-glob.ts';
import { toSecret } from './credential-secret.ts';
import type { Secret } from './injection.ts';
import { compilePathGlob } from './path-glob.ts';

/** A credential of one tenant, as the configuration names it. */
export interface Entry {
  readonly name: string;
  /** Undefined where only a route names it: then the vault knows. */
  readonly config: CredentialConfig | undefined;
  /** Where it stands in the file. */
  readonly secret: Secret | undefined;
  /** Whether calls of the forward proxy to this host may get it. */
  isFor(host: string): boolean;
  /** Whether a route may send it to this host. */
  goesTo(host: string): boolean;
  /** Whether the host may have got it, in whichever way. */
  mayReach(host: string): boolean;
  isAt(path: string): boolean;
  isOf(agent: Pick<OwnAgent, 'agentId' | 'name'>): boolean;
  /** The same, by no pattern. */
  isOfNamed(agent: Pick<OwnAgent, 'agentId' | 'name'>): boolean;
}

type Route = Pick<InboundRoute, 'tenantId' | 'credential' | 'upstream'>;

/** By tenant, in the order of the file; those that only routes name come last. */
export function toEntries({
  credentials,
  inbound,
}: Pick<Config, 'credentials' | 'inbound'>): ReadonlyMap<string, readonly Entry[]> {
  const routes = [...inbound.values()].filter((it) => it.credential !== null);
  const tenantIds = new Set([...credentials, ...routes].map((it) => it.tenantId));
  return new Map(
    [...tenantIds].map((tenantId) => {
      const isOwn = (it: { readonly tenantId: string }): boolean => it.tenantId === tenantId;
      return [tenantId, entriesOf(credentials.filter(isOwn), routes.filter(isOwn))];
    }),
  );
}

function entriesOf(credentials: readonly CredentialConfig[], routes: readonly Route[]): readonly Entry[] {
  const reached = (name: string): ReadonlySet<string> =>
    new Set(routes.filter((it) => it.credential === name).map((it) => parseTarget(it.upstream).host));
  const names = new Set(credentials.map((it) => it.name));
  const others = new Set(routes.flatMap(({ credential: it }) => (it === null || names.has(it) ? [] : [it])));
  return [
    ...credentials.map((it) => toEntry(it, reached(it.name))),
    ...[...others].map((name) => ofVaultAlone(name, reached(name))),
  ];
}

function toEntry(config: CredentialConfig, reached: ReadonlySet<string>): Entry {
  const hosts = config.hosts.map(toHostMatcher);
  const paths = config.paths?.map(compilePathGlob);
  const names = config.agents.map((it) => compileGlob(it));
  const tokenHost =
    config.type === 'oauth2_client_credentials' ? parseTarget(config.tokenUrl).host : undefined;
  const isFor = (host: string): boolean => hosts.some((matches) => matches(host));
  return {
    name: config.name,
    config,
    secret: config.vault ? undefined : toSecret(config),
    isFor,
    goesTo: (host) => hosts.length === 0 || isFor(host),
    mayReach: (host) => isFor(host) || reached.has(host) || host === tokenHost,
    isAt: (path) => paths === undefined || paths.some((matches) => matches(path)),
    isOf: ({ agentId, name }) => config.agents.includes(agentId) || names.some((matches) => matches(name)),
    isOfNamed: ({ agentId, name }) => config.agents.includes(agentId) || config.agents.includes(name),
  };
}

const ofVaultAlone = (name: string, reached: ReadonlySet<string>): Entry => ({
  name,
  config: undefined,
  secret: undefined,
  isFor: () => false,
  goesTo: () => true,
  mayReach: (host) => reached.has(host),
  isAt: () => true,
  isOf: () => true,
  isOfNamed: () => false,
});
