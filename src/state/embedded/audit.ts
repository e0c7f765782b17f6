import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditCheck, AuditEntry, AuditEvent, AuditFilter, Page, Paged } from '../store.ts';
import { type Condition, createListing } from './listing.ts';
import { type Database, parseStored, type Row } from './sqlite.ts';

/**
 * The audit log: append-only, one hash chain a tenant. An entry is the JSON of
 * `{at_ms, details, kind, operator, previous, seq, subject, tenant_id}` in canonical form (RFC 8785: members sorted by name,
 * no white space), `seq` counting 1, 2, 3, … and `previous` being the hash of the entry before, 64 zeros for the first. The
 * hash of an entry is the SHA-256 of that text as UTF-8, in hex. Both stand in the table, so that anybody can recompute them.
 *
 * Whoever can write the file can also write a new chain: an operator who needs proof against that keeps the `head` elsewhere.
 */
export interface Audit {
  /** Adds an entry to the transaction that is running: what is recorded and its record become durable together. */
  append(event: AuditEvent): void;
  /** Newest first. */
  list(tenantId: string, filter: AuditFilter, page: Page): Paged<AuditEntry>;
  /** Oldest first, in chunks, as the table has them. */
  export(tenantId: string): AsyncGenerator<{ readonly entry: string; readonly hash: string }>;
  /** Recomputes the whole chain of a tenant, yielding to the event loop between chunks. */
  verify(tenantId: string): Promise<AuditCheck>;
}

const beforeFirst = '0'.repeat(64);
const chunkRows = 500;

export function createAudit(db: Database): Audit {
  const last = db.prepare('SELECT seq, hash FROM audit WHERE tenant_id = ? ORDER BY seq DESC LIMIT 1');
  const insert = db.prepare('INSERT INTO audit (tenant_id, seq, entry, hash) VALUES (?, ?, ?, ?)');
  const after = db.prepare(
    'SELECT seq, entry, hash FROM audit WHERE tenant_id = ? AND seq > ? ORDER BY seq LIMIT ?',
  );
  const list = createListing(db, { table: 'audit', order: ['seq', 'tenant_id'], toItem: toEntry });

  return {
    append({ tenantId, atMs, kind, operator, subject, details }) {
      const standing = last.get(tenantId);
      const seq = Number(standing?.['seq'] ?? 0) + 1;
      const previous = String(standing?.['hash'] ?? beforeFirst);
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
      insert.run(tenantId, seq, entry, hash('sha256', entry));
    },

    list(tenantId, { kind, subject }, page) {
      const conditions: Condition[] = [['tenant_id = ?', tenantId]];
      if (kind !== undefined) conditions.push(['kind = ?', kind]);
      if (subject !== undefined) conditions.push(['subject = ?', subject]);
      return list(conditions, page);
    },

    async *export(tenantId) {
      for (let seq = 0; ; await nextTurn()) {
        const rows = after.all(tenantId, seq, chunkRows);
        if (rows.length === 0) return;
        for (const row of rows) yield { entry: String(row['entry']), hash: String(row['hash']) };
        seq = Number(rows.at(-1)?.['seq']);
      }
    },

    async verify(tenantId) {
      let head = beforeFirst;
      let seq = 0;
      for (;;) {
        const rows = after.all(tenantId, seq, chunkRows);
        if (rows.length === 0) return { ok: true, entries: seq, head };
        for (const row of rows) {
          const entry = String(row['entry']);
          if (Number(row['seq']) !== seq + 1) return { ok: false, seq: seq + 1, problem: 'missing' };
          if (hash('sha256', entry) !== row['hash'] || !continues(entry, tenantId, seq + 1, head)) {
            return { ok: false, seq: seq + 1, problem: 'altered' };
          }
          seq += 1;
          head = String(row['hash']);
        }
        await nextTurn();
      }
    },
  };
}

/** An entry as it was written; what somebody made of it since, `verify` says. */
function toEntry(row: Row): AuditEntry {
  const fields = parseStored<Record<string, unknown>>(row['entry']);
  return {
    tenantId: String(fields['tenant_id']),
    seq: Number(fields['seq']),
    atMs: Number(fields['at_ms']),
    kind: String(fields['kind']),
    operator: String(fields['operator']),
    subject: String(fields['subject']),
    details: fields['details'] as AuditEntry['details'],
    previous: String(fields['previous']),
    hash: String(row['hash']),
  };
}

function continues(entry: string, tenantId: string, seq: number, previous: string): boolean {
  try {
    const fields = JSON.parse(entry) as Record<string, unknown>;
    return fields['tenant_id'] === tenantId && fields['seq'] === seq && fields['previous'] === previous;
  } catch {
    // Whoever altered it has given it the right hash, and it is not even JSON.
    return false;
  }
}

/** JSON whose text depends on the content alone: members sorted by name, no white space (RFC 8785). */
export function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${toCanonicalJson(inner)}`);
  return `{${members.join(',')}}`;
}
