import type { AuditEvent } from './audit.ts';

/** Is a tenant's kill switch: while it stands, no agent may call, present or registered later. */
export interface SuspensionStore {
  /**
   * Suspends from the next call on. A standing suspension is answered and stays as it is; both leave an audit
   * entry.
   */
  suspendTenant(suspension: TenantSuspension, audit: AuditEvent): Promise<TenantSuspension>;
  /** Agents that were suspended one by one stay suspended. */
  reactivateTenant(tenantId: string, audit: AuditEvent): Promise<void>;
  suspensionOf(tenantId: string): Promise<TenantSuspension | undefined>;
}

export interface TenantSuspension {
  readonly tenantId: string;
  readonly sinceMs: number;
  /** A key's prefix, `admin`. */
  readonly by: string;
  readonly note: string | null;
}
