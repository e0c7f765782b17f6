import { GatewayError } from '../../core/errors.ts';

/** The limit of a key's nonces that have not ended. A stolen key cannot use up what its tenant may have. */
export const noncesPerKeyMax = 10_000;

export const noncesPerTenantMax = 100_000;

/**
 * Returns the error for a nonce without room. Its call must be refused, since a nonce that is not kept could
 * be replayed.
 */
export const tooManyNonces = (leftMs: number): GatewayError =>
  new GatewayError('GATEWAY_BUSY', 'Too many nonces are in use; try again later.', {
    retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
  });
