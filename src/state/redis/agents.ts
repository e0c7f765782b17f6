import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../core/errors.ts';
import type { AgentRecord, AgentStore } from '../store.ts';
import type { Change } from './link/commits.ts';
import type { Link } from './link/link.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { readRecord, toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

const claimsMax = 5;
/**
 * The sign behind the tenant in a claim until the record is written. Such a claim may be taken over, a
 * confirmed one may not.
 */
const unconfirmed = '?';
/**
 * How often the record of a claim is looked for, each `lookEveryMs`. Another tenant that claimed the id has
 * so long to write it.
 */
const looksMax = 40;
const lookEveryMs = 50;

/** The tenant that an agent's id belongs to, or will belong to. */
interface Claim {
  readonly text: string;
  readonly tenantId: string;
}

/** Keeps the claims of tenants to the ids of agents. */
const createClaims = ({ connection, names }: Link) => ({
  async of(agentId: string): Promise<Claim | undefined> {
    const text = (await connection.call('GET', names.agent(agentId))) as string | null;
    return text === null ? undefined : { text, tenantId: text.replace(unconfirmed, '') };
  },
  replace: async (agentId: string, from: string, to: string): Promise<boolean> =>
    from === to || (await connection.run(scripts.takeOver, [names.agent(agentId)], [to, from])) === 1,
});

export function createRedisAgents(link: Link): Omit<AgentStore, 'agentUsage'> {
  const { connection, names, commits } = link;
  const claims = createClaims(link);
  const readOf = (tenantId: string, agentId: string) =>
    readRecord<AgentRecord>(connection, names.of(tenantId).agents, agentId);

  /**
   * Adds the record and confirms its claim. Returns the record; undefined if another tenant has taken over
   * the claim.
   */
  async function addClaimed(agent: AgentRecord): Promise<AgentRecord | undefined> {
    const { agentId, tenantId } = agent;
    const added = await commits.write(tenantId, (change) => add(change, agent));
    if (await claims.replace(agentId, `${tenantId}${unconfirmed}`, tenantId)) return added;
    if ((await claims.of(agentId))?.tenantId === tenantId) return added;
    await commits.write(tenantId, (change) => withdraw(change, added));
    return undefined;
  }

  return {
    /**
     * Claims the agent's id for the tenant, then adds the record. A claim whose record was never written
     * counts for nothing.
     */
    async ensureAgent(agent) {
      const { agentId, tenantId } = agent;
      const own = `${tenantId}${unconfirmed}`;
      for (let looks = 1; looks <= looksMax + claimsMax; looks += 1) {
        const claim = await claims.of(agentId);
        const standing = claim && (await readOf(claim.tenantId, agentId));
        if (standing) {
          if (await claims.replace(agentId, claim.text, claim.tenantId)) return standing;
        } else if (claim && claim.tenantId !== tenantId && looks <= looksMax) {
          await sleep(lookEveryMs);
        } else if (await claims.replace(agentId, claim?.text ?? '', own)) {
          const added = await addClaimed(agent);
          if (added) return added;
        }
      }
      throw new GatewayError('CONFLICT', 'Others are adding the same agent.');
    },

    async agentById(agentId) {
      const claim = await claims.of(agentId);
      return claim && readOf(claim.tenantId, agentId);
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

async function withdraw(change: Change, agent: AgentRecord): Promise<void> {
  const { agents, indexOf } = change.names;
  if ((await change.read(agents, agent.agentId)) !== JSON.stringify(agent)) return;
  change.drop(agents, agent.agentId);
  change.leave(indexOf('agents'), indexPlaceOf(agent.createdAtMs, agent.agentId));
}
