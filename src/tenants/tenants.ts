import type { Config, TenantConfig } from '../config/schema.ts';
import type { MaybePromise, Store, TenantTerms } from '../state/store.ts';
import type { ConnectionBounds } from '../wire/server/connections.ts';

/** The tenants that are served: those of the configuration, and those that were registered by minting for them. */
export interface Tenants {
  find(tenantId: string): TenantConfig | undefined;
  /** Like `find`; of a tenant that is not known here the state is asked, since another node may have registered it. */
  learn(tenantId: string): MaybePromise<TenantConfig | undefined>;
  /** The terms of a tenant's plan; undefined where the tenant is not served. */
  readonly termsOf: (tenantId: string) => TenantTerms | undefined;
  ids(): readonly string[];
  /** How many connections a tenant may hold; none, where it is not served. */
  connectionBounds(tenantId: string): ConnectionBounds;
  /** The smallest limit of all tenants: a body of this size is too large for none. */
  readonly smallestMaxBodyBytes: number;
  /** The largest decoding limit of all tenants, before it is known whose a call is. */
  readonly largestMaxDecodedBytes: number;
  /** From now on the tenant is served, with the default plan and one environment. */
  register(tenantId: string): void;
}

/** `registered` outlives reloads: it receives what is registered or learnt. */
export function createTenants(
  config: Config,
  registered: Set<string>,
  store: Pick<Store, 'registeredTenants'>,
): Tenants {
  const known = new Map(config.tenants);
  // Those that will be registered are like this one.
  const all = [...known.values(), config.defaultTenant('default')];
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
    find: (tenantId) => known.get(tenantId),
    learn: (tenantId) => known.get(tenantId) ?? learn(tenantId),
    termsOf: (tenantId) => known.get(tenantId)?.plan,
    ids: () => [...known.keys()],
    connectionBounds(tenantId) {
      const { maxConnectionsPerAgent: perAgent = 0, maxConnectionsPerTenant: perTenant = 0 } =
        known.get(tenantId) ?? {};
      return { perAgent, perTenant, isShared: known.size > 1 };
    },
    smallestMaxBodyBytes: all.reduce((least, it) => Math.min(least, it.maxBodyBytes), Infinity),
    largestMaxDecodedBytes: all.reduce((most, it) => Math.max(most, it.maxDecodedBytes), 0),
    register,
  };
}
