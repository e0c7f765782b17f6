import type { Config, TenantConfig } from '../config/schema.ts';
import type { Store } from '../state/store.ts';

/**
 * Knows the tenants that are served: those of the configuration, and those that were registered by minting a
 * key.
 */
export type Tenants = ReturnType<typeof createTenants>;

/**
 * Lists the tenants that are served. Tenants that are registered or learnt later are added to `registered`,
 * which outlives reloads.
 */
export function createTenants(
  config: Config,
  registered: Set<string>,
  store: Pick<Store, 'registeredTenants'>,
) {
  const known = new Map(config.tenants);
  // Tenants that are registered later have the settings of this one.
  const all = [...known.values(), config.defaultTenant('default')];
  /** Serves a tenant from now on, with the default plan and one environment. */
  const register = (tenantId: string): void => {
    registered.add(tenantId);
    if (!known.has(tenantId)) known.set(tenantId, config.defaultTenant(tenantId));
  };
  for (const tenantId of registered) register(tenantId);

  async function learn(tenantId: string): Promise<TenantConfig | undefined> {
    for (const id of await store.registeredTenants()) register(id);
    return known.get(tenantId);
  }

  return {
    find: (tenantId: string) => known.get(tenantId),
    /** Finds a tenant. It also asks the state, since another node may have registered the tenant. */
    learn: (tenantId: string) => known.get(tenantId) ?? learn(tenantId),
    /** Returns the terms of a tenant's plan; undefined where the tenant is not served. */
    termsOf: (tenantId: string) => known.get(tenantId)?.plan,
    ids: () => [...known.keys()],
    /**
     * Returns how many connections a tenant and each of its agents may hold; 0 where the tenant is not
     * served.
     */
    connectionBounds(tenantId: string) {
      const { maxConnectionsPerAgent: perAgent = 0, maxConnectionsPerTenant: perTenant = 0 } =
        known.get(tenantId) ?? {};
      return { perAgent, perTenant, isShared: known.size > 1 };
    },
    /** The smallest body limit of all tenants, in bytes. No tenant refuses a body of this size. */
    smallestMaxBodyBytes: all.reduce((least, it) => Math.min(least, it.maxBodyBytes), Infinity),
    /** The largest decoding limit of all tenants, in bytes, for a call whose tenant is not yet known. */
    largestMaxDecodedBytes: all.reduce((most, it) => Math.max(most, it.maxDecodedBytes), 0),
    register,
  };
}
