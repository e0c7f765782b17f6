import type { Database } from './sqlite.ts';

/** Asks for some of the tenant's chunks, all of whose ids are from before then, to go. */
export interface TracesRemoval {
  readonly tenantId: string;
  readonly beforeMs: number;
}

/** Asks for the counts of keys that are there no more to go. */
export interface CountsRemoval {
  readonly keyIds: readonly string[];
}

/** So many go at a time: sixteen megabytes at most. */
export const removedMax = 32;

/** Answers how many went; when it is `removedMax` there may be more. */
export function createTracesRemover(db: Database): (removal: TracesRemoval) => number {
  const remove = db.prepare(`
    DELETE FROM trace_chunks WHERE chunk_id IN (
      SELECT chunk_id FROM trace_chunks WHERE tenant_id = ? AND last_ms < ? LIMIT ${removedMax}
    )
  `);
  return ({ tenantId, beforeMs }) => remove.run(tenantId, beforeMs);
}

/** Answers of how many keys. */
export function createCountsRemover(db: Database): (removal: CountsRemoval) => number {
  const removeCounts = db.prepare('DELETE FROM counters WHERE subject IN (SELECT value FROM json_each(?))');
  const removeSeen = db.prepare('DELETE FROM seen WHERE subject IN (SELECT value FROM json_each(?))');
  return ({ keyIds }) => {
    const ids = JSON.stringify(keyIds);
    return db.transact(() => {
      removeCounts.run(ids);
      return removeSeen.run(ids);
    });
  };
}
