import { safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

export const mutationsEnough = 10;

/** Reports many changes by one agent with one tool within a minute, on all nodes together. */
export const massAction: SignalEngine = {
  name: 'correlation',
  assess({ history: { habits }, operation, safeName }) {
    if (habits.mutations < mutationsEnough) return undefined;
    return {
      engine: 'correlation',
      name: 'MASS_ACTION',
      score: 0.6,
      details: safely`at least ${mutationsEnough} writes of this agent with ${safeName(operation.toolName)} within a minute`,
    };
  },
};
