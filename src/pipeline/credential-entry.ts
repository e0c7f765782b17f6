import type { OwnAgent } from '../call.ts';
import type { Config, CredentialConfig, InboundRoute } from '../config/schema.ts';
import { compileGlob } from '../policy/glob.ts';
import { parseTarget } from '../target.ts';
import { toHostMatcher } from '../upstream/host-glob.ts';
import { toSecret } from './credential-secret.ts';
import { type ReadyCredential, toReadyCredential } from './injection.ts';
import { compilePathGlob } from './path-glob.ts';

/** A credential of one tenant, as the configuration names it. */
export interface Entry {
  readonly name: string;
  /** Undefined where only a route names it: then the vault knows. */
  readonly type: string | undefined;
  readonly parameter: string | null;
  /** Where the secret stands in the file. */
  readonly ready: ReadyCredential | undefined;
  /** Whether calls of the forward proxy to this host may get it. */
  isFor(host: string): boolean;
  /** Whether a route may send it to this host. */
  goesTo(host: string): boolean;
  /** Whether the host may have got it, in whichever way. */
  mayReach(host: string): boolean;
  isAt(path: string): boolean;
  isOf(agent: Pick<OwnAgent, 'agentId' | 'name'>): boolean;
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
  const secret = config.vault ? undefined : toSecret(config);
  const isFor = (host: string): boolean => hosts.some((matches) => matches(host));
  return {
    name: config.name,
    type: config.type,
    parameter: config.type === 'query' ? config.parameter : null,
    ready: secret && toReadyCredential(secret),
    isFor,
    goesTo: (host) => hosts.length === 0 || isFor(host),
    mayReach: (host) => isFor(host) || reached.has(host),
    isAt: (path) => paths === undefined || paths.some((matches) => matches(path)),
    isOf: ({ agentId, name }) => config.agents.includes(agentId) || names.some((matches) => matches(name)),
  };
}

const ofVaultAlone = (name: string, reached: ReadonlySet<string>): Entry => ({
  name,
  type: undefined,
  parameter: null,
  ready: undefined,
  isFor: () => false,
  goesTo: () => true,
  mayReach: (host) => reached.has(host),
  isAt: () => true,
  isOf: () => true,
});
