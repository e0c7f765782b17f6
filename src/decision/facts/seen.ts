import type { DecidedCall } from '../../core/call.ts';
import type { Sighting } from '../../core/history.ts';
import { registrableDomain } from '../../credentials/registrable-domain.ts';
import { wasLetOut } from '../../state/rules/destinations.ts';

/** Returns the events of a decided call that may explain later calls of the tenant. */
export function sightingsOf(call: DecidedCall): Sighting[] {
  const { identity, traceId, receivedAtMs, verdict, evidence } = call;
  const of = { atMs: receivedAtMs, agentId: identity.agentId, traceId };
  const sightings: Sighting[] = [];
  const hashes = newHashes(call);
  if (hashes.length > 0) sightings.push({ kind: 'secrets', ...of, hashes, wentTo: domainOf(call) });
  const { creates } = evidence.privileges;
  if (creates && wasLetOut(verdict))
    sightings.push({
      kind: 'principal-created',
      ...of,
      toolName: creates.toolName,
      operation: creates.name,
    });
  return sightings;
}

/**
 * Returns the domain that the call goes to, or '' where something was found in the host. Such a name is kept
 * nowhere.
 */
const domainOf = ({ target, findings }: DecidedCall): string =>
  findings.some((it) => it.location === 'host') ? '' : registrableDomain(target.host);

/** Returns the hashes that are new. A token comes with every call of its agent, so it is noted once. */
function newHashes({ evidence, history, identity }: DecidedCall): readonly string[] {
  const { secretHashes } = evidence;
  if (secretHashes.length === 0) return secretHashes;
  const known = new Set(
    history.sightings.all.flatMap((it) =>
      it.kind === 'secrets' && it.agentId === identity.agentId ? it.hashes : [],
    ),
  );
  return secretHashes.filter((it) => !known.has(it));
}
