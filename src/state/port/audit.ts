import type { Page, Paged } from './page.ts';

/** The audit log. */
export interface AuditStore {
  appendAudit(audit: AuditEvent): Promise<void>;
  /** Newest first. */
  listAudit(tenantId: string, filter: AuditFilter, page: Page): Promise<Paged<AuditEntry>>;
  /** Oldest first, each as its canonical JSON text with its hash. */
  exportAudit(tenantId: string): AsyncIterable<{ readonly entry: string; readonly hash: string }>;
  /** Recomputes a tenant's audit chain. */
  verifyAudit(tenantId: string): Promise<AuditCheck>;
}

/** One entry of a tenant's append-only, hash-chained audit log. Never holds a key, only its prefix. */
export interface AuditEvent {
  readonly tenantId: string;
  readonly atMs: number;
  /** `key.created`, `key.revoked`, `policy.applied`, … */
  readonly kind: string;
  /** A key's prefix, `admin`, `config`, `first-start`. */
  readonly operator: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface AuditEntry extends AuditEvent {
  readonly seq: number;
  readonly previous: string;
  readonly hash: string;
}

export interface AuditFilter {
  readonly kind?: string;
  readonly subject?: string;
}

/** `head` is the hash of the last entry; `seq` the first entry that is missing, or not what was written. */
export type AuditCheck =
  | { readonly ok: true; readonly entries: number; readonly head: string }
  | { readonly ok: false; readonly seq: number; readonly problem: 'missing' | 'altered' };
