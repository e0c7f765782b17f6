import type { UnadmittedCall } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Stage } from '../pipeline.ts';

/**
 * Creates the stage that refuses calls without a well-formed key, without a round trip to the state.
 * Entrances make a `PresentedKey` only of a text whose form and checksum are right.
 */
export function identify(): Stage<UnadmittedCall, UnadmittedCall> {
  return {
    name: 'identify',
    run(call) {
      if (!call.key) {
        throw new GatewayError('INVALID_KEY', 'Send a valid API key: "Authorization: Bearer iv_live_…".');
      }
      return call;
    },
  };
}
