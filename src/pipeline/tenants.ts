import type { Config, TenantConfig } from '../config/schema.ts';

/** The tenants that are served: those of the configuration, and those that were registered by minting for them. */
export interface Tenants {
  find(tenantId: string): TenantConfig | undefined;
  ids(): readonly string[];
  /** From now on the tenant is served, with the default plan and one environment. */
  register(tenantId: string): void;
}

export function createTenants(config: Config, registered: ReadonlySet<string>): Tenants {
  const known = new Map(config.tenants);
  const register = (tenantId: string): void => {
    if (!known.has(tenantId)) known.set(tenantId, config.defaultTenant(tenantId));
  };
  for (const tenantId of registered) register(tenantId);
  return { find: (tenantId) => known.get(tenantId), ids: () => [...known.keys()], register };
}
