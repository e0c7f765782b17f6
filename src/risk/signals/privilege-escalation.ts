import type { InspectedCall } from '../../core/call.ts';
import type { CreatedPrincipal } from '../../core/history.ts';
import { ownName, safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

export const escalationMs = 2 * 60_000;

/**
 * Reports rights for somebody whom an agent of the tenant, or the same call, created less than two minutes
 * before.
 */
export const privilegeEscalation: SignalEngine = {
  name: 'correlation',
  assess(call, { privileges: { grants, creates } }) {
    if (!grants) return undefined;
    const { safeName } = call;
    const given = safely`rights are given with ${safeName(grants.name)}, less than two minutes after`;
    const signal = { engine: 'correlation', name: 'PRIVILEGE_ESCALATION', score: 0.8 } as const;
    if (creates?.toolName === grants.toolName)
      return { ...signal, details: safely`${given} ${safeName(creates.name)} (the same call)` };
    const made = madeBefore(call, grants.toolName);
    if (made === undefined) return undefined;
    const created = safeName(made.operation);
    const details = safely`${given} ${created} (trace ${ownName(made.traceId)})`;
    if (made.agentId === call.identity.agentId) return { ...signal, details };
    return { ...signal, details, shown: safely`${given} ${created} (another agent)` };
  },
};

const madeBefore = (
  { history, receivedAtMs }: InspectedCall,
  toolName: string,
): CreatedPrincipal | undefined =>
  history.sightings.all.findLast(
    (it): it is CreatedPrincipal =>
      it.kind === 'principal-created' && it.toolName === toolName && receivedAtMs - it.atMs < escalationMs,
  );
