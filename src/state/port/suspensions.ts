import type { AuditEvent } from './audit.ts';

/**
 * Keeps the kill switch of each tenant. While it is set, no agent may call, whether registered before or
 * later.
 */
export interface SuspensionStore {
  /**
   * Suspends the tenant from its next call on. Where it is suspended already, that suspension is returned
   * unchanged. Both leave an audit entry.
   */
  suspendTenant(suspension: TenantSuspension, audit: AuditEvent): Promise<TenantSuspension>;
  /** Lifts the suspension. Agents that were suspended one by one stay suspended. */
  reactivateTenant(tenantId: string, audit: AuditEvent): Promise<void>;
  suspensionOf(tenantId: string): Promise<TenantSuspension | undefined>;
}

export interface TenantSuspension {
  readonly tenantId: string;
  readonly sinceMs: number;
  /** Who suspended it: a key's prefix, or `admin`. */
  readonly by: string;
  readonly note: string | null;
}
