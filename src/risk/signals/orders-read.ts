import { ownName, safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

/**
 * Reports that the agent was given an answer with orders within the last ten minutes, in a call that changes
 * something or goes where it has never been. Whoever wrote the answer may be the one who calls.
 */
export const ordersRead: SignalEngine = {
  name: 'correlation',
  assess({ history: { sightings, isNewDestination }, identity, operation }) {
    if (operation.verb === 'READ' && !isNewDestination) return undefined;
    const read = sightings.all.findLast((it) => it.kind === 'orders' && it.agentId === identity.agentId);
    if (read === undefined) return undefined;
    return {
      engine: 'correlation',
      name: 'ORDERS_READ',
      score: 0.6,
      details: safely`an answer to this agent gave it orders less than ten minutes before (trace ${ownName(read.traceId)})`,
    };
  },
};
