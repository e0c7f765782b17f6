import { kept } from '../../util/kept.ts';
import { createCache } from '../cache.ts';
import type { AgentRecord, AgentStore } from '../store.ts';
import { type Disk, writeAudited } from './disk.ts';
import { createListing, records } from './listing.ts';
import { rowToRecord } from './sqlite.ts';

/** Keeps agents, and the tenants that were registered by minting a key for them. */
export type Agents = ReturnType<typeof createEmbeddedAgents>;

const cachedMax = 32_768;

export function createEmbeddedAgents(disk: Disk) {
  const { db, commits } = disk;
  const byId = db.prepare('SELECT record FROM agents WHERE agent_id = ?');
  const insert = db.prepare('INSERT INTO agents (agent_id, tenant_id, record) VALUES (?, ?, ?)');
  const update = db.prepare('UPDATE agents SET record = ? WHERE agent_id = ?');
  const insertTenant = db.prepare(
    'INSERT INTO tenants (tenant_id, registered_at_ms) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  const tenants = db.prepare('SELECT tenant_id FROM tenants ORDER BY registered_at_ms, tenant_id');
  const list = createListing(db, {
    table: 'agents',
    order: ['created_at_ms', 'agent_id'],
    ...records<AgentRecord>(),
  });
  const cache = createCache<AgentRecord>(cachedMax);

  /** Returns the record as the running transaction has left it in the database, never from memory. */
  const load = (agentId: string) => rowToRecord<AgentRecord>(byId.get(agentId));

  /** Returns the record from memory, or by one look-up in the database. */
  const find = (agentId: string) => kept(cache, agentId, () => load(agentId));

  const store: Omit<AgentStore, 'agentUsage'> = {
    async ensureAgent(agent) {
      const add = () => {
        const standing = load(agent.agentId);
        if (!standing) insert.run(agent.agentId, agent.tenantId, JSON.stringify(agent));
        return standing ?? agent;
      };
      return find(agent.agentId) ?? commits.write(add, (standing) => cache.set(standing.agentId, standing));
    },
    agentById: async (agentId) => find(agentId),
    listAgents: async (tenantId, page) => list([['tenant_id = ?', tenantId]], page),
    updateAgent(tenantId, agentId, change, event) {
      const work = () => {
        const standing = load(agentId);
        if (standing?.tenantId !== tenantId) return undefined;
        const changed: AgentRecord = { ...standing, ...change };
        update.run(JSON.stringify(changed), agentId);
        return changed;
      };
      return writeAudited(disk, event, work, (changed) => changed && cache.set(agentId, changed));
    },
    async registerTenant(tenantId, nowMs) {
      await commits.write(() => insertTenant.run(tenantId, nowMs));
    },
    registeredTenants: async () => tenants.all().map((row) => String(row['tenant_id'])),
  };

  return {
    store,
    find,
    load,
    /** Returns which of these are agents of the tenant. */
    among: (tenantId: string, agentIds: readonly string[]) =>
      new Set(agentIds.filter((it) => find(it)?.tenantId === tenantId)),
  };
}
