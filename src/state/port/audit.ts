import type { Page, Paged } from './page.ts';

/** Keeps the audit log, one hash chain for each tenant. */
export interface AuditStore {
  appendAudit(audit: AuditEvent): Promise<void>;
  /** Lists entries, newest first. */
  listAudit(tenantId: string, filter: AuditFilter, page: Page): Promise<Paged<AuditEntry>>;
  /** Yields all entries, oldest first, each as its canonical JSON text with its hash. */
  exportAudit(tenantId: string): AsyncIterable<{ readonly entry: string; readonly hash: string }>;
  /** Recomputes a tenant's chain, and returns the first entry that is missing or altered. */
  verifyAudit(tenantId: string): Promise<AuditCheck>;
}

/** An entry of a tenant's append-only, hash-chained audit log. It never holds a key, only its prefix. */
export interface AuditEvent {
  readonly tenantId: string;
  readonly atMs: number;
  /** What was done: `key.created`, `key.revoked`, `policy.applied`, … */
  readonly kind: string;
  /** Who did it: a key's prefix, `admin`, `config`, `first-start`, … */
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

/**
 * The result of a check. `head` is the hash of the last entry. `seq` is the first entry that is missing, or
 * not what was written.
 */
export type AuditCheck =
  | { readonly ok: true; readonly entries: number; readonly head: string }
  | { readonly ok: false; readonly seq: number; readonly problem: 'missing' | 'altered' };
