import type { Sighting, TrustMark } from '../../core/history.ts';
import type { AuditEvent } from './audit.ts';

/**
 * The memory of agents that tells the usual from the unusual: at most 4,096 names and about a kilobyte an
 * agent. It ends ninety days after the last call.
 */
export interface HistoryStore {
  /**
   * Notes an event that may explain a later call. `admit` answers it to all calls of the tenant, soon on
   * other nodes too, for ten minutes, the last 512. It may be lost where the state is away. Never throws.
   */
  noteSighting(tenantId: string, sighting: Sighting): void;
  /** Returns the trust in each agent, in the order of the ids; it is whole for unknown agents. */
  trustOf(tenantId: string, agentIds: readonly string[]): Promise<readonly TrustRecord[]>;
  /** Something that counts against an agent, beside its calls: those bring their marks themselves. */
  markTrust(tenantId: string, agentId: string, mark: TrustMark): Promise<void>;
  /** Nothing is held against the agent any more. */
  resetTrust(tenantId: string, agentId: string, audit: AuditEvent): Promise<void>;
  /** Says how trust comes back, from now on. */
  restoreTrust(terms: TrustTerms): void;
}

/** Trust is counted in ten-thousandths, so that sums are exact. */
export interface TrustRecord {
  /** 0 to 10,000, at `atMs`. */
  readonly parts: number;
  /** Calls in a row that nothing was held against, less those that have brought trust back. */
  readonly clean: number;
  /** When the last call came, or something was held against the agent; 0 before the first. */
  readonly atMs: number;
  /** The last 32 that were held against the agent, oldest first. */
  readonly marks: readonly TrustMark[];
}

export interface TrustTerms {
  /** Ten-thousandths that a run of clean calls, or an idle hour, brings back. */
  readonly parts: number;
  readonly calls: number;
}
