import { hash } from 'node:crypto';
import type { Config } from '../config/schema.ts';
import type { PresentedKey } from '../core/call.ts';
import { derivedId } from '../core/ids.ts';
import type { AgentRecord } from '../state/store.ts';

/** The agent of calls of the forward proxy that bring no key, with `proxy.require_auth: false`. */
export type KeylessAgent = Pick<AgentRecord, 'tenantId' | 'agentId' | 'envName' | 'name'>;

/** The prefix of the key that stands for calls without one. No text of a key begins like this. */
export const keylessKeyPrefix = 'no key';

/** The prefix of the keys that stand for the callers of inbound routes. No text of a key begins like this. */
export const routeKeyPrefix = 'inbound';

const keylessName = 'unauthenticated';

/**
 * Returns the agent of calls without a key: the configured one of that name, else one of its own in the first
 * environment. Returns undefined where every call needs a key. There is one tenant then, since the
 * configuration was refused otherwise.
 */
export function keylessAgentOf({
  proxy,
  tenants,
  agents,
}: Pick<Config, 'proxy' | 'tenants' | 'agents'>): KeylessAgent | undefined {
  const [tenant] = tenants.values();
  if (proxy.requireAuth || !tenant) return undefined;
  const { id: tenantId, environments } = tenant;
  const known = agents.find((it) => it.name === keylessName);
  return {
    tenantId,
    agentId: known?.id ?? derivedId(hash('sha256', `agent without a key ${tenantId}`)),
    envName: known?.envName ?? environments[0] ?? 'default',
    name: keylessName,
  };
}

export interface Keyless {
  readonly key: PresentedKey;
  readonly tenantId: string;
}
