import type { AgentRecord } from '../store.ts';
import { createCache } from './cache.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Database, toRecord } from './sqlite.ts';

/** Agents, and the tenants that were registered by minting for them. */
export interface Agents {
  /** At once: from memory, or by one look-up in the database. */
  find(agentId: string): AgentRecord | undefined;
  /** As the database has it, what the running transaction has written included; memory learns nothing of it. */
  load(agentId: string): AgentRecord | undefined;
  ensure(agent: AgentRecord): Promise<AgentRecord>;
  registerTenant(tenantId: string, nowMs: number): Promise<void>;
  registeredTenants(): readonly string[];
}

const cachedMax = 32_768;

export function createAgents(db: Database, commits: GroupCommit): Agents {
  const byId = db.prepare('SELECT record FROM agents WHERE agent_id = ?');
  const insert = db.prepare('INSERT INTO agents (agent_id, tenant_id, record) VALUES (?, ?, ?)');
  const insertTenant = db.prepare(
    'INSERT INTO tenants (tenant_id, registered_at_ms) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  const tenants = db.prepare('SELECT tenant_id FROM tenants ORDER BY registered_at_ms, tenant_id');
  const cache = createCache<AgentRecord>(cachedMax);

  const load = (agentId: string) => toRecord<AgentRecord>(byId.get(agentId));

  function find(agentId: string): AgentRecord | undefined {
    const cached = cache.get(agentId);
    if (cached) return cached;
    const agent = load(agentId);
    if (agent) cache.set(agentId, agent);
    return agent;
  }

  return {
    find,
    load,
    async ensure(agent) {
      const add = () => {
        const standing = load(agent.agentId);
        if (!standing) insert.run(agent.agentId, agent.tenantId, JSON.stringify(agent));
        return standing ?? agent;
      };
      return find(agent.agentId) ?? commits.write(add, (standing) => cache.set(standing.agentId, standing));
    },
    async registerTenant(tenantId, nowMs) {
      await commits.write(() => insertTenant.run(tenantId, nowMs));
    },
    registeredTenants: () => tenants.all().map((row) => String(row['tenant_id'])),
  };
}
