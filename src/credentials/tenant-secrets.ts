import { createHmac } from 'node:crypto';
import { createShingler } from '../inspect/fingerprint/shingles.ts';
import { createCache } from '../state/cache.ts';
import { kept } from '../util/kept.ts';

/** Holds keys of tenants, derived from the pepper: what one recognises says nothing in another tenant. */
export type TenantSecrets = ReturnType<typeof createTenantSecrets>;

const tenantsMax = 1_024;

export function createTenantSecrets(pepper: Buffer) {
  const derive = (purpose: string) =>
    keptFor((tenantId) => createHmac('sha256', pepper).update(`${purpose} ${tenantId}`).digest());
  const shingleKey = derive('shingles');
  return {
    /** For fingerprints of contents. */
    contentKey: derive('content'),
    /** For hashes of credentials. */
    credentialKey: derive('credentials'),
    shingler: keptFor((tenantId) => createShingler(shingleKey(tenantId))),
  };
}

function keptFor<T>(make: (tenantId: string) => T): (tenantId: string) => T {
  const cache = createCache<T>(tenantsMax);
  return (tenantId) => kept(cache, tenantId, () => make(tenantId));
}
