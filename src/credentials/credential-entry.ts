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
  /** Its entry in the file; undefined where only a route names it. Then the vault knows what it is. */
  readonly config: CredentialConfig | undefined;
  /** The secret, where it stands in the file; else undefined. */
  readonly secret: Secret | undefined;
  /** Tells whether calls of the forward proxy to this host may get it. */
  isFor(host: string): boolean;
  /** Tells whether a route may send it to this host. */
  goesTo(host: string): boolean;
  /** Tells whether the host may have got it in another way than by a route. */
  mayReach(host: string): boolean;
  isAt(path: string): boolean;
  isOf(agent: Pick<OwnAgent, 'agentId' | 'name'>): boolean;
  /** Tells whether the entry names the agent itself. A pattern that matches the name does not count. */
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

/**
 * Returns the entry of a credential that only a route names. The vault knows what it is, and whether it is
 * there.
 */
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
