import type { Call } from '../call.ts';
import type { CreatedPrincipal } from '../history.ts';
import type { SignalEngine } from './engine.ts';

export const escalationMs = 2 * 60_000;

/** Are rights given to somebody, where somebody was made a moment before, by whatever agent of the tenant, or with the same call? */
export const privilegeEscalation: SignalEngine = {
  name: 'correlation',
  weigh(call) {
    const { grants } = call.privileges;
    if (!grants) return undefined;
    const made = madeBefore(call, grants.toolName);
    if (made === undefined) return undefined;
    return {
      engine: 'correlation',
      name: 'PRIVILEGE_ESCALATION',
      score: 0.8,
      details: `rights are given with ${grants.name}, less than two minutes after ${made}`,
    };
  },
};

function madeBefore(
  { privileges: { creates }, sightings, receivedAtMs }: Call,
  toolName: string,
): string | undefined {
  if (creates?.toolName === toolName) return `${creates.name} (the same call)`;
  const made = sightings.all.findLast(
    (it): it is CreatedPrincipal =>
      it.kind === 'principal-created' && it.toolName === toolName && receivedAtMs - it.atMs < escalationMs,
  );
  return made && `${made.operation} (trace ${made.traceId})`;
}
