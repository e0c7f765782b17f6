import type { Sighting, TrustMark } from '../../core/history.ts';
import type { AuditEvent } from './audit.ts';

/**
 * Keeps what agents usually do, so that the unusual shows: at most 4,096 names and about a kilobyte an agent.
 * It forgets an agent ninety days after its last call.
 */
export interface HistoryStore {
  /**
   * Notes an event that may explain a later call. `admit` returns it for ten minutes to all calls of the
   * tenant, soon on other nodes too. At most 512 of each kind are kept. An event may be lost where the state
   * is away. Never throws.
   */
  noteSighting(tenantId: string, sighting: Sighting): void;
  /** Returns the trust in each agent, in the order of the ids; full trust for unknown agents. */
  trustOf(tenantId: string, agentIds: readonly string[]): Promise<readonly TrustRecord[]>;
  /** Notes something that counts against an agent, beside its calls, whose marks are recorded with them. */
  markTrust(tenantId: string, agentId: string, mark: TrustMark): Promise<void>;
  /** Gives full trust to the agent again and forgets its marks. */
  resetTrust(tenantId: string, agentId: string, audit: AuditEvent): Promise<void>;
  /** Sets how trust comes back from now on. */
  restoreTrust(terms: TrustTerms): void;
}

/** Trust is counted in ten-thousandths, so that sums are exact. */
export interface TrustRecord {
  /** The trust at `atMs`, 0 to 10,000. */
  readonly parts: number;
  /** Calls in a row without a mark, less those that have brought trust back. */
  readonly clean: number;
  /** The time of the last call or mark; 0 before the first. */
  readonly atMs: number;
  /** The last 32 marks, oldest first. */
  readonly marks: readonly TrustMark[];
}

export interface TrustTerms {
  /** The ten-thousandths that a run of `calls` clean calls, or an idle hour, brings back. */
  readonly parts: number;
  readonly calls: number;
}
