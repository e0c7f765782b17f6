import { createHmac } from 'node:crypto';
import { createShingler } from '../inspect/fingerprint/shingles.ts';
import { createCache } from '../state/cache.ts';
import { kept } from '../util/kept.ts';

/** Keys of tenants, derived from the pepper. What one key recognises says nothing in another tenant. */
export type TenantSecrets = ReturnType<typeof createTenantSecrets>;

const tenantsMax = 1_024;

export function createTenantSecrets(pepper: Buffer) {
  const derive = (purpose: string) =>
    keptFor((tenantId) => createHmac('sha256', pepper).update(`${purpose} ${tenantId}`).digest());
  const shingleKey = derive('shingles');
  return {
    /** Returns the key for fingerprints of contents. */
    contentKey: derive('content'),
    /** Returns the key for hashes of credentials. */
    credentialKey: derive('credentials'),
    shingler: keptFor((tenantId) => createShingler(shingleKey(tenantId))),
  };
}

function keptFor<T>(make: (tenantId: string) => T): (tenantId: string) => T {
  const cache = createCache<T>(tenantsMax);
  return (tenantId) => kept(cache, tenantId, () => make(tenantId));
}
