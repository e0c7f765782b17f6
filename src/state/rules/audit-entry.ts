import { hash } from 'node:crypto';
import { stateUnavailable } from '../../core/errors.ts';
import type { AuditCheck, AuditEntry, AuditEvent } from '../store.ts';
import { toCanonicalJson } from './canonical-json.ts';

/*
 * The audit log: append-only, one hash chain a tenant. An entry is the JSON of `{at_ms, details, kind,
 * operator, previous, seq, subject, tenant_id}`. Its form is canonical (RFC 8785: members sorted by name, no
 * white space). `seq` counts 1, 2, 3, … and `previous` is the hash of the entry before, 64 zeros for the
 * first. The hash of an entry is the SHA-256 of that text as UTF-8, in hex. Both are stored, so that anybody
 * can recompute them.
 *
 * Whoever can write the store can also write a new chain: an operator who needs proof against that keeps the
 * `head` elsewhere.
 */

/** The hash that stands before the first entry of a chain. */
export const beforeFirst = '0'.repeat(64);

/** An entry as it is stored. */
export interface StoredEntry {
  readonly entry: string;
  readonly hash: string;
}

/** Returns the entry with the number `seq`, which follows the entry with the hash `previous`. */
export function toStoredEntry(event: AuditEvent, seq: number, previous: string): StoredEntry {
  const { tenantId, atMs, kind, operator, subject, details } = event;
  const entry = toCanonicalJson({
    tenant_id: tenantId,
    seq,
    at_ms: atMs,
    kind,
    operator,
    subject,
    details,
    previous,
  });
  return { entry, hash: hash('sha256', entry) };
}

/**
 * Parses a stored entry; undefined where its text is none. Others have then written it, and `verifyChain`
 * says where.
 */
export function parseEntry({ entry, hash }: StoredEntry): AuditEntry | undefined {
  try {
    const { tenant_id, at_ms, ...rest } = JSON.parse(entry);
    return { ...rest, tenantId: tenant_id, atMs: at_ms, hash };
  } catch {
    return undefined;
  }
}

/**
 * Returns an entry for a list. Throws STATE_UNAVAILABLE where its text is no entry, since an altered log must
 * not be shown as if it were whole.
 */
export function readEntry(stored: StoredEntry): AuditEntry {
  const entry = parseEntry(stored);
  if (entry) return entry;
  throw stateUnavailable(
    'An entry of the audit log is none any more: somebody has altered it. "postern audit verify" says which, while the daemon is down.',
  );
}

/**
 * Recomputes a chain, oldest entry first. `placeOf` returns the number under which the store keeps an entry.
 */
export async function verifyChain<T extends StoredEntry>(
  tenantId: string,
  rows: AsyncIterable<T>,
  placeOf: (row: T, entry: AuditEntry) => number,
): Promise<AuditCheck> {
  let head = beforeFirst;
  let seq = 0;
  for await (const row of rows) {
    seq += 1;
    const entry = parseEntry(row);
    if (!entry || hash('sha256', row.entry) !== row.hash || entry.tenantId !== tenantId)
      return { ok: false, seq, problem: 'altered' };
    if (placeOf(row, entry) > seq) return { ok: false, seq, problem: 'missing' };
    if (entry.seq !== seq || entry.previous !== head) return { ok: false, seq, problem: 'altered' };
    head = row.hash;
  }
  return { ok: true, entries: seq, head };
}
