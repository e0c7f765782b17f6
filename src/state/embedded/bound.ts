import { createCache } from '../cache.ts';
import type { Database } from './sqlite.ts';

interface BoundOptions {
  readonly table: string;
  /** The columns that follow the tenant in the table's index. */
  readonly order: readonly [number: string, id: string];
  readonly most: number;
}

/**
 * Returns a function that makes room before a row is added, in its transaction. Where a tenant has `most`
 * rows, it removes the oldest eighth.
 */
export function createBound(db: Database, { table, order, most }: BoundOptions): (tenantId: string) => void {
  const [number, id] = order;
  const count = db.prepare(`SELECT count(*) AS held FROM ${table} WHERE tenant_id = ?`);
  const forget = db.prepare(`
    DELETE FROM ${table} WHERE ${id} IN (
      SELECT ${id} FROM ${table} WHERE tenant_id = ? ORDER BY ${number}, ${id} LIMIT ${Math.ceil(most / 8)}
    )
  `);
  const hasRoom = createRoom(most, (tenantId) => Number(count.get(tenantId)?.['held']));
  return (tenantId) => {
    if (!hasRoom(tenantId, 0)) forget.run(tenantId);
  };
}

const tenantsCached = 2_048;

/**
 * Returns a function that tells whether a tenant has less than `most` rows; each question counts as one more
 * row. Counting rows is slow. So the last count with all questions since stands for the number until it
 * reaches the bound.
 */
export function createRoom(
  most: number,
  count: (tenantId: string, nowMs: number) => number,
): (tenantId: string, nowMs: number) => boolean {
  const heldAtMost = createCache<number>(tenantsCached);
  return (tenantId, nowMs) => {
    const known = heldAtMost.get(tenantId);
    const held = known === undefined || known >= most ? count(tenantId, nowMs) : known;
    heldAtMost.set(tenantId, held + 1);
    return held < most;
  };
}
