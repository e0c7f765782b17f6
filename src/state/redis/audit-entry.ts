import { hash } from 'node:crypto';
import { toCanonicalJson } from '../embedded/audit.ts';
import type { AuditEntry, AuditEvent } from '../store.ts';

/** What stands before the first entry of a chain. */
export const beforeFirst = '0'.repeat(64);

/** An entry as its canonical JSON text, and the hash of that. */
export function toEntry(event: AuditEvent, seq: number, previous: string): { text: string; hash: string } {
  const { tenantId, atMs, kind, operator, subject, details } = event;
  const text = toCanonicalJson({
    tenant_id: tenantId,
    seq,
    at_ms: atMs,
    kind,
    operator,
    subject,
    details,
    previous,
  });
  return { text, hash: hash('sha256', text) };
}

/** Undefined for what is no entry. */
export function parseEntry(text: string, hash: string): AuditEntry | undefined {
  try {
    const { tenant_id, at_ms, ...rest } = JSON.parse(text);
    return { ...rest, tenantId: tenant_id, atMs: at_ms, hash };
  } catch {
    // Somebody has written it who is not the gateway; `verify` says where.
    return undefined;
  }
}
