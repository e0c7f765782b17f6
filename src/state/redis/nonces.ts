import { hash } from 'node:crypto';
import { noncesPerKeyMax, noncesPerTenantMax, tooManyNonces } from '../rules/nonces.ts';
import type { Store } from '../store.ts';
import type { Link } from './link/link.ts';
import { scripts } from './scripts/scripts.ts';

/** Keeps seen nonces of all nodes by their ends: once for the tenant, and once for the key. */
export const createRedisNonces = ({ connection, names }: Link): Pick<Store, 'claimNonce'> => ({
  async claimNonce(tenantId, keyId, nonce, nowMs, endsAtMs) {
    const own = names.of(tenantId);
    const name = hash('sha256', JSON.stringify([keyId, nonce]), 'base64url');
    const args = [nowMs, endsAtMs, name, noncesPerTenantMax, noncesPerKeyMax];
    const answer = await connection.run(scripts.nonce, [own.nonces, own.noncesOf(keyId)], args);
    if (answer === 'full') throw tooManyNonces(endsAtMs - nowMs);
    return answer === 'new';
  },
});
