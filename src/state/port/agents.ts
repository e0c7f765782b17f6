import type { Decision } from '../../core/call.ts';
import type { AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/**
 * Keeps agents, and tenants that were registered by minting a key for them, beside those of the
 * configuration.
 */
export interface AgentStore {
  /**
   * Adds the agent unless it is there, and returns the record that stands. An agent never changes its tenant.
   */
  ensureAgent(agent: AgentRecord): Promise<AgentRecord>;
  agentById(agentId: string): Promise<AgentRecord | undefined>;
  /** Lists agents by time of creation, newest first. */
  listAgents(tenantId: string, page: Page): Promise<Paged<AgentRecord>>;
  updateAgent(
    tenantId: string,
    agentId: string,
    change: AgentChange,
    audit: AuditEvent,
  ): Promise<AgentRecord | undefined>;
  agentUsage(tenantId: string, agentIds: readonly string[], nowMs: number): Promise<readonly AgentUsage[]>;

  registerTenant(tenantId: string, nowMs: number): Promise<void>;
  registeredTenants(): Promise<readonly string[]>;
}

export interface AgentRecord {
  readonly agentId: string;
  readonly tenantId: string;
  readonly envName: string;
  readonly name: string;
  readonly runtimeType: string | null;
  readonly status: 'active' | 'suspended';
  readonly createdAtMs: number;
}

export type AgentChange = Partial<Pick<AgentRecord, 'name' | 'runtimeType' | 'status'>>;

export interface AgentUsage {
  readonly firstSeenAtMs: number | null;
  readonly lastSeenAtMs: number | null;
  readonly callsTotal: number;
  /** The decisions of the last 24 hours, counted by whole hours. */
  readonly decisions24h: Readonly<Record<Decision, number>>;
}
