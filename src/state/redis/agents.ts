import { GatewayError } from '../../core/errors.ts';
import type { AgentRecord, Store } from '../store.ts';
import type { Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

type Agents = Pick<
  Store,
  'ensureAgent' | 'agentById' | 'listAgents' | 'updateAgent' | 'registerTenant' | 'registeredTenants'
>;

const claimsMax = 5;

export function createRedisAgents(connection: RedisConnection, names: Names, commits: Commits): Agents {
  const ownerOf = async (agentId: string) =>
    ((await connection.call('GET', names.agent(agentId))) as string | null) ?? undefined;
  const readOf = async (tenantId: string, agentId: string) =>
    toRecord<AgentRecord>(await connection.call('HGET', names.of(tenantId).agents, agentId));

  const add = (agent: AgentRecord): Promise<AgentRecord> =>
    commits.write(agent.tenantId, async (change) => {
      const standing = toRecord<AgentRecord>(await change.read(change.names.agents, agent.agentId));
      if (standing) return standing;
      change.put(change.names.agents, agent.agentId, JSON.stringify(agent));
      change.seedRevision();
      change.index(change.names.indexOf('agents'), indexPlaceOf(agent.createdAtMs, agent.agentId));
      return agent;
    });

  return {
    /** The tenant claims the agent's id first. A claim whose record was never written counts for nothing. */
    async ensureAgent(agent) {
      for (let at = 0; at < claimsMax; at += 1) {
        const owner = await ownerOf(agent.agentId);
        const standing = owner === undefined ? undefined : await readOf(owner, agent.agentId);
        if (standing) return standing;
        const claim = [agent.tenantId, owner ?? ''];
        if (
          owner === agent.tenantId ||
          (await connection.run(scripts.takeOver, [names.agent(agent.agentId)], claim)) === 1
        )
          return add(agent);
      }
      throw new GatewayError('CONFLICT', 'Others are adding the same agent.');
    },

    async agentById(agentId) {
      const owner = await ownerOf(agentId);
      return owner === undefined ? undefined : readOf(owner, agentId);
    },

    async listAgents(tenantId, page) {
      const own = names.of(tenantId);
      const index = { key: own.indexOf('agents'), records: own.agents };
      return readPage(connection, index, page, toRecord<AgentRecord>);
    },

    updateAgent: (tenantId, agentId, fields, event) =>
      commits.write(tenantId, async (change) => {
        const standing = toRecord<AgentRecord>(await change.read(change.names.agents, agentId));
        if (!standing) return undefined;
        const agent = { ...standing, ...fields };
        change.put(change.names.agents, agentId, JSON.stringify(agent));
        change.revise('keys');
        change.audit(event);
        return agent;
      }),

    async registerTenant(tenantId, nowMs) {
      await connection.call('ZADD', names.tenants, 'NX', nowMs, tenantId);
    },
    registeredTenants: async () => (await connection.call('ZRANGE', names.tenants, 0, -1)) as string[],
  };
}
