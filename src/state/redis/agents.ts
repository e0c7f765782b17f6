import { GatewayError } from '../../core/errors.ts';
import type { AgentChange, AgentRecord, AuditEvent, Page, Paged } from '../store.ts';
import type { Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

const claimsMax = 5;

export class RedisAgents {
  readonly #connection: RedisConnection;
  readonly #names: Names;
  readonly #commits: Commits;

  constructor(connection: RedisConnection, names: Names, commits: Commits) {
    this.#connection = connection;
    this.#names = names;
    this.#commits = commits;
  }

  /** The tenant claims the agent's id first. A claim whose record was never written counts for nothing. */
  async ensureAgent(agent: AgentRecord): Promise<AgentRecord> {
    for (let at = 0; at < claimsMax; at += 1) {
      const owner = await this.#ownerOf(agent.agentId);
      const standing = owner === undefined ? undefined : await this.#readOf(owner, agent.agentId);
      if (standing) return standing;
      const claim = [agent.tenantId, owner ?? ''];
      if (
        owner === agent.tenantId ||
        (await this.#connection.run(scripts.takeOver, [this.#names.agent(agent.agentId)], claim)) === 1
      )
        return this.#add(agent);
    }
    throw new GatewayError('CONFLICT', 'Others are adding the same agent.');
  }

  async agentById(agentId: string): Promise<AgentRecord | undefined> {
    const owner = await this.#ownerOf(agentId);
    return owner === undefined ? undefined : this.#readOf(owner, agentId);
  }

  async listAgents(tenantId: string, page: Page): Promise<Paged<AgentRecord>> {
    const own = this.#names.of(tenantId);
    const index = { key: own.indexOf('agents'), records: own.agents };
    return readPage(this.#connection, index, page, toRecord<AgentRecord>);
  }

  updateAgent(
    tenantId: string,
    agentId: string,
    fields: AgentChange,
    event: AuditEvent,
  ): Promise<AgentRecord | undefined> {
    return this.#commits.write(tenantId, async (change) => {
      const standing = toRecord<AgentRecord>(await change.read(change.names.agents, agentId));
      if (!standing) return undefined;
      const agent = { ...standing, ...fields };
      change.put(change.names.agents, agentId, JSON.stringify(agent));
      change.revise('keys');
      change.audit(event);
      return agent;
    });
  }

  async registerTenant(tenantId: string, nowMs: number): Promise<void> {
    await this.#connection.call('ZADD', this.#names.tenants, 'NX', nowMs, tenantId);
  }

  async registeredTenants(): Promise<readonly string[]> {
    return (await this.#connection.call('ZRANGE', this.#names.tenants, 0, -1)) as string[];
  }

  async #ownerOf(agentId: string) {
    return ((await this.#connection.call('GET', this.#names.agent(agentId))) as string | null) ?? undefined;
  }

  async #readOf(tenantId: string, agentId: string) {
    return toRecord<AgentRecord>(
      await this.#connection.call('HGET', this.#names.of(tenantId).agents, agentId),
    );
  }

  #add(agent: AgentRecord): Promise<AgentRecord> {
    return this.#commits.write(agent.tenantId, async (change) => {
      const standing = toRecord<AgentRecord>(await change.read(change.names.agents, agent.agentId));
      if (standing) return standing;
      change.put(change.names.agents, agent.agentId, JSON.stringify(agent));
      change.seedRevision();
      change.index(change.names.indexOf('agents'), indexPlaceOf(agent.createdAtMs, agent.agentId));
      return agent;
    });
  }
}
