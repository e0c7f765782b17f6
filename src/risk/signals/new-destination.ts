import { safely, shortened } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';
import { redactedDestination } from './redacted-destination.ts';

/**
 * Reports a destination that the agent has never called. It does so from the first call on; other oddities
 * take a baseline.
 */
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
