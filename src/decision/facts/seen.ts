import type { Call } from '../../core/call.ts';
import type { Sighting } from '../../core/history.ts';
import { registrableDomain } from '../../credentials/registrable-domain.ts';
import { wasLetOut } from '../../state/rules/destinations.ts';

/** The events of a decided call that may explain later calls of the tenant. */
export function sightingsOf(call: Call): Sighting[] {
  const { identity, traceId, receivedAtMs, verdict, privileges } = call;
  if (!identity || !verdict) return [];
  const of = { atMs: receivedAtMs, agentId: identity.agentId, traceId };
  const sightings: Sighting[] = [];
  const hashes = newHashes(call);
  if (hashes.length > 0) sightings.push({ kind: 'secrets', ...of, hashes, wentTo: domainOf(call) });
  const { creates } = privileges;
  if (creates && wasLetOut(verdict))
    sightings.push({
      kind: 'principal-created',
      ...of,
      toolName: creates.toolName,
      operation: creates.name,
    });
  return sightings;
}

/** A name that something was found in is kept nowhere. */
const domainOf = ({ target, findings }: Call): string =>
  findings.some((it) => it.location === 'host') ? '' : registrableDomain(target.host);

/** A token comes with every call of its agent: it is seen once. */
function newHashes({ secretHashes, sightings, identity }: Call): readonly string[] {
  if (secretHashes.length === 0) return secretHashes;
  const known = new Set(
    sightings.all.flatMap((it) =>
      it.kind === 'secrets' && it.agentId === identity?.agentId ? it.hashes : [],
    ),
  );
  return secretHashes.filter((it) => !known.has(it));
}
