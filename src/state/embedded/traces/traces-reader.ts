import { windowEnd, windowStart } from '../../traces/lines.ts';
import type { Database } from '../sqlite.ts';
import { toBuffer } from './traces-chunks.ts';

/** Finds chunks by the time of the ids in them. */
export type ChunkReader = ReturnType<typeof createChunkReader>;

const statements = (db: Database) => ({
  // A chunk does not reach beyond its window, so the index alone tells which ones to read.
  find: db.prepare(`
    SELECT chunk_id FROM trace_chunks WHERE tenant_id = ? AND last_ms BETWEEN ? AND ? AND first_ms <= ?
    ORDER BY chunk_id
  `),
  last: db.prepare('SELECT max(last_ms) AS ms FROM trace_chunks WHERE tenant_id = ? AND last_ms <= ?'),
  read: db.prepare('SELECT lines FROM trace_chunks WHERE chunk_id = ?'),
  greatest: db.prepare('SELECT max(chunk_id) AS chunk_id FROM trace_chunks'),
  // The index of numbers is the better one: few rows are above `after`, while a tenant has many.
  above: db.prepare(`
    SELECT chunk_id, lines FROM trace_chunks WHERE chunk_id > ? AND chunk_id <= ? AND +tenant_id = ?
    ORDER BY chunk_id LIMIT ?
  `),
});

export function createChunkReader(db: Database) {
  const { find, last, read, greatest, above } = statements(db);

  /**
   * Returns the last time in the newest chunk up to the window of `ms`; it may exceed `ms`. Undefined where
   * there is none.
   */
  function newest(tenantId: string, ms: number): number | undefined {
    const found = last.get(tenantId, windowEnd(ms))?.['ms'];
    return typeof found === 'number' ? found : undefined;
  }

  /**
   * Yields the lines of each chunk that may hold an id from that time, chunk by chunk. Both ends lie in one
   * window.
   */
  function* between(tenantId: string, firstMs: number, lastMs: number): Generator<Buffer> {
    for (const found of find.all(tenantId, firstMs, windowEnd(firstMs), lastMs)) {
      const row = read.get(Number(found['chunk_id']));
      if (row) yield toBuffer(row['lines'] as Uint8Array);
    }
  }

  return {
    between,
    /**
     * Yields the starts of a tenant's windows with traces, newest first: see `LikelySource` of
     * `traces/likely.ts`.
     */
    *starts(tenantId: string, newestMs: number, oldestMs: number) {
      for (let bound = newestMs; ; ) {
        const ms = newest(tenantId, bound);
        if (ms === undefined || windowEnd(ms) < oldestMs) return;
        const startMs = windowStart(ms);
        yield startMs;
        bound = startMs - 1;
      }
    },
    window: (tenantId: string, startMs: number) => ({
      startMs,
      chunks: () => between(tenantId, startMs, windowEnd(startMs)),
    }),
    /** Returns the greatest number of any chunk; 0 where there is none. */
    lastId: () => Number(greatest.get()?.['chunk_id'] ?? 0),
    /** Returns the tenant's chunks with numbers above `after`, up to `lastOne`, in the order of storing. */
    stored: (tenantId: string, after: number, lastOne: number, limit: number) =>
      above.all(after, lastOne, tenantId, limit).map((row) => ({
        chunkId: Number(row['chunk_id']),
        lines: toBuffer(row['lines'] as Uint8Array),
      })),
  };
}
