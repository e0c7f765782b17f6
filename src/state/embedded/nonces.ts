import { GatewayError } from '../../errors.ts';

/**
 * Nonces that were seen, in memory: a restart forgets them. What was sent within the replay window before a restart can be sent again
 * once after it.
 */
export interface Nonces {
  /** Throws GATEWAY_BUSY while a tenant has as many as it may: one that is not kept could be replayed. */
  claim(tenantId: string, keyId: string, nonce: string, nowMs: number, endsAtMs: number): boolean;
}

export function createNonces(perTenantMax = 100_000): Nonces {
  /** In the order in which they came, which is about that of their ends. */
  const byTenant = new Map<string, Map<string, number>>();

  function dropEnded(seen: Map<string, number>, nowMs: number): void {
    for (const [nonce, endsAtMs] of seen) {
      if (endsAtMs > nowMs) return;
      seen.delete(nonce);
    }
  }

  return {
    claim(tenantId, keyId, nonce, nowMs, endsAtMs) {
      const seen = byTenant.get(tenantId) ?? new Map<string, number>();
      byTenant.set(tenantId, seen);
      dropEnded(seen, nowMs);
      const name = `${keyId} ${nonce}`;
      const standsUntilMs = seen.get(name);
      if (standsUntilMs !== undefined && standsUntilMs > nowMs) return false;
      seen.delete(name);
      if (seen.size >= perTenantMax)
        throw new GatewayError('GATEWAY_BUSY', 'Too many nonces are in use; try again later.', {
          retryAfterSeconds: Math.max(1, Math.ceil((endsAtMs - nowMs) / 1000)),
        });
      seen.set(name, endsAtMs);
      return true;
    },
  };
}
