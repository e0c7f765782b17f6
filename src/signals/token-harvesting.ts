import type { Call } from '../call.ts';
import type { SignalEngine } from './engine.ts';

export const credentialsEnough = 3;

/**
 * Has the agent had several distinct credentials in its hands within ten minutes? Those that stand where they do not belong, in calls and in
 * answers, are counted together; those that are at home, kind by kind: an agent has one token of a vendor, not three.
 */
export const tokenHarvesting: SignalEngine = {
  name: 'correlation',
  weigh(call) {
    if (call.secretHashes.length === 0 && call.sightings.all.length === 0) return undefined;
    const count = Math.max(0, ...countsOf(call).values());
    if (count < credentialsEnough) return undefined;
    return {
      engine: 'correlation',
      name: 'TOKEN_HARVESTING',
      score: 0.8,
      details: `${count} distinct credentials in calls of this agent, and in answers to it, within ten minutes`,
    };
  },
};

/** Of those that are away, whatever call or answer had them, and of the groups at home that this call adds to: by what stands before the hash. */
function countsOf({ secretHashes, sightings, identity }: Call): Map<string, number> {
  const groups = new Map<string, Set<string>>([[away, new Set()]]);
  for (const hash of secretHashes) {
    const group = groupOf(hash);
    groups.set(group, (groups.get(group) ?? new Set()).add(hash));
  }
  for (const sighting of sightings.all) {
    if (sighting.kind !== 'secrets' || sighting.agentId !== identity?.agentId) continue;
    for (const hash of sighting.hashes) groups.get(groupOf(hash))?.add(hash);
  }
  return new Map([...groups].map(([group, hashes]) => [group, hashes.size]));
}

/** As `secret-hashes.ts` writes it. */
const away = 'away';

const groupOf = (hash: string): string => hash.slice(0, hash.indexOf(':'));
