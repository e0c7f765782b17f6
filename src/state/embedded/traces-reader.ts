import type { Database } from './sqlite.ts';
import { toBuffer, windowEnd } from './traces-chunks.ts';

/** Finds chunks by the time of the ids in them. */
export interface ChunkReader {
  /** Lines of each chunk of the tenant that may hold an id of that time; both ends lie in one window. One is read at a time. */
  between(tenantId: string, firstMs: number, lastMs: number): Generator<Buffer>;
  /** The last time in the newest chunk, of those that begin in the window of `ms` or before; it may be later than `ms`. */
  newest(tenantId: string, ms: number): number | undefined;
}

export function createChunkReader(db: Database): ChunkReader {
  // A chunk does not reach beyond its window: the index alone says which ones to read.
  const find = db.prepare(`
    SELECT chunk_id FROM trace_chunks WHERE tenant_id = ? AND last_ms BETWEEN ? AND ? AND first_ms <= ?
  `);
  const last = db.prepare('SELECT max(last_ms) AS ms FROM trace_chunks WHERE tenant_id = ? AND last_ms <= ?');
  const read = db.prepare('SELECT lines FROM trace_chunks WHERE chunk_id = ?');

  return {
    newest(tenantId, ms) {
      const found = last.get(tenantId, windowEnd(ms))?.['ms'];
      return typeof found === 'number' ? found : undefined;
    },
    *between(tenantId, firstMs, lastMs) {
      for (const found of find.all(tenantId, firstMs, windowEnd(firstMs), lastMs)) {
        const row = read.get(Number(found['chunk_id']));
        if (row) yield toBuffer(row['lines'] as Uint8Array);
      }
    },
  };
}
