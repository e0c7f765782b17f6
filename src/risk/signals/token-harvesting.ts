import { safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

export const credentialsEnough = 3;

/**
 * Has the agent had several distinct credentials in its hands within ten minutes that stand where they do not
 * belong? Those in calls and in answers are counted together. Those at home are not: an agent has one of each
 * service, new ones when it renews them, and makes some anew for each call.
 */
export const tokenHarvesting: SignalEngine = {
  name: 'correlation',
  assess({ history: { sightings }, identity }, { secretHashes }) {
    if (secretHashes.length === 0 && sightings.all.length === 0) return undefined;
    const hashes = new Set(secretHashes);
    for (const sighting of sightings.all) {
      if (sighting.kind !== 'secrets' || sighting.isGranted || sighting.agentId !== identity.agentId)
        continue;
      for (const hash of sighting.hashes) hashes.add(hash);
    }
    if (hashes.size < credentialsEnough) return undefined;
    return {
      engine: 'correlation',
      name: 'TOKEN_HARVESTING',
      score: 0.8,
      details: safely`${hashes.size} distinct credentials in calls of this agent, and in answers to it, within ten minutes`,
    };
  },
};
