import { safely, shortened } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';
import { redactedDestination } from './redacted-destination.ts';

/** Has this agent been there before? From the first call on: what is unusual beside it takes a baseline. */
export const newDestination: SignalEngine = {
  name: 'baseline',
  assess(call) {
    if (!call.history.isNewDestination) return undefined;
    return {
      engine: 'baseline',
      name: 'NEW_DESTINATION',
      score: 0.5,
      details: safely`the first call of this agent to ${shortened(redactedDestination(call), 256)}`,
    };
  },
};
