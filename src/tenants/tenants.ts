import type { Config, TenantConfig } from '../config/schema.ts';
import type { Store } from '../state/store.ts';

/** Knows the served tenants: those of the configuration, and those registered by minting. */
export type Tenants = ReturnType<typeof createTenants>;

/** `registered` outlives reloads: it receives what is registered or learnt. */
export function createTenants(
  config: Config,
  registered: Set<string>,
  store: Pick<Store, 'registeredTenants'>,
) {
  const known = new Map(config.tenants);
  // Those that will be registered are like this one.
  const all = [...known.values(), config.defaultTenant('default')];
  /** From now on the tenant is served, with the default plan and one environment. */
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
    /** Finds a tenant, if need be in the state, since another node may have registered it. */
    learn: (tenantId: string) => known.get(tenantId) ?? learn(tenantId),
    /** Returns the terms of a tenant's plan; undefined where the tenant is not served. */
    termsOf: (tenantId: string) => known.get(tenantId)?.plan,
    ids: () => [...known.keys()],
    /** Returns how many connections a tenant may hold; none, where it is not served. */
    connectionBounds(tenantId: string) {
      const { maxConnectionsPerAgent: perAgent = 0, maxConnectionsPerTenant: perTenant = 0 } =
        known.get(tenantId) ?? {};
      return { perAgent, perTenant, isShared: known.size > 1 };
    },
    /** The smallest limit of all tenants: a body of this size is too large for none. */
    smallestMaxBodyBytes: all.reduce((least, it) => Math.min(least, it.maxBodyBytes), Infinity),
    /** The largest decoding limit of all tenants, before it is known whose a call is. */
    largestMaxDecodedBytes: all.reduce((most, it) => Math.max(most, it.maxDecodedBytes), 0),
    register,
  };
}
