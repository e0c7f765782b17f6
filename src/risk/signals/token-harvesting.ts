import { safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

export const credentialsEnough = 3;

/**
 * Reports several distinct credentials, in calls of an agent and answers to it within ten minutes, that stand
 * where they do not belong. Credentials at home do not count. An agent has one for each service, gets new
 * ones when it renews them, and makes some anew for each call.
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
