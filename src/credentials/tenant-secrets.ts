import { createHmac } from 'node:crypto';
import { createShingler, type Shingler } from '../inspect/fingerprint/shingles.ts';
import { createCache } from '../state/cache.ts';
import { kept } from '../util/kept.ts';

/** Keys of tenants, derived from the pepper: what is known again by them in one tenant says nothing in another. */
export interface TenantSecrets {
  /** For fingerprints of contents. */
  contentKey(tenantId: string): Buffer;
  /** For hashes of credentials. */
  credentialKey(tenantId: string): Buffer;
  shingler(tenantId: string): Shingler;
}

const tenantsMax = 1_024;

export function createTenantSecrets(pepper: Buffer): TenantSecrets {
  const derive = (purpose: string) =>
    keptFor((tenantId) => createHmac('sha256', pepper).update(`${purpose} ${tenantId}`).digest());
  const shingleKey = derive('shingles');
  return {
    contentKey: derive('content'),
    credentialKey: derive('credentials'),
    shingler: keptFor((tenantId) => createShingler(shingleKey(tenantId))),
  };
}

function keptFor<T>(make: (tenantId: string) => T): (tenantId: string) => T {
  const cache = createCache<T>(tenantsMax);
  return (tenantId) => kept(cache, tenantId, () => make(tenantId));
}
