import type { CredentialConfig } from '../config/schema.ts';
import type { OwnAgent } from '../core/call.ts';
import { parseTarget } from '../core/target.ts';
import { compileGlob } from '../util/glob.ts';
import { compilePathGlob } from '../util/path-glob.ts';
import { toHostMatcher } from '../wire/client/reach/host-glob.ts';
import { toSecret } from './credential-secret.ts';
import type { Secret } from './injection.ts';

/** A credential of one tenant, as the configuration names it. */
export interface CredentialEntry {
  readonly name: string;
  /** Undefined where only a route names it: then the vault knows. */
  readonly config: CredentialConfig | undefined;
  /** The secret, where it stands in the file. */
  readonly secret: Secret | undefined;
  /** Tells whether calls of the forward proxy to this host may get it. */
  isFor(host: string): boolean;
  /** Tells whether a route may send it to this host. */
  goesTo(host: string): boolean;
  /** Tells whether the host may have got it in another way than by a route. */
  mayReach(host: string): boolean;
  isAt(path: string): boolean;
  isOf(agent: Pick<OwnAgent, 'agentId' | 'name'>): boolean;
  /** The same, by no pattern. */
  isOfNamed(agent: Pick<OwnAgent, 'agentId' | 'name'>): boolean;
}

export function toEntry(config: CredentialConfig): CredentialEntry {
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
    mayReach: (host) => isFor(host) || host === tokenHost,
    isAt: (path) => paths === undefined || paths.some((matches) => matches(path)),
    isOf: ({ agentId, name }) => config.agents.includes(agentId) || names.some((matches) => matches(name)),
    isOfNamed: ({ agentId, name }) => config.agents.includes(agentId) || config.agents.includes(name),
  };
}

/** One that only a route names: what it is, and whether it is there, the vault knows. */
export const ofVaultAlone = (name: string): CredentialEntry => ({
  name,
  config: undefined,
  secret: undefined,
  isFor: () => false,
  goesTo: () => true,
  mayReach: () => false,
  isAt: () => true,
  isOf: () => true,
  isOfNamed: () => false,
});
