import type { SignalEngine } from './engine.ts';
import { shownDestination } from './shown-destination.ts';

/** Has this agent been there before? Counted by the baseline's weight until the baseline itself knows more of the agent. */
export const newDestination: SignalEngine = {
  name: 'baseline',
  weigh(call) {
    if (!call.isNewDestination) return undefined;
    return {
      engine: 'baseline',
      name: 'NEW_DESTINATION',
      score: 0.5,
      details: `the first call of this agent to ${shownDestination(call).slice(0, 256)}`,
    };
  },
};
