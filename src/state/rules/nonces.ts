import { GatewayError } from '../../core/errors.ts';

/** Nonces that have not ended yet, of one key: a stolen one does not use up what its tenant may have. */
export const noncesPerKeyMax = 10_000;

export const noncesPerTenantMax = 100_000;

/** One that is not kept could be replayed. */
export const tooManyNonces = (leftMs: number): GatewayError =>
  new GatewayError('GATEWAY_BUSY', 'Too many nonces are in use; try again later.', {
    retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
  });
