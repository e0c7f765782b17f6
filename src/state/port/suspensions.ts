import type { AuditEvent } from './audit.ts';

/** The kill switch of a tenant: while it stands, no agent may call, whether it was there before or registers later. */
export interface SuspensionStore {
  /** In force from the next call on. Where one stands already, that one is answered and stays as it is; both leave an audit entry. */
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
