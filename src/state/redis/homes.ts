import { homeKeptMsMax, homesPerAgentMax, homesPerTenantMax } from '../rules/homes.ts';
import type { HomeStore } from '../store.ts';
import type { Link } from './link/link.ts';
import { scripts } from './scripts/scripts.ts';

/**
 * Keeps the homes of credentials in a hash for each tenant. Its fields hold the time at which a home ends,
 * and the home.
 */
export const createRedisHomes = ({ connection, names }: Link): HomeStore => ({
  async homesOf(tenantId, credentials, nowMs) {
    if (credentials.length === 0) return [];
    const texts = await connection.call('HMGET', names.of(tenantId).homes, ...credentials);
    return (texts as readonly (string | null)[]).map((text) => {
      const [endsAtMs, home] = text?.split(' ') ?? [];
      return Number(endsAtMs) > nowMs ? home : undefined;
    });
  },

  async bindHomes({ tenantId, agentId, home, credentials, nowMs }) {
    const own = names.of(tenantId);
    const keys = [own.homes, own.homeEnds, own.homeEndsOf(agentId)];
    const bounds = [homesPerTenantMax, homesPerAgentMax, homeKeptMsMax];
    const pairs = credentials.flatMap((it) => [
      it.credential,
      nowMs + Math.round(Math.min(it.keptMs, homeKeptMsMax)),
    ]);
    const answer = await connection.run(scripts.bindHomes, keys, [nowMs, home, ...bounds, ...pairs]);
    return answer === 'bound' || answer === 'elsewhere' ? answer : 'full';
  },
});
