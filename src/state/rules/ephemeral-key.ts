import { GatewayError } from '../../core/errors.ts';

/** An ephemeral key is still listed so long after its end. */
export const endedKeptMs = 7 * 86_400_000;

/** Ended keys that go when another one is made: more than come. */
export const endedPerKey = 16;

/** Ephemeral keys of one parent that have neither ended nor been revoked. */
export const childrenMax = 10_000;

export const tooManyChildren = (): GatewayError =>
  new GatewayError('GATEWAY_BUSY', `The key has ${childrenMax} ephemeral keys that have not ended.`, {
    retryAfterSeconds: 60,
  });
