import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  beforeFirst,
  readEntry,
  type StoredEntry,
  toStoredEntry,
  verifyChain,
} from '../rules/audit-entry.ts';
import type { AuditEntry, AuditEvent, AuditStore } from '../store.ts';
import { createListing, given } from './listing.ts';
import type { Database, Row } from './sqlite.ts';

/** Keeps the audit log as `audit-entry.ts` describes it, in one table. */
export interface Audit {
  /** Adds an entry to the running transaction. So the entry and what it records become durable together. */
  append(event: AuditEvent): void;
  /** The readers of the log. They yield to the event loop between chunks. */
  readonly store: Omit<AuditStore, 'appendAudit'>;
}

const chunkRows = 500;

export function createEmbeddedAudit(db: Database): Audit {
  const last = db.prepare('SELECT seq, hash FROM audit WHERE tenant_id = ? ORDER BY seq DESC LIMIT 1');
  const insert = db.prepare('INSERT INTO audit (tenant_id, seq, entry, hash) VALUES (?, ?, ?, ?)');
  const after = db.prepare(
    'SELECT seq, entry, hash FROM audit WHERE tenant_id = ? AND seq > ? ORDER BY seq LIMIT ?',
  );
  const list = createListing(db, {
    table: 'audit',
    order: ['seq', 'tenant_id'],
    columns: 'entry, hash, seq',
    toItem: toEntry,
  });

  async function* rowsOf(tenantId: string) {
    for (let from = 0; ; await nextTurn()) {
      const rows = after.all(tenantId, from, chunkRows);
      for (const row of rows) yield { ...toStored(row), seq: Number(row['seq']) };
      if (rows.length < chunkRows) return;
      from = Number(rows.at(-1)?.['seq']);
    }
  }

  return {
    append(event) {
      const standing = last.get(event.tenantId);
      const seq = Number(standing?.['seq'] ?? 0) + 1;
      const previous = String(standing?.['hash'] ?? beforeFirst);
      const { entry, hash } = toStoredEntry(event, seq, previous);
      insert.run(event.tenantId, seq, entry, hash);
    },

    store: {
      async listAudit(tenantId, { kind, subject }, page) {
        return list(given(['tenant_id = ?', tenantId], ['kind = ?', kind], ['subject = ?', subject]), page);
      },

      async *exportAudit(tenantId) {
        for await (const { entry, hash } of rowsOf(tenantId)) yield { entry, hash };
      },

      verifyAudit: (tenantId) => verifyChain(tenantId, rowsOf(tenantId), ({ seq }) => seq),
    },
  };
}

const toStored = (row: Row): StoredEntry => ({ entry: String(row['entry']), hash: String(row['hash']) });
const toEntry = (row: Row): AuditEntry => readEntry(toStored(row));
