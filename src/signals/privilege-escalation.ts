import type { CreatedPrincipal } from '../history.ts';
import type { SignalEngine } from './engine.ts';

export const escalationMs = 2 * 60_000;

/** Are rights given to somebody, where somebody was made a moment before, by whatever agent of the tenant? */
export const privilegeEscalation: SignalEngine = {
  name: 'correlation',
  weigh({ privilege, operation, sightings, receivedAtMs }) {
    if (privilege !== 'grants') return undefined;
    const made = sightings.all.findLast(
      (it): it is CreatedPrincipal =>
        it.kind === 'principal-created' &&
        it.toolName === operation?.toolName &&
        receivedAtMs - it.atMs < escalationMs,
    );
    if (!made) return undefined;
    return {
      engine: 'correlation',
      name: 'PRIVILEGE_ESCALATION',
      score: 0.8,
      details: `rights are given with ${operation?.name}, less than two minutes after ${made.operation} (trace ${made.traceId})`,
    };
  },
};
