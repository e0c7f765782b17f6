import type { Sighting, TrustMark } from '../../core/history.ts';
import type { AuditEvent } from './audit.ts';

/**
 * What is remembered of agents to tell the usual from the unusual; of each at most 4,096 names and about a kilobyte. Ninety days after its last
 * call nothing is.
 */
export interface HistoryStore {
  /**
   * Something was seen that may explain a later call of the tenant: `admit` answers it to all of its calls, on this node at once and on others
   * soon, for ten minutes, the last 512. It may be lost where the state is away or starts anew. Never throws.
   */
  noteSighting(tenantId: string, sighting: Sighting): void;
  /** What the agents' trust has come to, in the order of the ids; that of an agent that nobody has seen, or of another tenant, is whole. */
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
