import { readEntry, verifyChain } from '../rules/audit-entry.ts';
import type { AuditEntry, AuditStore } from '../store.ts';
import type { Link } from './link/link.ts';
import { parseCursor } from './link/pages.ts';

/*
 * Keeps the audit log of a tenant in a list. The entry with number n is the n-th, as its hash (64 characters)
 * and its text. Nothing is ever removed from it.
 */

const chunkMax = 500;
const looksMax = 10_000;
const isCursor = (text: string): boolean => /^[1-9]\d{0,14}$/.test(text);

export function createRedisAudit({ connection, names, commits }: Link): AuditStore {
  async function read(tenantId: string, first: number, last: number) {
    const rows = (await connection.call('LRANGE', names.of(tenantId).audit, first - 1, last - 1)) as string[];
    return rows.map((row) => ({ hash: row.slice(0, 64), entry: row.slice(64) }));
  }

  async function* exported(tenantId: string) {
    for (let seq = 1; ; seq += chunkMax) {
      const rows = await read(tenantId, seq, seq + chunkMax - 1);
      yield* rows;
      if (rows.length < chunkMax) return;
    }
  }

  return {
    appendAudit: (event) => commits.write(event.tenantId, async (change) => change.audit(event)),

    async listAudit(tenantId, { kind, subject }, { limit, cursor }) {
      const before = parseCursor(cursor, isCursor);
      const count = Number(await connection.call('LLEN', names.of(tenantId).audit));
      let seq = before === undefined ? count : Math.min(count, Number(before) - 1);
      const end = seq - looksMax;
      const items: AuditEntry[] = [];
      while (seq > 0 && seq > end) {
        const rows = await read(tenantId, Math.max(1, seq - chunkMax + 1), seq);
        for (const row of rows.reverse()) {
          const entry = readEntry(row);
          const isWanted =
            (kind === undefined || entry.kind === kind) &&
            (subject === undefined || entry.subject === subject);
          if (isWanted && items.length === limit) return { items, nextCursor: String(seq + 1) };
          if (isWanted) items.push(entry);
          seq -= 1;
        }
      }
      return { items, nextCursor: seq > 0 ? String(seq + 1) : null };
    },

    exportAudit: exported,

    verifyAudit: (tenantId) => verifyChain(tenantId, exported(tenantId), (_, { seq }) => seq),
  };
}
