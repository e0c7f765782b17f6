import { GatewayError } from '../../core/errors.ts';
import type { AgentRecord, AgentStore } from '../store.ts';
import type { Change } from './link/commits.ts';
import type { Link } from './link/link.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { readRecord, toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

const claimsMax = 5;

export function createRedisAgents({ connection, names, commits }: Link): Omit<AgentStore, 'agentUsage'> {
  const ownerOf = async (agentId: string): Promise<string | undefined> =>
    ((await connection.call('GET', names.agent(agentId))) as string | null) ?? undefined;
  const readOf = (tenantId: string, agentId: string) =>
    readRecord<AgentRecord>(connection, names.of(tenantId).agents, agentId);

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
          return commits.write(agent.tenantId, (change) => add(change, agent));
      }
      throw new GatewayError('CONFLICT', 'Others are adding the same agent.');
    },

    async agentById(agentId) {
      const owner = await ownerOf(agentId);
      return owner === undefined ? undefined : readOf(owner, agentId);
    },

    async listAgents(tenantId, page) {
      const { agents, indexOf } = names.of(tenantId);
      return readPage(connection, { key: indexOf('agents'), records: agents }, page, toRecord<AgentRecord>);
    },

    updateAgent: (tenantId, agentId, fields, event) =>
      commits.write(tenantId, async (change) => {
        const { agents } = change.names;
        const standing = await change.readRecord<AgentRecord>(agents, agentId);
        if (!standing) return undefined;
        const agent = { ...standing, ...fields };
        change.putRecord(agents, agentId, agent);
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

async function add(change: Change, agent: AgentRecord): Promise<AgentRecord> {
  const { agents, indexOf } = change.names;
  const standing = await change.readRecord<AgentRecord>(agents, agent.agentId);
  if (standing) return standing;
  change.putRecord(agents, agent.agentId, agent);
  change.seedRevision();
  change.index(indexOf('agents'), indexPlaceOf(agent.createdAtMs, agent.agentId));
  return agent;
}
